//! Executors with real programs: `sudo` with and without a password, custom executors, and the executor that
//! waits.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use unfurl::testing::exec::{LocalRunner, RunLimits, RunnerEvent};
use unfurl::testing::host::{
    Action, ActionRequest, ActionResult, BecomeUser, ChainExecutor, ChainNote, ChainSpec, Command,
    ExecutorChain, ExecutorEnvironment, Exit, Program, Question, RunOutput, Secret, Spread,
};

/// Users of this machine who exist during one test, and a sudo rule for one of them.
#[derive(Debug)]
pub(crate) struct Users {
    pub(crate) names: Vec<String>,
    rule: PathBuf,
}

impl Users {
    /// Creates two users. The first may act as the second, after giving the password if there is one.
    pub(crate) fn two(password: Option<&str>) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let of = format!(
            "{}{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let names = vec![format!("ufa{of}"), format!("ufb{of}")];
        let users = Self {
            rule: PathBuf::from(format!("/etc/sudoers.d/unfurl-test-{of}")),
            names,
        };
        for name in &users.names {
            succeeds(Process::new("useradd").args(["--create-home", "--shell", "/bin/sh", name]));
        }
        let (from, to) = (&users.names[0], &users.names[1]);
        if let Some(password) = password {
            let line = format!("echo '{from}:{password}' | chpasswd");
            succeeds(Process::new("sh").args(["-c", &line]));
        }
        let tag = if password.is_some() { "" } else { "NOPASSWD: " };
        fs::write(&users.rule, format!("{from} ALL=({to}) {tag}ALL\n")).unwrap();
        fs::set_permissions(&users.rule, fs::Permissions::from_mode(0o440)).unwrap();
        users
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        fs::remove_file(&self.rule).ok();
        for name in &self.names {
            Process::new("userdel")
                .args(["--remove", name])
                .output()
                .ok();
        }
    }
}

pub(crate) fn succeeds(command: &mut Process) {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?} is needed: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
}

/// A command that runs a shell text on this machine.
pub(crate) fn sh(text: &str) -> Command {
    let program = Program::Shell {
        text: text.to_owned(),
        shell: None,
        secret: false,
    };
    let mut command = Command::new(program, "/tmp");
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    command.env.add("PATH", path);
    command.time_limit = Some(Duration::from_mins(1));
    command
}

pub(crate) fn run(chain: ExecutorChain, command: Command) -> (RunOutput, Vec<String>) {
    let runner = LocalRunner::start(RunLimits::default()).unwrap();
    perform(&runner, chain, command)
}

