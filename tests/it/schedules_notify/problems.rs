//! Mistakes in the section `schedules` are reported at their places.

use super::project::{project, set_schedules};

const WRONG: &str = "a: {every: 1h, acton: drift, action: drift}
b: {cron: 61 * * * *, action: check}
c: {cron: 0 2 * * *, timezone: Europe/Berlim, action: check}
d: {every: 1h, action: check, notify: [{comand: x}, {command: x, on: chnage}]}
fine: {every: 1h, action: check}";

#[test]
fn validate_and_list_report_each_mistake_at_its_place_with_a_hint() {
    let env = project(WRONG);
    let expected = [
        "the schedule `a` has no key `acton`",
        "did you mean `action`?",
        "unfurl.yaml:4:",
        "the schedule `b`: ",
        "unfurl.yaml:5:",
        "the time zone `Europe/Berlim` is unknown",
        "did you mean `Europe/Berlin`?",
        "an entry of `notify` has no key `comand`",
        "did you mean `command`?",
        "`chnage` is no value of `on` of `notify`",
        "did you mean `change`?",
        "unfurl.yaml:7:",
    ];
    for arguments in [
        &["validate"][..],
        &["validate", "unfurl.yaml"],
        &["schedule", "list"],
    ] {
        env.unfurl(arguments).exits(1).says(&expected);
    }
    let list = env
        .unfurl(["schedule", "list", "--output", "json"])
        .exits(1)
        .json();
    assert_eq!(list["invalid"], serde_json::json!(["a", "b", "c", "d"]));
    assert_eq!(list["schedules"][0]["name"], "fine");
}

#[test]
fn the_server_reports_mistakes_and_runs_the_other_schedules() {
    let env = project(&WRONG.replace("fine: {every: 1h", "fine: {every: 1s"));
    let server = env.start(["serve"]);
    server.wait_until_it_says("did you mean `Europe/Berlin`?");
    server.wait_until_it_says("fine: ");
    set_schedules(
        &env,
        "fine: {every: 1s, action: check, notify: [{mail: {to: 'a b@c'}}]}",
    );
    server.wait_until_it_says("a blank or a control character is in it");
    drop(server);
}

#[test]
fn validate_accepts_schedules_without_mistakes() {
    let env = project("fine: {every: 1h, action: check, notify: [{command: x}]}");
    env.unfurl(["validate"]).succeeds();
    env.unfurl(["validate", "unfurl.yaml"]).succeeds();
}
