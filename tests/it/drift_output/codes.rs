//! The exit codes.

use super::{SHOP, drift, set_status, shop};
use crate::support::TestEnv;

#[test]
fn the_code_is_3_for_drift_even_if_something_cannot_be_determined() {
    let env = shop();
    drift(&env, &[]).exits(0);
    set_status(&env, "web1", "error");
    drift(&env, &[]).exits(3);
    std::fs::remove_file(env.work().join("web2.status")).unwrap();
    drift(&env, &[]).exits(3).prints(&[
        "! drifted  web1: status: ok → error",
        "? cannot tell  web2: status",
        "Drift in work: 1 drifted, 1 cannot tell; 3 of 4 looked at",
    ]);
    set_status(&env, "web1", "ok");
    drift(&env, &[])
        .exits(1)
        .prints(&["No drift found in work, but 1 cannot tell; 3 of 4 looked at"]);
}

#[test]
fn the_code_is_64_for_an_ensemble_that_cannot_be_loaded() {
    let env = TestEnv::with_ensemble(&SHOP.replace("node_templates:", "node_templatez:"));
    let run = drift(&env, &[]).exits(64);
    run.prints(&["✗ work cannot be loaded:", "ensemble.yaml:"]);
    let run = drift(&env, &["--output", "json"]).exits(64);
    assert_eq!(run.json()["status"], "invalid");
    assert_eq!(run.json()["ensembles"][0]["problem"]["kind"], "invalid");
    drift(&env, &["missing"]).exits(64);
}

#[test]
fn the_verdict_over_ensembles_is_the_worst() {
    let env = shop();
    env.write(
        "bad/ensemble.yaml",
        &SHOP.replace("node_templates:", "node_templatez:"),
    );
    drift(&env, &[".", "bad"])
        .exits(64)
        .prints(&["No drift found in 2 ensembles; 1 ensemble cannot be loaded; 4 of 4 looked at"]);
    std::fs::remove_file(env.work().join("web2.status")).unwrap();
    drift(&env, &[".", "bad"]).exits(64);
    set_status(&env, "web1", "error");
    drift(&env, &[".", "bad"]).exits(3).prints(&[
        "Drift in 1 of 2 ensembles: 1 drifted, 1 cannot tell; 1 ensemble cannot be loaded",
    ]);
}

#[test]
fn an_ensemble_with_a_running_job_cannot_be_told_and_its_log_can_be_read() {
    let env = shop();
    drift(&env, &[]).exits(0);
    let waits = "until [ -e go ]; do sleep 0.01; done";
    let text = env.read("ensemble.yaml").replace(
        "        web1: {type: Process",
        &format!("        slow: {{type: tosca:Root, interfaces: {{Standard: {{create: 'touch began; {waits}'}}}}}}\n        web1: {{type: Process"),
    );
    env.write("ensemble.yaml", &text);
    let before = env.read("drift.tsv");
    let job = env.start(["deploy", "--approve", "--output", "none"]);
    crate::support::wait_for("the task", || {
        env.work().join("began").exists().then_some(())
    });
    drift(&env, &[])
        .exits(1)
        .prints(&["✗ work is locked:", "Nothing known: work is locked"]);
    let run = drift(&env, &["--output", "json"]).exits(1);
    assert_eq!(run.json()["status"], "cannot-tell");
    drift(&env, &["--log"])
        .exits(0)
        .prints(&["clean", "4 of 4 looked at"]);
    assert_eq!(env.read("drift.tsv"), before);
    env.write("go", "");
    job.ends().succeeds();
}
