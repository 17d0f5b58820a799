//! Bad input: each has a message and, where a due time exists, a row in the log; the schedule continues.

use std::fs;

use super::world::{World, end, wake};

#[test]
fn a_wrong_schedule_is_shown_with_its_place_and_the_others_stay() {
    let world = World::new(
        "  a: {cron: '61 * * * *', action: check}
  b: {cron: '0 2 * * *', timezone: Europe/Berlim, action: drift}
  c: {every: 1h, action: task}
  good: {every: 1h, action: check}",
    );
    world.set_clock("2026-05-01T09:30:00Z");
    let run = world.env.unfurl(["schedule", "list"]).exits(1);
    insta::assert_snapshot!(run.stderr, @"
    error: the schedule `a`: the minute `61` of the cron line is wrong
     --> unfurl.yaml:8:13
      |
    8 |   a: {cron: '61 * * * *', action: check}
      |             ^^^^^^^^^^^^
      |
      = hint: a minute is 0-59, `*/15` or a list such as `0,30`

    error: the schedule `b`: the time zone `Europe/Berlim` is unknown
     --> unfurl.yaml:9:36
      |
    9 |   b: {cron: '0 2 * * *', timezone: Europe/Berlim, action: drift}
      |                                    ^^^^^^^^^^^^^
      |
      = hint: did you mean `Europe/Berlin`?

    error: the schedule `c`: `action: task` needs the name of a task
      --> unfurl.yaml:10:26
       |
    10 |   c: {every: 1h, action: task}
       |                          ^^^^
       |
       = hint: add `task: NAME`
    ");
    insta::assert_snapshot!(run.stdout, @"
    Schedule	Action	When	Next	Last	State
    good	check	every 1h	2026-05-01 10:00Z	-	active
    a	-	-	-	-	invalid
    b	-	-	-	-	invalid
    c	-	-	-	-	invalid
    ");
    let run = world.env.unfurl(["schedule", "run", "a"]);
    run.exits(64)
        .says(&["the minute `61` of the cron line is wrong"]);
    let run = world.env.unfurl(["schedule", "run", "god"]);
    run.exits(1)
        .says(&["the project has no schedule `god`", "did you mean `good`?"]);
}

#[test]
fn whatever_goes_wrong_in_a_run_is_a_row_and_the_schedule_continues() {
    let world = World::new(
        "  none: {every: 1h, action: check, ensembles: ['x*']}
  locked: {every: 1h, action: check, ensembles: one}
  endless: {every: 1h, action: task, task: endless, time_limit: 500ms}
  away: {every: 1h, action: drift, ensembles: away}
  broken: {every: 1h, action: drift, ensembles: broken}
  changed: {every: 1h, action: task, task: change}
  good: {every: 1h, action: check, ensembles: two}",
    );
    world.set_clock("2026-05-01T09:30:00Z");
    world.env.write("ens/away/ensemble.yaml", AWAY);
    world
        .env
        .write("ens/broken/ensemble.yaml", "kind: [Ensemble");
    let project = world.env.read("unfurl.yaml");
    let more = "- {file: ens/away/ensemble.yaml}\n- {file: ens/broken/ensemble.yaml}\nschedules:";
    world.replace("unfurl.yaml", &project.replace("schedules:", more));
    let tasks = world.env.read("tasks.yaml");
    let change =
        "  change:\n    steps:\n      - local: 'echo \"# changed\" >> ens/two/ensemble.yaml'\n";
    world.replace("tasks.yaml", &(tasks + change));
    let deploy = ["deploy", "--approve", "ens/away/ensemble.yaml"];
    world.env.unfurl(deploy).succeeds();
    let job = world.hold("one");
    let names = [
        "none", "locked", "endless", "away", "broken", "changed", "good",
    ];
    world.set_clock("2026-05-01T09:59:30Z");
    let server = world.serve();
    world.jump(&server, "2026-05-01T10:00:00.2Z");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let holder = format!("process {} on host {} since", job.pid(), host.trim());
    let rows = |count| {
        let rows = names.map(|name| format!("{name}: {}", world.settled(name, count)));
        let root = world.env.work().display().to_string();
        rows.concat()
            .replace(&root, "ROOT")
            .replace(&holder, "process PID on host HOST since")
    };
    insta::assert_snapshot!(rows(1), @"
    none: 2026-05-01T10:00:00Z failed: 1 failed (x*: no ensemble of the project matches `x*`; the project has `one`, `two`, `three`, `away`, `broken`)
    locked: 2026-05-01T10:00:00Z skipped: 1 locked (one: `ROOT/ens/one/ensemble.yaml.lock` is locked by process PID on host HOST since 2026-05-01T09:30:00Z (`unfurl run`))
    endless: 2026-05-01T10:00:00Z failed: 1 timed-out (task endless: the time limit of 0.5 s was exceeded)
    away: 2026-05-01T10:00:00Z done: 1 cannot-tell (away: app: check failed: `echo`: machine (127.0.0.1) port 1 refused the connection (ens/away/ensemble.yaml:24:41))
    broken: 2026-05-01T10:00:00Z failed: 1 failed (broken: ens/broken/ensemble.yaml:1:7: unclosed bracket '[')
    changed: 2026-05-01T10:00:00Z done: 1 ok
    good: 2026-05-01T10:00:00Z done: 1 ok
    ");
    world.jump(&server, "2026-05-01T11:00:00.2Z");
    rows(2);
    end(server);
    job.signal(nix::sys::signal::Signal::SIGKILL);
    job.ends();
}

/// An ensemble whose check runs on a host that is away.
const AWAY: &str = "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    node_types:
      Machine:
        derived_from: tosca.nodes.Root
        capabilities:
          endpoint: {type: unfurl.capabilities.Endpoint.SSH}
      App:
        derived_from: tosca.nodes.Root
        requirements:
        - host: {node: Machine, relationship: tosca.relationships.HostedOn}
    topology_template:
      node_templates:
        machine: {type: Machine, capabilities: {endpoint: {properties: {host: 127.0.0.1, port: 1}}}}
        app:
          type: App
          requirements: [{host: machine}]
          interfaces:
            Standard: {configure: echo}
            Install:
              operations:
                check: {implementation: echo, operation_host: HOST}
";

#[test]
fn a_record_that_changes_during_a_run_does_not_stop_the_schedule() {
    let world = World::new("  a: {every: 1h, action: drift, ensembles: one}");
    world.set_clock("2026-05-01T09:30:00Z");
    let deploy = ["deploy", "--approve", "ens/one/ensemble.yaml"];
    world.env.unfurl(deploy).succeeds();
    // The check itself changes the record while `drift` looks.
    let text = world.env.read("ens/one/ensemble.yaml");
    let check = "check: 'echo \"# changed\" >> $PWD/ensemble.yaml; echo one";
    let text = text.replace("check: 'echo one", check);
    world.replace("ens/one/ensemble.yaml", &text);
    world.set_clock("2026-05-01T09:59:30Z");
    let server = world.serve();
    world.jump(&server, "2026-05-01T10:00:00.2Z");
    let first = world.settled("a", 1);
    world.jump(&server, "2026-05-01T11:00:00.2Z");
    world.settled("a", 2);
    insta::assert_snapshot!(first, @"2026-05-01T10:00:00Z done: 1 ok");
    end(server);
}

#[test]
fn nothing_runs_unclaimed_on_a_full_disk() {
    let world = World::new("  a: {every: 1h, action: task, task: mark}");
    world.set_clock("2026-05-01T09:30:00Z");
    end(world.serve());
    world.set_clock("2026-05-01T10:00:01Z");
    let folder = world.env.work().join("local/schedules");
    let fault = format!("fail-from:ENOSPC:1 in {}", folder.display());
    let server = world.serve_with_fault(&fault);
    server.wait_until_it_says("a: nothing runs until the log can be written: ");
    insta::assert_snapshot!(message(&server, &world), @"a: nothing runs until the log can be written: could not lock `ROOT/local/schedules/state.lock`: no space left on device");
    world.jump(&server, "2026-05-01T11:00:00.2Z");
    wake(&server);
    end(server);
    assert_eq!(world.lines("marks"), Vec::<String>::new());
    assert_eq!(world.rows("a").len(), 0);
    // With space again, each due time gets its row.
    world.set_clock("2026-05-01T11:30:00Z");
    let server = world.serve();
    insta::assert_snapshot!(world.settled("a", 1), @"2026-05-01T10:00:00Z x2 skipped: missed: nothing ran schedules at that time");
    end(server);
    let run = world
        .env
        .unfurl_with(("UNFURL_TEST_FAULT", &fault), &["schedule", "run", "a"]);
    run.exits(70)
        .says(&["no space left", "free space on the disk"]);
    assert_eq!(world.lines("marks"), Vec::<String>::new());
}

/// The message of a server about a log that cannot be written.
fn message(server: &crate::support::Started, world: &World) -> String {
    let text = server.messages();
    let line = text
        .lines()
        .find(|line| line.contains("nothing runs until"));
    let root = world.env.work().display().to_string();
    line.unwrap()
        .split_once(' ')
        .unwrap()
        .1
        .replace(&root, "ROOT")
}

#[test]
fn a_state_folder_that_becomes_unreadable_stops_runs_until_it_is_back() {
    let world = World::new("  a: {every: 1h, action: task, task: mark}");
    world.set_clock("2026-05-01T09:30:00Z");
    let server = world.serve();
    wake(&server);
    let folder = world.env.work().join("local/schedules");
    let aside = world.env.work().join("local/aside");
    fs::rename(&folder, &aside).unwrap();
    fs::write(&folder, "no folder").unwrap();
    world.jump(&server, "2026-05-01T10:00:01Z");
    server.wait_until_it_says("a: nothing runs until the log can be written: ");
    // The server meets the folder when it reads the log, or when it writes its next row.
    let problem = message(&server, &world);
    let problem = problem.strip_prefix("a: nothing runs until the log can be written: ");
    let expected = [
        "could not read `ROOT/local/schedules/a.tsv`: not a directory",
        "could not create folder `ROOT/local/schedules`: file exists",
    ];
    assert!(expected.contains(&problem.unwrap()), "{problem:?}");
    world
        .env
        .unfurl(["schedule", "list"])
        .exits(70)
        .says(&["local/schedules"]);
    fs::remove_file(&folder).unwrap();
    fs::rename(&aside, &folder).unwrap();
    world.jump(&server, "2026-05-01T11:30:00Z");
    server.wait_until_it_says("a: the log can be written again");
    world.jump(&server, "2026-05-01T12:00:00.2Z");
    insta::assert_snapshot!(world.settled("a", 2), @"
    2026-05-01T10:00:00Z x2 skipped: missed: the log could not be written at that time
    2026-05-01T12:00:00Z done: 1 ok
    ");
    end(server);
    // A server does not start without the folder.
    fs::rename(&folder, &aside).unwrap();
    fs::write(&folder, "no folder").unwrap();
    let run = world.env.unfurl(["serve"]).exits(70);
    insta::assert_snapshot!(run.stderr.replace(&world.env.work().display().to_string(), "ROOT"), @"
    error: could not create folder `ROOT/local/schedules`: file exists
     = hint: free space on the disk, or give the user write access to `local/schedules` of the project
    ");
}

#[test]
fn damaged_lines_of_a_log_are_named_and_no_due_time_runs_twice() {
    let world = World::new("  a: {every: 1h, action: task, task: mark, missed: run}");
    world.set_clock("2026-05-01T09:59:30Z");
    let server = world.serve();
    world.jump(&server, "2026-05-01T10:00:00.2Z");
    world.settled("a", 1);
    end(server);
    // The claim and the end of 10:00 are damaged.
    let log = world.env.read("local/schedules/a.tsv");
    let first = log.lines().next().unwrap();
    world.replace(
        "local/schedules/a.tsv",
        &format!("{first}\nclaim\t2026-05\ndone\u{fffd}\n"),
    );
    let server = world.serve();
    server.wait_until_it_says("a: 2 lines are damaged in ");
    world.settled("a", 1);
    world.jump(&server, "2026-05-01T11:00:00.2Z");
    insta::assert_snapshot!(world.settled("a", 2), @"
    2026-05-01T10:00:00Z skipped: the last lines of the log are damaged: this time may have run
    2026-05-01T11:00:00Z done: 1 ok
    ");
    assert_eq!(world.count("marks", "begin"), 2);
    end(server);
    let run = world.env.unfurl(["schedule", "log", "a"]).succeeds();
    run.says(&["2 lines are damaged in "]);
}

#[test]
fn a_project_without_schedules_or_without_ensembles_is_served_with_a_message() {
    let world = World::new("  a: {every: 1h, action: check}");
    world.set_clock("2026-05-01T09:30:00Z");
    let text = world.env.read("unfurl.yaml");
    let (head, tail) = text.split_once("ensembles:").unwrap();
    let tail = tail.split_once("schedules:").unwrap().1;
    world.replace("unfurl.yaml", &format!("{head}schedules:{tail}"));
    let run = world.env.unfurl(["schedule", "run", "a"]).exits(1);
    insta::assert_snapshot!(run.stdout, @"a: failed: 1 failed (*: no ensemble of the project matches `*`; the project lists none)");
    world.replace("unfurl.yaml", head);
    let run = world.env.unfurl(["schedule", "list"]).succeeds();
    assert!(run.stdout.starts_with("No schedules: "), "{run}");
    let empty = crate::support::TestEnv::new();
    let run = empty.unfurl(["schedule", "list"]).exits(1);
    insta::assert_snapshot!(run.stderr, @"
    error: schedules belong to a project, and no `unfurl.yaml` is here or in a folder above
     = hint: change to the folder of the project, or create one with `unfurl init`
    ");
}
