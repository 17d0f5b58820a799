//! The guard: a small process beside a job that ends its commands if the job is killed.
//!
//! The job tells it through a pipe which process groups there are. When the pipe closes without a
//! goodbye, the job is gone, and what it started must not outlive it. The guard holds nothing
//! else: no lock, no output, no folder.
#![expect(
    clippy::disallowed_methods,
    reason = "the runner is the one that starts processes"
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

use crate::system::{machine, signals, survivors};

/// The word that makes this program a guard.
pub const GUARD_COMMAND: &str = "guard-tasks";

/// How long commands have between being asked to end and being killed.
const GRACE: Duration = Duration::from_secs(5);

/// How often it is looked whether they have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What a guard needs of its environment: that of its job may hold secrets, and the token of
/// another job that this one is a task of.
const PASSED_VARIABLES: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];

/// Who ends the commands of a job that is killed.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// What tells the processes of this job from all others.
    pub token: String,
    /// The program that stands guard; none in tests of other things.
    pub program: Option<PathBuf>,
}

impl GuardOptions {
    /// Guarded by this very program.
    pub fn by_this_program(token: &str) -> Self {
        // This name stays good if the file is replaced while the job runs.
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

/// The guard as its job sees it. It starts on the side: lines wait until it is there.
#[derive(Debug)]
pub(super) struct Guard {
    token: String,
    pipe: Arc<Mutex<GuardPipe>>,
    ready: Mutex<Option<Receiver<()>>>,
}

/// The pipe to the guard.
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
                    // It was killed. The next job finds by the token what this one may leave.
                    *self = Self::Broken;
                }
            }
            Self::Broken => {}
        }
    }
}

impl Guard {
    pub(super) fn start(guarding: GuardOptions) -> Self {
        let GuardOptions { token, program } = guarding;
        let line = Arc::new(Mutex::new(GuardPipe::Buffering(format!("token {token}\n"))));
        let (ready_sender, ready) = sync_channel(1);
        let to = Arc::clone(&line);
        let thread = std::thread::Builder::new().name("guard".to_owned());
        let started = thread.spawn(move || {
            let mut child = program.and_then(spawn_guard);
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
            *line.lock().unwrap_or_else(PoisonError::into_inner) = GuardPipe::Broken;
        }
        Self {
            token,
            pipe: line,
            ready: Mutex::new(Some(ready)),
        }
    }

    /// The token of the job.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    fn send(&self, text: &str) {
        let mut line = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        line.write(text);
    }

    /// A command of a task runs, in a process group of its own.
    pub(super) fn command_started(&self, task: u64, group: u32) {
        if let Some(start_time) = machine::start_time(group) {
            self.send(&format!("begun {task} {group} {start_time}\n"));
        }
    }

    /// It has ended; what it left behind may live on if `may_live`.
    pub(super) fn command_ended(&self, task: u64, may_live: bool) {
        let word = if may_live { "left" } else { "ended" };
        self.send(&format!("{word} {task}\n"));
    }

    /// Nothing is left to guard.
    pub(super) fn close(&self) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = ready.take() {
            // It ends when the guard is there, or cannot be.
            ready.recv().ok();
        }
        self.send("bye\n");
        *self.pipe.lock().unwrap_or_else(PoisonError::into_inner) = GuardPipe::Broken;
    }
}

fn spawn_guard(program: PathBuf) -> Option<Child> {
    let mut command = Command::new(program);
    command.arg0("unfurl").arg(GUARD_COMMAND);
    command.current_dir("/").env_clear();
    for name in PASSED_VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // What a terminal sends to its foreground is not for the guard.
    command.process_group(0);
    command.stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok()
}

/// A process group that the job started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GuardedGroup {
    id: u32,
    /// When its first process started: the id may be another's by now.
    start_time: u64,
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

/// What a guard was told.
#[derive(Debug, Default)]
struct GuardState {
    token: Option<String>,
    running: HashMap<u64, GuardedGroup>,
    /// The tasks whose processes may live on.
    detached: HashSet<u64>,
    is_closed: bool,
}

impl GuardState {
    /// Hears until nobody can say any more.
    fn read_from(input: impl BufRead) -> Self {
        let mut watched = Self::default();
        for line in input.lines().map_while(Result::ok) {
            // Lines that nobody of this program writes mean nothing.
            watched.apply_line(&line);
        }
        watched
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

    /// Ends what runs: it is asked first, and killed once the grace is over.
    fn end_all(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        for group in self.running.values() {
            group.signal(Signal::SIGTERM);
        }
        if let Some(token) = &self.token {
            survivors::terminate(token, &|task| self.detached.contains(&task), grace);
        }
        // Those that gave themselves another environment, or another user.
        while self.running.values().any(|group| group.is_alive()) && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        for group in self.running.values() {
            group.signal(Signal::SIGKILL);
        }
    }
}

/// Closes what whoever called the job had open without need: it would wait for the guard's end.
fn close_inherited() {
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers: Vec<i32> = open
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // The one through which they were listed is closed already.
        nix::unistd::close(number).ok();
    }
}

/// Stands guard until the standard input ends. Called by this program in its own guard only.
pub fn run_guard() {
    // Whoever asks all processes for an end asks the job, too; the guard goes after it.
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
        let told = "token T\nbegun 1 100 7\nbegun 2 200 8\nleft 1\nended 2\nbegun 3 300 9\n\
                    nonsense\nbegun x\nbegun 4 400\nbegun 1 500 9\nleft 3\n";
        let watched = GuardState::read_from(told.as_bytes());
        assert_eq!(watched.token.as_deref(), Some("T"));
        let group = GuardedGroup {
            id: 500,
            start_time: 9,
        };
        assert_eq!(watched.running, HashMap::from([(1, group)]));
        assert_eq!(watched.detached, HashSet::from([3]));
        assert!(!watched.is_closed);
        assert!(GuardState::read_from("bye\n".as_bytes()).is_closed);
    }

    #[test]
    fn a_group_is_ended_only_if_it_is_still_the_one_that_was_told() {
        let start = || {
            let mut command = Command::new("sleep");
            command.arg("60").process_group(0).spawn().unwrap()
        };
        let (mut ours, mut other) = (start(), start());
        let group = |child: &Child, later| GuardedGroup {
            id: child.id(),
            start_time: machine::start_time(child.id()).unwrap() + later,
        };
        let watched = GuardState {
            running: HashMap::from([(1, group(&ours, 0)), (2, group(&other, 1))]),
            ..GuardState::default()
        };
        let began = Instant::now();
        // Nobody waits for the one that ended until here, so that it stays the same.
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
        let [program, told] = ["guard", "told"].map(|name| folder.path().join(name));
        let script = format!("#!/bin/sh\nexec cat > '{}'\n", told.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let guard = Guard::start(GuardOptions {
            token: "T".to_owned(),
            program: Some(program),
        });
        let own = machine::pid();
        guard.command_started(1, own);
        guard.command_ended(1, true);
        guard.close();
        let start_time = machine::start_time(own).unwrap();
        let expected = format!("token T\nbegun 1 {own} {start_time}\nleft 1\nbye\n");
        let began = Instant::now();
        let mut text = String::new();
        while !text.ends_with("bye\n") && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(2));
            text = std::fs::read_to_string(&told).unwrap_or_default();
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
        guard.command_started(1, machine::pid());
        guard.command_ended(1, true);
        guard.close();
        assert!(is_broken());
    }
}
