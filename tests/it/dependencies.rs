//! The features of the libraries that the program is built from.

use std::collections::BTreeSet;
use std::process::Command;

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
