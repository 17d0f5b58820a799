//! Security of inputs: S18, no pipe, device, socket or folder in place of a file makes the program wait.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;

use crate::support::{Run, TestEnv, wait_for};

use super::links::{ENSEMBLE, made};

/// The longest time that a refused input may take.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Calls the program and fails if it does not end in time.
#[track_caller]
pub(super) fn ends_in_time(env: &TestEnv, arguments: &[&str]) -> Run {
    let job = env.start(arguments);
    let pid = nix::unistd::Pid::from_raw(i32::try_from(job.pid()).unwrap());
    let began = Instant::now();
    wait_for(format!("the end of {arguments:?}"), || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let ended = stat.is_empty() || stat.contains(") Z ");
        assert!(ended || began.elapsed() < MAX_TIME, "{arguments:?} hangs");
        ended.then_some(())
    });
    job.ends().does_not_panic()
}

/// Something that is no regular file and never ends or never begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Odd {
    Pipe,
    LinkTo(&'static str),
    Socket,
    Folder,
}

const ALL_ODD: [Odd; 7] = [
    Odd::Pipe,
    Odd::LinkTo("/dev/zero"),
    Odd::LinkTo("/dev/urandom"),
    Odd::LinkTo("/proc/kmsg"),
    Odd::LinkTo("/dev/tty"),
    Odd::Socket,
    Odd::Folder,
];

/// Puts an odd file at a path. The returned value keeps a socket open.
pub(super) fn place(env: &TestEnv, path: &str, odd: Odd) -> Option<UnixListener> {
    let path = env.work().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::remove_dir_all(&path).ok();
    fs::remove_file(&path).ok();
    match odd {
        Odd::Pipe => nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap(),
        Odd::LinkTo(target) => symlink(target, &path).unwrap(),
        Odd::Folder => fs::create_dir(&path).unwrap(),
        Odd::Socket => {
            // The path of a socket is short.
            let short = tempfile::tempdir_in(env.work().ancestors().nth(2).unwrap()).unwrap();
            let listener = UnixListener::bind(short.path().join("s")).unwrap();
            fs::rename(short.path().join("s"), &path).unwrap();
            return Some(listener);
        }
    }
    None
}

/// Inputs on the command line: the arguments, with `F` for the odd file.
const NAMED_INPUTS: [&[&str]; 16] = [
    &["validate", "F"],
    &["plan", "F"],
    &["status", "F"],
    &["export", "F"],
    &["run", "--hosts-file", "F", "-H", "local", "--", "true"],
    &["fact", "--hosts-file", "F", "-H", "@local"],
    &["state", "test", "main", "--pillar", "@F"],
    &["state", "test", "main", "--config", "F"],
    &["--logfile", "F", "deploy", "--approve"],
    &["--logfile", "F", "plan"],
    &["recover", "ensemble.yaml", "F"],
    &[
        "run",
        "-H",
        "127.0.0.1:1",
        "--ssh-config-path",
        "F",
        "--",
        "true",
    ],
    &[
        "run",
        "-H",
        "127.0.0.1:1",
        "--known-hosts",
        "F",
        "--",
        "true",
    ],
    &["run", "-H", "127.0.0.1:1", "--identity", "F", "--", "true"],
    &["put", "-H", "@local", "F", "copied"],
    &["task", "-f", "F", "x"],
];

/// V10 b: a named pipe as any file that the user names made the program wait for ever.
#[test]
fn s18_no_file_named_by_the_user_makes_the_program_wait() {
    let env = made("true");
    env.write("main.sls", "{}");
    for odd in ALL_ODD {
        for arguments in NAMED_INPUTS {
            let is_main = ["validate", "recover"].contains(&arguments[0]);
            if !is_main && !matches!(odd, Odd::Pipe) {
                continue;
            }
            let _open = place(&env, "odd", odd);
            let arguments: Vec<_> = arguments.iter().map(|it| it.replace('F', "odd")).collect();
            let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
            let run = ends_in_time(&env, &arguments);
            assert_ne!(run.code, 0, "{odd:?}\n{run}");
            if matches!(odd, Odd::Pipe) && arguments[0] == "validate" {
                run.says(&["named pipe", "write the content to a file"]);
            }
        }
    }
}

