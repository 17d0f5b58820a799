//! Tests of the local runner with real processes: their start, output and end.
#![expect(clippy::disallowed_methods, reason = "a test prepares its own files")]

use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};

use crate::exec::{
    ActionRunner as _, Driver, DriverEvent, GuardOptions, LocalRunner, OnInterrupt, OutputMode,
    RunLimits, RunnerEvent,
};
use crate::host::{
    Action, ActionRequest, ActionResult, Background, Command, Exit, Program, RunOutput, Stream,
};
use crate::system::machine::is_running;
use crate::system::signals::Interrupts;

fn limits() -> RunLimits {
    RunLimits {
        grace: Duration::from_millis(200),
        drain_timeout: Duration::from_millis(200),
        ..RunLimits::default()
    }
}

/// The same limits, with a guard token that identifies the processes of a test.
fn guarded() -> RunLimits {
    RunLimits {
        guard: Some(GuardOptions {
            token: ulid::Ulid::generate().to_string(),
            program: None,
        }),
        ..limits()
    }
}

fn here(command: Command) -> ActionRequest {
    ActionRequest::local(Action::Run(command))
}

fn runner() -> LocalRunner {
    LocalRunner::start(limits()).unwrap()
}

fn sh(text: &str) -> Command {
    let mut command = Command::new(Program::shell(text), "/tmp");
    command.env.add("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}

fn next(runner: &LocalRunner) -> (u64, RunOutput) {
    loop {
        if let RunnerEvent::Ended(id, ActionResult::Run(output)) = runner.recv().unwrap() {
            return (id, output);
        }
    }
}

fn run(runner: &LocalRunner, command: Command) -> RunOutput {
    runner.submit(7, here(command));
    let (id, output) = next(runner);
    assert_eq!(id, 7);
    output
}

/// Waits until a command has written a process id to a file, and returns the id.
fn pid_in(file: &Path) -> u32 {
    for _ in 0..1000 {
        if let Ok(text) = std::fs::read_to_string(file)
            && let Ok(pid) = text.trim().parse()
        {
            return pid;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no process id in {}", file.display());
}

fn ends(pid: u32) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_running(pid) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    !is_running(pid)
}

#[test]
fn a_command_gives_its_outputs_and_exit_code() {
    let output = run(&runner(), sh("echo out; echo err >&2; pwd; exit 3"));
    assert_eq!(output.exit, Exit::Code(3));
    assert_eq!(output.stdout.text(), "out\n/tmp\n");
    assert_eq!(output.stderr.text(), "err\n");
    assert!(output.elapsed > Duration::ZERO);
}

#[test]
fn a_command_has_its_own_environment_only_and_keeps_its_name() {
    let mut command = sh("env | grep -v -e ^PWD -e ^_ -e ^SHLVL; echo $0");
    command.env.add("A", "b c");
    let text = run(&runner(), command).stdout.text();
    insta::assert_snapshot!(text, @r"
    A=b c
    PATH=/usr/local/bin:/usr/bin:/bin
    /bin/sh
    ");
}

#[test]
fn a_command_reads_its_input_and_one_that_does_not_is_not_stuck() {
    let runner = runner();
    let mut command = sh("wc -c");
    command.stdin = Some(vec![b'x'; 1_000_000]);
    assert_eq!(run(&runner, command).stdout.text().trim(), "1000000");
    let mut command = sh("exec 0<&-; echo done");
    command.stdin = Some(vec![b'x'; 1_000_000]);
    let output = run(&runner, command);
    assert_eq!(output.stdout.text(), "done\n", "{output:?}");
    assert_eq!(run(&runner, sh("cat; echo end")).stdout.text(), "end\n");
}

#[test]
fn a_flood_of_output_is_read_to_its_end_within_the_bound() {
    let mut command = sh("head -c 100000000 /dev/zero | tr '\\0' 'x'; echo END");
    command.capture_limit = 1000;
    let output = run(&runner(), command);
    assert_eq!(output.stdout.total, 100_000_004);
    assert_eq!(output.stdout.bytes().len(), 1000);
    assert!(output.stdout.is_truncated() && output.stdout.text().ends_with("xEND\n"));
}

#[test]
fn a_command_that_closes_its_outputs_is_waited_for() {
    let output = run(&runner(), sh("exec >&- 2>&-; sleep 0.1; exit 4"));
    assert_eq!(output.exit, Exit::Code(4));
    assert!(output.elapsed >= Duration::from_millis(100));
}

#[test]
fn a_command_that_runs_too_long_ends_with_all_its_processes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let text = format!(
        "trap '' INT TERM; (trap '' INT TERM; sh -c 'echo $$ > {}; sleep 60; sleep 60') & wait; wait; sleep 60",
        file.display()
    );
    let mut command = sh(&text);
    command.time_limit = Some(Duration::from_millis(300));
    let start = Instant::now();
    let output = run(&runner(), command);
    assert_eq!(output.exit, Exit::TimedOut);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(ends(pid_in(&file)));
}

#[test]
fn a_gentle_command_may_clean_up_when_it_must_end() {
    let mut command = sh("trap 'echo cleaned; exit 5' INT; sleep 60 & wait");
    command.time_limit = Some(Duration::from_millis(300));
    let output = run(&runner(), command);
    assert_eq!(output.exit, Exit::TimedOut);
    assert_eq!(output.stdout.text(), "cleaned\n");
}

#[test]
fn what_a_command_leaves_behind_is_ended_and_does_not_hold_us() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let start = Instant::now();
    let text = format!(
        "sh -c 'echo $$ > {}; sleep 60' & echo started",
        file.display()
    );
    let output = run(&runner(), sh(&format!("{text}; sleep 0.2")));
    assert_eq!(output.exit, Exit::Code(0));
    assert_eq!(output.stdout.text(), "started\n");
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(ends(pid_in(&file)));
}

#[test]
fn a_daemon_that_may_live_lives_and_does_not_hold_us() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let mut command = sh(&format!("sleep 60 & echo $! > {}", file.display()));
    command.background = Background::Keep;
    let start = Instant::now();
    let local = runner();
    assert_eq!(run(&local, command).exit, Exit::Code(0));
    assert!(start.elapsed() < Duration::from_secs(20));
    drop(local);
    let pid = pid_in(&file);
    assert!(is_running(pid));
    let id = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
    kill(id, Signal::SIGKILL).unwrap();
}

#[test]
fn a_daemon_lives_on_if_the_runner_goes_at_once_after_its_task() {
    let guarded = guarded();
    let folder = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let file = folder.path().join(round.to_string());
        let text = format!("setsid sleep 60 >&- 2>&- & echo $! > {}", file.display());
        let mut command = sh(&text);
        command.background = Background::Keep;
        let local = LocalRunner::start(guarded.clone()).unwrap();
        assert_eq!(run(&local, command).exit, Exit::Code(0));
        drop(local);
        let pid = pid_in(&file);
        assert!(is_running(pid));
        let id = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
        kill(id, Signal::SIGKILL).unwrap();
    }
}

