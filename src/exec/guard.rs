//! The guard: a small process that ends the commands of a job if the job is killed.
//!
//! The job reports its process groups to the guard through a pipe, one line each. If the pipe
//! closes without the line `bye`, the job has died, and the guard kills what the job started. The
//! guard holds nothing else: no lock, no output, no folder.
#![expect(
    clippy::disallowed_methods,
    reason = "only the runner starts processes"
)]

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

pub use crate::system::survivors::GUARD_COMMAND;
use crate::system::{machine, signals, survivors};

/// The time between SIGTERM and SIGKILL for the commands of a dead job.
const GRACE: Duration = Duration::from_secs(5);

/// The environment variables that a guard gets.
///
/// The environment of the job may hold secrets, and the token of an outer job that this job is a
/// task of.
const PASSED_VARIABLES: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];

/// The options of a guard: the token of the job and the program to start.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// The token that identifies the processes of this job by their environment.
    pub token: String,
    /// The program to run as guard. None in tests that need no guard.
    pub program: Option<PathBuf>,
}

impl GuardOptions {
    /// Returns options with which this very program is the guard.
    pub fn by_this_program(token: &str) -> Self {
        // This path stays valid if the file of the program is replaced while the job runs.
        let own = PathBuf::from("/proc/self/exe");
        let program = if own.exists() {
            Some(own)
        } else {
            std::env::current_exe().ok()
        };
        Self {
            token: token.to_owned(),
            program,
        }
    }
}

/// The guard as its job sees it.
///
/// The process starts in the background. Lines are buffered until it runs.
#[derive(Debug)]
pub(super) struct Guard {
    token: String,
    pipe: Arc<Mutex<GuardPipe>>,
    ready: Mutex<Option<Receiver<()>>>,
}

/// The pipe to the guard process, or the lines that wait for it.
#[derive(Debug)]
enum GuardPipe {
    Buffering(String),
    Open(ChildStdin),
    Broken,
}

impl GuardPipe {
    fn write(&mut self, text: &str) {
        match self {
            Self::Buffering(waiting) => waiting.push_str(text),
            Self::Open(pipe) => {
                if pipe.write_all(text.as_bytes()).is_err() {
                    // The guard was killed. The next job finds the processes of this one by the
                    // token.
                    *self = Self::Broken;
                }
            }
            Self::Broken => {}
        }
    }
}

impl Guard {
    pub(super) fn start(options: GuardOptions) -> Self {
        let GuardOptions { token, program } = options;
        let pipe = Arc::new(Mutex::new(GuardPipe::Buffering(format!("token {token}\n"))));
        let (ready_sender, ready) = sync_channel(1);
        let to = Arc::clone(&pipe);
        let of_job = token.clone();
        let thread = std::thread::Builder::new().name("guard".to_owned());
        let started = thread.spawn(move || {
            let mut child = program.and_then(|program| spawn_guard(program, &of_job));
            let pipe = child.as_mut().and_then(|child| child.stdin.take());
            {
                let mut line = to.lock().unwrap_or_else(PoisonError::into_inner);
                let open = pipe.map_or(GuardPipe::Broken, GuardPipe::Open);
                if let GuardPipe::Buffering(waiting) = std::mem::replace(&mut *line, open) {
                    line.write(&waiting);
                }
            }
            drop(ready_sender);
            if let Some(mut child) = child {
                child.wait().ok();
            }
        });
        if started.is_err() {
            *pipe.lock().unwrap_or_else(PoisonError::into_inner) = GuardPipe::Broken;
        }
        Self {
            token,
            pipe,
            ready: Mutex::new(Some(ready)),
        }
    }

