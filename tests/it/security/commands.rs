//! Security of commands that only read: under strace they open, write and start nothing else (S3, S9).

use std::fs;
use std::path::Path;

use crate::support::{Run, TestEnv, is_full};

use super::hostile_projects::{CANARY, HostileProject, hostile_projects};
use super::strace::{Access, AccessKind, traced};

/// The commands that change nothing but `planned/` and locks.
const COMMANDS: &[&[&str]] = &[
    &["plan"],
    &["validate", "--no-shellcheck"],
    &["status"],
    &["explain", "a"],
    &["history"],
    &["export"],
    &["status", "--query", "::a::p"],
    &["plan", "--why", "--output", "json"],
    &["doctor", "--commit"],
];

/// Files and folders of the operating system that any program reads, with everything below them.
const SYSTEM: &[&str] = &[
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/share",
    "/usr/local/share",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
    // The allocator.
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/machine-id",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/gitconfig",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/ssl",
    "/dev/null",
    "/dev/urandom",
    "/dev/tty",
    "/proc/sys",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/cpuinfo",
    "/proc/mounts",
    "/proc/filesystems",
];

/// Files below `/proc/PID` that the program reads about itself and about holders of locks.
const OF_PROCESS: &[&str] = &[
    "maps",
    "cgroup",
    "status",
    "stat",
    "mounts",
    "mountinfo",
    "fd",
    "task",
    "comm",
    "limits",
];

fn may_be_read(path: &Path, env: &TestEnv) -> bool {
    let work = env.work();
    let root = work.parent().unwrap();
    let own = [work.clone(), root.join("home"), root.join("tmp")];
    if own.iter().any(|folder| path.starts_with(folder)) || path == root {
        return true;
    }
    if let Ok(rest) = path.strip_prefix("/proc") {
        let mut parts = rest
            .components()
            .map(|part| part.as_os_str().to_string_lossy());
        let process = parts.next().unwrap_or_default();
        let is_process = process == "self" || process.bytes().all(|byte| byte.is_ascii_digit());
        let name = parts.next().unwrap_or_default();
        return (is_process && OF_PROCESS.contains(&&*name))
            || SYSTEM.iter().any(|system| path.starts_with(system));
    }
    SYSTEM.iter().any(|system| path.starts_with(system))
}

fn may_be_written(path: &Path, env: &TestEnv) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Ok(inside) = path.strip_prefix(env.work()) else {
        return path.starts_with("/dev/null") || path.starts_with("/dev/tty");
    };
    // A lock file is created without a name in its folder and linked to its name.
    inside.starts_with("planned") || inside.as_os_str().is_empty() || name.ends_with(".lock")
}

fn may_be_started(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("git"))
}

/// Fails if an access is not allowed to a command that only reads.
fn check(env: &TestEnv, label: &str, run: &Run, accesses: &[Access]) {
    let refused: Vec<_> = accesses
        .iter()
        .filter(|access| match access.kind {
            AccessKind::Read => !may_be_read(&access.path, env),
            AccessKind::Write => !may_be_written(&access.path, env),
            AccessKind::Start => !may_be_started(&access.path),
            AccessKind::Connect => true,
        })
        .map(|access| access.line.as_str())
        .collect();
    assert!(refused.is_empty(), "{label}\n{}\n{run}", refused.join("\n"));
    assert!(!run.all().contains(CANARY), "{label}\n{run}");
    assert!((0..=100).contains(&run.code), "{label}\n{run}");
}

/// Runs every command in a project, or those whose number is chosen.
fn attack(env: &TestEnv, label: &str, chosen: impl Fn(usize) -> bool) {
    let outside = env.work().with_file_name("outside");
    let before = listing(&outside);
    for (number, command) in COMMANDS
        .iter()
        .enumerate()
        .filter(|(number, _)| chosen(*number))
    {
        let (run, accesses) = traced(env, command);
        check(
            env,
            &format!("{label}\n{} {number}", command.join(" ")),
            &run,
            &accesses,
        );
    }
    assert_eq!(listing(&outside), before, "{label}");
    let planned = env.work().join("planned");
    for (path, bytes) in env.files() {
        let is_planned = env.work().join(&path).starts_with(&planned);
        let text = String::from_utf8_lossy(&bytes);
        assert!(!is_planned || !text.contains(CANARY), "{label}\n{path}");
    }
}

fn listing(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Attacks with a quarter of the hostile projects: all commands with `UNFURL_LOOPS=full`, otherwise the plan
/// and one more, in turn.
fn attack_with_quarter(quarter: usize) {
    let projects = hostile_projects();
    let own = projects.iter().enumerate().skip(quarter).step_by(4);
    for (number, project) in own {
        let HostileProject { attack: label, .. } = project;
        let env = project.create();
        let further = 1 + number / 4 % (COMMANDS.len() - 1);
        attack(&env, label, |command| {
            is_full() || command == 0 || command == further
        });
    }
}

/// V1, V9: the first quarter of the hostile projects.
#[test]
fn s3_reading_commands_withstand_the_first_quarter_of_hostile_projects() {
    requires!("strace");
    attack_with_quarter(0);
}

/// V1, V9: the second quarter of the hostile projects.
#[test]
fn s3_reading_commands_withstand_the_second_quarter_of_hostile_projects() {
    requires!("strace");
    attack_with_quarter(1);
}

/// V1, V9: the third quarter of the hostile projects.
#[test]
fn s3_reading_commands_withstand_the_third_quarter_of_hostile_projects() {
    requires!("strace");
    attack_with_quarter(2);
}

/// V1, V9: the last quarter of the hostile projects.
#[test]
fn s3_reading_commands_withstand_the_last_quarter_of_hostile_projects() {
    requires!("strace");
    attack_with_quarter(3);
}

/// V1, V9: the same holds for all examples, before they are deployed and afterwards.
#[test]
fn s3_reading_commands_touch_only_planned_and_locks_in_every_example() {
    requires!("strace");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("ensembles");
    for entry in fs::read_dir(examples).unwrap() {
        let folder = entry.unwrap();
        if !folder.path().is_dir() {
            continue;
        }
        let name = folder.file_name().to_string_lossy().into_owned();
        let env = TestEnv::with_example(&name);
        attack(&env, &name, |_| true);
        if name == "hello" {
            env.unfurl(["deploy", "--approve"]).succeeds();
            attack(&env, &name, |_| true);
        }
    }
}
