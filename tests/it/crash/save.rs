//! Rule R4: a record that cannot be saved goes to a rescue file, and `unfurl recover` takes it back.

use std::path::PathBuf;

use super::kill::{check_teardown, undisturbed};
use super::world::World;
use crate::support::TestEnv;

const DEPLOY: [&str; 2] = ["deploy", "--approve"];
const NODES: usize = 6;

fn rescues(world: &World, folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(world.env.work().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.to_string_lossy().ends_with(".rescue"))
        .collect()
}

/// Deploys with a fault that stops the record from being saved after all tasks have run.
fn unsaved(fault: &str) -> World {
    let world = World::new(NODES, false);
    let run = world.run(fault, &DEPLOY);
    assert_eq!(world.made().len(), NODES, "{run}");
    run.exits(70)
        .says(&["its record cannot be saved", "unfurl recover", ".rescue"]);
    world
}

#[test]
fn a_record_that_cannot_be_saved_is_taken_back_wherever_it_stopped() {
    let wanted = undisturbed(NODES, false);
    for call in [
        "mkdir=/changes",
        "open=jobs.tsv",
        "write=jobs.tsv",
        "sync=jobs.tsv",
        "open=ensemble.yaml",
        "write=ensemble.yaml",
        "rename=ensemble.yaml",
        "exchange=ensemble.yaml",
    ] {
        for errno in ["ENOSPC", "EIO", "EROFS"] {
            let world = unsaved(&format!("fail:{errno}:{call}"));
            world.is_whole();
            assert_eq!(rescues(&world, ".").len(), 1, "{call}");
            let run = world.rerun(&["recover"]).succeeds();
            assert!(run.stdout.contains("is saved"), "{run}");
            assert_eq!(world.picture(), wanted, "{call}");
            assert_eq!(world.action_counts().values().sum::<usize>(), NODES);
            let run = world.rerun(&["recover"]).succeeds();
            assert!(run.stdout.contains("nothing to recover"), "{run}");
        }
    }
}

#[test]
fn a_disk_that_takes_nothing_more_leaves_the_record_to_another() {
    let world = World::new(NODES, false);
    let work = world.env.work();
    let fault = format!("fail-from:ENOSPC:mkdir=/changes in {}", work.display());
    let run = world.run(&fault, &DEPLOY);
    let run = run.exits(70).says(&["free some space", "unfurl recover"]);
    assert!(rescues(&world, ".").is_empty(), "{run}");
    let rescue = rescues(&world, "../tmp");
    assert_eq!(rescue.len(), 1, "{run}");
    let name = rescue[0].file_name().unwrap().to_str().unwrap();
    assert!(run.stderr.contains(&format!("/tmp/{name}")), "{run}");

    world.rerun(&["recover"]).succeeds();
    assert_eq!(world.picture(), undisturbed(NODES, false));
    assert!(rescues(&world, "../tmp").is_empty());
    // The recovered record is complete, so a deploy has nothing to do.
    let again = world.rerun(&DEPLOY).succeeds();
    assert!(again.all().contains("Nothing to do"), "{again}");
    check_teardown(&world);
}

#[test]
fn a_rescue_file_is_taken_back_once_and_only_where_it_belongs() {
    let world = unsaved("fail:EIO:rename=ensemble.yaml");
    let rescue = rescues(&world, ".").remove(0);
    let kept = world.env.work().join("../kept.rescue");
    std::fs::copy(&rescue, &kept).unwrap();
    let kept = kept.to_str().unwrap();

    let other = World::new(NODES + 1, false);
    other
        .rerun(&["recover", "ensemble.yaml", kept])
        .exits(1)
        .says(&["belongs to another ensemble"]);

    world.rerun(&["recover"]).succeeds();
    let before = world.env.tracked();
    std::fs::copy(kept, &rescue).unwrap();
    let run = world.rerun(&["recover", "ensemble.yaml", rescue.to_str().unwrap()]);
    assert!(run.succeeds().stdout.contains("already saved"));
    assert_eq!(world.env.tracked(), before);

    world.rerun(&["teardown", "--approve"]).succeeds();
    let before = world.env.tracked();
    world
        .rerun(&["recover", "ensemble.yaml", kept])
        .exits(1)
        .says(&["has been recorded since job", "unfurl check"]);
    assert_eq!(world.env.tracked(), before);
    let garbage = world.env.work().join("../garbage");
    std::fs::write(&garbage, "{").unwrap();
    world
        .rerun(&["recover", "ensemble.yaml", garbage.to_str().unwrap()])
        .exits(1)
        .says(&["is not a valid rescue file"]);
}

