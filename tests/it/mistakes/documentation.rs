//! The examples of `docs/checks.md`: each one has exactly the finding that it shows.

use std::collections::BTreeSet;
use std::path::Path;

use unfurl::testing::diagnostic::Check;

use super::findings;
use crate::support::TestEnv;

/// The checks without an example: a reason of their own is needed for each.
const WITHOUT_EXAMPLE: [&str; 2] = [
    // Each problem of reading a project is another one.
    "load",
    // A baseline is a file of its own; `baseline.rs` tests it.
    "unused-baseline",
];

/// An example, with the name of its check.
struct Example {
    check: String,
    text: String,
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/checks.md");
    std::fs::read_to_string(path).unwrap()
}

fn examples() -> Vec<Example> {
    let page = page();
    let parts = page.split("<!-- example: ").skip(1);
    let example = |part: &str| {
        let (check, rest) = part.split_once(" -->").unwrap();
        let (_, rest) = rest.split_once("```yaml\n").unwrap();
        let (text, _) = rest.split_once("```").unwrap();
        Example {
            check: check.to_owned(),
            text: text.to_owned(),
        }
    };
    parts.map(example).collect()
}

#[test]
fn each_check_has_a_section_and_an_example_with_exactly_this_finding() {
    let page = page();
    let sections: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .collect();
    let all: BTreeSet<&str> = Check::ALL.iter().map(|check| check.name()).collect();
    assert_eq!(sections, all);
    let shown: BTreeSet<String> = examples()
        .into_iter()
        .map(|example| example.check)
        .collect();
    let missing: Vec<_> = all.iter().filter(|name| !shown.contains(**name)).collect();
    assert_eq!(missing, WITHOUT_EXAMPLE.iter().collect::<Vec<_>>());
    for Example { check, text } in examples() {
        let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
        let indented = lines.join("\n");
        let ensemble = format!(
            "apiVersion: unfurl/v1alpha1\nkind: Ensemble\nspec:\n  service_template:\n{indented}"
        );
        let env = TestEnv::with_ensemble(&ensemble);
        if check == "shellcheck" {
            requires!("shellcheck");
            let run = env.unfurl(["validate", "--output", "json"]);
            assert_eq!(run.json()["errors"][0]["check"], "shellcheck", "{run}");
            continue;
        }
        let (run, found) = findings(&env, &[]);
        let found: Vec<_> = found.iter().map(|finding| finding.check.as_str()).collect();
        let expected: &[&str] = if check == "hidden" { &[] } else { &[&check] };
        assert_eq!(found, expected, "{check}: {run}");
    }
}
