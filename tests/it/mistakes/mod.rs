//! Files with mistakes, and files without: the findings of `validate`.

mod annotations;
mod baseline;
mod documentation;
mod ensembles;
mod shellcheck;
mod tosca;

use serde_json::Value as Json;

use crate::support::{Run, TestEnv};

/// A finding: its place, severity, check, message and hint.
#[derive(Debug)]
pub(super) struct Finding {
    /// The file below the ensemble, line and column, such as `ensemble.yaml:5:13`. Empty without a place.
    pub(super) place: String,
    pub(super) severity: String,
    pub(super) check: String,
    pub(super) message: String,
    pub(super) hint: String,
}

/// Returns the findings of `validate` in the folder of an ensemble, with further arguments.
pub(super) fn findings(env: &TestEnv, arguments: &[&str]) -> (Run, Vec<Finding>) {
    let mut all = vec!["validate", "--no-shellcheck", "--output", "json"];
    all.extend(arguments);
    let run = env.unfurl(&all).does_not_panic();
    let json = run.json();
    let found = json["errors"].as_array().unwrap().iter().map(finding);
    (run, found.collect())
}

fn finding(problem: &Json) -> Finding {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let place = problem["labels"].get(0).map(|label| {
        let file = label["file"].as_str().unwrap();
        format!("{file}:{}:{}", label["line"], label["column"])
    });
    Finding {
        place: place.unwrap_or_default(),
        severity: text(&problem["severity"]),
        check: text(&problem["check"]),
        message: text(&problem["message"]),
        hint: text(&problem["help"]),
    }
}
