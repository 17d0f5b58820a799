//! State modules on a real Debian, compared with the recorded answers of Salt 3006.28: a dry run, two real runs, and
//! the files and links afterwards.
//!
//! `tests/data/states/modules/record.sh` records the answers.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::states_debian::Debian;

/// The results that differ on purpose: the state, the run, and the result with its reason.
fn deviations() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        // Salt's dry run predicts a change that its real run cannot make.
        (
            "sysctl-unknown",
            "test",
            json!([false, {}, "sysctl kernel.no_such_parameter does not exist"]),
        ),
        // An earlier state changes the alternatives, so a dry run cannot know whether this one will fail.
        (
            "alternatives-set-unknown",
            "test",
            json!([null, {}, "Alternative /usr/bin/nope for tool doesn't exist"]),
        ),
        // Salt reports no change although the alternative is gone.
        (
            "alternatives-remove-last",
            "first",
            json!([true, {"path": null}, "Alternative for gone removed"]),
        ),
    ]
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/states/modules")
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
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
        (
            id,
            json!([step["result"], step["changes"], step["comment"]]),
        )
    };
    results.flatten().map(row).collect()
}

#[test]
fn modules_give_the_results_of_salt_and_leave_the_same_files() {
    requires!("tests/debian.sh");
    let debian = Debian::start();
    debian.shell(&read("setup.sh"));
    let mut answers: BTreeMap<String, Value> = serde_json::from_str(&read("answers.json")).unwrap();
    let after = answers.remove("after").unwrap();
    for (id, name, result) in deviations() {
        answers.get_mut(id).unwrap()[name] = result;
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
