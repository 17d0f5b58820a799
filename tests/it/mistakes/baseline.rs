//! Findings that a comment or a baseline hides.

use super::findings;
use crate::support::TestEnv;

const TWO_WARNINGS: &str = "
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      outputs:
        one: {value: {eval: '::first'}}
        two: {value: {eval: '::second'}}
";

fn checks(env: &TestEnv, arguments: &[&str]) -> Vec<String> {
    let (_, found) = findings(env, arguments);
    found.into_iter().map(|finding| finding.check).collect()
}

#[test]
fn a_comment_with_a_reason_hides_a_finding_in_validate_and_in_jobs() {
    let text = TWO_WARNINGS.replace(
        "'::first'}}",
        "'::first'}} # unfurl: ignore[empty-path] a task adds it",
    );
    let env = TestEnv::with_ensemble(&text);
    assert_eq!(checks(&env, &[]), ["empty-path"]);
    let run = env.unfurl(["plan"]).succeeds();
    assert!(
        run.stderr.contains("`second`") && !run.stderr.contains("`first`"),
        "{run}"
    );
}

#[test]
fn a_comment_that_hides_nothing_is_a_finding() {
    let text = TWO_WARNINGS.replace(
        "'::first'}}",
        "'::first'}} # unfurl: ignore[missing-file] no longer true",
    );
    let env = TestEnv::with_ensemble(&text);
    assert_eq!(
        checks(&env, &[]),
        ["empty-path", "unused-ignore", "empty-path"]
    );
}

#[test]
fn a_baseline_hides_old_findings_and_only_becomes_smaller() {
    let env = TestEnv::with_ensemble(TWO_WARNINGS);
    env.unfurl(["validate", "--baseline", "old.txt"])
        .exits(1)
        .says(&["there is no baseline `old.txt`"]);
    let create = [
        "validate",
        "--no-shellcheck",
        "--baseline",
        "old.txt",
        "--update-baseline",
    ];
    env.unfurl(create)
        .succeeds()
        .says(&["wrote 2 findings to `old.txt`"]);
    let strict = ["--strict", "--baseline", "old.txt"];
    assert!(checks(&env, &strict).is_empty());
    // A line before the findings changes nothing, and a new finding is reported.
    let more =
        format!("# A comment\n{TWO_WARNINGS}        three: {{value: {{eval: '::third'}}}}\n");
    env.write("ensemble.yaml", &more.replace("'::first'", "'::root'"));
    assert_eq!(
        checks(&env, &["--baseline", "old.txt"]),
        ["empty-path", "unused-baseline"]
    );
    env.unfurl(create)
        .succeeds()
        .says(&["removed 1 finding from `old.txt`"]);
    assert_eq!(env.read("old.txt").lines().count(), 2);
    assert_eq!(checks(&env, &["--baseline", "old.txt"]), ["empty-path"]);
    // The folder in which the command runs does not count.
    std::fs::create_dir(env.work().join("sub")).unwrap();
    let run = env.unfurl_in(
        "sub",
        &[],
        &["validate", "--baseline", "../old.txt", "../ensemble.yaml"],
    );
    assert!(run.stderr.contains("1 finding accepted"), "{run}");
}

#[test]
fn another_file_is_never_taken_for_a_baseline() {
    let env = TestEnv::with_ensemble(TWO_WARNINGS);
    let run = env.unfurl([
        "validate",
        "--baseline",
        "ensemble.yaml",
        "--update-baseline",
    ]);
    run.exits(1).says(&["`ensemble.yaml` is not a baseline"]);
    assert_eq!(env.read("ensemble.yaml"), TWO_WARNINGS);
}
