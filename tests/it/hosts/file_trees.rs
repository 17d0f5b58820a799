//! Copies of folders with private and read-only folders, links, and names that are taken on the other side.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use super::cli::{hosts, options, over};
use super::sshd::Sshd;
use crate::executors::Users;
use crate::support::{Run, TestEnv, wait_for};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn new_folders_have_the_permissions_of_the_original_and_stay_writable() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    env.write("tree/private/key", "secret");
    env.write("tree/fixed/file", "text");
    fs::create_dir(env.work().join("tree/shared")).unwrap();
    for (name, bits) in [("private", 0o700), ("fixed", 0o555), ("shared", 0o775)] {
        set_mode(&env.work().join("tree").join(name), bits);
    }
    // By SFTP, by programs of the host, and by programs that compare each file.
    let owner = format!("--owner={}", super::sshd::user());
    for (number, option) in ["--mode=0600", &owner, "--verify"].iter().enumerate() {
        let there = sshd.path(&format!("there{number}"));
        let target = there.display().to_string();
        for _ in 0..2 {
            over(&env, &sshd, 1, &["put", option, "tree", &target]).succeeds();
        }
        for (name, bits) in [("private", 0o700), ("fixed", 0o755), ("shared", 0o775)] {
            assert_eq!(mode(&there.join(name)), bits, "{option} {name}");
        }
        let back = format!("back{number}");
        let words: &[&str] = match number {
            0 => &["get", &target, &back],
            _ => &["get", "--verify", &target, &back],
        };
        over(&env, &sshd, 1, words).succeeds();
        let back = env.work().join(back).join(format!("there{number}"));
        let back = if back.exists() {
            back
        } else {
            back.parent().unwrap().to_owned()
        };
        assert_eq!(mode(&back.join("private")), 0o700, "{option}");
    }
    let here = env.work().join("here").display().to_string();
    env.unfurl(["put", "-H", "@local", "tree", &here])
        .succeeds();
    assert_eq!(mode(&env.work().join("here/private")), 0o700);
    // So that the folder of the test can be deleted.
    set_mode(&env.work().join("tree/fixed"), 0o755);
}

#[test]
fn a_file_never_lands_in_a_folder_of_its_name_and_a_folder_never_replaces_a_file() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    env.write("tree/page", "new");
    env.write("tree/other", "new");
    env.write("deep/page/file", "new");
    let there = sshd.path("there");
    fs::create_dir_all(there.join("page")).unwrap();
    fs::write(there.join("page/child"), "old").unwrap();
    fs::create_dir_all(sshd.path("taken")).unwrap();
    fs::write(sshd.path("taken/page"), "old").unwrap();
    let owner = format!("--owner={}", super::sshd::user());
    for option in ["--mode=0600", &owner, "--verify", "--resume", "--mirror"] {
        let target = there.display().to_string();
        let run = over(&env, &sshd, 1, &["put", option, "tree", &target]).exits(1);
        assert!(run.stderr.contains("a folder of th"), "{option}: {run}");
        let left: Vec<_> = fs::read_dir(there.join("page")).unwrap().collect();
        assert_eq!(left.len(), 1, "{option}: {left:?}");
        let target = sshd.path("taken").display().to_string();
        over(&env, &sshd, 1, &["put", option, "deep", &target]).exits(1);
        assert_eq!(fs::read(sshd.path("taken/page")).unwrap(), b"old");
    }
}

#[test]
fn links_that_lead_back_and_names_that_are_no_text_are_named() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    env.write("tree/a/file", "text");
    fs::create_dir(env.work().join("tree/b")).unwrap();
    let target = sshd.path("there").display().to_string();
    // Two links that lead to each other's folder would make a tree that grows without end.
    for name in ["b/x1", "b/x2"] {
        symlink("../a", env.work().join("tree").join(name)).unwrap();
    }
    for name in ["a/y1", "a/y2"] {
        symlink("../b", env.work().join("tree").join(name)).unwrap();
    }
    let run = over(&env, &sshd, 1, &["put", "tree", &target]).exits(1);
    assert!(
        run.stderr
            .contains("leads back to a folder that contains it"),
        "{run}"
    );
    assert!(!Path::new(&target).exists());
    env.write("names/fine", "text");
    let bad = std::ffi::OsStr::from_bytes(b"bad\xff");
    fs::write(env.work().join("names").join(bad), "text").unwrap();
    let run = over(&env, &sshd, 1, &["put", "names", &target]).exits(1);
    assert!(run.stderr.contains("names/"), "{run}");
    assert!(run.stderr.contains("is not UTF-8"), "{run}");
    assert!(!Path::new(&target).exists());
}