#[test]
fn a_process_that_left_its_group_does_not_hold_us() {
    let start = Instant::now();
    let output = run(&runner(), sh("setsid sleep 3 & sleep 0.2; echo ok"));
    assert_eq!(output.stdout.text(), "ok\n");
    assert!(start.elapsed() < Duration::from_millis(2500));
}

#[test]
fn cancelling_all_ends_those_that_wait_their_turn_too() {
    let one = RunLimits {
        max_running: 1,
        ..limits()
    };
    let runner = LocalRunner::start(one).unwrap();
    for id in 0..5 {
        runner.submit(id, here(sh("sleep 60")));
    }
    runner.cancel_all();
    let mut ids: Vec<_> = (0..5)
        .map(|_| {
            let (id, output) = next(&runner);
            assert_eq!(output.exit, Exit::Cancelled);
            id
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3, 4]);
}

#[test]
fn nothing_is_left_when_the_runner_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let runner = runner();
    let text = format!(
        "trap '' TERM INT HUP; echo $$ > {}; sleep 60; sleep 60",
        file.display()
    );
    runner.submit(1, here(sh(&text)));
    let pid = pid_in(&file);
    drop(runner);
    assert!(ends(pid));
}

/// Returns interrupts of a run that has started, so that signals do not end this process.
fn started() -> Interrupts {
    let interrupts = Interrupts::default();
    interrupts.mark_started();
    interrupts
}

