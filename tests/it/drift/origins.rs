//! Where a difference comes from: the job that last set a value, the failed job that left it, and since when it is seen.

use super::{drift, finding, make_repository};
use crate::support::TestEnv;

const MODEL: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      inputs:
        code: {type: integer, default: 0}
      node_templates:
        server:
          type: tosca:Root
          interfaces:
            Standard:
              operations:
                configure:
                  implementation: Shell
                  inputs:
                    command: \"touch made; exit {{ {'get_input': 'code'} | eval }}\"
            Install:
              operations:
                check:
                  implementation: Shell
                  inputs:
                    command: test -e made
                    resultTemplate:
                      readyState: \"{{ 'ok' if success else 'error' }}\"
";

/// The id of the last job.
fn last_job(env: &TestEnv) -> String {
    let id = &env.ensemble()["lastJob"]["changeId"];
    id.as_str().unwrap().to_owned()
}

fn remove(env: &TestEnv) {
    std::fs::remove_file(env.work().join("made")).unwrap();
}

#[test]
fn a_difference_names_the_job_and_the_person_and_a_check_does_not_take_their_place() {
    let env = TestEnv::with_ensemble(MODEL);
    make_repository(&env);
    env.unfurl(["deploy", "--approve", "--commit"]).succeeds();
    let (job, commit) = (last_job(&env), env.git(&["rev-parse", "HEAD"]));
    remove(&env);
    let (_, first) = drift(&env, &[]);
    env.unfurl(["check", "--commit"]).exits(64);
    let (_, second) = drift(&env, &[]);
    for document in [&first, &second] {
        let server = finding(document, "status");
        let set = &server["last_set"];
        assert_eq!(set["job"], job.as_str(), "{document:#}");
        assert_eq!(set["person"], "tester");
        assert!(commit.starts_with(set["commit"].as_str().unwrap()), "{set}");
        assert!(set["task"].as_str().unwrap().starts_with(&job[..8]));
        assert!(server["left_by"].is_null(), "{server}");
    }
    let (first, second) = (finding(&first, "status"), finding(&second, "status"));
    assert_eq!(first["since"], second["since"]);
    assert_eq!((&first["count"], &second["count"]), (&1.into(), &2.into()));
    assert!(first["seen"].as_str() < second["seen"].as_str());
}

#[test]
fn a_difference_after_a_failed_job_is_left_by_it_and_later_ones_are_not() {
    let env = TestEnv::with_ensemble(MODEL);
    make_repository(&env);
    env.unfurl(["deploy", "--approve", "--commit"]).succeeds();
    assert_eq!(drift(&env, &[]).0, 0);
    let fail = [
        "deploy",
        "--approve",
        "--commit",
        "--var",
        "input_code",
        "1",
    ];
    env.unfurl(fail).exits(64);
    let failed = last_job(&env);
    remove(&env);
    for _ in 0..2 {
        let (code, document) = drift(&env, &[]);
        assert_eq!(code, 3, "{document:#}");
        assert_eq!(finding(&document, "status")["left_by"], failed.as_str());
        env.unfurl(["check"]).exits(64);
    }
    env.unfurl(["drift", "--repair", "--approve"]).succeeds();
    remove(&env);
    let (_, document) = drift(&env, &[]);
    let server = finding(&document, "status");
    assert!(server["left_by"].is_null(), "{server}");
    assert_eq!(server["count"], 1);
}
