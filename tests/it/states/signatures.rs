//! Signatures and flags of files on this machine, compared with the recorded answers of Salt 3008.3: a dry run and two
//! real runs.
//!
//! `tests/data/states/signatures/record.sh` records the answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::TestEnv;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/states/signatures")
}

/// The answers that differ on purpose. An earlier state of a dry run may change what the signature is verified with. A
/// file that is not verified stays, where Salt removes the author's file.
fn own_answer(id: &str, run: &str) -> Option<Value> {
    let result = if run == "test" { None } else { Some(false) };
    let why = "The file's signature could not be verified: The signature could not be verified.";
    match (id, run) {
        ("cached-changed", "test") => Some(json!([result, {}, why])),
        ("unpacked-changed", _) => {
            let why = format!("Failed verifying the source file's signature: {why}");
            Some(json!([result, {}, why]))
        }
        _ => None,
    }
}

/// Removes the flag that only some file systems have.
fn without_extents(mut row: Value) -> Value {
    if let Some(Value::String(old)) = row.pointer_mut("/1/attrs/old") {
        old.retain(|flag| flag != 'e');
    }
    row
}

#[test]
fn signatures_and_flags_of_files_give_the_results_of_salt() {
    requires!("root", "gpg", "chattr");
    let env = TestEnv::new();
    let work = env.work();
    let data = data();
    let prepared = Command::new("sh")
        .arg(data.join("setup.sh"))
        .args([data.as_path(), &work])
        .status();
    assert!(prepared.unwrap().success());
    let answers = fs::read_to_string(data.join("answers.json")).unwrap();
    let answers: BTreeMap<String, Value> = serde_json::from_str(&answers).unwrap();
    let pillar = json!({"home": work.join("home"), "out": work.join("out")}).to_string();
    let mut differences = Vec::new();
    for (name, command) in [("test", "test"), ("first", "apply"), ("second", "apply")] {
        let run = env.unfurl([
            "state",
            command,
            "signatures",
            "-H",
            "@local",
            "--approve",
            "--output",
            "json",
            "--file-root",
            data.to_str().unwrap(),
            "--pillar",
            &pillar,
        ]);
        let report = run.json().to_string();
        let report: Value =
            serde_json::from_str(&report.replace(work.to_str().unwrap(), "FOLDER")).unwrap();
        for row in report.as_object().unwrap().values() {
            let id = row["__id__"].as_str().unwrap();
            let ours = without_extents(json!([row["result"], row["changes"], row["comment"]]));
            let salts = own_answer(id, name).unwrap_or_else(|| answers[id][name].clone());
            let salts = without_extents(salts);
            if ours != salts {
                differences.push(format!("{id}, {name}:\n  ours {ours}\n  Salt {salts}"));
            }
        }
    }
    let unlocked = Command::new("chattr")
        .arg("-i")
        .arg(work.join("out/flags2"))
        .status();
    assert!(
        unlocked.unwrap().success(),
        "the file has no flag to remove"
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(!work.join("out/refused").exists());
}