#[test]
fn what_was_cut_off_is_put_on_record_without_another_job() {
    let world = World::new(NODES, false);
    world.run("kill:spawn=sh#4", &DEPLOY);
    let ended = world.ended();
    let run = world.rerun(&["recover"]).succeeds();
    assert!(run.stdout.contains("crashed"), "{run}");
    assert_eq!(world.leftovers(), [""; 0], "{run}");
    let recorded = world.recorded();
    for (task, id) in &ended {
        assert_eq!(&recorded[task][0].0, id, "{run}");
    }
    let run = world.rerun(&["recover"]).succeeds();
    assert!(run.stdout.contains("nothing to recover"), "{run}");
}

/// A regression test; the simulation found the bug. The host had a record without a status, and the instance
/// on it was in error from then on.
#[test]
fn what_stands_on_an_instance_without_operations_is_well_after_a_crash() {
    let text = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        host: {type: tosca.nodes.Compute}
        guest:
          type: tosca.nodes.SoftwareComponent
          requirements: [{host: host}]
          interfaces: {Standard: {create: echo made}}
";
    let env = TestEnv::with_ensemble(text);
    env.unfurl_with(("UNFURL_TEST_FAULT", "kill:mkdir=/changes"), &DEPLOY);
    env.unfurl(["recover"]).succeeds();
    let host = &env.ensemble()["status"]["instances"]["host"];
    let guest = &host["instances"]["guest"]["readyState"];
    assert_eq!(guest["local"], "ok", "{host}");
    assert!(guest["effective"].is_null(), "{host}");
    assert_eq!(host["readyState"]["local"], "pending", "{host}");
}

/// What a text editor saves while a job saves its record: the old text with a comment.
fn edited(world: &World, comment: &str) -> String {
    let text = format!("{}# {comment}\n", world.env.read("ensemble.yaml"));
    let path = format!("../{comment}.yaml");
    world.env.write(&path, &text);
    text
}

/// A fault that runs a shell script, with the number of the call in `$n`, before each exchange of the manifest.
fn before_exchanges(world: &World, script: &str) -> String {
    let text =
        format!("n=$(($(cat ../calls 2>/dev/null || echo 0) + 1)); echo $n > ../calls\n{script}\n");
    world.env.write("../hook.sh", &text);
    "hook:exchange=ensemble.yaml:. ../hook.sh".to_owned()
}

/// An editor replaces the file by a rename, as most do.
const SAVE_FIRST: &str = "cp ../first.yaml new; mv new ensemble.yaml";

