//! Commands on hosts that end early: time limits, cancellation, leftovers and lost connections.

use std::path::Path;
use std::time::Duration;

use unfurl::testing::host::{Action, Background, Exit, StopLevel};
use unfurl::testing::system::machine::is_running;

use super::sshd::{Sshd, call, perform, pooled, run, run_once, sh};
use crate::support::{wait_for_async, wait_until_gone};

/// Waits until a file holds a process id, and returns the id.
async fn pid_in(file: &Path) -> u32 {
    wait_for_async(format_args!("a process id in {}", file.display()), || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.strip_suffix('\n')?.trim().parse().ok()
    })
    .await
}

async fn ends(pid: u32) {
    let what = format_args!("the end of {pid}");
    wait_for_async(what, || (!is_running(pid)).then_some(())).await;
}

#[test]
fn a_command_that_runs_too_long_ends_with_all_it_started() {
    requires!("sshd");
    for sessions in ["MaxSessions 10", "MaxSessions 1"] {
        let sshd = Sshd::with(1, &[sessions]);
        pooled(async |pool| {
            let (one, two) = (sshd.path("one"), sshd.path("two"));
            let text = format!(
                "(echo $$ > {}; exec sleep 300) & setsid sh -c 'echo $$ > {}; exec sleep 300' & \
                 wait; sleep 300",
                one.display(),
                two.display()
            );
            let mut command = sh(&text
                .replace("(echo $$", "sh -c 'echo $$")
                .replace("300) &", "300' &"));
            command.time_limit = Some(Duration::from_millis(500));
            let output = run(&pool, &sshd.host(), command).await;
            assert_eq!(output.exit, Exit::TimedOut, "{output:?}");
            assert!(output.elapsed < Duration::from_secs(20));
            for file in [one, two] {
                ends(pid_in(&file).await).await;
            }
        });
    }
}

#[test]
fn a_command_may_clean_up_when_it_must_end() {
    requires!("sshd");
    let sshd = Sshd::start();
    let mut command = sh("trap 'echo cleaned; exit 5' INT; sleep 60 & wait");
    command.time_limit = Some(Duration::from_millis(500));
    let output = run_once(&sshd.host(), command);
    assert_eq!(output.exit, Exit::TimedOut);
    assert_eq!(output.stdout.text(), "cleaned\n");
}

#[test]
fn a_cancelled_command_ends_and_one_that_resists_is_killed_at_once() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let host = sshd.host();
        let (file, asked) = (sshd.path("pid"), sshd.path("asked"));
        let text = format!(
            "trap 'echo INT >> {asked}' INT; trap 'echo TERM >> {asked}' TERM; echo $$ > {}; \
             while :; do sleep 1; done",
            file.display(),
            asked = asked.display(),
        );
        let action = Action::Run(sh(&text));
        let (stop, call) = call();
        let running = perform(&pool, &host, &action, call);
        let stopping = async {
            let pid = pid_in(&file).await;
            stop.send_replace(StopLevel::Gently);
            wait_for_async("the first signal", || asked.exists().then_some(())).await;
            assert!(is_running(pid));
            stop.send_replace(StopLevel::AtOnce);
            pid
        };
        let (result, pid) = tokio::join!(running, stopping);
        assert_eq!(*result.exit(), Exit::Cancelled);
        ends(pid).await;
        // A cancellation normally sends more signals after INT; here the kill came before them.
        let asked = std::fs::read_to_string(asked).unwrap();
        assert!(asked.lines().all(|signal| signal == "INT"), "{asked}");
    });
}

#[test]
fn what_a_command_leaves_behind_ends_unless_it_may_live() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        for background in [Background::Kill, Background::Keep] {
            let file = sshd.path(&format!("{background:?}"));
            let mut command = sh(&format!(
                "sleep 300 & echo $! > {}; echo on",
                file.display()
            ));
            command.background = background;
            let output = run(&pool, &sshd.host(), command).await;
            assert_eq!(
                (output.exit, output.stdout.text().as_str()),
                (Exit::Code(0), "on\n")
            );
            let pid = pid_in(&file).await;
            if background == Background::Kill {
                ends(pid).await;
            } else {
                assert!(is_running(pid));
                let id = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
                nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGKILL).unwrap();
            }
        }
    });
}

#[test]
fn nothing_runs_on_when_the_connections_are_closed() {
    requires!("sshd");
    let sshd = Sshd::start();
    let file = sshd.path("pid");
    let pid = pooled(async |pool| {
        let text = format!("echo $$ > {}; exec sleep 300", file.display());
        let (shared, host) = (pool.clone(), sshd.host());
        let task = tokio::spawn(async move { run(&shared, &host, sh(&text)).await });
        let pid = pid_in(&file).await;
        task.abort();
        pid
    });
    wait_until_gone(&[pid]);
}

#[test]
fn a_host_that_does_not_answer_any_more_is_given_up() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let mut host = sshd.host();
        host.keepalive = Some(Duration::from_millis(100));
        let file = sshd.path("pid");
        // The parent of the shell is the process of the server that serves this connection.
        let text = format!(
            "echo $PPID > {}; kill -STOP $PPID; sleep 60",
            file.display()
        );
        let output = run(&pool, &host, sh(&text)).await;
        let pid = pid_in(&file).await;
        let id = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGKILL).unwrap();
        let Exit::Failed(why) = &output.exit else {
            panic!("{output:?}");
        };
        assert!(why.contains("was lost"), "{why}");
    });
}