    /// Returns the token of the job.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    fn send(&self, text: &str) {
        let mut line = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        line.write(text);
    }

    /// Reports a started command, which is the leader of its own process group.
    ///
    /// With a grace, the command is ended with SIGINT and has this time to end.
    pub(super) fn command_started(&self, task: u64, group: u32, grace: Option<Duration>) {
        if let Some(start_time) = machine::start_time(group) {
            let grace = grace.map_or_else(String::new, |time| format!(" {}", time.as_secs()));
            self.send(&format!("begun {task} {group} {start_time}{grace}\n"));
        }
    }

    /// Reports the end of a command.
    ///
    /// Processes that it left behind may go on if `may_live` is set.
    pub(super) fn command_ended(&self, task: u64, may_live: bool) {
        let word = if may_live { "left" } else { "ended" };
        self.send(&format!("{word} {task}\n"));
    }

    /// Ends the guard: the job is done.
    pub(super) fn close(&self) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = ready.take() {
            // `ready` closes once the guard has started, or could not start.
            ready.recv().ok();
        }
        self.send("bye\n");
        *self.pipe.lock().unwrap_or_else(PoisonError::into_inner) = GuardPipe::Broken;
    }
}

fn spawn_guard(program: PathBuf, token: &str) -> Option<Child> {
    let mut command = Command::new(program);
    // By the token others see that this guard runs.
    command.arg0("unfurl").args([GUARD_COMMAND, token]);
    command.current_dir("/").env_clear();
    for name in PASSED_VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // Signals from a terminal to its foreground processes (Ctrl-C) must not end the guard.
    command.process_group(0);
    command.stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok()
}

/// A process group that the job started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GuardedGroup {
    id: u32,
    /// The start time of the group's first process.
    ///
    /// The system may have given the id to another process since.
    start_time: u64,
    /// The time that the group has to end after SIGINT. None ends it with SIGTERM and the grace of the guard.
    grace: Option<Duration>,
}

impl GuardedGroup {
    fn is_alive(self) -> bool {
        machine::start_time(self.id) == Some(self.start_time)
    }

    fn pid(self) -> Option<Pid> {
        let id = i32::try_from(self.id).ok().filter(|id| *id > 1);
        id.map(Pid::from_raw)
    }

    fn signal(self, signal: Signal) {
        if let (true, Some(pid)) = (self.is_alive(), self.pid()) {
            killpg(pid, signal).ok();
        }
    }
}

/// A group that was asked to end.
struct EndingGroup {
    group: GuardedGroup,
    grace: Duration,
}

impl survivors::Ending for EndingGroup {
    fn is_running(&self) -> bool {
        self.group.is_alive()
    }

    fn kill(&self) {
        self.group.signal(Signal::SIGKILL);
    }

    fn time(&self) -> Duration {
        self.group.grace.unwrap_or(self.grace)
    }
}

/// The state of a job as reported to its guard.
#[derive(Debug, Default)]
struct GuardState {
    token: Option<String>,
    running: HashMap<u64, GuardedGroup>,
    /// The ids of actions whose processes may outlive the job.
    detached: HashSet<u64>,
    is_closed: bool,
}

impl GuardState {
    /// Reads lines until the job closes the pipe.
    fn read_from(input: impl BufRead) -> Self {
        let mut state = Self::default();
        for line in input.lines().map_while(Result::ok) {
            // Unknown lines are ignored.
            state.apply_line(&line);
        }
        state
    }

    fn apply_line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        match words.next()? {
            "token" => self.token = Some(words.next()?.to_owned()),
            "begun" => {
                let task = words.next()?.parse().ok()?;
                let group = GuardedGroup {
                    id: words.next()?.parse().ok()?,
                    start_time: words.next()?.parse().ok()?,
                    grace: words
                        .next()
                        .and_then(|word| word.parse().ok())
                        .map(Duration::from_secs),
                };
                self.detached.remove(&task);
                self.running.insert(task, group);
            }
            "left" => {
                let task = words.next()?.parse().ok()?;
                self.running.remove(&task);
                self.detached.insert(task);
            }
            "ended" => drop(self.running.remove(&words.next()?.parse().ok()?)),
            "bye" => self.is_closed = true,
            _ => {}
        }
        Some(())
    }

    /// Ends all running groups: SIGTERM or SIGINT first, SIGKILL when the grace is over.
    fn end_all(&self, grace: Duration) {
        let start = Instant::now();
        for group in self.running.values() {
            group.signal(match group.grace {
                Some(_) => Signal::SIGINT,
                None => Signal::SIGTERM,
            });
        }
        if let Some(token) = &self.token {
            let is_spared = |task| self.detached.contains(&task);
            survivors::terminate_interrupted(token, &is_spared, grace);
        }
        // Some processes have cleared the token from their environment or run as another user, so
        // `survivors` does not find them.
        let running = self.running.values();
        let ending = running.map(|group| EndingGroup {
            group: *group,
            grace,
        });
        survivors::kill_after_grace(start, ending.collect());
    }
}