/// The suspicion at the end of the durability review: an editor that saved between the comparison and the rename
/// of `ensemble.yaml` was overwritten.
#[test]
fn an_editor_that_saves_at_the_last_moment_is_not_overwritten() {
    let wanted = undisturbed(NODES, false);
    for save in [SAVE_FIRST, "cat ../first.yaml > ensemble.yaml"] {
        let world = World::new(NODES, false);
        let theirs = edited(&world, "first");
        let fault = before_exchanges(&world, &format!("[ $n != 1 ] || {{ {save}; }}"));
        let run = world.run(&fault, &DEPLOY).exits(70);
        let run = run.says(&["its version is in place", "unfurl recover", ".rescue"]);
        assert_eq!(world.env.read("ensemble.yaml"), theirs, "{run}");
        assert_eq!(rescues(&world, ".").len(), 1, "{run}");

        world.rerun(&["recover"]).succeeds();
        assert_eq!(world.picture(), wanted, "{run}");
        assert!(world.env.read("ensemble.yaml").contains("# first\n"));
        assert_eq!(world.leftovers(), [""; 0], "{run}");
        let again = world.rerun(&DEPLOY).succeeds();
        assert!(again.all().contains("Nothing to do"), "{again}");
        assert_eq!(world.action_counts().values().sum::<usize>(), NODES);
    }
}

#[test]
fn an_editor_that_saves_twice_has_its_last_version_in_place() {
    let world = World::new(NODES, false);
    edited(&world, "first");
    let theirs = edited(&world, "second");
    let script = "case $n in 1) cp ../first.yaml new;; 2) cp ../second.yaml new;; *) exit;; esac; mv new ensemble.yaml";
    let run = world
        .run(&before_exchanges(&world, script), &DEPLOY)
        .exits(70);
    assert_eq!(world.env.read("ensemble.yaml"), theirs, "{run}");
    let names = world.env.names();
    let first = names.iter().find(|name| name.contains(".overtaken-"));
    assert!(
        world.env.read(first.unwrap()).ends_with("# first\n"),
        "{run}"
    );
    world.rerun(&["recover"]).succeeds();
    assert_eq!(world.picture(), undisturbed(NODES, false));
}

/// The editor's version came out of the exchange, and a kill follows before it is put back.
#[test]
fn a_kill_between_two_exchanges_loses_no_version_of_an_editor() {
    let wanted = undisturbed(NODES, false);
    for next in [&["recover"][..], &DEPLOY] {
        let world = World::new(NODES, false);
        edited(&world, "first");
        let script = format!("case $n in 1) {SAVE_FIRST};; *) kill -9 $PPID; sleep 1;; esac");
        let run = world.run(&before_exchanges(&world, &script), &DEPLOY);
        assert_eq!(run.code, -1, "{run}");
        let run = world.rerun(next).succeeds();
        assert!(
            world.env.read("ensemble.yaml").contains("# first\n"),
            "{run}"
        );
        assert_eq!(world.picture(), wanted, "{run}");
        assert_eq!(world.leftovers(), [""; 0], "{run}");
        assert_eq!(world.action_counts().values().sum::<usize>(), NODES);
    }
}

/// A kill or a loss of power around the exchange leaves the old or the new record, and no other file.
#[test]
fn a_crash_around_the_exchange_leaves_one_of_both_records() {
    let wanted = undisturbed(NODES, false);
    for fault in [
        "kill:rename=ensemble.yaml",
        "kill:exchange=ensemble.yaml",
        "kill-after:exchange=ensemble.yaml",
        "kill:unlink=ensemble.yaml",
        "cut:unlink=ensemble.yaml",
        "cut-data:unlink=ensemble.yaml",
    ] {
        let world = World::new(NODES, false);
        world.run(fault, &DEPLOY);
        world.is_whole();
        let run = world.rerun(&["recover"]).succeeds();
        assert_eq!(world.picture(), wanted, "{fault}\n{run}");
        assert_eq!(world.leftovers(), [""; 0], "{fault}\n{run}");
        assert_eq!(world.action_counts().values().sum::<usize>(), NODES);
    }
}

/// Where files cannot be exchanged, the record is saved as before.
#[test]
fn a_file_system_without_exchange_saves_the_record_by_a_rename() {
    let world = World::new(NODES, false);
    world
        .run("fail:EINVAL:exchange=ensemble.yaml", &DEPLOY)
        .succeeds();
    assert_eq!(world.picture(), undisturbed(NODES, false));
    assert_eq!(world.leftovers(), [""; 0]);
}
