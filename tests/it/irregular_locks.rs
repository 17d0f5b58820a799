//! Folders, links, named pipes, sockets and devices in place of the lock, its owner file or a journal.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use nix::sys::stat::{Mode, SFlag, makedev, mknod};

use super::reboot::run_hint;
use super::support::{TestEnv, is_full};

const ENSEMBLE: &str = "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        a: {type: tosca.nodes.Root, interfaces: {Standard: {configure: 'true'}}}
";

const FILES: [&str; 3] = [
    "ensemble.yaml.lock",
    "ensemble.yaml.owner.lock",
    "jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV.journal",
];

const KINDS: [(&str, &str); 7] = [
    ("folder", "is a folder"),
    ("filled folder", "is a folder"),
    ("link", "is a symbolic link to"),
    ("dangling link", "is a symbolic link to"),
    ("pipe", "is a named pipe"),
    ("socket", "is a socket"),
    ("device", "is a symbolic link to `/dev/zero`"),
];

fn place(kind: &str, path: &Path, target: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "folder" => fs::create_dir(path).unwrap(),
        "filled folder" => fs::create_dir_all(path.join("inner")).unwrap(),
        "link" => symlink(target, path).unwrap(),
        "dangling link" => symlink("nowhere", path).unwrap(),
        "pipe" => nix::unistd::mkfifo(path, Mode::S_IRWXU).unwrap(),
        "socket" => drop(UnixListener::bind(path).unwrap()),
        _ => symlink("/dev/zero", path).unwrap(),
    }
}

/// D8: an owner file that is a named pipe made every command wait for ever, and a lock that is a folder, link or
/// named pipe could not be broken.
#[test]
fn an_entry_in_place_of_a_lock_or_journal_is_named_and_can_be_removed_by_the_hint() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("target");
    fs::write(&target, "1").unwrap();
    for file in FILES {
        for (kind, description) in KINDS {
            let env = TestEnv::with_ensemble(ENSEMBLE);
            let path = env.work().join(file);
            place(kind, &path, &target);
            if file.ends_with("owner.lock") {
                env.write("ensemble.yaml.lock", "999999999");
            }
            let named = format!("`{}` {description}", path.display());
            let refused = env.unfurl(["deploy", "--approve"]).exits(1);
            assert!(refused.time < Duration::from_secs(10), "{refused}");
            let refused = refused.says(&[&named]);
            let others = [&["recover"][..], &["status"], &["plan"], &["lock", "list"]];
            for command in others.iter().filter(|_| kind == "pipe" || is_full()) {
                let run = env.unfurl(*command).does_not_panic();
                assert!(run.time < Duration::from_secs(10), "{run}");
            }
            run_hint(&env, &refused).succeeds();
            assert!(!path.exists() && !path.is_symlink(), "{file} {kind}");
            if kind == "filled folder" {
                let aside = format!("{}.old/inner", path.display());
                assert!(Path::new(&aside).is_dir(), "{file}");
                if file.ends_with("owner.lock") {
                    // The lock names a process that does not exist.
                    assert_eq!(env.read("ensemble.yaml.lock"), "999999999");
                }
            }
            env.unfurl(["deploy", "--approve"]).succeeds();
            assert_eq!(fs::read_to_string(&target).unwrap(), "1");
        }
    }
}

/// D8: each job left a lock behind if its owner file could not be written.
#[test]
fn a_job_that_is_refused_for_its_owner_file_leaves_no_lock() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    fs::create_dir_all(env.work().join("ensemble.yaml.owner.lock/inner")).unwrap();
    env.unfurl(["deploy", "--approve"]).exits(1);
    env.unfurl(["lock", "break", "--force"]).exits(1);
    assert!(!env.work().join("ensemble.yaml.lock").exists());
}

/// D8: a real device needs privileges.
#[test]
fn a_device_in_place_of_a_lock_is_never_opened() {
    requires!("root");
    for file in FILES {
        let env = TestEnv::with_ensemble(ENSEMBLE);
        let path = env.work().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if mknod(&path, SFlag::S_IFCHR, Mode::S_IRWXU, makedev(1, 5)).is_err() {
            left_out!("no device can be created here");
        }
        let refused = env.unfurl(["deploy", "--approve"]).exits(1);
        let refused = refused.says(&[&format!("`{}` is a device", path.display())]);
        run_hint(&env, &refused).succeeds();
        env.unfurl(["deploy", "--approve"]).succeeds();
    }
}

/// D8: an owner file without an end was read whole.
#[test]
fn a_huge_owner_file_is_no_proof_and_costs_no_memory() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    env.write("ensemble.yaml.lock", "999999999");
    let owner = fs::File::create(env.work().join("ensemble.yaml.owner.lock")).unwrap();
    owner.set_len(1 << 40).unwrap();
    let limit = "ulimit -v 4000000";
    let refused = env.unfurl_after(limit, &["deploy", "--approve"]).exits(1);
    run_hint(&env, &refused).succeeds();
    env.unfurl(["deploy", "--approve"]).succeeds();
}
