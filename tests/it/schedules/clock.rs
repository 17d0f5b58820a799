//! Due times when the clock jumps, and over the changes of daylight saving.

use super::world::{World, end, rows_by_time};

#[test]
fn a_due_time_runs_once_over_both_changes_of_daylight_saving() {
    let world = World::new(
        "  berlin: {cron: '30 2 * * *', timezone: Europe/Berlin, action: check, ensembles: one}
  island: {cron: '45 1 * * *', timezone: Australia/Lord_Howe, action: check, ensembles: two}",
    );
    // The clocks of Berlin skip 2:30, so that it is due at 3:00, which is 1:00 UTC.
    world.set_clock("2026-03-29T00:59:57Z");
    let server = world.serve();
    world.jump(&server, "2026-03-29T01:00:00.2Z");
    world.settled("berlin", 1);
    // They repeat 2:30 seven months later. The first pass is at 0:30 UTC, the second one at 1:30.
    world.jump(&server, "2026-10-25T00:29:57Z");
    world.settled("berlin", 2);
    world.jump(&server, "2026-10-25T00:30:00.2Z");
    world.settled("berlin", 3);
    world.jump(&server, "2026-10-25T01:30:30Z");
    world.jump(&server, "2026-10-26T01:30:00.2Z");
    insta::assert_snapshot!(world.settled("berlin", 4), @"
    2026-03-29T01:00:00Z done: 1 ok
    2026-03-30T00:30:00Z x209 skipped: missed: nothing ran schedules at that time
    2026-10-25T00:30:00Z done: 1 ok
    2026-10-26T01:30:00Z done: 1 ok
    ");
    // The island moves its clocks by half an hour: its 1:45 comes at 14:45 and at 15:15 UTC.
    world.jump(&server, "2027-04-03T14:44:58Z");
    world.jump(&server, "2027-04-03T14:45:00.2Z");
    world.settled("island", 2);
    world.jump(&server, "2027-04-03T15:16:00Z");
    world.jump(&server, "2027-04-04T15:15:00.2Z");
    insta::assert_snapshot!(world.settled("island", 3), @"
    2026-03-29T14:45:00Z x370 skipped: missed: nothing ran schedules at that time
    2027-04-03T14:45:00Z done: 1 ok
    2027-04-04T15:15:00Z done: 1 ok
    ");
    end(server);
}

#[test]
fn a_clock_that_jumps_gives_each_due_time_one_row() {
    let world = World::new("  a: {every: 1h, action: task, task: mark}");
    world.set_clock("2026-05-01T09:59:30Z");
    let server = world.serve();
    world.jump(&server, "2026-05-01T10:00:00.2Z");
    world.settled("a", 1);
    // Forwards over several due times, then back over a run and over a part of the skipped times.
    world.jump(&server, "2026-05-01T14:30:00Z");
    world.settled("a", 2);
    world.jump(&server, "2026-05-01T11:30:00Z");
    server.wait_until_it_says("a: the clock went back to 2026-05-01T11:30:00");
    world.jump(&server, "2026-05-01T12:00:00.2Z");
    world.settled("a", 3);
    world.jump(&server, "2026-05-01T09:30:00Z");
    world.jump(&server, "2026-05-01T10:00:00.2Z");
    world.jump(&server, "2026-05-01T13:00:00.2Z");
    insta::assert_snapshot!(world.settled("a", 4), @"
    2026-05-01T10:00:00Z done: 1 ok
    2026-05-01T11:00:00Z skipped: missed: nothing ran schedules at that time
    2026-05-01T12:00:00Z done: 1 ok
    2026-05-01T13:00:00Z done: 1 ok
    ");
    let times = rows_by_time(&world.rows("a"), 3600);
    assert!(times.values().all(|count| *count == 1), "{times:?}");
    assert_eq!(world.count("marks", "begin"), 3);
    end(server);
}

#[test]
fn a_clock_that_is_years_ahead_at_first_does_not_end_a_schedule() {
    let world = World::new("  a: {every: 1h, action: task, task: mark}");
    world.set_clock("2040-05-01T09:59:30Z");
    let server = world.serve();
    world.jump(&server, "2040-05-01T10:00:00.2Z");
    world.settled("a", 1);
    world.jump(&server, "2026-05-01T09:59:30Z");
    world.jump(&server, "2026-05-01T10:00:00.2Z");
    insta::assert_snapshot!(world.settled("a", 2), @"
    2026-05-01T10:00:00Z done: 1 ok
    2040-05-01T10:00:00Z done: 1 ok
    ");
    end(server);
}

#[test]
fn the_times_of_a_downtime_are_skipped_or_the_last_one_runs() {
    let world = World::new(
        "  skips: {every: 1h, action: task, task: mark}
  runs: {every: 1h, action: task, task: mark, missed: run}",
    );
    world.set_clock("2026-05-01T09:30:00Z");
    end(world.serve());
    world.set_clock("2026-05-01T14:30:00Z");
    let server = world.serve();
    insta::assert_snapshot!(world.settled("skips", 1), @"2026-05-01T10:00:00Z x5 skipped: missed: nothing ran schedules at that time");
    insta::assert_snapshot!(world.settled("runs", 2), @"
    2026-05-01T10:00:00Z x4 skipped: missed: nothing ran schedules at that time
    2026-05-01T14:00:00Z done: 1 ok
    ");
    end(server);
}

#[test]
fn a_pause_while_the_server_runs_skips_its_due_times() {
    let world = World::new("  a: {every: 1h, action: task, task: mark}");
    world.set_clock("2026-05-01T09:30:00Z");
    let server = world.serve();
    let say = |word: &str| {
        let run = world.env.unfurl(["schedule", word, "a"]).succeeds();
        run.stdout
    };
    insta::assert_snapshot!(say("pause"), @"The schedule `a` is now paused.");
    insta::assert_snapshot!(say("pause"), @"The schedule `a` was already paused.");
    world.jump(&server, "2026-05-01T12:30:00Z");
    let state = || {
        let run = world.env.unfurl(["schedule", "list", "--output", "json"]);
        let json = run.succeeds().json();
        json["schedules"][0]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!((state(), world.rows("a").len()), ("paused".to_owned(), 0));
    insta::assert_snapshot!(say("resume"), @"The schedule `a` is now active.");
    world.jump(&server, "2026-05-01T13:00:00.2Z");
    insta::assert_snapshot!(world.settled("a", 2), @"
    2026-05-01T10:00:00Z x3 skipped: the schedule was paused
    2026-05-01T13:00:00Z done: 1 ok
    ");
    assert_eq!(world.count("marks", "begin"), 1);
    end(server);
}

#[test]
fn a_due_time_during_a_run_is_skipped_or_waits() {
    let world = World::new(
        "  skips: {every: 1h, action: task, task: gated}
  waits: {every: 1h, action: task, task: gated, overlap: wait}",
    );
    world.set_clock("2026-05-01T09:59:30Z");
    let server = world.serve();
    world.jump(&server, "2026-05-01T10:00:00.2Z");
    world.wait_for_lines("gated", 2);
    world.jump(&server, "2026-05-01T12:00:01Z");
    world.env.write("go", "");
    insta::assert_snapshot!(world.settled("skips", 2), @"
    2026-05-01T10:00:00Z done: 1 ok
    2026-05-01T11:00:00Z x2 skipped: the run of 2026-05-01T10:00:00Z continued
    ");
    insta::assert_snapshot!(world.settled("waits", 3), @"
    2026-05-01T10:00:00Z done: 1 ok
    2026-05-01T11:00:00Z skipped: a later due time runs in its place
    2026-05-01T12:00:00Z done: 1 ok
    ");
    end(server);
}
