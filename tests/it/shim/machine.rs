//! A reboot, and a clock that was set: the next job runs (D1, D5).

use super::library::Disturbance;
use super::world::World;

const DEPLOY: [&str; 7] = [
    "deploy",
    "--approve",
    "--parallel",
    "4",
    "--dirty",
    "ok",
    "--commit",
];

/// A year in seconds.
const YEAR: i64 = 31_557_600;

/// The numbers of calls at which a deploy is killed: spread over the job.
fn moments(world: &World) -> Vec<usize> {
    let (run, calls) = world.copied().disturbed(Disturbance::Count, &DEPLOY);
    run.succeeds();
    let last = calls.len();
    let step = if crate::support::is_full() {
        1
    } else {
        last / 6
    };
    (1..=last).step_by(step.max(1)).chain([last]).collect()
}

#[test]
fn after_a_reboot_in_a_job_the_next_command_runs() {
    let base = World::new().with_user_work();
    let commands: [&[&str]; 4] = [
        &["deploy", "--approve", "--dirty", "ok", "--redo-in-doubt"],
        &["recover"],
        &["teardown", "--approve", "--dirty", "ok", "--redo-in-doubt"],
        &[
            "deploy",
            "--approve",
            "--dirty",
            "ok",
            "--redo-in-doubt",
            "--lock-timeout",
            "5s",
        ],
    ];
    let mut failed = Vec::new();
    for (turn, at) in moments(&base).into_iter().enumerate() {
        let world = base.copied();
        let (killed, _) = world.disturbed(Disturbance::Kill(at), &DEPLOY);
        world.set_boot("second");
        let run = world.unfurl(commands[turn % commands.len()]);
        let next = world.unfurl(commands[0]);
        if run.code != 0 || next.code != 0 {
            failed.push(format!("killed at call {at}: {killed}\n{run}\n{next}"));
        }
    }
    assert!(
        failed.is_empty(),
        "{} failed:\n{}",
        failed.len(),
        failed.join("\n\n")
    );
}

/// Two machines may have the same name, so another boot id alone proves nothing.
#[test]
fn the_lock_of_another_machine_with_the_same_name_is_kept() {
    let world = World::new();
    let at = moments(&world)[3];
    world.disturbed(Disturbance::Kill(at), &DEPLOY);
    world.set_boot("second");
    world
        .env
        .write("machine-id", "ffffffffffffffffffffffffffffffff\n");
    let run = world.unfurl(&["deploy", "--approve", "--dirty", "ok"]);
    assert_ne!(run.code, 0, "{run}");
    let run = run.says(&["unfurl lock break --force"]);
    world.unfurl(&["lock", "break", "--force", "."]).succeeds();
    world
        .unfurl(&["deploy", "--approve", "--dirty", "ok", "--redo-in-doubt"])
        .succeeds();
    drop(run);
}

#[test]
fn after_the_clock_was_set_the_next_job_runs() {
    // The offsets of the first and of the second job, in years.
    for (first, second) in [(9, 0), (1, 0), (0, -1), (0, 9)] {
        let world = World::new();
        let offset = |years: i64| (years * YEAR).to_string();
        let (first, second) = (offset(first), offset(second));
        let clock = |offset: &'_ str, words: &[&str]| {
            world.unfurl_with("a", &[("UNFURL_SHIM_CLOCK", offset)], words)
        };
        clock(&first, &DEPLOY).succeeds();
        let force = [&DEPLOY[..], &["--force"]].concat();
        clock(&second, &force).succeeds();
        clock(&second, &["check", "--approve", "--dirty", "ok"]).succeeds();
        clock(
            &second,
            &["teardown", "--approve", "--dirty", "ok", "--commit"],
        )
        .succeeds();
        let text = world.env.read("a/ens/jobs.tsv");
        let ids: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split('\t').next())
            // Tasks are in the order in which they ended.
            .filter(|id| id.ends_with("0000"))
            .collect();
        assert!(
            ids.len() == 3 && ids.windows(2).all(|pair| pair[0] < pair[1]),
            "{first} {second}\n{text}"
        );
    }
}
