//! Runs short helper programs, such as `git`, while the caller waits. The commands of job tasks are not run
//! here but by the `exec` module.
#![expect(
    clippy::disallowed_methods,
    reason = "only this module may call these methods"
)]

use std::io::{Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::fault::{self, SystemCall};
use super::limit_hints::start_problem;
use super::signals::{self, AnswerWait};

/// A helper program to run, with its input and limits.
#[derive(Debug, Clone)]
pub struct Helper {
    pub argv: Vec<String>,
    /// The working directory; `None` uses that of this process.
    pub cwd: Option<PathBuf>,
    /// The complete environment; `None` uses that of this process.
    pub env: Option<Vec<(String, String)>>,
    /// Variables set in addition to that environment.
    pub extra_env: Vec<(String, String)>,
    pub stdin: Vec<u8>,
    /// Keeps the standard input open without data until the helper ends. A helper that waits for the end of
    /// its input then notices if this process dies.
    pub keep_stdin_open: bool,
    /// The maximum running time of the helper.
    pub time_limit: Duration,
    /// Whether the helper waits for another machine. A signal then ends it after a short time, also once changes
    /// have started.
    pub is_remote: bool,
    /// The maximum number of bytes kept of each of the two outputs; the rest is discarded.
    pub max_output: usize,
    /// The time to end after a request, at the time limit or when the helper is stopped. A second request follows, and
    /// the forced end after the same time. Zero forces the end at once.
    pub end_grace: Duration,
    /// Ends the helper once it is true.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Helper {
    /// Creates a helper without input, with a time limit of 60 s and 16 MiB per output.
    pub fn new<W: Into<String>>(argv: impl IntoIterator<Item = W>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            env: None,
            extra_env: Vec::new(),
            stdin: Vec::new(),
            keep_stdin_open: false,
            time_limit: Duration::from_mins(1),
            is_remote: false,
            max_output: 16 << 20,
            end_grace: Duration::ZERO,
            stop: None,
        }
    }

    fn is_stopped(&self) -> bool {
        let stop = self.stop.as_ref();
        stop.is_some_and(|stop| stop.load(Ordering::SeqCst))
    }
}

/// The result of a helper that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit code; 128 plus the signal number if a signal ended the helper.
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Whether a part of the output was discarded.
    pub truncated: bool,
}

impl Output {
    /// Whether the exit code is 0.
    pub fn is_ok(&self) -> bool {
        self.code == 0
    }

    /// Returns the standard output as text without trailing line ends.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout)
            .trim_end_matches('\n')
            .to_owned()
    }
}

/// An error that prevents a helper from running to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no program was given")]
    Empty,
    /// The program is not installed or not on the `PATH`.
    #[error("`{program}` was not found")]
    NotFound { program: String },
    /// The system could not start the program.
    #[error("{}", start_problem(&format!("`{program}`"), source))]
    Failed {
        program: String,
        source: std::io::Error,
    },
    /// The time limit was exceeded; the program was killed.
    #[error("`{program}` did not end within {} s", time_limit.as_secs_f32())]
    TimedOut {
        program: String,
        time_limit: Duration,
    },
    /// The user interrupted this program, so the helper was ended.
    #[error("`{program}` was ended because of an interrupt")]
    Interrupted {
        program: String,
        /// The exit code of a helper that ended by itself when it was asked to.
        code: Option<i32>,
    },
}

/// Lets the user edit a file on this terminal, with the editor that git would use.
pub fn run_editor(file: &std::path::Path) -> Result<(), Error> {
    let program = "sh".to_owned();
    let editor = "eval \"$(git var GIT_EDITOR)\" '\"$1\"'";
    let status = Command::new(&program)
        .args(["-c", editor, "editor"])
        .arg(file)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::Failed {
            program: "the editor".to_owned(),
            source: std::io::Error::other(format!("it ended with {status}")),
        }),
        Err(source) => Err(Error::Failed { program, source }),
    }
}

/// Replaces this program by another one, which has its terminal, inputs and outputs.
///
/// Returns only if the other program cannot be started.
pub fn become_program(words: &[String]) -> Error {
    let Some((program, arguments)) = words.split_first() else {
        return Error::Empty;
    };
    let source = Command::new(program).args(arguments).exec();
    let program = program.to_owned();
    match source.kind() {
        std::io::ErrorKind::NotFound => Error::NotFound { program },
        _ => Error::Failed { program, source },
    }
}

/// The interval for checking whether a helper must be ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The time between the request to end and the forced end of a helper.
const END_GRACE: Duration = Duration::from_millis(100);

