//! The notes of `status`, `plan` and `explain` about recorded drift.

use super::{deploy, drift, set_status, shop};
use crate::support::TestEnv;

/// Asserts that all three commands tell of the drift of `web1`, or that none does.
#[track_caller]
fn assert_noted(env: &TestEnv, is_noted: bool) {
    let text = |words: &[&str]| env.unfurl(words).succeeds().stdout;
    let status = text(&["status"]);
    assert_eq!(status.contains("! drifted since "), is_noted, "{status}");
    let plan = text(&["plan"]);
    assert_eq!(plan.contains("! web1 drifted since "), is_noted, "{plan}");
    let explained = text(&["explain", "web1"]);
    assert_eq!(
        explained.contains("- outside: status: ok → error"),
        is_noted,
        "{explained}"
    );
    let status = env.unfurl(["status", "--output", "json"]).succeeds().json();
    assert_eq!(
        status.to_string().contains("drifted since"),
        is_noted,
        "{status}"
    );
    let explained = env
        .unfurl(["explain", "web1", "--output", "json"])
        .succeeds()
        .json();
    assert_eq!(
        explained.to_string().contains("\"outside\""),
        is_noted,
        "{explained}"
    );
}

#[test]
fn status_plan_and_explain_tell_of_drift_until_it_is_gone() {
    let env = shop();
    assert_noted(&env, false);
    set_status(&env, "web1", "error");
    assert_noted(&env, false);
    drift(&env, &[]).exits(3);
    assert_noted(&env, true);
    set_status(&env, "web1", "ok");
    drift(&env, &[]).exits(0);
    assert_noted(&env, false);
}

#[test]
fn a_job_on_the_instance_overtakes_the_notes() {
    let env = shop();
    set_status(&env, "web1", "error");
    drift(&env, &[]).exits(3);
    assert_noted(&env, true);
    set_status(&env, "web1", "ok");
    deploy(&env, &["--force", "--instance", "web2"]);
    assert_noted(&env, true);
    deploy(&env, &["--force", "--instance", "web1"]);
    assert_noted(&env, false);
}

#[test]
fn ignored_drift_is_no_note() {
    let env = shop();
    set_status(&env, "web1", "error");
    drift(&env, &[]).exits(3);
    drift(&env, &["accept", "-i", "web1", "--reason", "known"]).succeeds();
    drift(&env, &[]).exits(0);
    let status = env.unfurl(["status"]).succeeds();
    assert!(!status.stdout.contains("drifted"), "{status}");
}