fn perform(
    runner: &LocalRunner,
    chain: ExecutorChain,
    command: Command,
) -> (RunOutput, Vec<String>) {
    let request = ActionRequest {
        chain: Some(Arc::new(chain)),
        ..ActionRequest::local(Action::Run(command))
    };
    runner.submit(1, request);
    let mut notes = Vec::new();
    loop {
        match runner.recv().unwrap() {
            RunnerEvent::Note(_, ChainNote::Notice(note) | ChainNote::Detail(note)) => {
                notes.push(note);
            }
            RunnerEvent::Ended(_, ActionResult::Run(output)) => return (output, notes),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn sudo(user: &str, password: Option<&str>) -> ExecutorChain {
    ExecutorChain::new(vec![ChainExecutor::Sudo(BecomeUser {
        user: user.to_owned(),
        password: password.map(Secret::new),
    })])
}

#[test]
fn sudo_runs_a_command_as_another_user() {
    requires!("root", "sudo");
    let users = Users::two(None);
    let to = &users.names[1];
    let mut command = sh("id -un; pwd; echo \"$STATED\"; echo oops >&2; cat; exit 3");
    command.env.add("STATED", "it's $HOME");
    let (output, notes) = run(sudo(to, None), command);
    assert_eq!(output.exit, Exit::Code(3), "{}", output.stderr.text());
    assert_eq!(output.stdout.text(), format!("{to}\n/tmp\nit's $HOME\n"));
    assert_eq!(output.stderr.text(), "oops\n");
    assert_eq!(notes, [format!("`sudo` runs the action as `{to}`")]);
}

#[test]
fn sudo_gets_secrets_and_input_there_and_shows_them_to_nobody() {
    requires!("root", "sudo");
    let users = Users::two(None);
    // The command lines of all processes, which every user can read.
    let look = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c 'sesam[e]'; ";
    let text = format!("{look} echo \"$PASSWORD\" | wc -c; echo sesame | wc -c; wc -c");
    let mut command = sh("");
    command.program = Program::Shell {
        text,
        shell: None,
        secret: true,
    };
    command.secrets.add("sesame");
    command.env.add("PASSWORD", "a sesame'");
    command.stdin = Some("line\n".repeat(50_000).into_bytes());
    let (output, _) = run(sudo(&users.names[1], None), command);
    assert_eq!(output.stdout.text(), "0\n10\n7\n250000\n", "{output:?}");
    assert_eq!(output.stderr.text(), "");
}

/// Runs the command of a chain as `user` (through `setpriv`), so that `sudo` asks for a password.
pub(crate) fn as_user(user: &str, chain: ExecutorChain, command: Command) -> RunOutput {
    // The runner is root, and sudo never asks root. So sudo is started as the user.
    let request = ActionRequest::local(Action::Run(command));
    let start = unfurl::testing::host::ChainContext {
        token: "0TOKEN0".to_owned(),
        environment: unfurl::testing::system::env::Env::of_this_process(),
        ..unfurl::testing::host::ChainContext::default()
    };
    let mut run = Arc::new(chain).begin(request, start);
    let unfurl::testing::host::ChainProgress::Perform(mut request) = run.step(None, Instant::now())
    else {
        panic!("it must perform something");
    };
    let Action::Run(command) = &mut request.action else {
        panic!("it must be a command");
    };
    let mut words = ["setpriv", "--reuid", user, "--clear-groups", "--"]
        .map(String::from)
        .to_vec();
    words.extend(command.program.argv());
    command.program = Program::Argv(words);
    let runner = LocalRunner::start(RunLimits::default()).unwrap();
    runner.submit(1, *request);
    let RunnerEvent::Ended(_, result) = runner.recv().unwrap() else {
        panic!("it must have ended");
    };
    match run.step(Some(result), Instant::now()) {
        unfurl::testing::host::ChainProgress::Finished(result) => match *result {
            ActionResult::Run(output) => output,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_password_is_given_where_it_is_asked_for() {
    requires!("root", "sudo");
    let users = Users::two(Some("hunter2"));
    let (from, to) = (&users.names[0], &users.names[1]);
    let mut command = sh("id -un; cat");
    command.stdin = Some(b"input\n".to_vec());
    let output = as_user(from, sudo(to, Some("hunter2")), command);
    assert_eq!(output.stdout.text(), format!("{to}\ninput\n"), "{output:?}");
    assert_eq!(output.stderr.text(), "");
    let output = as_user(from, sudo(to, Some("hunter2")), sh("id -un; cat"));
    assert_eq!(output.stdout.text(), format!("{to}\n"), "{output:?}");
}

#[test]
fn a_wrong_password_is_distinguished_from_a_missing_one() {
    requires!("root", "sudo");
    let users = Users::two(Some("hunter2"));
    let (from, to) = (&users.names[0], &users.names[1]);
    let asked = |password| {
        let mut command = sh("id -un; cat");
        command.stdin = Some(b"secret input\n".to_vec());
        let output = as_user(from, sudo(to, password), command);
        assert!(!output.stdout.text().contains("input"));
        match output.exit {
            Exit::NeedsAnswer {
                question: Question::Become(_),
                refused,
            } => refused,
            other => panic!("{other:?}: {}", output.stderr.text()),
        }
    };
    assert!(asked(Some("wrong")));
    assert!(!asked(None));
}

#[test]
fn su_and_chroot_run_commands_for_root() {
    requires!("root");
    let users = Users::two(None);
    let to = &users.names[1];
    let su = ChainExecutor::Su(BecomeUser {
        user: to.clone(),
        password: None,
    });
    let mut command = sh("id -un; echo \"$A $0\"; cat");
    command.env.add("A", "it's");
    let (output, _) = run(ExecutorChain::new(vec![su]), command);
    assert_eq!(
        output.stdout.text(),
        format!("{to}\nit's /bin/sh\n"),
        "{output:?}"
    );

    let chroot = ChainExecutor::Chroot(PathBuf::from("/"));
    let (output, notes) = run(ExecutorChain::new(vec![chroot]), sh("pwd; exit 4"));
    assert_eq!((output.exit, notes.len()), (Exit::Code(4), 1));
    assert_eq!(output.stdout.text(), "/tmp\n");
}

#[test]
fn a_wait_can_be_cancelled_and_holds_up_nobody() {
    let limits = RunLimits {
        max_running: 1,
        ..RunLimits::default()
    };
    let runner = LocalRunner::start(limits).unwrap();
    let splay = ChainExecutor::Splay {
        seconds: 3600,
        spread: Spread::Rank,
    };
    let chain = Arc::new(ExecutorChain::new(vec![splay, ChainExecutor::Direct]));
    let of = |rank| ActionRequest {
        chain: Some(Arc::clone(&chain)),
        rank: (rank, 2),
        ..ActionRequest::local(Action::Run(sh("echo done")))
    };
    runner.submit(1, of(1));
    runner.submit(0, of(0));
    let mut ended = Vec::new();
    let mut notes = Vec::new();
    while ended.len() < 2 {
        match runner.recv().unwrap() {
            RunnerEvent::Note(id, note) => notes.push((id, note)),
            RunnerEvent::Ended(id, result) => {
                ended.push((id, result.exit().clone()));
                runner.cancel_all();
            }
            RunnerEvent::Output(..)
            | RunnerEvent::Progress(..)
            | RunnerEvent::Line(..)
            | RunnerEvent::Interruption(_) => {}
        }
    }
    assert_eq!(ended, [(0, Exit::Code(0)), (1, Exit::Cancelled)]);
    assert!(
        notes.contains(&(1, ChainNote::Notice("`splay` waits 1800 s".to_owned()))),
        "{notes:?}"
    );
}

/// Writes a custom executor into the folder `executors`.
fn own(folder: &Path, name: &str, text: &str) {
    let file = folder.join("executors").join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn chain_of(folder: &Path, names: &str, options: &str) -> ExecutorChain {
    let request = ChainSpec::parse(Some(names), Some(options)).unwrap();
    let surroundings = ExecutorEnvironment {
        folder: folder.to_path_buf(),
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        ..ExecutorEnvironment::default()
    };
    let resolved = request.resolve(&ChainSpec::default(), &surroundings);
    resolved.unwrap().chain
}

#[test]
fn a_program_of_ones_own_is_an_executor() {
    let folder = tempfile::tempdir().unwrap();
    own(folder.path(), "look", "cat > seen; echo null");
    own(
        folder.path(),
        "say",
        "cat >&2; echo '{\"result\": \"said\"}'",
    );
    own(folder.path(), "fall", "echo broken >&2; exit 3");
    let chain = chain_of(folder.path(), "[look, direct]", "{mine: 1}");
    let (output, notes) = run(chain, sh("echo ran"));
    assert_eq!(output.stdout.text(), "ran\n");
    assert_eq!(notes, ["asking the executor `look`"]);
    let seen = fs::read_to_string(folder.path().join("seen")).unwrap();
    let seen: serde_json::Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["protocol"], 1);
    assert_eq!(seen["options"]["mine"], 1);
    assert_eq!(seen["next"][0], "direct");
    assert_eq!(
        seen["action"]["run"]["program"]["shell"]["text"],
        "echo ran"
    );

    let (output, _) = run(
        chain_of(folder.path(), "[say, direct]", "{}"),
        sh("echo ran"),
    );
    assert_eq!(output.stdout.text(), "said");
    let (output, _) = run(
        chain_of(folder.path(), "[fall, direct]", "{}"),
        sh("echo ran"),
    );
    insta::assert_snapshot!(output.exit, @"the executor failed with exit code 3: broken");
}

#[test]
fn a_failing_command_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("count");
    let text = format!("echo x >> {0}; [ $(wc -l < {0}) = 3 ]", file.display());
    let options = "{attempts: 5, interval: 0.01}";
    let (output, notes) = run(
        chain_of(folder.path(), "[retry, direct]", options),
        sh(&text),
    );
    assert_eq!((output.exit, notes.len()), (Exit::Code(0), 2));

    let chain = chain_of(folder.path(), "[timeout, direct]", "{timeout: 0.2}");
    let (output, _) = run(chain, sh("sleep 60"));
    assert_eq!(output.exit, Exit::TimedOut);
}

#[test]
fn questions_of_a_command_on_this_machine_are_answered() {
    let ask = "printf 'name? '; read name; echo \"hi $name\"; printf 'name? '; read name";
    let answer = |reply: Option<&str>| unfurl::testing::host::PromptAnswer {
        prompt: "name? ".to_owned(),
        reply: reply.map(Secret::new),
        question: Question::Prompt("name? ".to_owned()),
        ends_login: false,
    };
    let asked = |reply| {
        let mut command = sh(ask);
        command.answers = vec![answer(reply)];
        run(ExecutorChain::default(), command).0
    };
    let output = asked(Some("Ada"));
    assert_eq!(output.stdout.text(), "name? hi Ada\nname? ");
    assert!(
        matches!(output.exit, Exit::NeedsAnswer { refused: true, .. }),
        "{output:?}"
    );
    let output = asked(None);
    assert_eq!(output.stdout.text(), "name? ");
    assert!(
        matches!(output.exit, Exit::NeedsAnswer { refused: false, .. }),
        "{output:?}"
    );
}

#[test]
fn a_chain_without_a_final_executor_is_reported_but_no_failure() {
    let splay = ChainExecutor::Splay {
        seconds: 1,
        spread: Spread::Rank,
    };
    let (output, notes) = run(ExecutorChain::new(vec![splay]), sh("echo ran"));
    assert_eq!((output.exit, output.stdout.total), (Exit::Code(0), 0));
    assert_eq!(notes[1], "no executor ran the function");
}