/// Files of a project: the path of the odd file, a file that refers to it, and a command.
const PROJECT_INPUTS: [(&str, &[&str]); 14] = [
    ("ensemble.yaml", &["plan"]),
    ("jobs.tsv", &["plan"]),
    ("jobs.tsv", &["status"]),
    ("jobs.tsv", &["history"]),
    (
        "changes/job2026-11-23-00-00-00-A6BL7ntS0000.yaml",
        &["history"],
    ),
    (
        "changes/job2026-11-23-00-00-00-A6BL7ntS0000.yaml",
        &["plan"],
    ),
    (
        "jobs/job2026-11-23-00-00-00-A6BL7ntS0000.yaml",
        &["history"],
    ),
    (
        "jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV.journal",
        &["deploy", "--approve"],
    ),
    (
        "jobs/ensemble.yaml.interrupted.json",
        &["deploy", "--approve", "--resume"],
    ),
    ("ensemble.yaml.lock", &["deploy", "--approve"]),
    ("ensemble.yaml.owner.lock", &["lock", "status"]),
    ("local/digest.key", &["deploy", "--approve"]),
    ("unfurl.yaml", &["plan"]),
    ("tasks.yaml", &["task", "x"]),
];

/// V10 b: a named pipe as any file of a project made the program wait for ever.
#[test]
fn s18_no_file_of_a_project_makes_the_program_wait() {
    for odd in ALL_ODD {
        for (path, arguments) in PROJECT_INPUTS {
            if !matches!(odd, Odd::Pipe | Odd::LinkTo("/dev/zero")) && path != "ensemble.yaml" {
                continue;
            }
            let env = made("true");
            let _open = place(&env, path, odd);
            ends_in_time(&env, arguments);
        }
    }
}

/// V10 b: files that a manifest refers to.
#[test]
fn s18_no_file_that_a_manifest_names_makes_the_program_wait() {
    let import = "\n    imports: [odd]\n    topology_template:";
    let cases = [
        (
            "odd",
            ENSEMBLE.replacen("\n    topology_template:", import, 1),
        ),
        (
            "odd.zip",
            ENSEMBLE.replacen(
                "\n    topology_template:",
                &import.replace("odd", "odd.zip"),
                1,
            ),
        ),
        (
            "odd.py",
            ENSEMBLE.replacen(
                "\n    topology_template:",
                &import.replace("odd", "odd.py"),
                1,
            ),
        ),
        ("odd", format!("+include: odd\n{ENSEMBLE}")),
        (
            "odd",
            ENSEMBLE.replace("hush-7731", "{eval: {file: odd}, select: contents}"),
        ),
        (
            "odd",
            ENSEMBLE.replace("hush-7731", "\"{{ lookup('file', 'odd') }}\""),
        ),
        (
            "odd",
            ENSEMBLE.replace("hush-7731", "\"{{ lookup('csvfile', 'a file=odd') }}\""),
        ),
        (
            "odd",
            ENSEMBLE.replace("hush-7731", "\"{{ lookup('template', 'odd') }}\""),
        ),
        (".unfurl-local-template", ENSEMBLE.to_owned()),
        (".git", ENSEMBLE.to_owned()),
        (".gitignore", ENSEMBLE.to_owned()),
    ];
    for odd in [Odd::Pipe, Odd::LinkTo("/dev/zero")] {
        for (path, text) in &cases {
            let env = TestEnv::with_ensemble(text);
            env.write("step.sh", "true");
            let _open = place(&env, path, odd);
            ends_in_time(&env, &["plan"]);
        }
    }
}

/// V10 b: files of the user's home folder, and what they include.
#[test]
fn s18_no_file_of_the_home_folder_makes_the_program_wait() {
    let reach: &[&str] = &["run", "-H", "127.0.0.1:1", "--", "true"];
    let cases: [(&str, &[&str]); 6] = [
        (".ssh/config", reach),
        (".ssh/included", reach),
        (".ssh/known_hosts", reach),
        (".ssh/id_ed25519", reach),
        (".ssh/id_ed25519.pub", reach),
        (".unfurl_home/unfurl.yaml", &["plan"]),
    ];
    for odd in [Odd::Pipe, Odd::LinkTo("/dev/zero")] {
        for (path, arguments) in cases {
            let env = made("true").without("UNFURL_HOME");
            let path = format!("../home/{path}");
            let _open = place(&env, &path, odd);
            if path.ends_with("included") {
                env.write("../home/.ssh/config", "Include included\n");
            }
            ends_in_time(&env, arguments);
        }
    }
}

/// V10 b, siblings: files of state roots.
#[test]
fn s18_no_file_of_a_state_root_makes_the_program_wait() {
    for name in ["main.sls", "top.sls", "data"] {
        let env = made("true");
        env.write(
            "root/main.sls",
            "/tmp/never-made:\n  file.managed: [{source: 'salt://data'}]\n",
        );
        env.write("root/top.sls", "base: {'*': [main]}\n");
        let _open = place(&env, &format!("root/{name}"), Odd::Pipe);
        for arguments in [
            &[
                "state",
                "test",
                "main",
                "--file-root",
                "root",
                "-H",
                "@local",
            ][..],
            &["state", "test", "--file-root", "root", "-H", "@local"],
        ] {
            ends_in_time(&env, arguments);
        }
    }
}
