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
    let env = prepared();
    let work = env.work();
    let data = data();
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

/// Applies a state file of the test on this machine, and returns its rows by ID.
fn applied(env: &TestEnv, command: &str, states: &str) -> BTreeMap<String, Value> {
    env.write("states/checked.sls", states);
    let target = ["-H", "@local", "--approve", "--output", "json"];
    let run = env.unfurl(["state", command, "checked"].iter().chain(&target));
    let report = run.json();
    let rows = report.as_object().unwrap_or_else(|| panic!("{run}"));
    let id = |row: &Value| row["__id__"].as_str().unwrap().to_owned();
    rows.values().map(|row| (id(row), row.clone())).collect()
}

/// Prepares the keys and files of the recorded states, and copies the files to the state tree of the test.
fn prepared() -> TestEnv {
    let env = TestEnv::new();
    let prepared = Command::new("sh")
        .arg(data().join("setup.sh"))
        .args([&data(), &env.work()])
        .status();
    assert!(prepared.unwrap().success());
    env.write("states/checked.sls", "");
    for name in ["file", "file.sig", "changed"] {
        fs::copy(data().join(name), env.work().join("states").join(name)).unwrap();
    }
    env
}

#[test]
fn a_command_sees_only_content_whose_signature_is_accepted() {
    requires!("gpg");
    let env = prepared();
    let folder = env.work().display().to_string();
    let state = |id: &str| {
        format!(
            "{id}:\n  file.managed:\n  - name: {folder}/out/checked-{id}\n  - source: salt://{id}\n  - signature: salt://file.sig\n  \
             - gnupghome: {folder}/home\n  - check_cmd: cp -t {folder}/out --backup=numbered\n  - tmp_ext: -{id}\n"
        )
    };
    let assumed = state("assumed") + "  - assume_present: true\n";
    let states =
        state("changed") + &state("file") + &assumed.replace("salt://assumed", "salt://file");
    let rows = applied(&env, "apply", &states);
    assert_eq!(
        rows["changed"]["comment"],
        "Failed checking new file's signature: The file's signature could not be verified: The signature could not be verified."
    );
    assert_eq!(rows["file"]["result"], true, "{}", rows["file"]);
    assert_eq!(
        rows["assumed"]["comment"],
        "`assume_present` verifies no `signature`"
    );
    let out = |name: &str| env.work().join("out").join(name).exists();
    assert!(!out("checked-changed") && !out("file-changed"));
    assert!(out("checked-file") && out("file-file"));
}

#[test]
fn a_signature_of_a_revoked_key_is_not_accepted() {
    requires!("gpg");
    let env = prepared();
    let home = env.work().join("own");
    let script = format!(
        "set -e; cd {}; mkdir -m 700 own; g='gpg --homedir own --batch --quiet --pinentry-mode loopback --passphrase='\n\
         $g --quick-generate-key revoked@example.com ed25519 sign never 2>own/log\n\
         $g --output states/file.sig --yes --detach-sign states/file\n\
         sed 's/^:-/-/' own/openpgp-revocs.d/*.rev >own/revocation",
        env.work().display()
    );
    let made = Command::new("sh").args(["-c", &script]).status();
    assert!(made.unwrap().success());
    let state = |id: &str| {
        format!(
            "{id}:\n  file.managed:\n  - name: {}/out/{id}\n  - source: salt://file\n  - signature: salt://file.sig\n  \
             - gnupghome: {}\n",
            env.work().display(),
            home.display()
        )
    };
    let rows = applied(&env, "apply", &state("before"));
    assert_eq!(rows["before"]["result"], true, "{}", rows["before"]);
    let revoked = Command::new("gpg")
        .args(["--batch", "--quiet", "--homedir"])
        .args([&*home, Path::new("--import"), &home.join("revocation")])
        .status();
    assert!(revoked.unwrap().success());
    let rows = applied(&env, "apply", &state("after"));
    assert_eq!(rows["after"]["result"], false, "{}", rows["after"]);
    assert!(!env.work().join("out/after").exists());
}

#[test]
fn a_fetched_archive_that_is_not_accepted_is_removed() {
    requires!("root", "gpg");
    let env = prepared();
    let folder = env.work().display().to_string();
    // The name of the test's folder makes the archive, and thus its copy, different from those of other tests.
    let name = format!("{}.tar", env.work().file_name().unwrap().display());
    let packed = Command::new("tar")
        .args(["-cf", &format!("states/{name}"), "states/file"])
        .current_dir(env.work())
        .status();
    assert!(packed.unwrap().success());
    let state = |id: &str, check: &str| {
        format!(
            "{id}:\n  archive.extracted:\n  - name: {folder}/out/{id}\n  - source: salt://{name}\n  {check}\n"
        )
    };
    let copies = || {
        let names = fs::read_dir("/var/cache/unfurl/archives").into_iter();
        let names = names
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|copy| copy.ends_with(&name)).count()
    };
    for (id, check) in [
        ("sum", format!("- source_hash: {}", "0".repeat(64))),
        (
            "signature",
            format!("- signature: salt://file.sig\n  - gnupghome: {folder}/home"),
        ),
    ] {
        let rows = applied(&env, "apply", &state(id, &check));
        assert_eq!(rows[id]["result"], false, "{}", rows[id]);
        assert_eq!(copies(), 0, "{id}");
    }
    let rows = applied(&env, "apply", &state("plain", "- skip_verify: true"));
    assert_eq!(rows["plain"]["result"], true, "{}", rows["plain"]);
    assert_eq!(copies(), 1);
    let removed = Command::new("sh")
        .args(["-c", &format!("rm /var/cache/unfurl/archives/*{name}")])
        .status();
    assert!(removed.unwrap().success());
}

#[test]
fn copies_stay_in_the_folder_of_their_environment() {
    requires!("root");
    let env = TestEnv::new();
    let cached = Path::new("/var/cache/unfurl/extrn_files/base/copies.test");
    fs::create_dir_all(cached).unwrap();
    fs::write(cached.join("file"), "x").unwrap();
    let state = |id: &str, rest: &str| format!("{id}:\n  file.not_cached:\n  - name: '{rest}'\n");
    let states = [
        state("up", "http://copies.test/../../.."),
        state("folder", "salt://.."),
        state("env", "salt://x?saltenv=.."),
        state(
            "known",
            "https://user:hunter2@copies.test/../copies.test/file",
        ),
    ];
    let rows = applied(&env, "test", &states.concat());
    let comment = |id: &str| rows[id]["comment"].as_str().unwrap();
    assert_eq!(comment("up"), "`http://copies.test/../../..` names no file");
    assert_eq!(comment("folder"), "`salt://..` names no file");
    assert_eq!(comment("env"), "`..` is no name of an environment");
    assert_eq!(
        comment("known"),
        "/var/cache/unfurl/extrn_files/base/copies.test/file is set to be deleted"
    );
    fs::remove_dir_all(cached).unwrap();
}
