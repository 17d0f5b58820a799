//! Clones whose jobs start at the same instant (D6).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Barrier;

use super::world::World;
use crate::support::Run;

/// The length of a loop, from `UNFURL_LOOPS`.
fn rounds(short: usize) -> usize {
    match std::env::var("UNFURL_LOOPS").as_deref() {
        Ok("full") => 25,
        Ok("clones:1000") => 1000,
        _ => short,
    }
}

/// An ensemble with a node for each job, so that no two jobs change the same instance.
fn world(clones: usize, rounds: usize) -> World {
    let world = World::new();
    let text = world.env.read("a/ens/ensemble.yaml");
    let (head, _) = text.split_once("        n0:").unwrap();
    let mut text = head.to_owned();
    for round in 0..rounds {
        for clone in 0..clones {
            writeln!(text, "        r{round}c{clone}: {{type: Item}}").unwrap();
        }
    }
    world.env.write("a/ens/ensemble.yaml", &text);
    world.git(&["commit", "-q", "-a", "-m", "nodes"]);
    world.git(&["push", "-q"]);
    for clone in 0..clones {
        let folder = format!("c{clone}");
        world
            .env
            .git(&["clone", "-q", "--template=", "origin.git", &folder]);
        world.env.git(&[
            "-C",
            &folder,
            "remote",
            "set-url",
            "origin",
            "../origin.git",
        ]);
    }
    world
}

/// Starts one job in each clone at the same time. With `frozen`, all clocks show the same time.
fn round(world: &World, round: usize, clones: usize, frozen: bool) {
    let now = jiff::Timestamp::now().as_second().to_string();
    let variables = [("UNFURL_SHIM_FROZEN", now.as_str())];
    let variables: &[(&str, &str)] = if frozen { &variables } else { &[] };
    let barrier = Barrier::new(clones);
    let runs: Vec<Run> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..clones)
            .map(|clone| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let node = format!("r{round}c{clone}");
                    let words = [
                        "deploy",
                        "--approve",
                        "--commit",
                        "--push",
                        "--check-upstream",
                        "--instance",
                        &node,
                    ];
                    barrier.wait();
                    world.unfurl_with(&format!("c{clone}"), variables, &words)
                })
            })
            .collect();
        started.into_iter().map(|job| job.join().unwrap()).collect()
    });
    for (clone, run) in runs.iter().enumerate() {
        if run.code != 0 {
            let words = ["commit", ".", "--no-edit", "--push"];
            let again = world.unfurl_with(&format!("c{clone}"), &[], &words);
            assert_eq!(
                again.code, 0,
                "round {round}, clone {clone}: {run}\n{again}"
            );
        }
    }
}

fn loop_of(clones: usize, rounds: usize) {
    let world = world(clones, rounds);
    for number in 0..rounds {
        // A collision is rare unless the clocks agree exactly.
        round(&world, number, clones, number % 3 != 2);
        is_whole(&world, (number + 1) * clones);
    }
    for folder in ["origin.git", "c0", "c1"] {
        world
            .env
            .git(&["-C", folder, "fsck", "--strict", "--no-progress"]);
    }
}

/// Checks the record of the remote: a job for each start, and no id twice.
fn is_whole(world: &World, jobs: usize) {
    let text = world
        .env
        .git(&["-C", "origin.git", "show", "main:ens/jobs.tsv"]);
    let ids: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len(), "an id occurs twice:\n{text}");
    let of_jobs = ids.iter().filter(|id| id.ends_with("0000")).count();
    assert_eq!(of_jobs, jobs, "{text}");
    let changes = world.env.git(&[
        "-C",
        "origin.git",
        "ls-tree",
        "--name-only",
        "main",
        "ens/changes/",
    ]);
    assert_eq!(changes.lines().count(), jobs, "{changes}");
    let ensemble = world
        .env
        .git(&["-C", "origin.git", "show", "main:ens/ensemble.yaml"]);
    let ensemble: serde_json::Value = serde_yaml::from_str(&ensemble).unwrap();
    let instances = ensemble["status"]["instances"].as_object().unwrap();
    // The id of the last change of each instance is that of its own task.
    let changed = |(name, instance): (&String, &serde_json::Value)| {
        let id = instance["lastConfigChange"].as_str()?;
        Some((name.clone(), id.to_owned()))
    };
    let changes: Vec<(String, String)> = instances.iter().filter_map(changed).collect();
    assert_eq!(changes.len(), jobs, "{changes:?}");
    for (name, id) in &changes {
        let line = text
            .lines()
            .find(|line| line.starts_with(id.as_str()))
            .unwrap();
        assert!(
            line.contains(&format!("::{name}\t")),
            "{name} names {id}: {line}"
        );
    }
    let effects = world.effects();
    assert_eq!(effects.len(), jobs, "{effects:?}");
    assert!(effects.values().all(|count| *count == 1), "{effects:?}");
}

#[test]
fn two_clones_that_start_together_push_all_and_no_id_occurs_twice() {
    loop_of(2, rounds(3));
}

#[test]
fn five_clones_that_start_together_push_all_and_no_id_occurs_twice() {
    loop_of(5, rounds(3));
}
