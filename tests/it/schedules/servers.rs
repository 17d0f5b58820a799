//! Servers beside each other, their signals, their memory, and changes of `unfurl.yaml` while they run.

use std::fs;

use jiff::Timestamp;
use nix::sys::signal::Signal;

use super::world::{World, end, rows_by_time, wake};
use crate::support::{Started, is_full, wait_for, wait_until_gone};

#[test]
fn two_servers_and_a_cron_job_give_each_due_time_one_row_and_one_run() {
    let world = World::new("  a: {every: 1s, action: task, task: mark}");
    world.set_clock("2026-05-01T10:00:00Z");
    let servers = [world.serve(), world.serve()];
    let if_due = ["schedule", "run", "a", "--if-due"];
    wait_for("some rows", || {
        world.env.unfurl(if_due).succeeds();
        (world.rows("a").len() >= 6).then_some(())
    });
    servers.into_iter().for_each(end);
    let rows = world.rows("a");
    let times = rows_by_time(&rows, 1);
    assert!(times.values().all(|count| *count == 1), "{rows:#?}");
    let (first, last) = (times.keys().min().unwrap(), times.keys().max().unwrap());
    assert_eq!(
        i64::try_from(times.len()).unwrap(),
        last - first + 1,
        "{rows:#?}"
    );
    let done = rows.iter().filter(|row| row["status"] == "done").count();
    let cut = rows.iter().filter(|row| row["status"] == "cut off").count();
    let begun = world.count("marks", "begin");
    assert!((done..=done + cut).contains(&begun), "{begun}\n{rows:#?}");
}

#[test]
fn a_cron_job_without_a_server_runs_each_due_time_once() {
    let world = World::new("  a: {every: 1h, action: task, task: mark}");
    let if_due = |expected: &str| {
        let run = world.env.unfurl(["schedule", "run", "a", "--if-due"]);
        run.succeeds().prints(&[expected]);
    };
    world.set_clock("2026-05-01T10:00:01Z");
    if_due("a: done: 1 ok");
    if_due("Nothing is due.");
    world.set_clock("2026-05-01T10:30:00Z");
    if_due("Nothing is due.");
    world.set_clock("2026-05-01T12:00:01Z");
    if_due("a: done: 1 ok");
    insta::assert_snapshot!(world.summary("a"), @"
    2026-05-01T10:00:00Z done: 1 ok
    2026-05-01T11:00:00Z skipped: missed: nothing ran schedules at that time
    2026-05-01T12:00:00Z done: 1 ok
    ");
}

#[test]
fn a_signal_ends_running_commands_in_order_and_the_row_says_so() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let world = World::new("  a: {every: 1h, action: deploy}");
        world.gate("one");
        world.set_clock("2026-05-01T09:59:30Z");
        let server = world.serve();
        world.jump(&server, "2026-05-01T10:00:00.2Z");
        world.wait_for_lines("gated", 1);
        server.signal(signal);
        server.wait_until_it_says("; running: 1");
        // The job lets its running task end, and saves its record.
        world.env.write("go", "");
        let run = server.ends().succeeds();
        assert!(
            run.stderr.contains("a: 2026-05-01T10:00:00Z: cut off"),
            "{run}"
        );
        assert_eq!(world.lines("gated"), ["begin", "end"]);
        assert!(!world.env.work().join("ens/one/ensemble.yaml.lock").exists());
        // The job may have been at its end when the signal came.
        let row = world.summary("a");
        let expected = "2026-05-01T10:00:00Z cut off: a signal ended the run: ";
        assert!(
            row.starts_with(expected) && row.contains("not-run"),
            "{row}"
        );
        // A run that was cut off does not restart.
        end(world.serve());
        assert_eq!(
            (world.rows("a").len(), world.lines("deployed").len()),
            (1, 0)
        );
    }
}

#[test]
fn a_signal_ends_a_run_by_hand_in_order() {
    let world = World::new("  a: {every: 1h, action: deploy}");
    world.gate("one");
    world.set_clock("2026-05-01T09:30:00Z");
    let run = world.env.start(["schedule", "run", "a"]);
    world.wait_for_lines("gated", 1);
    // A second run does not begin beside it.
    let second = world.env.unfurl(["schedule", "run", "a"]).exits(1);
    second.says(&["a run of the schedule `a` continues since 2026-05-01T09:30"]);
    run.signal(Signal::SIGTERM);
    world.env.write("go", "");
    let run = run.ends().exits(1);
    run.prints(&["a: cut off: a signal ended the run: "]);
    assert_eq!(world.lines("gated"), ["begin", "end"]);
    assert_eq!(world.rows("a")[0]["status"], "cut off");
}

