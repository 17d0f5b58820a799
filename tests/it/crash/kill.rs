//! Rule B1: a job that is killed at any call loses no result of an ended task, and the next job recovers.

use super::world::{World, WorldState};
use super::{Loops, how_to_reproduce};

const DEPLOY: [&str; 4] = ["deploy", "--approve", "--parallel", "4"];
const RECOVER: [&str; 5] = ["deploy", "--approve", "--parallel", "4", "--redo-in-doubt"];
/// The largest number of tasks that one crash leaves in doubt.
const PARALLEL: usize = 4;

/// The state of a world after a deploy without faults.
pub(super) fn undisturbed(nodes: usize, checks: bool) -> WorldState {
    let world = World::new(nodes, checks);
    world.rerun(&DEPLOY).succeeds();
    world.picture()
}

/// How a test continues after a crash: the next command and the losses that are allowed.
#[derive(Debug, Clone, Copy)]
pub(super) struct After {
    /// The number of crashes so far. Each may leave [`PARALLEL`] tasks in doubt, which run again.
    pub(super) crashes: usize,
    /// The command that runs after the crash.
    pub(super) arguments: &'static [&'static str],
    /// Whether checks settle the tasks in doubt. Checks leave records of their own, so the history is not
    /// compared.
    pub(super) checks: bool,
}

impl After {
    pub(super) fn crashes(crashes: usize) -> Self {
        Self {
            crashes,
            arguments: &RECOVER,
            checks: false,
        }
    }
}

/// Runs the next job after a crash and asserts that no result is lost and no ended task runs again.
///
/// At most [`PARALLEL`] tasks per crash may run twice.
pub(super) fn check_recovery(world: &World, wanted: &WorldState, after: After) {
    world.is_whole();
    let ended = world.ended();
    let (recorded_before, acts_before) = (world.recorded(), world.action_counts());
    let run = world.rerun(after.arguments).succeeds();
    world.is_whole();
    let (recorded, acts) = (world.recorded(), world.action_counts());
    for (task, id) in &ended {
        let again = acts.get(task) != acts_before.get(task);
        assert!(!again, "`{task}` had ended and ran again\n{run}");
        // The earlier records of the task are those of crashed attempts, so they must be in doubt.
        let records = recorded.get(task).map_or(&[][..], Vec::as_slice);
        let (last, earlier) = records
            .split_last()
            .unwrap_or_else(|| panic!("{task}\n{run}"));
        assert_eq!(
            (&last.0, &*last.1),
            (id, "ok"),
            "the record of `{task}`\n{run}"
        );
        let doubt = earlier.iter().all(|(_, status)| status == "unknown");
        assert!(doubt, "`{task}` is recorded as {records:?}\n{run}");
    }
    for (task, records) in &recorded_before {
        let kept = recorded[task].starts_with(records);
        assert!(kept, "`{task}` was on record\n{run}");
    }
    let again: usize = acts.values().map(|count| count - 1).sum();
    let most = PARALLEL * after.crashes;
    assert!(again <= most, "{again} tasks ran again: {acts:?}\n{run}");
    assert_eq!(acts.len(), world.nodes, "{run}");
    let picture = world.picture();
    let differences = if after.checks {
        picture
            .without_history()
            .differences(&wanted.without_history())
    } else {
        picture.differences(wanted)
    };
    assert!(differences.is_empty(), "{differences:#?}\n{run}");
    assert_eq!(world.leftovers(), [""; 0], "{run}");
    // The record is complete now, so another deploy has nothing to do.
    let run = world.rerun(&DEPLOY).succeeds();
    assert_eq!(world.action_counts(), acts, "{run}");
}

/// Tears down the deployment and asserts that it leaves no files.
pub(super) fn check_teardown(world: &World) {
    let run = world.rerun(&["teardown", "--approve"]).succeeds();
    assert!(world.made().is_empty(), "{:?}\n{run}", world.made());
    assert_eq!(world.leftovers(), [""; 0], "{run}");
}

/// Kills a deploy, runs the next job and the teardown. Returns whether the deploy was killed.
fn survives(fault: &str, wanted: &WorldState, nodes: usize) -> bool {
    let world = World::new(nodes, false);
    let run = world.run(fault, &DEPLOY);
    assert!(run.code <= 0, "{run}");
    check_recovery(&world, wanted, After::crashes(1));
    check_teardown(&world);
    run.code < 0
}

