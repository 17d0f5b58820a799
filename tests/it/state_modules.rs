//! State modules on a real Debian, compared with the recorded answers of Salt 3006.28: a dry run, two real runs, and
//! the files, links, mounts, accounts and packages afterwards.
//!
//! `tests/data/states/modules/record.sh` records the answers. `differs.json` there has the results that differ on
//! purpose, with their reasons.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::states_debian::Debian;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/states/modules")
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
}

/// Returns a value without what differs with each run: process ids, names of temporary files, and the order in which
/// a folder lists its entries.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("pid", _) => json!(0),
                    ("removed", Value::Array(items)) => {
                        let mut items = items.clone();
                        items.sort_by_key(ToString::to_string);
                        Value::Array(items)
                    }
                    (_, value) => plain(value),
                };
                (key.clone(), value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        Value::String(text) => {
            let temporary = regex::Regex::new(r"/tmp/[\w./]+").unwrap();
            temporary.replace_all(text, "/tmp/file").into_owned().into()
        }
        other => other.clone(),
    }
}

/// Runs the states and returns result, changes and comment of each by its ID.
fn run(debian: &Debian, command: &str) -> BTreeMap<String, Value> {
    let folder = folder();
    let words = [command, "main", "--file-root"].map(OsStr::new);
    let output = debian.state(words.into_iter().chain([folder.as_os_str()]));
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"));
    let hosts = report["hosts"].as_object().unwrap();
    let results = hosts
        .values()
        .filter_map(|host| host["results"].as_object());
    let row = |(key, step): (&String, &Value)| {
        let id = key.split("_|-").nth(1).unwrap().to_owned();
        let row = json!([step["result"], step["changes"], step["comment"]]);
        (id, plain(&row))
    };
    results.flatten().map(row).collect()
}

#[test]
fn modules_give_the_results_of_salt_and_leave_the_same_machine() {
    requires!("tests/debian.sh");
    let debian = Debian::start();
    debian.shell(&read("setup.sh"));
    let mut answers: BTreeMap<String, Value> = serde_json::from_str(&read("answers.json")).unwrap();
    let after = answers.remove("after").unwrap();
    let differs: BTreeMap<String, Value> = serde_json::from_str(&read("differs.json")).unwrap();
    for (id, own) in &differs {
        let runs = own.as_object().unwrap().iter();
        for (name, result) in runs.filter(|(name, _)| *name != "why") {
            assert_ne!(answers[id][name], *result, "{id} no longer differs");
            answers.get_mut(id).unwrap()[name] = result.clone();
        }
    }
    let mut differences = Vec::new();
    for (name, command) in [("test", "test"), ("first", "apply"), ("second", "apply")] {
        let results = run(&debian, command);
        assert_eq!(results.len(), answers.len());
        for (id, answer) in &answers {
            if results[id] != answer[name] {
                let (ours, salts) = (&results[id], &answer[name]);
                differences.push(format!("{id}, {name}:\n  ours {ours}\n  Salt {salts}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let text = debian.shell(&read("after.sh"));
    assert_eq!(text, after.as_str().unwrap().trim());
}
