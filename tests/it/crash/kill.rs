//! B1: a job that is killed anywhere loses nothing that has ended, and the next one goes on.

use super::world::{Picture, World};
use super::{Loops, again};

const DEPLOY: [&str; 4] = ["deploy", "--approve", "--parallel", "4"];
const GO_ON: [&str; 5] = ["deploy", "--approve", "--parallel", "4", "--redo-in-doubt"];
/// The most tasks that can be in doubt.
const PARALLEL: usize = 4;

/// What an undisturbed deploy leaves.
pub(super) fn undisturbed(nodes: usize, checks: bool) -> Picture {
    let world = World::new(nodes, checks);
    world.rerun(&DEPLOY).succeeds();
    world.picture()
}

/// Goes on after a crash and says what is wrong then, if anything.
pub(super) fn goes_on(world: &World, wanted: &Picture, arguments: &[&str]) {
    world.is_whole();
    let ended = world.ended();
    let recorded_before = world.recorded();
    let run = world.rerun(arguments).succeeds();
    world.is_whole();
    let recorded = world.recorded();
    let acts = world.acts();
    for (task, id) in &ended {
        assert_eq!(
            acts.get(task),
            Some(&1),
            "`{task}` had ended and ran again\n{run}"
        );
        let ids = recorded.get(task).map(|r| r.iter().map(|(id, _)| id));
        let ids: Vec<&String> = ids.into_iter().flatten().collect();
        assert_eq!(ids, [id], "the record of `{task}`\n{run}");
    }
    for (task, records) in &recorded_before {
        assert!(
            recorded[task].starts_with(records),
            "`{task}` was on record\n{run}"
        );
    }
    let again: usize = acts.values().map(|count| count - 1).sum();
    assert!(
        again <= PARALLEL,
        "{again} tasks ran again: {acts:?}\n{run}"
    );
    assert_eq!(acts.len(), world.nodes, "{run}");
    assert_eq!(world.picture(), *wanted, "{run}");
    assert_eq!(world.litter(), [""; 0], "{run}");
}

/// Takes down what there is.
pub(super) fn goes_down(world: &World) {
    let run = world.rerun(&["teardown", "--approve"]).succeeds();
    assert!(world.made().is_empty(), "{:?}\n{run}", world.made());
    assert_eq!(world.litter(), [""; 0], "{run}");
}

#[test]
fn a_job_killed_at_any_call_loses_nothing_and_the_next_one_goes_on() {
    let loops = Loops::wanted();
    let calls = World::new(loops.nodes(), false).calls(&DEPLOY);
    let wanted = undisturbed(loops.nodes(), false);
    let kinds = ["kill", "kill-after", "kill-within"];
    for fault in loops.faults(&kinds, &calls) {
        eprintln!("{}", again("kill", &fault));
        let world = World::new(loops.nodes(), false);
        let run = world.run(&fault, &DEPLOY);
        assert!(run.code <= 0, "{run}");
        goes_on(&world, &wanted, &GO_ON);
        goes_down(&world);
    }
}