#[test]
fn a_job_killed_at_any_call_loses_nothing_and_the_next_one_goes_on() {
    let loops = Loops::wanted();
    let calls = World::new(loops.nodes(), false).calls(&DEPLOY);
    let wanted = undisturbed(loops.nodes(), false);
    let faults = loops.faults(&["kill", "kill-after", "kill-within"], &calls);
    let mut killed = 0;
    for fault in &faults {
        eprintln!("{}", how_to_reproduce("kill", fault));
        killed += usize::from(survives(fault, &wanted, loops.nodes()));
    }
    // No two jobs make exactly the same calls, so some jobs end before their fault occurs.
    assert!(
        killed * 4 >= faults.len() * 3,
        "{killed} of {}",
        faults.len()
    );
    eprintln!("{killed} of {} were killed", faults.len());
}

/// Kills a job at random times. The calls are not recorded beforehand, because tasks that run in parallel end
/// in a different order each time.
#[test]
fn a_job_killed_at_random_loses_nothing_and_the_next_one_goes_on() {
    let loops = Loops::wanted();
    let times = match loops {
        Loops::Short => 5,
        Loops::Full => 2000,
        Loops::Every(step) => u32::try_from(2000 / step).unwrap(),
        Loops::One(_) => return,
    };
    let wanted = undisturbed(loops.nodes(), false);
    let whole = World::new(loops.nodes(), false)
        .rerun(&DEPLOY)
        .succeeds()
        .time;
    for turn in 0..times {
        let world = World::new(loops.nodes(), false);
        // Spread the kills evenly over the duration of an undisturbed deploy.
        let after = whole.mul_f64(f64::from(turn) / f64::from(times));
        let ended = world.env.killed_after(after, &DEPLOY);
        eprintln!("killed after {after:?}");
        if ended {
            continue;
        }
        check_recovery(&world, &wanted, After::crashes(1));
        check_teardown(&world);
    }
}

#[test]
fn a_check_settles_what_is_in_doubt_after_a_kill_at_any_call() {
    let loops = Loops::wanted();
    let calls = World::new(loops.nodes(), true).calls(&DEPLOY);
    let wanted = undisturbed(loops.nodes(), true);
    let after = After {
        crashes: 1,
        arguments: &DEPLOY,
        checks: true,
    };
    for fault in loops.faults(&["kill-after", "kill"], &calls) {
        eprintln!("{}", how_to_reproduce("kill", &fault));
        let world = World::new(loops.nodes(), true);
        let run = world.run(&fault, &DEPLOY);
        assert!(run.code <= 0, "{run}");
        check_recovery(&world, &wanted, after);
        check_teardown(&world);
    }
}

/// Crashes a deploy in the middle, then crashes the job that recovers, one call later each time.
///
/// `middle` is the first fault; `modes` are the kinds of the second.
#[expect(
    clippy::print_stderr,
    reason = "a test tells how to repeat its failure"
)]
pub(super) fn recovery_survives(test: &str, middle: &str, modes: &[&str]) {
    let loops = Loops::wanted();
    let nodes = 10;
    let wanted = undisturbed(nodes, false);
    let cut_off = || {
        let world = World::new(nodes, false);
        world.run(middle, &DEPLOY);
        world
    };
    for fault in loops.faults(modes, &cut_off().calls(&RECOVER)) {
        eprintln!("{}", how_to_reproduce(test, &fault));
        let world = cut_off();
        let run = world.run(&fault, &RECOVER);
        assert!(run.code <= 0, "{run}");
        check_recovery(&world, &wanted, After::crashes(2));
        check_teardown(&world);
    }
}

#[test]
fn a_recovery_that_is_killed_is_gone_on_with() {
    recovery_survives(
        "kill",
        "kill:spawn=sh#5",
        &["kill", "kill-within", "kill-after"],
    );
}

/// The rendered file of an instance that exists is always in its folder, in the old or the new version.
#[test]
fn a_folder_that_replaces_another_is_there_at_every_instant() {
    let rendered = "active/tasks/n0/configure/rendered.sh";
    for fault in ["kill:exchange", "kill-after:exchange", "kill:remove-tree"] {
        let world = World::new(2, false);
        world.rerun(&DEPLOY).succeeds();
        let edited = world
            .env
            .read("ensemble.yaml")
            .replace("configure >>", "configure  >>");
        world.env.write("ensemble.yaml", &edited);
        let old = world.env.read(rendered);
        let run = world.run(&format!("{fault}=/tasks/n0/configure"), &DEPLOY);
        assert!(run.code < 0, "{fault}\n{run}");
        let is_new = world.env.read(rendered) != old;
        assert_eq!(is_new, fault != "kill:exchange", "{fault}\n{run}");
    }
}
