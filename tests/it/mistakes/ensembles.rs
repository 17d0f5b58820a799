//! The folders of `tests/data/mistakes` with the findings in their `expected.txt`, and those of `tests/data/no_mistakes`.
//!
//! A line of `expected.txt` is `LINE:COLUMN SEVERITY CHECK TEXT`; the message must contain the text, without the backquotes
//! around the whole. `FILE:LINE:COLUMN` names another file than `ensemble.yaml`. The line `  hint TEXT` after it is a part
//! of the hint. There must be no other findings.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Finding, findings};
use crate::support::TestEnv;

fn folders(name: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let entries = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = entries
        .filter(|path| path.join("ensemble.yaml").exists())
        .collect();
    folders.sort();
    folders
}

/// A finding that must be there.
#[derive(Debug)]
struct Expected<'a> {
    place: String,
    severity: &'a str,
    check: &'a str,
    text: &'a str,
    hint: &'a str,
}

fn expectations(text: &str) -> Vec<Expected<'_>> {
    let mut all: Vec<Expected<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(hint) = line.strip_prefix("  hint ") {
            all.last_mut().unwrap().hint = hint;
            continue;
        }
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let [place, severity, check, text] = words[..] else {
            panic!("not an expectation: {line}");
        };
        let place = match place.matches(':').count() {
            1 => format!("ensemble.yaml:{place}"),
            _ => place.to_owned(),
        };
        all.push(Expected {
            place,
            severity,
            check,
            text,
            hint: "",
        });
    }
    all
}

fn is(finding: &Finding, expected: &Expected<'_>) -> bool {
    finding.place == expected.place
        && finding.severity == expected.severity
        && finding.check == expected.check
        && finding.message.contains(expected.text)
        && finding.hint.contains(expected.hint)
}

#[test]
fn each_mistake_is_found_with_its_place_and_a_hint() {
    let folders = folders("mistakes");
    assert!(folders.len() > 50, "{}", folders.len());
    let mut problems = Vec::new();
    for folder in folders {
        let name = folder.file_name().unwrap().display().to_string();
        let env = TestEnv::with_folder(&format!("tests/data/mistakes/{name}"));
        let text = fs::read_to_string(folder.join("expected.txt")).unwrap();
        let expected = expectations(&text);
        let (run, found) = findings(&env, &[]);
        let has_errors = expected.iter().any(|it| it.severity == "error");
        let is_complete = found.len() == expected.len()
            && expected
                .iter()
                .all(|it| found.iter().any(|finding| is(finding, it)));
        if !is_complete || run.code != i32::from(has_errors) {
            problems.push(format!(
                "{name}: expected {expected:#?}, found {found:#?} with exit code {}",
                run.code
            ));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_valid_ensemble_has_no_finding_and_deploys() {
    let mut problems = Vec::new();
    for folder in folders("no_mistakes") {
        let name = folder.file_name().unwrap().display().to_string();
        let env = TestEnv::with_folder(&format!("tests/data/no_mistakes/{name}"));
        let (run, found) = findings(&env, &["--strict"]);
        if run.code != 0 || !found.is_empty() {
            problems.push(format!("{name}: {found:#?}"));
        }
        let run = env.unfurl(["deploy", "--approve"]);
        if run.code != 0 {
            problems.push(format!("{name}: {run}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_plan_shows_the_findings_and_a_deploy_does_everything_else() {
    let text = "
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        good: {type: tosca.nodes.Root, interfaces: {Standard: {configure: echo good >> log}}}
        bad: {type: tosca.nodes.Root, interfaces: {Standard: {configure: scripts/none.sh}}}
";
    let env = TestEnv::with_ensemble(text);
    let message = "the script `scripts/none.sh` of operation `Standard.configure` of node template `bad` does not exist";
    env.unfurl(["validate"]).exits(1).says(&[message]);
    env.unfurl(["plan"]).exits(64).says(&[message]);
    let run = env
        .unfurl(["deploy", "--approve"])
        .exits(64)
        .says(&[message]);
    assert_eq!(env.read("log"), "good\n", "{run}");
}

#[test]
fn a_path_that_yields_nothing_is_a_warning_and_an_error_where_it_is_strict() {
    let text = "
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      outputs:
        address: {value: {eval: '::cache::address'}}
";
    let env = TestEnv::with_ensemble(text);
    env.unfurl(["validate"])
        .exits(0)
        .says(&["warning: output `address`", "check: empty-path"]);
    env.unfurl(["validate", "--strict"])
        .exits(1)
        .says(&["error: output `address`", "1 error."]);
}
