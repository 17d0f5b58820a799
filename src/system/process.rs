//! Short helper programs such as `git`, run to their end while the caller waits. Tasks of a job
//! do not come here: a runner performs those.
#![expect(clippy::disallowed_methods, reason = "this is the door")]

use std::io::{Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::fault::{self, SystemCall};
use super::signals;

/// A helper program to run.
#[derive(Debug, Clone)]
pub struct Helper {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The folder it works in; this process's own if none.
    pub cwd: Option<PathBuf>,
    /// Its whole environment; this process's own if none.
    pub env: Option<Vec<(String, String)>>,
    /// Variables set on top of that environment.
    pub extra_env: Vec<(String, String)>,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// Whether its input stays open, with nothing to read, until it has ended. A helper that
    /// waits for the end of its input notices so that this program is gone.
    pub keep_stdin_open: bool,
    /// How long it may run.
    pub time_limit: Duration,
    /// Whether it comes to its end also when somebody asks for an end of all.
    pub ignore_interrupt: bool,
    /// The most bytes kept of each of its two outputs; more is read and thrown away.
    pub max_output: usize,
}

impl Helper {
    /// A helper with no input, a time limit of 60 s and 16 MiB of output.
    pub fn new<W: Into<String>>(argv: impl IntoIterator<Item = W>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            env: None,
            extra_env: Vec::new(),
            stdin: Vec::new(),
            keep_stdin_open: false,
            time_limit: Duration::from_mins(1),
            ignore_interrupt: false,
            max_output: 16 << 20,
        }
    }
}

/// What a helper gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; 128 and the signal's number if a signal ended it.
    pub code: i32,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained.
    pub stderr: Vec<u8>,
    /// Whether some of its output was thrown away.
    pub truncated: bool,
}

impl Output {
    /// Whether it succeeded.
    pub fn is_ok(&self) -> bool {
        self.code == 0
    }

    /// What it printed, as text without the last line's end.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout)
            .trim_end_matches('\n')
            .to_owned()
    }
}

/// Why a helper could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There was no program to run.
    #[error("no program was given")]
    Empty,
    /// The program is not installed, or not on the `PATH`.
    #[error("`{program}` was not found")]
    NotFound {
        /// The program.
        program: String,
    },
    /// The system did not start it.
    #[error("could not run `{program}`: {source}")]
    Failed {
        /// The program.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It ran too long and was ended.
    #[error("`{program}` did not end within {} s", time_limit.as_secs_f32())]
    TimedOut {
        /// The program.
        program: String,
        /// How long it may run.
        time_limit: Duration,
    },
    /// Somebody asked for an end of all.
    #[error("`{program}` was ended, for an end of all was asked for")]
    Interrupted {
        /// The program.
        program: String,
    },
}

/// Lets a person edit a file with the editor that git would take, on this process's terminal.
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

/// How often it is looked whether a helper is to be ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs a helper to its end.
pub fn run(helper: &Helper) -> Result<Output, Error> {
    let program = helper.argv.first().ok_or(Error::Empty)?.clone();
    let deadline = Instant::now() + helper.time_limit;
    let mut child = spawn(helper, &program)?;
    let outputs = read_outputs(&mut child, helper.max_output);
    // Dropped when this function ends, which ends the helper's input.
    let held = child.stdin.take_if(|_| helper.keep_stdin_open);
    if let Some(mut pipe) = child.stdin.take() {
        let bytes = helper.stdin.clone();
        // A helper that does not read its input must not stop us.
        std::thread::spawn(move || pipe.write_all(&bytes).ok());
    }
    let timed_out = || Error::TimedOut {
        program: program.clone(),
        time_limit: helper.time_limit,
    };
    let (stdout, stderr) =
        collect(&outputs, deadline, helper.ignore_interrupt).ok_or_else(|| {
            terminate(&mut child);
            if Instant::now() < deadline {
                let program = program.clone();
                return Error::Interrupted { program };
            }
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

/// Reads both outputs on threads of their own; each is sent when it has ended.
fn read_outputs(child: &mut Child, max_bytes: usize) -> Receiver<(bool, RetainedOutput)> {
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
        std::thread::spawn(move || {
            let captured = pipe
                .map(|pipe| read_bounded(pipe, max_bytes))
                .unwrap_or_default();
            done.send((stderr, captured)).ok();
        });
    }
    outputs
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

type RetainedOutput = (Vec<u8>, bool);

/// Waits for both outputs; gives nothing if the time is over or an end was asked for.
fn collect(
    from: &Receiver<(bool, RetainedOutput)>,
    deadline: Instant,
    to_its_end: bool,
) -> Option<(RetainedOutput, RetainedOutput)> {
    let mut outputs = [RetainedOutput::default(), RetainedOutput::default()];
    let mut ended = 0;
    while ended < 2 {
        let remaining = deadline.saturating_duration_since(Instant::now());
        match from.recv_timeout(remaining.min(POLL_INTERVAL)) {
            Ok((stderr, captured)) => {
                outputs[usize::from(stderr)] = captured;
                ended += 1;
            }
            Err(RecvTimeoutError::Timeout)
                if remaining > POLL_INTERVAL && (to_its_end || !signals::take_end_helper()) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
    Some(outputs.into())
}

/// Reads all, keeps up to a bound, and says whether there was more.
fn read_bounded(mut pipe: impl Read, max_bytes: usize) -> RetainedOutput {
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

/// Ends the helper and all it started.
fn terminate(child: &mut Child) {
    if let Ok(group) = i32::try_from(child.id()) {
        // It may have ended by itself meanwhile.
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
    fn a_program_that_is_not_there_is_named() {
        let error = run(&Helper::new(["no-such-program-anywhere"])).unwrap_err();
        insta::assert_snapshot!(error, @"`no-such-program-anywhere` was not found");
        assert!(matches!(
            run(&Helper::new(Vec::<String>::new())),
            Err(Error::Empty)
        ));
    }
}
