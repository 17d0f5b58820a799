//! Kills and errors while a project is created: the whole project appears, or nothing.

use super::call;
use crate::support::TestEnv;

/// The number of file changes of one call.
fn count(words: &[&str]) -> usize {
    let env = TestEnv::new();
    let calls = env.work().join("../calls").display().to_string();
    env.unfurl_with(("UNFURL_TEST_FAULT", &format!("count:{calls}")), words)
        .succeeds();
    std::fs::read_to_string(calls).unwrap().lines().count()
}

#[test]
fn a_killed_init_leaves_a_whole_project_or_none() {
    let words = ["init", "--mono", "proj"];
    let total = count(&words);
    assert!(total > 40, "{total}");
    for number in (1..=total).step_by(total / 8) {
        let env = TestEnv::new();
        env.unfurl_with(("UNFURL_TEST_FAULT", &format!("kill:{number}")), &words);
        if env.work().join("proj").exists() {
            call(&env, "proj", &["deploy", "--approve"]).succeeds();
        } else {
            env.unfurl(words).succeeds();
        }
    }
}

#[test]
fn a_full_disk_leaves_no_half_project_and_is_explained() {
    let words = ["init", "proj"];
    let total = count(&words);
    for number in (1..=total).step_by(total / 5) {
        let env = TestEnv::new();
        let fault = format!("fail-from:ENOSPC:{number}");
        let run = env.unfurl_with(("UNFURL_TEST_FAULT", &fault), &words);
        if env.work().join("proj").exists() {
            call(&env, "proj", &["deploy", "--approve"]).succeeds();
        } else {
            run.exits(1).says(&["no space left on device"]);
        }
    }
}
