//! The delivery to webhooks and programs.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::project::{break_task, ended_runs, log, project, serve, titles, undelivered};
use super::receiver::Receiver;
use crate::support::wait_for;

/// Returns the HMAC of a body as openssl computes it.
fn hmac(key: &str, body: &[u8]) -> String {
    let mut openssl = Command::new("openssl")
        .args(["dgst", "-sha256", "-hmac", key, "-r"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    openssl.stdin.take().unwrap().write_all(body).unwrap();
    let output = openssl.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split(' ').next().unwrap().to_owned()
}

#[test]
fn a_webhook_gets_json_with_a_signature() {
    requires!("openssl");
    let receiver = Receiver::start(&[204]);
    let env = project(&format!(
        "t: {{every: 1h, action: task, task: look, notify: [{{webhook: {{url: 'http://{}/hooks/T0K3N', secret: {{env: HOOK_KEY}}}}}}]}}",
        receiver.address
    ));
    let env = env.variable("HOOK_KEY", "k3y");
    break_task(&env, true);
    env.unfurl(["schedule", "run", "t"]).exits(1);
    let requests = receiver.requests();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert!(request.head[0].starts_with("POST /hooks/T0K3N HTTP/1.1"));
    assert_eq!(request.header("content-type").unwrap(), "application/json");
    let signature = request.header("x-unfurl-signature").unwrap();
    assert_eq!(signature, format!("sha256={}", hmac("k3y", &request.body)));
    let notice: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(notice["schedule"], "t");
    assert_eq!(
        request.header("x-unfurl-delivery").unwrap(),
        notice["id"].as_str().unwrap()
    );
    assert!(undelivered(&env, "t").is_empty());
}

#[test]
fn a_refusal_of_a_webhook_is_final_and_in_the_log() {
    let receiver = Receiver::start(&[404]);
    let env = project(&format!(
        "t: {{every: 1h, action: task, task: look, notify: [{{webhook: {{url: 'http://{}/'}}}}]}}",
        receiver.address
    ));
    break_task(&env, true);
    let run = env.unfurl(["schedule", "run", "t"]).exits(1);
    run.says(&[
        "t: the notice to webhook at",
        "is given up: the server answered with status 404",
    ]);
    let expected = (
        "given-up".to_owned(),
        "the server answered with status 404".to_owned(),
    );
    assert_eq!(undelivered(&env, "t"), [expected]);
    let shown = env.unfurl(["schedule", "log"]).succeeds();
    shown.prints(&[
        "Notices that were not delivered:",
        "given up (1)",
        "status 404",
    ]);
    env.unfurl(["schedule", "run", "t"]).exits(1);
    assert_eq!(receiver.requests().len(), 1, "the same failure is known");
}

#[test]
fn a_webhook_that_hangs_holds_up_nothing_else() {
    let receiver = Receiver::start(&[0]);
    let env = project(&format!(
        "t: {{every: 1s, action: task, task: look, notify: [
  {{time_limit: 500ms, on: failure, webhook: {{url: 'http://{}/'}}}}, {{on: failure, command: cat >> notices}}]}}",
        receiver.address
    ));
    break_task(&env, true);
    let server = serve(&env);
    server.wait_until_it_says("waits until");
    server.wait_until_it_says("no answer within 0.5 s");
    wait_for("the other notice", || titles(&env).into_iter().next());
    wait_for("three runs", || (ended_runs(&env, "t") >= 3).then_some(()));
    let (state, reason) = undelivered(&env, "t").remove(0);
    assert_eq!(state, "waits");
    assert!(
        reason.starts_with("no answer within 0.5 s; next attempt at "),
        "{reason}"
    );
    drop(server);
}

#[test]
fn a_command_that_fails_or_hangs_is_in_the_log_and_the_schedule_continues() {
    let env = project(
        "t: {every: 1s, action: task, task: look, notify: [
  {on: failure, command: [sh, -c, 'echo bad luck >&2; exit 3']},
  {on: failure, time_limit: 300ms, command: [sleep, '600']},
  {on: failure, command: [no-such-program]}]}",
    );
    break_task(&env, true);
    let server = serve(&env);
    server.wait_until_it_says("`sh` ended with exit code 3: bad luck");
    server.wait_until_it_says("`sleep` did not end within 0.3 s");
    server.wait_until_it_says("`no-such-program` was not found");
    wait_for("three rows", || {
        (undelivered(&env, "t").len() == 3).then_some(())
    });
    wait_for("three runs", || (ended_runs(&env, "t") >= 3).then_some(()));
    let log = log(&env, "t");
    assert_eq!(log["rows"][0]["status"], "failed", "{log}");
    drop(server);
}

#[test]
fn a_missing_secret_is_named_by_its_place() {
    let receiver = Receiver::start(&[200]);
    let places = [
        "{env: NO_SUCH_KEY}",
        "{file: no/such/key}",
        "{backend: vault, name: hook}",
    ];
    let rules = places.map(|place| {
        format!(
            "{{webhook: {{url: 'http://{}/{}', secret: {place}}}}}",
            receiver.address,
            place.len()
        )
    });
    let env = project(&format!(
        "t: {{every: 1h, action: task, task: look, notify: [{}]}}",
        rules.join(", ")
    ));
    break_task(&env, true);
    env.unfurl(["schedule", "run", "t"]).exits(1);
    let failed = undelivered(&env, "t");
    assert_eq!(failed.len(), 3, "{failed:?}");
    let reasons: Vec<&str> = failed.iter().map(|(_, reason)| &**reason).collect();
    for text in [
        "the variable `NO_SUCH_KEY`",
        "no/such/key",
        "no secret backend",
    ] {
        assert!(
            reasons.iter().any(|it| it.contains(text)),
            "{text}: {reasons:?}"
        );
    }
    assert!(receiver.requests().is_empty());
}
