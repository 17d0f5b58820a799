//! Servers that are killed at random moments: each due time has its one row.

use jiff::{SignedDuration, Timestamp};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::time::Duration;

use super::world::{World, end, rows_by_time};
use crate::support::{Started, is_full, wait_for};

/// The seconds between two due times.
const INTERVAL: i64 = 10;

/// Random numbers of an own generator, so that a failure can be repeated.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Asserts that no due time has two rows. Returns the due times.
#[track_caller]
fn assert_no_second_row(world: &World) -> BTreeMap<i64, usize> {
    let times = rows_by_time(&world.rows("a"), INTERVAL);
    let doubled = times.iter().find(|(_, count)| **count != 1);
    assert_eq!(doubled, None, "{}", world.summary("a"));
    times
}

/// Lets the clock pass all times that it has shown, and waits until each due time has a row, without a gap. Old rows of
/// a log are removed, so that a gap in its first minute does not count.
#[track_caller]
fn settle(world: &World, servers: &[Started], latest: Timestamp) {
    world.set_clock_to(latest);
    for server in servers {
        server.signal(Signal::SIGHUP);
    }
    let last = latest.as_second() - latest.as_second() % INTERVAL;
    wait_for(
        format_args!("a row of each due time until {latest}"),
        || {
            let times = assert_no_second_row(world);
            let first = *times.keys().next()?;
            let mut due = first + if times.len() > 250 { 60 } else { 0 };
            while due <= last && times.contains_key(&due) {
                due += INTERVAL;
            }
            (due > last).then_some(())
        },
    );
}

/// Kills one of two servers at a random moment, starts another, and moves the clock, again and again.
fn kill_again_and_again(fields: &str, seed: u64, kills: u32) {
    let world = World::new(&format!(
        "  a: {{every: 10s, action: task, task: mark{fields}}}"
    ));
    let mut random = Random(seed);
    let start: Timestamp = "2026-05-01T10:00:05Z".parse().unwrap();
    let mut latest = start;
    world.set_clock_to(start);
    let mut servers: Vec<Started> = vec![world.serve(), world.serve()];
    for number in 0..kills {
        let seconds = match random.below(10) {
            0 => -i64::try_from(random.below(25)).unwrap(),
            _ => i64::try_from(random.below(30)).unwrap(),
        };
        let now = world.now() + SignedDuration::from_secs(seconds);
        world.set_clock_to(now);
        latest = latest.max(now);
        for server in &servers {
            server.signal(Signal::SIGHUP);
        }
        // The moment of the kill is random; nothing depends on its exactness.
        std::thread::sleep(Duration::from_micros(random.below(80_000)));
        let killed = servers.swap_remove(usize::try_from(random.below(2)).unwrap());
        killed.signal(Signal::SIGKILL);
        killed.ends();
        servers.push(world.start());
        if number % 5 == 4 {
            assert_no_second_row(&world);
        }
        if number % 25 == 24 {
            latest += SignedDuration::from_secs(20);
            settle(&world, &servers, latest);
        }
    }
    latest += SignedDuration::from_secs(60);
    settle(&world, &servers, latest);
    wait_for("the end of the last run", || {
        let is_running = |row: &serde_json::Value| row["status"] == "running";
        (!world.rows("a").iter().any(is_running)).then_some(())
    });
    servers.into_iter().for_each(end);
    assert_no_second_row(&world);
    let rows = world.rows("a");
    let is_ended = |row: &serde_json::Value| {
        let word = row["status"].as_str().unwrap();
        ["done", "failed", "skipped", "cut off"].contains(&word)
    };
    assert!(rows.iter().all(is_ended), "{}", world.summary("a"));
    // No due time ran more often than it was claimed.
    let attempts = rows.iter().filter_map(|row| row["attempt"].as_u64());
    let attempts: u64 = attempts.sum();
    if rows.len() < 250 {
        assert!(
            world.count("marks", "begin") as u64 <= attempts,
            "{}",
            world.summary("a")
        );
    }
}

#[test]
fn killed_servers_leave_each_due_time_its_one_row() {
    let kills = if is_full() { 500 } else { 15 };
    for (number, fields) in ["", ", missed: run"].into_iter().enumerate() {
        kill_again_and_again(fields, 0x9e37_79b9 + number as u64, kills);
    }
}

#[test]
fn a_server_that_dies_at_each_call_of_a_claim_leaves_each_due_time_its_one_row() {
    // The first calls of a server are those of its first claim: the lock, the row and the sync.
    let step = if is_full() { 1 } else { 3 };
    for number in (1..=14).step_by(step) {
        let world = World::new("  a: {every: 1h, action: task, task: mark, missed: run}");
        world.set_clock("2026-05-01T09:30:00Z");
        end(world.serve());
        world.set_clock("2026-05-01T10:00:01Z");
        let mut command = std::process::Command::new("/usr/bin/env");
        let fault = format!("UNFURL_TEST_FAULT=kill:{number}");
        command.arg(fault).arg(crate::support::binary());
        let server = world.env.start_command(command, ["serve"]);
        wait_for("the end of the server or of its run", || {
            let is_over = world.rows("a").iter().any(|row| row["status"] != "running");
            (is_over || !unfurl::testing::system::machine::is_running(server.pid())).then_some(())
        });
        server.signal(Signal::SIGKILL);
        server.ends();
        let server = world.serve();
        world.settled("a", 1);
        end(server);
        let rows = world.rows("a");
        assert_eq!(rows.len(), 1, "{number}\n{}", world.summary("a"));
        assert_eq!(
            rows[0]["status"],
            "done",
            "{number}\n{}",
            world.summary("a")
        );
        let attempts = rows[0]["attempt"].as_u64().unwrap();
        assert!(world.count("marks", "begin") as u64 <= attempts, "{number}");
    }
}