#[test]
fn the_home_folder_of_nobody_is_mirrored_into() {
    requires!("root", "sshd", "sudo");
    let (sshd, env, users) = (Sshd::start(), TestEnv::new(), Users::two(None));
    env.write("site/index", "new");
    let home = format!("/home/{}", users.names[0]);
    fs::write(format!("{home}/kept"), "kept").unwrap();
    let run = over(&env, &sshd, 1, &["put", "--mirror", "site", &home]).exits(1);
    assert!(run.stderr.contains("is never mirrored into"), "{run}");
    assert!(Path::new(&home).join("kept").exists());
    let below = format!("{home}/site");
    over(&env, &sshd, 1, &["put", "--mirror", "site", &below]).succeeds();
}

/// Returns all processes that descend from a process, parents first.
fn descendants(process: u32) -> Vec<u32> {
    let children = format!("/proc/{process}/task/{process}/children");
    let children = fs::read_to_string(children).unwrap_or_default();
    let mut found = Vec::new();
    for child in children.split_whitespace() {
        let child: u32 = child.parse().unwrap();
        found.push(child);
        found.extend(descendants(child));
    }
    found
}

/// Ends all processes that descend from a process. Parents end first, so that none reports the end of its child.
fn end_descendants(process: u32) {
    for child in descendants(process) {
        let child = nix::unistd::Pid::from_raw(i32::try_from(child).unwrap());
        nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGKILL).ok();
    }
}

/// Starts a transfer, and ends the session on the server once a part of the file has arrived.
fn cut_off(env: &TestEnv, sshd: &Sshd, words: &[&str], (folder, part): (&Path, &str)) -> Run {
    let mut line = vec![words[0].to_owned(), "-PH".to_owned(), hosts(sshd, 1)];
    line.extend(options(sshd));
    line.extend(words[1..].iter().map(|word| (*word).to_owned()));
    let started = env.start(line);
    wait_for("a part of the file", || {
        let mut entries = fs::read_dir(folder).unwrap().flatten();
        let has_part = entries.any(|it| {
            it.file_name().to_string_lossy().starts_with(part)
                && it.metadata().is_ok_and(|found| found.len() > 1 << 20)
        });
        has_part.then_some(())
    });
    end_descendants(sshd.pid());
    started.ends_by_itself().exits(1)
}

#[test]
fn a_transfer_whose_session_dies_leaves_no_whole_file_and_is_resumed() {
    requires!("sshd");
    let (sshd, env) = (Sshd::start(), TestEnv::new());
    let text = "0123456789abcdef".repeat(3 << 20);
    env.write("big", &text);
    let target = sshd.path("there");
    let words = ["put", "--resume", "big", &target.display().to_string()];
    let run = cut_off(&env, &sshd, &words, (&sshd.path(""), ".there.unfurl-part"));
    assert!(run.stderr.contains("the connection was lost"), "{run}");
    assert!(!target.exists());
    over(&env, &sshd, 1, &words).succeeds();
    assert!(fs::read(&target).unwrap() == text.as_bytes());
    let words = ["get", "--resume", &target.display().to_string(), "back"];
    let run = cut_off(&env, &sshd, &words, (&env.work(), ".back.unfurl-part"));
    assert!(run.stderr.contains("the connection was lost"), "{run}");
    assert!(!env.work().join("back").exists());
    over(&env, &sshd, 1, &words).succeeds();
    assert!(env.read("back") == text);
    for folder in [sshd.path(""), env.work()] {
        let mut names = fs::read_dir(folder)
            .unwrap()
            .map(|it| it.unwrap().file_name());
        assert!(names.all(|name| !name.to_string_lossy().contains("unfurl-part")));
    }
}