/// Closes inherited file descriptors.
///
/// Whoever reads the other end of such a pipe would wait for the end of the guard.
fn close_inherited() {
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers: Vec<i32> = open
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // The descriptor that listed the folder is closed already.
        nix::unistd::close(number).ok();
    }
}

/// Runs the guard process until the standard input ends.
///
/// Called only by this program in its own guard process.
pub fn run_guard() {
    // A signal to all processes reaches the job as well. The guard must outlive the job.
    signals::block_termination_signals();
    close_inherited();
    let watched = GuardState::read_from(std::io::stdin().lock());
    if !watched.is_closed {
        watched.end_all(GRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_knows_what_is_open_and_what_may_live() {
        let commands = "token T\nbegun 1 100 7\nbegun 2 200 8\nleft 1\nended 2\nbegun 3 300 9\n\
                    nonsense\nbegun x\nbegun 4 400\nbegun 1 500 9 60\nleft 3\n";
        let watched = GuardState::read_from(commands.as_bytes());
        assert_eq!(watched.token.as_deref(), Some("T"));
        let group = GuardedGroup {
            id: 500,
            start_time: 9,
            grace: Some(Duration::from_mins(1)),
        };
        assert_eq!(watched.running, HashMap::from([(1, group)]));
        assert_eq!(watched.detached, HashSet::from([3]));
        assert!(!watched.is_closed);
        assert!(GuardState::read_from("bye\n".as_bytes()).is_closed);
    }

    #[test]
    fn a_group_is_ended_only_if_it_is_still_the_one_that_was_registered() {
        let start = || {
            let mut command = Command::new("sleep");
            command.arg("60").process_group(0).spawn().unwrap()
        };
        let (mut ours, mut other) = (start(), start());
        let group = |child: &Child, later| GuardedGroup {
            id: child.id(),
            start_time: machine::start_time(child.id()).unwrap() + later,
            grace: None,
        };
        let watched = GuardState {
            running: HashMap::from([(1, group(&ours, 0)), (2, group(&other, 1))]),
            ..GuardState::default()
        };
        let began = Instant::now();
        // No thread waits for the ended process before this point, so its id cannot be reused.
        let waits = std::thread::spawn(move || ours.wait().unwrap());
        watched.end_all(Duration::from_mins(1));
        assert!(began.elapsed() < Duration::from_secs(30));
        assert!(!waits.join().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn lines_wait_until_the_guard_is_there() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let [program, commands] = ["guard", "told"].map(|name| folder.path().join(name));
        let script = format!("#!/bin/sh\nexec cat > '{}'\n", commands.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let guard = Guard::start(GuardOptions {
            token: "T".to_owned(),
            program: Some(program),
        });
        let own = machine::pid();
        guard.command_started(1, own, None);
        guard.command_ended(1, true);
        guard.close();
        let start_time = machine::start_time(own).unwrap();
        let expected = format!("token T\nbegun 1 {own} {start_time}\nleft 1\nbye\n");
        let began = Instant::now();
        let mut text = String::new();
        while !text.ends_with("bye\n") && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(2));
            text = std::fs::read_to_string(&commands).unwrap_or_default();
        }
        assert_eq!(text, expected);
    }

    #[test]
    fn a_guard_that_cannot_be_is_no_matter() {
        let guard = Guard::start(GuardOptions {
            token: "T".to_owned(),
            program: Some("/no/such/program".into()),
        });
        let ready = guard.ready.lock().unwrap().take().unwrap();
        assert!(ready.recv().is_err());
        let is_broken = || matches!(*guard.pipe.lock().unwrap(), GuardPipe::Broken);
        assert!(is_broken());
        guard.command_started(1, machine::pid(), None);
        guard.command_ended(1, true);
        guard.close();
        assert!(is_broken());
    }
}
