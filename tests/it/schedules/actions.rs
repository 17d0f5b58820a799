//! Each action of a schedule, and the choice of its ensembles.

use super::world::World;

/// Runs a schedule now, and returns its line.
#[track_caller]
fn run(world: &World, name: &str, code: i32) -> String {
    let run = world.env.unfurl(["schedule", "run", name]).exits(code);
    run.does_not_panic().stdout
}

#[test]
fn each_action_runs() {
    let world = World::new(
        "  deploys: {every: 1h, action: deploy}
  checks: {every: 1h, action: check, ensembles: [one, 'ens/t*']}
  drifts: {every: 1h, action: drift, ensembles: two}
  marks: {every: 1h, action: task, task: mark}
  waits: {every: 1h, action: check, overlap: wait, environment: defaults}
  tests: {every: 1h, action: state test, states: motd}
  elsewhere: {every: 1h, action: state test, hosts: '127.0.0.1:1'}",
    );
    world.set_clock("2026-05-01T09:30:00Z");
    let root = world.env.work().display().to_string();
    let state = format!("{root}/motd:\n  file.managed:\n    - contents: hello\n");
    world.env.write("states/motd.sls", &state);
    world.env.write("states/top.sls", "base:\n  '*': [motd]\n");
    assert_eq!(run(&world, "deploys", 0), "deploys: done: 3 ok\n");
    assert_eq!(world.lines("deployed"), ["one", "two", "three"]);
    assert_eq!(run(&world, "checks", 0), "checks: done: 3 ok\n");
    assert_eq!(world.lines("checked"), ["one", "two", "three"]);
    assert_eq!(run(&world, "drifts", 0), "drifts: done: 1 ok\n");
    assert_eq!(world.lines("checked")[3..], ["two"]);
    assert_eq!(run(&world, "marks", 0), "marks: done: 1 ok\n");
    assert_eq!(world.lines("marks"), ["begin", "end"]);
    assert_eq!(run(&world, "waits", 0), "waits: done: 3 ok\n");
    assert_eq!(run(&world, "tests", 0), "tests: done: 1 drifted\n");
    assert!(!world.env.work().join("motd").exists());
    insta::assert_snapshot!(run(&world, "elsewhere", 1), @"elsewhere: failed: 1 failed (state test: 127.0.0.1 port 1 refused the connection)");
}

#[test]
fn the_longest_unchecked_ensembles_come_first_and_a_locked_one_gives_its_place() {
    let world = World::new(
        "  capped: {every: 1h, action: check, at_most: 2}
  single: {every: 1h, action: check, at_most: 1}",
    );
    world.set_clock("2026-05-01T09:30:00Z");
    world.env.unfurl(["schedule", "run", "capped"]).succeeds();
    assert_eq!(world.lines("checked"), ["one", "two"]);
    world.env.unfurl(["schedule", "run", "capped"]).succeeds();
    assert_eq!(world.lines("checked")[2..], ["three", "one"]);
    world.env.unfurl(["schedule", "run", "capped"]).succeeds();
    assert_eq!(world.lines("checked")[4..], ["two", "three"]);
    // A job holds the first ensemble of the next run.
    let job = world.hold("one");
    let line = run(&world, "single", 0);
    assert!(
        line.starts_with("single: done: 1 ok, 1 locked (one: "),
        "{line}"
    );
    assert_eq!(world.lines("checked")[6..], ["two"]);
    job.signal(nix::sys::signal::Signal::SIGKILL);
    job.ends();
}

#[test]
fn ensembles_that_were_deployed_within_the_period_are_left_out() {
    let world = World::new("  a: {every: 1h, action: check, unless_deployed_within: 2h}");
    world.set_clock("2026-05-01T09:30:00Z");
    let deploy = ["deploy", "--approve", "ens/two/ensemble.yaml"];
    world.env.unfurl(deploy).succeeds();
    assert_eq!(
        run(&world, "a", 0),
        "a: done: 2 ok, 1 left out: deployed recently\n"
    );
    assert_eq!(world.lines("checked"), ["one", "three"]);
    world.set_clock("2026-05-01T11:31:00Z");
    assert_eq!(run(&world, "a", 0), "a: done: 3 ok\n");
    let deploy = |name: &str| {
        let path = format!("ens/{name}/ensemble.yaml");
        world
            .env
            .unfurl(["deploy", "--approve", "--force", &path])
            .succeeds();
    };
    ["one", "two", "three"].into_iter().for_each(deploy);
    assert_eq!(
        run(&world, "a", 0),
        "a: skipped: 3 left out: deployed recently\n"
    );
}