#[test]
fn after_an_interruption_what_runs_may_end_by_itself() {
    let runner = runner();
    runner.submit(1, here(sh("sleep 0.3; echo done")));
    let interrupts = started();
    let _listening = runner.listen(&interrupts);
    interrupts.signal(Signal::SIGINT);
    assert!(matches!(
        runner.recv().unwrap(),
        RunnerEvent::Interruption(2)
    ));
    let (_, output) = next(&runner);
    assert_eq!(output.exit, Exit::Code(0));
    assert_eq!(output.stdout.text(), "done\n");
}

#[test]
fn after_an_interruption_what_runs_is_ended_once_patience_is_over() {
    let impatient = RunLimits {
        interrupt_grace: Duration::from_millis(100),
        ..limits()
    };
    let runner = LocalRunner::start(impatient).unwrap();
    runner.submit(1, here(sh("sleep 60")));
    let interrupts = started();
    let _listening = runner.listen(&interrupts);
    interrupts.signal(Signal::SIGTERM);
    assert_eq!(next(&runner).1.exit, Exit::Cancelled);
    runner.submit(2, here(sh("echo late")));
    assert_eq!(next(&runner).1.exit, Exit::Cancelled);
}

#[test]
fn the_second_interruption_kills_at_once() {
    let patient = RunLimits {
        grace: Duration::from_mins(1),
        ..limits()
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let runner = LocalRunner::start(patient).unwrap();
    let text = format!("trap '' INT TERM; echo $$ > {}; sleep 60", file.display());
    runner.submit(1, here(sh(&text)));
    let pid = pid_in(&file);
    let interrupts = started();
    let _listening = runner.listen(&interrupts);
    let start = Instant::now();
    interrupts.signal(Signal::SIGINT);
    interrupts.signal(Signal::SIGINT);
    assert_eq!(next(&runner).1.exit, Exit::Cancelled);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(ends(pid));
}

/// Runs a long command, sends a signal, and returns the first two events.
fn events_after_a_signal(on_interrupt: OnInterrupt) -> (DriverEvent, DriverEvent) {
    let interrupts = Interrupts::default();
    let output = OutputMode::Discard;
    let mut driver = Driver::local(interrupts.clone(), on_interrupt, limits(), output);
    driver.submit(1, here(sh("sleep 60"))).unwrap();
    interrupts.signal(Signal::SIGTERM);
    assert_eq!(interrupts.first_before_start(), None);
    let first = driver.next(None).unwrap();
    (first, driver.next(None).unwrap())
}

#[test]
fn a_signal_reaches_whoever_drives_a_command_and_ends_it_at_once_or_after_a_grace() {
    let grace = OnInterrupt::Grace(Duration::from_millis(50));
    for on_interrupt in [OnInterrupt::Cancel, grace] {
        let start = Instant::now();
        let (first, second) = events_after_a_signal(on_interrupt);
        assert!(matches!(first, DriverEvent::Interrupt(15)), "{first:?}");
        let DriverEvent::Outcome(1, result) = second else {
            panic!("{second:?}");
        };
        assert_eq!(*result.exit(), Exit::Cancelled);
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn a_cancelled_command_ends_with_what_left_its_group() {
    let guarded = guarded();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let text = format!(
        "setsid sh -c 'trap \"\" TERM; echo $$ > {}; sleep 60; sleep 60' & sleep 60",
        file.display()
    );
    for dropped in [false, true] {
        let runner = LocalRunner::start(guarded.clone()).unwrap();
        runner.submit(1, here(sh(&text)));
        let pid = pid_in(&file);
        std::fs::remove_file(&file).unwrap();
        if !dropped {
            runner.cancel_all();
            assert_eq!(next(&runner).1.exit, Exit::Cancelled);
        }
        drop(runner);
        assert!(ends(pid));
    }
}

#[test]
fn a_command_killed_by_a_signal_reports_the_signal() {
    assert_eq!(run(&runner(), sh("kill -9 $$")).exit, Exit::Signal(9));
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let mut command = sh("");
    command.program = Program::Argv(vec!["no-such-tool".into(), "-x".into()]);
    let output = run(&runner(), command);
    assert!(matches!(&output.exit, Exit::NotFound(m) if m.contains("`no-such-tool`")));
}

#[test]
fn words_that_no_system_can_take_are_refused() {
    let mut command = sh("true");
    command.env.add("A\0B", "x");
    let output = run(&runner(), command);
    assert!(matches!(output.exit, Exit::Failed(_)), "{:?}", output.exit);
    let runner = runner();
    let mut command = sh("");
    command.program = Program::Argv(vec!["echo".into(), "a\0b".into()]);
    assert!(matches!(run(&runner, command).exit, Exit::Failed(_)));
}

#[test]
fn an_echo_is_complete_before_the_result_comes() {
    let runner = LocalRunner::start_with_output(limits()).unwrap();
    let mut command = sh("seq 1 500000");
    command.echo = true;
    command.capture_limit = 10;
    runner.submit(7, here(command));
    let mut heard = Vec::new();
    let output = loop {
        match runner.recv().unwrap() {
            RunnerEvent::Output(id, stream, bytes) => {
                assert_eq!((id, stream), (7, Stream::Stdout));
                heard.extend_from_slice(&bytes);
            }
            RunnerEvent::Ended(_, ActionResult::Run(output)) => break output,
            _ => {}
        }
    };
    assert_eq!(heard.len() as u64, output.stdout.total);
    assert!(heard.ends_with(b"500000\n"));
    runner.submit(7, here(sh("echo silent")));
    assert!(matches!(runner.recv().unwrap(), RunnerEvent::Ended(..)));
}

#[test]
fn lines_come_before_the_result_and_without_secrets_from_a_pipe_and_from_a_file() {
    let runner = runner();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("output");
    for stdout_file in [None, Some(file.clone())] {
        let mut command = sh("echo one; echo tw; echo \"a $TOKEN b\"; sleep 0.2; printf end");
        command.env.add_secret("TOKEN", "hunter2");
        command.reports_lines = true;
        command.stdout_file = stdout_file;
        runner.submit(3, here(command));
        let mut lines = Vec::new();
        let output = loop {
            match runner.recv().unwrap() {
                RunnerEvent::Line(3, line) => lines.push(line),
                RunnerEvent::Ended(_, ActionResult::Run(output)) => break output,
                _ => {}
            }
        };
        assert_eq!(lines, ["one", "tw", "a <<REDACTED>> b", "end"]);
        assert_eq!(output.stdout.text(), "one\ntw\na hunter2 b\nend");
    }
    let mut again = sh("echo x");
    again.stdout_file = Some(file);
    assert!(matches!(run(&runner, again).exit, Exit::Failed(text) if text.contains("File exists")));
}

#[test]
fn a_program_with_a_grace_of_its_own_ends_itself_after_an_interrupt() {
    let runner = runner();
    let script = "trap '' TERM; trap 'sleep 0.6; echo saved; exit 3' INT; echo on; \
                  while :; do sleep 0.05; done";
    let mut command = sh(script);
    command.interrupt_grace = Some(Duration::from_mins(1));
    command.reports_lines = true;
    runner.submit(1, here(command));
    let event = runner.recv().unwrap();
    assert!(matches!(event, RunnerEvent::Line(1, line) if line == "on"));
    runner.cancel_all();
    let (_, output) = next(&runner);
    assert_eq!(output.exit, Exit::Cancelled);
    assert_eq!(output.stdout.text(), "on\nsaved\n");
}

#[test]
fn a_command_waits_while_its_output_is_not_read() {
    let runner = LocalRunner::start_with_output(limits()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    let mut command = sh(&format!("seq 1 1000000; touch {}", done.display()));
    command.echo = true;
    command.capture_limit = 10;
    runner.submit(7, here(command));
    std::thread::sleep(Duration::from_millis(400));
    assert!(!done.exists());
    while !matches!(runner.recv().unwrap(), RunnerEvent::Ended(..)) {}
    assert!(done.exists());
}

#[test]
fn many_commands_run_and_each_gives_its_own_result() {
    let runner = runner();
    let start = Instant::now();
    for id in 0..500 {
        let mut command = sh("");
        command.program = Program::Argv(vec!["echo".into(), id.to_string()]);
        runner.submit(id, here(command));
    }
    for _ in 0..500 {
        let (id, output) = next(&runner);
        assert_eq!(output.stdout.text(), format!("{id}\n"));
    }
    println!(
        "{:.0} commands a second",
        500.0 / start.elapsed().as_secs_f64()
    );
}
