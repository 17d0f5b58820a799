//! Kills and losses of power at the calls of the commands that commit, push and recover (D1, D2).

use super::after::{After, NEXT};
use super::faults::{Case, Fault, run};
use super::library::Disturbance;
use super::power::Loss;
use super::world::World;

const JOB: [&str; 7] = [
    "deploy",
    "--approve",
    "--parallel",
    "4",
    "--dirty",
    "ok",
    "--commit",
];
const DEPLOY: [&str; 8] = [
    "deploy",
    "--approve",
    "--parallel",
    "4",
    "--dirty",
    "ok",
    "--commit",
    "--push",
];
const TEARDOWN: [&str; 7] = [
    "teardown",
    "--approve",
    "--parallel",
    "4",
    "--dirty",
    "ok",
    "--commit",
];
const NEXT_TEARDOWN: [&str; 9] = [
    "teardown",
    "--approve",
    "--parallel",
    "4",
    "--dirty",
    "ok",
    "--commit",
    "--push",
    "--redo-in-doubt",
];

const KILLS: [Fault; 2] = [Fault::Kill, Fault::Half];
const CUTS: [Fault; 4] = [
    Fault::Cut(Loss::Everything),
    Fault::Cut(Loss::Bytes),
    Fault::Cut(Loss::Random),
    Fault::Cut(Loss::Zeros),
];

const AFTER_DEPLOY: After = After {
    commands: &[&NEXT],
    operation: "configure",
    with_clone: false,
};

fn deploy(faults: &'static [Fault]) -> Case {
    Case {
        name: "deploy",
        base: World::new().with_user_work(),
        words: &DEPLOY,
        after: AFTER_DEPLOY,
        faults,
    }
}

fn teardown(faults: &'static [Fault]) -> Case {
    let base = World::new();
    base.unfurl(&DEPLOY).succeeds();
    Case {
        name: "teardown",
        base: base.with_user_work(),
        words: &TEARDOWN,
        after: After {
            commands: &[&NEXT_TEARDOWN],
            operation: "delete",
            with_clone: false,
        },
        faults,
    }
}

fn commit(faults: &'static [Fault]) -> Case {
    let base = World::new().with_user_work();
    base.unfurl(&["deploy", "--approve", "--dirty", "ok"])
        .succeeds();
    Case {
        name: "commit",
        base,
        words: &["commit", ".", "--no-edit", "--push"],
        after: After {
            commands: &[&["commit", ".", "--no-edit", "--push"], &NEXT],
            ..AFTER_DEPLOY
        },
        faults,
    }
}

/// The recovery of a job that died when its tasks had ended.
fn recover(faults: &'static [Fault]) -> Case {
    let base = World::new().with_user_work();
    let (_, calls) = base.copied().disturbed(Disturbance::Count, &JOB);
    let journal = |path: &std::path::Path| path.extension().is_some_and(|end| end == "journal");
    let last = calls
        .iter()
        .rposition(|call| call.kind == "sync" && journal(&call.path));
    let (run, _) = base.disturbed(Disturbance::Kill(last.unwrap() + 1), &JOB);
    assert!(run.code < 0, "{run}");
    Case {
        name: "recover",
        base,
        words: &["recover"],
        after: After {
            commands: &[&["recover"], &NEXT],
            ..AFTER_DEPLOY
        },
        faults,
    }
}

/// An error of the disk, and a full disk.
const ERRORS: [Fault; 2] = [Fault::Fail(5), Fault::Fail(28)];

#[test]
fn a_deploy_that_pushes_survives_an_error_of_each_call() {
    run(&deploy(&ERRORS));
}

#[test]
fn a_deploy_that_pushes_survives_a_kill_at_each_call() {
    run(&deploy(&KILLS));
}

#[test]
fn a_deploy_that_pushes_survives_a_loss_of_power_at_each_call() {
    run(&deploy(&CUTS));
}

#[test]
fn a_teardown_that_commits_survives_a_kill_at_each_call() {
    run(&teardown(&KILLS));
}

#[test]
fn a_teardown_that_commits_survives_a_loss_of_power_at_each_call() {
    run(&teardown(&CUTS));
}

#[test]
fn a_commit_survives_a_kill_at_each_call() {
    run(&commit(&KILLS));
}

#[test]
fn a_commit_survives_a_loss_of_power_at_each_call() {
    run(&commit(&CUTS));
}

#[test]
fn a_recovery_survives_a_kill_at_each_call() {
    run(&recover(&KILLS));
}

#[test]
fn a_recovery_survives_a_loss_of_power_at_each_call() {
    run(&recover(&CUTS));
}
