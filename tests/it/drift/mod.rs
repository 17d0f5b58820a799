//! The command `drift`: what it finds, what it changes, and what it says about bad input.

mod bad_input;
mod checks;
mod debian;
mod examples;
mod hosts;
mod origins;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::Value as Json;

use crate::support::{Run, TestEnv};

/// Looks for drift and returns the exit code with the JSON document.
#[track_caller]
fn drift(env: &TestEnv, words: &[&str]) -> (i32, Json) {
    let run = look(env, words);
    (run.code, run.json())
}

#[track_caller]
fn look(env: &TestEnv, words: &[&str]) -> Run {
    let words = ["drift", "--output", "json"].iter().chain(words);
    env.unfurl(words).does_not_panic()
}

/// The findings of a document as `kind instance-or-host attribute: from → to`.
fn findings(document: &Json) -> Vec<String> {
    let ensembles = document["ensembles"].as_array().unwrap();
    let all = ensembles
        .iter()
        .flat_map(|it| it["findings"].as_array().unwrap());
    let text = |value: &Json| value.as_str().unwrap_or("-").to_owned();
    all.map(|it| {
        let subject = it["instance"].as_str().or_else(|| it["host"].as_str());
        format!(
            "{} {} {}: {} → {}",
            text(&it["kind"]),
            subject.unwrap_or("-"),
            text(&it["attribute"]),
            text(&it["from"]),
            text(&it["to"])
        )
    })
    .collect()
}

/// The first finding about an attribute.
#[track_caller]
fn finding<'a>(document: &'a Json, attribute: &str) -> &'a Json {
    let ensembles = document["ensembles"].as_array().unwrap();
    let mut all = ensembles
        .iter()
        .flat_map(|it| it["findings"].as_array().unwrap());
    let found = all.find(|it| it["attribute"] == attribute);
    found.unwrap_or_else(|| panic!("no finding about {attribute}: {document:#}"))
}

/// The entries below a folder with everything that a change would change: kind, mode, owner, times and content.
///
/// `ignored` are names of files that may change, and so may the times of the folders that contain them.
fn tree(folder: &Path, ignored: &[&str]) -> BTreeMap<String, String> {
    let mut entries = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut has_ignored = false;
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if ignored.contains(&&*name) {
                has_ignored = true;
                continue;
            }
            let info = path.symlink_metadata().unwrap();
            if info.is_dir() {
                folders.push(path);
                continue;
            }
            let content = if info.is_file() {
                format!("{:?}", fs::read(&path).unwrap())
            } else {
                format!("{:?}", fs::read_link(&path).ok())
            };
            entries.insert(path.display().to_string(), described(&info) + &content);
        }
        let info = folder.symlink_metadata().unwrap();
        let text = if has_ignored {
            format!("folder {:o}", info.mode())
        } else {
            described(&info)
        };
        entries.insert(folder.display().to_string(), text);
    }
    entries
}

fn described(info: &fs::Metadata) -> String {
    format!(
        "{:o} {}:{} {}.{} {}.{} ",
        info.mode(),
        info.uid(),
        info.gid(),
        info.mtime(),
        info.mtime_nsec(),
        info.ctime(),
        info.ctime_nsec()
    )
}

/// Makes the working folder a repository with one commit.
fn make_repository(env: &TestEnv) {
    env.git(&["init", "--quiet", "."]);
    env.git(&["add", "--all"]);
    env.git(&["commit", "--quiet", "-m", "model"]);
}
