//! The occasions of notices.

use super::project::{break_task, notices, project, serve, set_file, titles};
use crate::support::wait_for;

#[test]
fn a_change_is_notified_once_after_the_number_of_sightings_and_again_when_it_is_gone() {
    let env = project(
        "d: {every: 1h, action: drift, notify: [{command: cat >> notices, on: [change, recovery], after: 2}]}",
    );
    let run = || {
        env.unfurl(["schedule", "run", "d"]).succeeds();
    };
    env.unfurl(["deploy", "--approve"]).succeeds();
    run();
    assert!(titles(&env).is_empty());
    set_file(&env, "down", true);
    run();
    assert!(titles(&env).is_empty());
    run();
    run();
    assert_eq!(titles(&env), ["d: 1 new"]);
    let notice = &notices(&env)[0];
    assert_eq!(notice["new"][0]["instance"], "app", "{notice}");
    assert_eq!(notice["new"][0]["kind"], "outside", "{notice}");
    assert_eq!(notice["occasions"], serde_json::json!(["change"]));
    set_file(&env, "down", false);
    run();
    run();
    assert_eq!(titles(&env), ["d: 1 new", "d: 1 gone, clean again"]);
}

#[test]
fn a_failure_is_notified_once_and_so_is_the_recovery() {
    let env = project(
        "t: {every: 1h, action: task, task: look, notify: [{command: cat >> notices, on: [failure, recovery]}]}",
    );
    let run = |code| {
        env.unfurl(["schedule", "run", "t"]).exits(code);
    };
    run(0);
    assert!(titles(&env).is_empty());
    break_task(&env, true);
    run(1);
    run(1);
    let titles_so_far = titles(&env);
    assert_eq!(titles_so_far.len(), 1, "{titles_so_far:?}");
    assert!(
        titles_so_far[0].starts_with("t: the run failed: "),
        "{titles_so_far:?}"
    );
    break_task(&env, false);
    run(0);
    run(0);
    assert_eq!(titles(&env)[1..], ["t: clean again"]);
}

#[test]
fn silence_is_notified_when_nothing_has_looked_for_some_intervals() {
    let env = project(
        "t: {every: 1s, action: task, task: look, notify: [{command: cat >> notices, on: [silence, recovery], silence: 2}]}",
    );
    break_task(&env, true);
    let server = serve(&env);
    let first = wait_for("the notice", || titles(&env).first().cloned());
    assert!(first.starts_with("t: nothing has looked for "), "{first}");
    break_task(&env, false);
    wait_for("the recovery", || {
        let titles = titles(&env);
        assert!(titles.len() <= 2, "{titles:?}");
        titles
            .into_iter()
            .nth(1)
            .filter(|it| it.ends_with("clean again"))
    });
    drop(server);
}

#[test]
fn silence_of_another_schedule_is_seen_by_a_run_that_cron_starts() {
    let env = project(
        "a: {every: 1h, action: task, task: look}
quiet: {every: 1m, action: task, task: look, notify: [{command: cat >> notices, on: silence}]}",
    );
    let hours_ago = "2026-01-01T00:00:30Z";
    let log = format!("started\t{hours_ago}\tevery 1m\n");
    env.write("local/schedules/quiet.tsv", &log);
    env.unfurl(["schedule", "run", "a", "--if-due"]).succeeds();
    let titles = titles(&env);
    assert_eq!(titles.len(), 1, "{titles:?}");
    assert!(
        titles[0].starts_with("quiet: nothing has looked for "),
        "{titles:?}"
    );
}
