//! The tables of the documentation name tests that exist.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Collects the names of all tests below a folder.
fn collect_tests(folder: &Path, found: &mut HashSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_tests(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let tests = text.split("#[test]").skip(1);
            let names = tests.filter_map(|rest| rest.split_once("fn ")?.1.split_once('('));
            found.extend(names.map(|(name, _)| name.to_owned()));
        }
    }
}

#[test]
fn each_statement_of_fabric_and_of_executors_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = HashSet::new();
    collect_tests(&root.join("tests/it"), &mut tests);
    collect_tests(&root.join("src"), &mut tests);
    for (file, least) in [("docs/from-fabric.md", 36), ("docs/executors.md", 11)] {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let rows = text.lines().skip_while(|line| !line.ends_with("| test |"));
        let rows: Vec<&str> = rows
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .collect();
        assert!(rows.len() >= least, "{file} has {} rows", rows.len());
        for row in rows {
            let name = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
            let name = name.trim_matches('`');
            assert!(tests.contains(name), "{file}: {name}");
        }
    }
}
