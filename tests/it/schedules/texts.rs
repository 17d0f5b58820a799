//! The texts of `unfurl schedule` at a terminal of 80 columns, and its JSON.

use super::world::{World, end};
use crate::pipelines::at_terminal;

fn world() -> World {
    let world = World::new(
        "  nightly: {cron: '15 6 * * mon-fri', timezone: Europe/Berlin, action: drift, at_most: 20}
  deploy: {every: 1h, action: deploy, ensembles: one}
  check: {every: 15m, jitter: 2m, action: check, ensembles: 'x*'}",
    );
    world.set_clock("2026-05-01T09:45:30Z");
    let server = world.serve();
    world.jump(&server, "2026-05-01T10:00:00.2Z");
    world.settled("deploy", 1);
    world.jump(&server, "2026-05-01T12:30:30Z");
    world.settled("deploy", 2);
    world.jump(&server, "2026-05-01T12:46:55Z");
    end(server);
    world.env.unfurl(["schedule", "pause", "deploy"]).succeeds();
    world
}

#[test]
fn the_texts_read_well_at_a_width_of_80() {
    requires!("setsid");
    let world = world();
    world.set_clock("2026-05-01T12:50:05Z");
    let screen = |words: &[&str]| {
        let (text, code) = at_terminal(&world.env, words, ("never", b""));
        assert_eq!(code, 0, "{text}");
        text
    };
    insta::assert_snapshot!(screen(&["schedule", "list"]), @"
    ────────────────────────────────────────────────────────────────────────────────────
     Schedule   When                   Next                Last                  State
    ────────────────────────────────────────────────────────────────────────────────────
     nightly    15 6 * * mon-fri       2026-05-04 04:15Z   -                     active
                (Europe/Berlin)
     deploy     every 1h               -                   skipped, 50 min ago   paused
     check      every 15m              2026-05-01 13:00Z   skipped, 5 min ago    active
    ────────────────────────────────────────────────────────────────────────────────────
    ");
    insta::assert_snapshot!(screen(&["schedule", "next", "-n", "4"]), @"
    ──────────────────────────────────────────────────────────────
     Due                 Start                  Schedule   State
    ──────────────────────────────────────────────────────────────
     2026-05-01 13:00Z   2026-05-01 13:00:32Z   check
     2026-05-01 13:00Z   2026-05-01 13:00Z      deploy     paused
     2026-05-01 13:15Z   2026-05-01 13:16:10Z   check
     2026-05-01 13:30Z   2026-05-01 13:30:34Z   check
    ──────────────────────────────────────────────────────────────
    ");
    insta::assert_snapshot!(screen(&["schedule", "log"]), @"
    ────────────────────────────────────────────────────────────────────────────────
     Schedule   Due                 Result    Details
    ────────────────────────────────────────────────────────────────────────────────
     deploy     2026-05-01 10:00Z   done      1 ok
     deploy     2026-05-01 11:00Z   skipped   2 times until 2026-05-01 12:00Z:
                                              missed: nothing ran schedules at that
                                              time
     check      2026-05-01 10:00Z   skipped   12 times until 2026-05-01 12:45Z:
                                              missed: nothing ran schedules at that
                                              time
    ────────────────────────────────────────────────────────────────────────────────
    ");
}

#[test]
fn the_json_of_each_command_has_its_fields() {
    let world = world();
    world.set_clock("2026-05-01T12:50:05Z");
    let json = |words: &[&str]| json_of(&world, words);
    insta::assert_snapshot!(json(&["next", "deploy", "-n", "1"]), @r#"
    [
      {
        "schedule": "deploy",
        "due": "2026-05-01T13:00:00Z",
        "start": "2026-05-01T13:00:00Z",
        "paused": true
      }
    ]
    "#);
    insta::assert_snapshot!(json(&["resume", "deploy"]), @r#"
    {
      "schedule": "deploy",
      "state": "active",
      "changed": true
    }
    "#);
    insta::assert_snapshot!(json(&["log", "deploy", "-n", "1"]), @r#"
    [
      {
        "schedule": "deploy",
        "rows": [
          {
            "due": "2026-05-01T11:00:00Z",
            "last_due": "2026-05-01T12:00:00Z",
            "count": 2,
            "status": "skipped",
            "reason": "missed: nothing ran schedules at that time",
            "missed": true
          }
        ],
        "damaged_lines": 0,
        "undelivered": []
      }
    ]
    "#);
    insta::assert_snapshot!(json(&["run", "nightly", "--if-due"]), @r#"
    {
      "schedule": "nightly",
      "status": "not due"
    }
    "#);
}

/// Returns the answer of a command for programs, with a fixed name for the folder of the project.
fn json_of(world: &World, words: &[&str]) -> String {
    let words = ["schedule"]
        .iter()
        .chain(words)
        .chain(&["--output", "json"]);
    let run = world.env.unfurl(words).succeeds();
    let text = serde_json::to_string_pretty(&run.json()).unwrap();
    text.replace(&world.env.work().display().to_string(), "ROOT")
}

#[test]
fn the_json_of_the_list_has_the_fields_of_each_schedule() {
    let world = world();
    world.set_clock("2026-05-01T12:50:05Z");
    let list: serde_json::Value = serde_json::from_str(&json_of(&world, &["list"])).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&list["schedules"][0]).unwrap(), @r#"
    {
      "name": "nightly",
      "action": "drift",
      "when": "15 6 * * mon-fri (Europe/Berlin)",
      "ensembles": [
        "*"
      ],
      "environment": null,
      "hosts": [],
      "jitter": 0.0,
      "overlap": "skip",
      "missed": "skip",
      "time_limit": 3600.0,
      "at_most": 20,
      "notify": [],
      "state": "active",
      "paused_since": null,
      "next": "2026-05-04T04:15:00Z",
      "last": null
    }
    "#);
}
