//! The shell that stays open on a host for facts and changes: it starts once, no command disturbs it, and a host
//! that loses it or lies about it fails alone.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use unfurl::testing::host::change::{Change, CommandRun};
use unfurl::testing::host::fact::{CommandSetting, Domain, Fact, FactReading, Probe, ProbeOutput};
use unfurl::testing::host::{
    Action, ActionResult, ChangeOutput, ConnectionPool, Destination, Exit, StopLevel,
};
use unfurl::testing::system::machine::is_running;

use super::cli::{hosts, options};
use super::sshd::{Sshd, call, perform, pooled, run, sh};
use crate::support::{TestEnv, wait_for, wait_for_async};

/// A line for the configuration of a server that counts its sessions: each adds a line to a file.
fn counting(env: &TestEnv) -> String {
    let count = env.work().join("sessions");
    format!(
        "ForceCommand echo session >> {}; exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"",
        count.display()
    )
}

fn sessions(env: &TestEnv) -> usize {
    let text = fs::read_to_string(env.work().join("sessions")).unwrap_or_default();
    text.lines().count()
}

async fn probes(pool: &ConnectionPool, host: &Destination, texts: &[&str]) -> Vec<ProbeOutput> {
    let probe = |text: &&str| {
        Fact::Probe(Box::new(Probe {
            text: (*text).to_owned(),
            setting: CommandSetting::default(),
            reads: Domain::All,
        }))
    };
    let action = Action::Read(texts.iter().map(probe).collect());
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
    call: unfurl::testing::host::CallControl,
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
    let env = TestEnv::new();
    let sshd = Sshd::with(1, &[&counting(&env)]);
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
    assert_eq!(sessions(&env), 1);
}

#[test]
fn a_command_that_kills_its_shell_fails_and_the_next_action_works() {
    requires!("sshd");
    let env = TestEnv::new();
    let sshd = Sshd::with(1, &[&counting(&env)]);
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
        assert_eq!(sessions(&env), 2);
        // A shell that ended while it was idle is no failure.
        let shell: i32 = says(&pool, &host, "ps -o ppid= -p $PPID")
            .await
            .trim()
            .parse()
            .unwrap();
        kill(Pid::from_raw(shell), Signal::SIGKILL).unwrap();
        assert_eq!(says(&pool, &host, "echo on").await, "on\n");
        assert_eq!(sessions(&env), 3);
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
    let env = TestEnv::new();
    let sshd = Sshd::with(1, &[&counting(&env), "MaxSessions 1"]);
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

/// The programs that `strace` has seen to start on the server.
struct Programs {
    strace: Child,
    trace: std::path::PathBuf,
}

impl Programs {
    fn of(sshd: &Sshd, env: &TestEnv) -> Self {
        let trace = env.work().join("trace");
        let strace = Command::new("strace")
            .args(["-f", "-e", "trace=execve", "-o"])
            .arg(&trace)
            .args(["-p", &sshd.pid().to_string()])
            .stderr(Stdio::piped())
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
fn a_file_costs_a_host_at_most_three_programs_and_its_start_files_run_once() {
    requires!("sshd", "strace", "root");
    for count in [1, 2] {
        let env = TestEnv::new();
        let sshd = Sshd::with(count, &[&counting(&env)]);
        let programs = Programs::of(&sshd, &env);
        let mut before = 0;
        let mut apply = |files: usize, text: &str| {
            write_files(&env, files, text);
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
        let [new, same, changed] =
            [(11, "new"), (11, "new"), (11, "other")].map(|(files, text)| apply(files, text));
        let for_each = |programs: usize, files: usize| {
            programs.saturating_sub(fixed) as f64 / (files * usize::from(count)) as f64
        };
        assert!(for_each(new, 10) <= 3.0, "{count}: {fixed} {new}");
        assert!(for_each(same, 11) <= 0.5, "{count}: {fixed} {same}");
        assert!(for_each(changed, 11) <= 3.5, "{count}: {fixed} {changed}");
        assert_eq!(sessions(&env), 4 * usize::from(count));
        assert!(Path::new(&env.work().join("out")).exists());
    }
}
