//! The shell that stays open on a host for facts and changes: it starts once, no command disturbs it, and a host
//! that loses it or lies about it fails alone.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use unfurl::testing::exec::{LocalRunner, RunLimits, RunnerEvent};
use unfurl::testing::host::change::{Change, CommandRun};
use unfurl::testing::host::fact::{CommandSetting, Domain, Fact, FactReading, Probe, ProbeOutput};
use unfurl::testing::host::{
    Action, ActionRequest, ActionResult, CallControl, ChangeOutput, ConnectionPool, Destination,
    Exit, Location, Question, StopLevel,
};
use unfurl::testing::system::machine::is_running;

use super::cli::{hosts, options};
use super::sshd::{Sshd, call, perform, pooled, run, sh};
use crate::executors::{Users, sudo};
use crate::support::{TestEnv, wait_for, wait_for_async};

/// The number of sessions that a server has started.
fn sessions(sshd: &Sshd) -> usize {
    sshd.log().matches("Starting session").count()
}

fn probe(text: &str) -> Fact {
    Fact::Probe(Box::new(Probe {
        text: text.to_owned(),
        setting: CommandSetting::default(),
        reads: Domain::All,
    }))
}

async fn probes(pool: &ConnectionPool, host: &Destination, texts: &[&str]) -> Vec<ProbeOutput> {
    let action = Action::Read(texts.iter().map(|text| probe(text)).collect());
    let (_stop, call) = call();
    let ActionResult::Read(output) = perform(pool, host, &action, call).await else {
        panic!("facts give readings");
    };
    assert_eq!(output.exit, Exit::Code(0), "{texts:?}");
    let probed = output.readings.into_iter().map(|reading| match reading {
        FactReading::Probe(probed) => probed,
        other => panic!("{other:?}"),
    });
    probed.collect()
}

async fn change(pool: &ConnectionPool, host: &Destination, texts: &[&str]) -> ChangeOutput {
    let (_stop, call) = call();
    change_until(pool, host, texts, call).await
}

async fn change_until(
    pool: &ConnectionPool,
    host: &Destination,
    texts: &[&str],
    call: CallControl,
) -> ChangeOutput {
    let changes = texts.iter().map(|text| Change::Run(CommandRun::new(*text)));
    let action = Action::Change(changes.collect());
    match perform(pool, host, &action, call).await {
        ActionResult::Change(output) => output,
        other => panic!("{other:?}"),
    }
}

async fn says(pool: &ConnectionPool, host: &Destination, text: &str) -> String {
    let probed = probes(pool, host, &[text]).await;
    String::from_utf8(probed[0].stdout.clone()).unwrap()
}

#[test]
fn one_shell_serves_all_actions_whatever_their_commands_do() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let host = sshd.host();
        // No command reads the requests, and no output is taken for an end.
        let texts = [
            "cat; read -r line; echo \"$? $line\"",
            "printf 'no line end'; printf 'a\\0b\\377' >&2; exit 7",
            "env -0",
            "exit 0",
            "cd /; umask 0; x=1; set -f; exec 5>&1; trap '' TERM; echo set",
        ];
        let found = probes(&pool, &host, &texts).await;
        assert_eq!(found[0].stdout, b"1 \n");
        assert_eq!(
            (found[1].code, found[1].stdout.as_slice()),
            (7, &b"no line end"[..])
        );
        assert_eq!(found[1].stderr, b"a\0b\xff");
        assert!(String::from_utf8_lossy(&found[2].stdout).contains("_UNFURL_ACTION="));
        let home = sshd.path("home").display().to_string();
        assert_eq!(
            says(&pool, &host, "pwd; echo $-$x").await.lines().next(),
            Some(&*home)
        );
        let long = "x".repeat(100_000);
        let changed = change(
            &pool,
            &host,
            &[&format!("printf %s {long} | wc -c"), "exit 3", "true"],
        )
        .await;
        assert_eq!(changed.exit, Exit::Code(3));
        assert_eq!(changed.outputs[0].stdout.text().trim(), "100000");
        assert_eq!(changed.outputs.len(), 2);
    });
    assert_eq!(sessions(&sshd), 1);
}

#[test]
fn a_command_that_kills_its_shell_fails_and_the_next_action_works() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let host = sshd.host();
        let killed = change(&pool, &host, &["kill -9 $PPID; sleep 5"]).await;
        insta::assert_snapshot!(killed.exit, @"the shell of the host ended early: ended by signal 9");
        assert_eq!(says(&pool, &host, "echo on").await, "on\n");
        // The process above is the shell that stays open, so the host has to start another one.
        let grandparent = "kill -9 $(ps -o ppid= -p $PPID); sleep 5";
        let killed = change(&pool, &host, &[grandparent]).await;
        insta::assert_snapshot!(killed.exit, @"the shell of the host ended early: ended by signal 9");
        assert_eq!(says(&pool, &host, "echo on").await, "on\n");
        assert_eq!(sessions(&sshd), 2);
        // A shell that ended while it was idle is no failure.
        let shell: i32 = says(&pool, &host, "ps -o ppid= -p $PPID")
            .await
            .trim()
            .parse()
            .unwrap();
        kill(Pid::from_raw(shell), Signal::SIGKILL).unwrap();
        assert_eq!(says(&pool, &host, "echo on").await, "on\n");
        assert_eq!(sessions(&sshd), 3);
    });
}