/// Runs a helper and waits for its end.
pub fn run(helper: &Helper) -> Result<Output, Error> {
    let program = helper.argv.first().ok_or(Error::Empty)?.clone();
    let _hold = helper.is_remote.then(signals::ExitHold::new);
    let deadline = Instant::now() + helper.time_limit;
    let mut child = spawn(helper, &program)?;
    let outputs = read_outputs(&mut child, helper.max_output).map_err(|source| {
        terminate(&mut child);
        let program = program.clone();
        Error::Failed { program, source }
    })?;
    // Dropped after the helper's end, which closes its standard input.
    let held = child.stdin.take_if(|_| helper.keep_stdin_open);
    if let Some(mut pipe) = child.stdin.take() {
        let bytes = helper.stdin.clone();
        // A helper that does not read its input must not block this process.
        let thread = std::thread::Builder::new();
        if let Err(source) = thread.spawn(move || pipe.write_all(&bytes).ok()) {
            terminate(&mut child);
            return Err(Error::Failed { program, source });
        }
    }
    let timed_out = || Error::TimedOut {
        program: program.clone(),
        time_limit: helper.time_limit,
    };
    let (stdout, stderr) = collect(&outputs, deadline, helper).ok_or_else(|| {
        if Instant::now() < deadline {
            let code = ask_to_end(&mut child, helper.end_grace);
            terminate(&mut child);
            let program = program.clone();
            return Error::Interrupted { program, code };
        }
        if !helper.end_grace.is_zero() {
            ask_to_end(&mut child, helper.end_grace);
        }
        terminate(&mut child);
        timed_out()
    })?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                drop(held);
                let signal = 128 + status.signal().unwrap_or_default();
                return Ok(Output {
                    code: status.code().unwrap_or(signal),
                    truncated: stdout.1 || stderr.1,
                    stdout: stdout.0,
                    stderr: stderr.0,
                });
            }
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            Ok(None) => {
                terminate(&mut child);
                return Err(timed_out());
            }
            Err(source) => return Err(Error::Failed { program, source }),
        }
    }
}

/// Reads both outputs on separate threads. Each one is sent when it ends.
fn read_outputs(
    child: &mut Child,
    max_bytes: usize,
) -> std::io::Result<Receiver<(bool, BoundedOutput)>> {
    let (done, outputs) = channel();
    let stdout = child
        .stdout
        .take()
        .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    let stderr = child
        .stderr
        .take()
        .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    for (stderr, pipe) in [(false, stdout), (true, stderr)] {
        let done = done.clone();
        std::thread::Builder::new().spawn(move || {
            let captured = pipe
                .map(|pipe| read_bounded(pipe, max_bytes))
                .unwrap_or_default();
            done.send((stderr, captured)).ok();
        })?;
    }
    Ok(outputs)
}

