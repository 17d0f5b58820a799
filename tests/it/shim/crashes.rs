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

/// A job of one instance, in a clone that does not look for newer commits before.
const REBASED: [&str; 10] = [
    "deploy",
    "--approve",
    "--parallel",
    "4",
    "--dirty",
    "ok",
    "--commit",
    "--push",
    "--instance",
    "n1",
];
/// Another clone has deployed `n0`, so the next job looks for its record first.
const NEXT_UPSTREAM: [&str; 8] = [
    "deploy",
    "--approve",
    "--dirty",
    "ok",
    "--commit",
    "--push",
    "--redo-in-doubt",
    "--check-upstream",
];

const KILLS: [Fault; 2] = [Fault::Kill, Fault::Half];
const CUTS: [Fault; 4] = [
    Fault::Cut(Loss::Everything),
    Fault::Cut(Loss::Bytes),
    Fault::Cut(Loss::Random),
    Fault::Cut(Loss::Zeros),
];
const KILLS_AND_CUTS: [Fault; 6] = [
    Fault::Kill,
    Fault::Cut(Loss::Everything),
    Fault::Cut(Loss::Random),
    Fault::Half,
    Fault::Cut(Loss::Bytes),
    Fault::Cut(Loss::Zeros),
];

/// An error of the disk, and a full disk.
const ERRORS: [Fault; 2] = [Fault::Fail(5), Fault::Fail(28)];

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
        each: 1,
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
        each: 2,
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
        each: 2,
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
        each: 1,
    }
}

/// A deploy whose push is refused, because another clone has pushed the record of another instance before.
fn rebase(faults: &'static [Fault]) -> Case {
    let base = World::new();
    base.env
        .git(&["clone", "-q", "--template=", "origin.git", "b"]);
    base.env
        .git(&["-C", "b", "remote", "set-url", "origin", "../origin.git"]);
    let words = [&DEPLOY[..], &["--instance", "n0"]].concat();
    base.unfurl_with("b", &[], &words).succeeds();
    Case {
        name: "rebase",
        base: base.with_user_work(),
        words: &REBASED,
        after: After {
            // A clone with a record that is not pushed is not brought up to date by a job.
            commands: &[
                &["recover"],
                &["commit", ".", "--no-edit", "--push"],
                &NEXT_UPSTREAM,
            ],
            ..AFTER_DEPLOY
        },
        faults,
        each: 6,
    }
}

#[test]
fn a_deploy_survives_a_kill_at_each_call() {
    run(&deploy(&KILLS));
}

#[test]
fn a_deploy_survives_a_loss_of_power_at_each_call() {
    run(&deploy(&CUTS));
}

#[test]
fn a_deploy_survives_an_error_of_each_call() {
    let mut case = deploy(&ERRORS);
    case.each = 6;
    // A record that could not be saved is taken back first.
    case.after.commands = &[&["recover"], &NEXT];
    run(&case);
}

#[test]
fn a_deploy_that_rebases_survives_kills_and_losses_of_power_at_each_call() {
    run(&rebase(&KILLS_AND_CUTS));
}

#[test]
fn a_teardown_survives_kills_and_losses_of_power_at_each_call() {
    run(&teardown(&KILLS_AND_CUTS));
}

#[test]
fn a_commit_survives_kills_and_losses_of_power_at_each_call() {
    run(&commit(&KILLS_AND_CUTS));
}

#[test]
fn a_recovery_survives_kills_and_losses_of_power_at_each_call() {
    run(&recover(&KILLS_AND_CUTS));
}