#[test]
fn a_cancelled_change_ends_with_all_it_started_and_earlier_daemons_live_on() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let host = sshd.host();
        let file = |name: &str| sshd.path(name).display().to_string();
        let daemon = format!("sleep 300 & echo $! > {}", file("daemon"));
        assert_eq!(change(&pool, &host, &[&daemon]).await.exit, Exit::Code(0));
        let daemon: u32 = fs::read_to_string(sshd.path("daemon"))
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let text = format!(
            "trap 'echo INT >> {asked}' INT; env -i sleep 300 & echo $! > {one}; \
             setsid sh -c 'echo $$ > {two}; exec sleep 300' & wait; wait; echo ended >> {asked}; sleep 300",
            asked = file("asked"),
            one = file("one"),
            two = file("two"),
        );
        let (stop, call) = call();
        let stopping = async {
            let started = || (sshd.path("one").exists() && sshd.path("two").exists()).then_some(());
            wait_for_async("the processes", started).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            stop.send_replace(StopLevel::Gently);
            wait_for_async("the signal", || sshd.path("asked").exists().then_some(())).await;
            stop.send_replace(StopLevel::AtOnce);
        };
        let texts = [text.as_str(), "true"];
        let (changed, ()) = tokio::join!(change_until(&pool, &host, &texts, call), stopping);
        assert_eq!(changed.exit, Exit::Cancelled);
        for name in ["one", "two"] {
            let pid = fs::read_to_string(sshd.path(name))
                .unwrap()
                .trim()
                .parse()
                .unwrap();
            wait_for(format_args!("the end of {name}"), || {
                (!is_running(pid)).then_some(())
            });
        }
        let asked = fs::read_to_string(sshd.path("asked")).unwrap();
        assert_eq!(
            asked.lines().filter(|line| *line == "INT").count(),
            1,
            "{asked}"
        );
        assert!(is_running(daemon), "a daemon of another change was ended");
        kill(Pid::from_raw(daemon.try_into().unwrap()), Signal::SIGKILL).unwrap();
        assert_eq!(says(&pool, &host, "echo on").await, "on\n");
    });
}

#[test]
fn actions_at_the_same_time_have_a_shell_each_and_idle_ones_take_no_session_from_others() {
    requires!("sshd");
    let sshd = Sshd::with(1, &["MaxSessions 1"]);
    pooled(async |pool| {
        let host = sshd.host();
        for _ in 0..2 {
            assert_eq!(says(&pool, &host, "echo on").await, "on\n");
            // The only session of the connection belongs to the idle shell.
            let output = run(&pool, &host, sh("echo by itself")).await;
            assert_eq!(output.stdout.text(), "by itself\n", "{output:?}");
        }
        let pair = (
            says(&pool, &host, "sleep 0.3; echo 1"),
            says(&pool, &host, "sleep 0.3; echo 2"),
        );
        let (one, two) = tokio::join!(pair.0, pair.1);
        assert_eq!((one.as_str(), two.as_str()), ("1\n", "2\n"));
    });
}

#[test]
fn a_host_that_answers_nonsense_or_goes_away_fails_alone() {
    requires!("sshd");
    let answers = [
        ("exit 0", "the shell of the host ended early"),
        (
            "printf 'ended-01 0\\nk0\\0z\\0'; printf 'unfurl-01 x\\nended-01 0\\n' >&2; exit 0",
            "ended-01",
        ),
        ("kill -9 $PPID $$", "the connection to"),
    ];
    for (text, expected) in answers {
        let sshd = Sshd::with(1, &[&format!("ForceCommand {text}")]);
        pooled(async |pool| {
            let host = sshd.host();
            let changed = change(&pool, &host, &["true"]).await;
            assert!(
                changed.exit.to_string().contains(expected),
                "{text}: {changed:?}"
            );
            assert!(changed.outputs.is_empty(), "{text}: {changed:?}");
        });
    }
}