#[test]
fn a_killed_server_leaves_no_process_and_its_run_restarts_only_if_the_schedule_says_so() {
    let world = World::new(
        "  skips: {every: 1h, action: task, task: endless}
  runs: {every: 1h, action: task, task: endless, missed: run}",
    );
    world.set_clock("2026-05-01T09:59:30Z");
    let server = world.serve();
    world.jump(&server, "2026-05-01T10:00:00.2Z");
    let pids = world.wait_for_lines("endless", 2);
    server.signal(Signal::SIGKILL);
    server.ends();
    let server = world.serve();
    let again = world.wait_for_lines("endless", 3);
    let pids: Vec<u32> = pids.iter().map(|pid| pid.parse().unwrap()).collect();
    wait_until_gone(&pids);
    end(server);
    wait_until_gone(&[again[2].parse().unwrap()]);
    insta::assert_snapshot!(world.summary("skips"), @"2026-05-01T10:00:00Z cut off: the process that ran it has ended before");
    insta::assert_snapshot!(world.summary("runs"), @"2026-05-01T10:00:00Z cut off: a signal ended the run: 1 not-run (task endless: a signal ended its command)");
    assert_eq!(world.rows("runs")[0]["attempt"], 2);
}

#[test]
fn sighup_and_a_changed_file_load_the_schedules_again_and_a_wrong_file_changes_nothing() {
    let world = World::new("  a: {every: 1h, action: task, task: mark}");
    world.set_clock("2026-05-01T09:30:00Z");
    let server = world.serve();
    let good = world.env.read("unfurl.yaml");
    world.replace("unfurl.yaml", "kind: [Project\n");
    server.wait_until_it_says("keeps the schedules that it has");
    world.set_clock("2026-05-01T10:00:01Z");
    server.wait_until_it_says("a: 2026-05-01T10:00:00Z: failed: 1 failed (task mark: unclosed");
    // One wrong schedule does not hinder the others, and its due times are on record once it is right again.
    let wrong = "  b: {cron: '61 * * * *', action: task, task: mark}\n";
    world.replace("unfurl.yaml", &(good.clone() + wrong));
    server.wait_until_it_says("the minute `61` of the cron line is wrong");
    world.jump(&server, "2026-05-01T11:00:00.2Z");
    world.settled("a", 2);
    world.replace("unfurl.yaml", &(good + &wrong.replace("61", "0")));
    wake(&server);
    // The due times of a new schedule count from the first look at it, which a second reading follows.
    server.wait_until_it_says("reads `unfurl.yaml` again; schedules: 2");
    wake(&server);
    world.jump(&server, "2026-05-01T12:00:00.2Z");
    insta::assert_snapshot!(world.settled("a", 3), @"
    2026-05-01T10:00:00Z failed: 1 failed (task mark: unclosed bracket '[')
    2026-05-01T11:00:00Z done: 1 ok
    2026-05-01T12:00:00Z done: 1 ok
    ");
    insta::assert_snapshot!(world.settled("b", 1), @"2026-05-01T12:00:00Z done: 1 ok");
    end(server);
}

/// The memory in KiB and the number of descriptors of a process.
fn resources(server: &Started) -> (u64, usize) {
    let folder = format!("/proc/{}", server.pid());
    let status = fs::read_to_string(format!("{folder}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let memory = line.unwrap().split_whitespace().nth(1).unwrap();
    let descriptors = fs::read_dir(format!("{folder}/fd")).unwrap().count();
    (memory.parse().unwrap(), descriptors)
}

#[test]
fn the_memory_and_the_descriptors_of_a_server_stay_flat_over_many_runs() {
    let runs = if is_full() { 1000 } else { 60 };
    let world = World::new("  a: {every: 1h, action: task, task: mark}");
    let mut time: Timestamp = "2026-05-01T09:00:00Z".parse().unwrap();
    world.set_clock_to(time);
    let server = world.serve();
    let mut first = None;
    for number in 0..runs {
        time = Timestamp::from_second(time.as_second() + 3600).unwrap();
        world.set_clock_to(time);
        wake(&server);
        server.wait_until_it_says(&format!("{time}: done"));
        if number == runs / 3 {
            first = Some(resources(&server));
        }
    }
    let ((memory, descriptors), (memory_at_end, descriptors_at_end)) =
        (first.unwrap(), resources(&server));
    assert!(
        memory_at_end < memory + 3_000,
        "{memory} KiB, then {memory_at_end} KiB"
    );
    assert!(
        descriptors_at_end <= descriptors + 2,
        "{descriptors}, then {descriptors_at_end}"
    );
    end(server);
}
