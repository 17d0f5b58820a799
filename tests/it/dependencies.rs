//! The libraries that the program is built from: their features, licences and sources.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

/// The packages that cargo builds for these kinds of edges, one line each, with their features.
fn packages(kinds: &str) -> BTreeSet<String> {
    let arguments = ["tree", "--locked", "--offline", "--prefix", "none"];
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--edges", kinds, "--format", "{p} {f}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)"));
    lines.map(str::to_owned).collect()
}

/// Cargo compiles a package twice if its features differ between the tests and the program.
#[test]
fn tests_need_no_other_features_of_the_libraries_of_the_program() {
    let program = packages("normal,build");
    let tests = packages("normal,build,dev");
    assert!(program.len() > 100, "{program:#?}");
    let twice: Vec<_> = program.difference(&tests).collect();
    assert!(twice.is_empty(), "compiled twice: {twice:#?}");
}

/// The answer of `cargo metadata` about all crates in `Cargo.lock`.
fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs the check of the test command on metadata, and returns whether it passes and its messages.
fn checked(metadata: &Value) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("metadata.json");
    fs::write(&file, metadata.to_string()).unwrap();
    let output = Command::new("python3")
        .args(["tests/supply_chain.py", "tests/data/licences.txt"])
        .arg(&file)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    (output.status.success(), said)
}

const UNLISTED: &str = "the list does not accept";
const INVALID: &str = "is not a valid expression";
const FOREIGN: &str = "only the index of crates is allowed";
const GIT: &str = r#""git+https://git.example.com/serde#0123456789012345678901234567890123456789""#;
const OTHER_INDEX: &str = r#""registry+https://git.example.com/other-index""#;

/// Crates with a changed fact, as JSON, and a part of the message.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("serde", "license", r#""GPL-3.0-only""#, UNLISTED),
    ("serde", "license", r#""MIT AND GPL-3.0-only""#, UNLISTED),
    (
        "serde",
        "license",
        r#""(MIT OR ISC) AND SSPL-1.0""#,
        UNLISTED,
    ),
    ("serde", "license", r#""MIT WITH some-exception""#, UNLISTED),
    ("serde", "license", r#""mit""#, UNLISTED),
    ("serde", "license", r#""MIT GPL-3.0-only""#, INVALID),
    ("serde", "license", r#""MIT OR""#, INVALID),
    ("serde", "license", r#""(MIT""#, INVALID),
    ("serde", "license", "null", "names no licence"),
    ("serde", "license", r#""""#, "names no licence"),
    (
        "mt19937",
        "license",
        r#""GPL-3.0-only""#,
        "and the list says `file LICENSE`",
    ),
    ("mt19937", "name", r#""mt""#, "which nothing uses"),
    ("serde", "source", GIT, FOREIGN),
    ("serde", "source", OTHER_INDEX, FOREIGN),
    (
        "serde",
        "source",
        "null",
        "only members of this workspace may",
    ),
];

/// S12: a crate from elsewhere, or with a licence that nobody accepted, fails the test command.
#[test]
fn s12_crates_with_other_licences_or_sources_are_refused() {
    requires!("python3");
    let mut whole = metadata();
    let packages = whole["packages"].as_array_mut().unwrap();
    packages.retain(|it| ["serde", "mt19937"].iter().any(|name| it["name"] == **name));
    let (passes, said) = checked(&whole);
    assert!(passes, "{said}");
    for (name, key, value, expected) in REFUSED {
        let mut doctored = whole.clone();
        let mut packages = doctored["packages"].as_array_mut().unwrap().iter_mut();
        let package = packages.find(|it| it["name"] == **name).unwrap();
        package[*key] = serde_json::from_str(value).unwrap();
        let (passes, said) = checked(&doctored);
        assert!(!passes && said.contains(expected), "{key}: {value}\n{said}");
    }
}