#[test]
fn each_user_of_sudo_has_one_shell_and_gives_the_password_once() {
    requires!("root", "sudo", "sshd");
    let (sshd, users) = (Sshd::start(), Users::two(Some("hunter2")));
    let mut host = sshd.host();
    host.address.user.clone_from(&users.names[0]);
    let place = Location::Ssh(Arc::new(host));
    let runner = LocalRunner::start(RunLimits::default()).unwrap();
    let perform = |password: Option<&str>, action: Action| {
        let chain = sudo(&users.names[1], password);
        let request = ActionRequest {
            chain: Some(Arc::new(chain)),
            ..ActionRequest::new(place.clone(), action)
        };
        runner.submit(1, request);
        loop {
            if let RunnerEvent::Ended(_, result) = runner.recv().unwrap() {
                return result;
            }
        }
    };
    let asked = |refused| Exit::NeedsAnswer {
        question: Question::Become(format!("{}@127.0.0.1:{}", users.names[0], sshd.port)),
        refused,
    };
    let who = || Action::Read(vec![probe("id -un; cat")]);
    assert_eq!(*perform(None, who()).exit(), asked(false));
    assert_eq!(*perform(Some("wrong"), who()).exit(), asked(true));
    let before = sessions(&sshd);
    for _ in 0..3 {
        let result = perform(Some("hunter2"), who());
        let ActionResult::Read(output) = result else {
            panic!("{result:?}");
        };
        let [FactReading::Probe(probed)] = output.readings.as_slice() else {
            panic!("{output:?}");
        };
        let name = String::from_utf8_lossy(&probed.stdout);
        assert_eq!(name.trim(), users.names[1], "{probed:?}");
    }
    let run = CommandRun::new("id -un; exit 3");
    let changed = perform(Some("hunter2"), Action::Change(vec![Change::Run(run)]));
    assert_eq!(*changed.exit(), Exit::Code(3), "{changed:?}");
    assert_eq!(sessions(&sshd) - before, 1);
}

/// The programs that `strace` has seen to start on the server.
struct Programs {
    strace: Child,
    trace: PathBuf,
}

impl Programs {
    fn of(sshd: &Sshd, env: &TestEnv) -> Self {
        let trace = env.work().join("trace");
        let strace = Command::new("strace")
            .args(["-f", "-e", "trace=execve", "-o"])
            .arg(&trace)
            .args(["-p", &sshd.pid().to_string()])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let tracing = || {
            let status = fs::read_to_string(format!("/proc/{}/status", sshd.pid())).unwrap();
            (!status.contains("TracerPid:\t0\n")).then_some(())
        };
        wait_for("strace", tracing);
        Self { strace, trace }
    }

    fn count(&self) -> usize {
        let text = fs::read(&self.trace).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let is_start = |line: &&str| line.contains("execve") && line.trim_end().ends_with("= 0");
        text.lines().filter(is_start).count()
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        self.strace.kill().ok();
        self.strace.wait().ok();
    }
}

/// Writes a tree of files for each host, with `text` in them.
fn write_files(env: &TestEnv, count: usize, text: &str) {
    let mut tree = String::new();
    for number in 0..count {
        let name = format!(
            "{}/out/{{{{ grains['id'] }}}}/f{number}",
            env.work().display()
        );
        tree.push_str(&format!(
            "f{number}:\n  file.managed:\n    - name: {name}\n    - contents: {text} {number}\n    - makedirs: true\n"
        ));
    }
    env.write("states/files.sls", &tree);
}

#[test]
fn a_file_or_command_costs_a_host_at_most_three_programs_and_its_start_files_run_once() {
    requires!("sshd", "strace", "root");
    for count in [1, 2] {
        let env = TestEnv::new();
        let temporary = env.work().join("temporary");
        fs::create_dir(&temporary).unwrap();
        let variable = format!("SetEnv TMPDIR={}", temporary.display());
        let sshd = Sshd::with(count, &[&variable]);
        let programs = Programs::of(&sshd, &env);
        let mut before = 0;
        let mut apply = |states: usize, text: &str| {
            match text {
                "command" => write_commands(&env, states),
                text => write_files(&env, states, text),
            }
            let mut line = ["state", "apply", "files", "--approve", "-H"]
                .map(str::to_owned)
                .to_vec();
            line.push(hosts(&sshd, count));
            line.extend(options(&sshd));
            env.unfurl(line).succeeds();
            let all = programs.count();
            all - std::mem::replace(&mut before, all)
        };
        let fixed = apply(1, "new");
        let spent = |programs: usize| programs.saturating_sub(fixed) / usize::from(count);
        let new = apply(11, "new");
        assert!(spent(new) <= 3 * 10, "{count}: {fixed} {new}");
        let changed = apply(11, "other");
        assert!(spent(changed) <= 3 * 11, "{count}: {fixed} {changed}");
        // Each command has a shell of its own. The files for the outputs are removed in a few calls.
        let commands = apply(11, "command");
        assert!(spent(commands) <= 3 * 11 + 2, "{count}: {fixed} {commands}");
        assert_eq!(sessions(&sshd), 4 * usize::from(count));
        wait_for("the end of temporary files", || {
            let is_empty = fs::read_dir(&temporary).unwrap().next().is_none();
            is_empty.then_some(())
        });
    }
}

/// Writes a tree of commands that print something.
fn write_commands(env: &TestEnv, count: usize) {
    let command = |number| format!("c{number}:\n  cmd.run: [{{name: echo hi}}]\n");
    let tree: String = (0..count).map(command).collect();
    env.write("states/files.sls", &tree);
}
