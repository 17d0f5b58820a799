//! The library, the model and the checks see what they claim to see.

use std::path::{Path, PathBuf};

use super::after::{After, check};
use super::library::Disturbance;
use super::power::{Disk, Entry, Loss, differences};
use super::trace::Record;
use super::world::World;

/// The model knows every file after a replay, so no change of the program, of libgit2 or of git bypasses the library.
#[test]
fn the_library_sees_each_change_of_the_program_and_of_git() {
    let world = World::new().with_user_work();
    for words in [
        &["deploy", "--approve", "--dirty", "ok", "--commit", "--push"][..],
        &["teardown", "--approve", "--dirty", "ok", "--commit"],
        &["commit", ".", "--no-edit", "--push"],
    ] {
        let mut disk = Disk::of(&world.clone_folder());
        let (run, records) = world.disturbed(Disturbance::Count, words);
        let run = run.succeeds();
        assert!(!records.is_empty(), "{run}");
        disk.replay(&records);
        assert_eq!(differences(&disk.now(), &world.tree()), [""; 0], "{run}");
    }
}

/// A change that a check has to find.
type Damage<'a> = &'a dyn Fn(&World);

/// A check that finds nothing proves nothing, so each kind of damage is found once.
#[test]
fn the_checks_find_damage() {
    let lock = |world: &World| world.env.write("a/.git/index.lock", "");
    let deletion = |world: &World| {
        world.git(&["update-index", "--force-remove", "ens/jobs.tsv"]);
    };
    let doubled = |world: &World| {
        let log = world.env.read("log");
        world.env.write("log", &format!("{log}n0 configure\n"));
    };
    let emptied = |world: &World| world.env.write("a/ens/ensemble.yaml", "");
    let edited = |world: &World| world.env.write("a/untracked", "");
    let unpushed = |world: &World| {
        let words = ["update-ref", "refs/heads/main", "main~1"];
        world.env.git(&[&["-C", "origin.git"][..], &words].concat());
    };
    let damages: [(&str, Damage); 6] = [
        ("left over", &lock),
        ("`git status`", &deletion),
        ("ran 2 times", &doubled),
        ("does not parse", &emptied),
        ("work of the user", &edited),
        ("the commit of the remote", &unpushed),
    ];
    let base = World::new().with_user_work();
    let user = base.user_work().unwrap();
    let words = ["deploy", "--approve", "--dirty", "ok", "--commit", "--push"];
    base.unfurl(&words).succeeds();
    let after = After {
        commands: &[],
        operation: "configure",
        with_clone: true,
    };
    for (wanted, damage) in damages {
        let world = base.copied();
        damage(&world);
        let found = check(&world, &user, after).unwrap_err();
        assert!(found.contains(wanted), "{wanted}: {found}");
    }
    check(&base, &user, after).unwrap();
}

fn record(kind: &str, path: &Path, other: &str, data: &str) -> Record {
    Record::new(kind, path.to_owned(), PathBuf::from(other), data)
}

/// A file that is written beside its target and renamed, in the order that `steps` gives.
fn replaced(steps: &[&str], loss: Loss) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::write(root.join("old"), "old").unwrap();
    let (new, old) = (root.join("new"), root.join("old"));
    let mut disk = Disk::of(root);
    let records: Vec<Record> = steps
        .iter()
        .map(|step| match *step {
            "create" => record("create", &new, "", ""),
            "write" => record("write", &new, "", "text"),
            "sync" => record("sync", &new, "", ""),
            "rename" => record("rename", &new, old.to_str().unwrap(), ""),
            _ => record("sync", root, "", ""),
        })
        .collect();
    disk.replay(&records);
    let tree = disk.cut(loss, 1);
    let Entry::File(bytes, _) = tree.get(Path::new("old"))? else {
        return None;
    };
    Some(String::from_utf8(bytes.clone()).unwrap())
}

#[test]
fn the_model_loses_what_is_not_synced() {
    let all = ["create", "write", "sync", "rename", "folder"];
    for loss in [Loss::Everything, Loss::Bytes, Loss::Zeros, Loss::Random] {
        assert_eq!(replaced(&all, loss).as_deref(), Some("text"), "{loss:?}");
    }
    // Without the sync of the folder the old name is back, and without that of the file the bytes are lost.
    let steps = ["create", "write", "sync", "rename"];
    assert_eq!(replaced(&steps, Loss::Everything).as_deref(), Some("old"));
    assert_eq!(replaced(&steps, Loss::Bytes).as_deref(), Some("text"));
    let steps = ["create", "write", "rename", "folder"];
    assert_eq!(replaced(&steps, Loss::Everything).as_deref(), Some(""));
    assert_eq!(replaced(&steps, Loss::Zeros).as_deref(), Some("\0\0\0\0"));
}