fn spawn(helper: &Helper, program: &str) -> Result<Child, Error> {
    let mut command = Command::new(program);
    command.args(&helper.argv[1..]).process_group(0);
    command.stdin(if helper.stdin.is_empty() && !helper.keep_stdin_open {
        Stdio::null()
    } else {
        Stdio::piped()
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(cwd) = &helper.cwd {
        command.current_dir(cwd);
    }
    if let Some(env) = &helper.env {
        command.env_clear().envs(env.iter().cloned());
    }
    command.envs(helper.extra_env.iter().cloned());
    fault::hide_from(&mut command);
    fault::call(SystemCall::Spawn(program), || command.spawn()).map_err(|source| {
        let program = program.to_owned();
        let cwd_is_there = helper.cwd.as_ref().is_none_or(|cwd| cwd.is_dir());
        if source.kind() == std::io::ErrorKind::NotFound && cwd_is_there {
            Error::NotFound { program }
        } else {
            Error::Failed { program, source }
        }
    })
}

/// The kept bytes of an output, and whether more were discarded.
type BoundedOutput = (Vec<u8>, bool);

/// Waits for both outputs; returns `None` on timeout or interruption.
fn collect(
    from: &Receiver<(bool, BoundedOutput)>,
    deadline: Instant,
    helper: &Helper,
) -> Option<(BoundedOutput, BoundedOutput)> {
    let mut outputs = [BoundedOutput::default(), BoundedOutput::default()];
    let mut ended = 0;
    let mut answer = AnswerWait::begin();
    let mut is_interrupted = || {
        if helper.is_stopped() {
            true
        } else if helper.is_remote {
            answer.is_over()
        } else {
            signals::take_helper_termination()
        }
    };
    while ended < 2 {
        let remaining = deadline.saturating_duration_since(Instant::now());
        match from.recv_timeout(remaining.min(POLL_INTERVAL)) {
            Ok((stderr, captured)) => {
                outputs[usize::from(stderr)] = captured;
                ended += 1;
            }
            Err(RecvTimeoutError::Timeout) if remaining > POLL_INTERVAL && !is_interrupted() => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
    Some(outputs.into())
}

/// Reads to the end, keeps up to `max_bytes`, and returns whether more was discarded.
fn read_bounded(mut pipe: impl Read, max_bytes: usize) -> BoundedOutput {
    let mut captured = Vec::new();
    let mut buffer = [0; 16 << 10];
    let mut truncated = false;
    while let Ok(count @ 1..) = pipe.read(&mut buffer) {
        let room = max_bytes.saturating_sub(captured.len()).min(count);
        captured.extend_from_slice(&buffer[..room]);
        truncated |= room < count;
    }
    (captured, truncated)
}

/// Asks the helper to end, and waits a moment, so that it can remove its lock files. Returns its exit code if it ends.
///
/// With a grace, the helper is asked twice: at the first signal a job lets its running tasks end, at the second one
/// it ends them and saves its record.
fn ask_to_end(child: &mut Child, grace: Duration) -> Option<i32> {
    let requests = if grace.is_zero() { 1 } else { 2 };
    for _ in 0..requests {
        if let Ok(group) = i32::try_from(child.id()) {
            // The helper may have ended by itself.
            killpg(Pid::from_raw(group), Signal::SIGTERM).ok();
        }
        let deadline = Instant::now() + grace.max(END_GRACE);
        while Instant::now() < deadline {
            match child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(status)) => return status.code(),
                Err(_) => return None,
            }
        }
    }
    None
}

/// Kills the helper with its process group.
fn terminate(child: &mut Child) {
    if let Ok(group) = i32::try_from(child.id()) {
        // The helper may have ended by itself.
        killpg(Pid::from_raw(group), Signal::SIGKILL).ok();
    }
    child.wait().ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(text: &str) -> Helper {
        Helper::new(["sh", "-c", text])
    }

    #[test]
    fn a_helper_gives_its_output_and_exit_code() {
        let output = run(&sh("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!((output.code, output.text().as_str()), (3, "out"));
        assert_eq!(output.stderr, b"err\n");
        assert!(!output.truncated);
    }

    #[test]
    fn a_helper_reads_its_input_and_environment() {
        let helper = Helper {
            stdin: vec![b'x'; 300_000],
            env: Some(vec![("PATH".into(), "/usr/bin:/bin".into())]),
            extra_env: vec![("WHO".into(), "me".into())],
            ..sh("wc -c; echo $WHO$HOME")
        };
        assert_eq!(run(&helper).unwrap().text(), "300000\nme");
    }

    #[test]
    fn input_that_is_held_ends_when_the_helper_has_ended() {
        let waits = Helper {
            keep_stdin_open: true,
            time_limit: Duration::from_millis(300),
            ..sh("read line")
        };
        assert!(matches!(run(&waits), Err(Error::TimedOut { .. })));
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("ended");
        let script = format!(
            "exec 3<&0; (read line <&3; touch '{}') >/dev/null 2>&1 & echo on",
            mark.display()
        );
        let helper = Helper {
            keep_stdin_open: true,
            ..sh(&script)
        };
        assert_eq!(run(&helper).unwrap().text(), "on");
        for _ in 0..500 {
            if mark.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("what waits for the end of the input still waits");
    }

    #[test]
    fn output_beyond_the_bound_is_thrown_away() {
        let helper = Helper {
            max_output: 10,
            ..sh("head -c 5000000 /dev/zero")
        };
        let output = run(&helper).unwrap();
        assert_eq!(output.stdout.len(), 10);
        assert!(output.truncated);
    }

    #[test]
    fn a_helper_that_hangs_is_ended() {
        let helper = Helper {
            time_limit: Duration::from_millis(100),
            ..sh("sleep 60")
        };
        let start = Instant::now();
        let error = run(&helper).unwrap_err();
        insta::assert_snapshot!(error, @"`sh` did not end within 0.1 s");
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_helper_with_a_grace_may_clean_up_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("cleaned");
        let script = format!(
            "trap 'touch {}; exit 1' TERM; echo on; sleep 60 & wait",
            mark.display()
        );
        let helper = Helper {
            time_limit: Duration::from_millis(300),
            end_grace: Duration::from_secs(10),
            ..sh(&script)
        };
        let start = Instant::now();
        assert!(matches!(run(&helper), Err(Error::TimedOut { .. })));
        assert!(mark.exists() && start.elapsed() < Duration::from_secs(9));
        let stop = Arc::new(AtomicBool::new(true));
        let stopped = Helper {
            stop: Some(stop),
            ..sh("sleep 60")
        };
        assert!(matches!(run(&stopped), Err(Error::Interrupted { .. })));
    }

    #[test]
    fn a_helper_with_a_grace_is_asked_twice_before_it_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        let script = format!(
            "trap 'n=$((n+1)); [ $n = 2 ] && exit 0' TERM; touch {}; while :; do sleep 0.01; done",
            ready.display()
        );
        let stop = Arc::new(AtomicBool::new(false));
        let helper = Helper {
            end_grace: Duration::from_millis(300),
            stop: Some(Arc::clone(&stop)),
            ..sh(&script)
        };
        let thread = std::thread::spawn(move || {
            while !ready.exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::SeqCst);
        });
        let ended = run(&helper);
        thread.join().unwrap();
        let is_asked_twice = matches!(ended, Err(Error::Interrupted { code: Some(0), .. }));
        assert!(is_asked_twice, "{ended:?}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = run(&Helper::new(["no-such-program-anywhere"])).unwrap_err();
        insta::assert_snapshot!(error, @"`no-such-program-anywhere` was not found");
        assert!(matches!(
            run(&Helper::new(Vec::<String>::new())),
            Err(Error::Empty)
        ));
    }
}
