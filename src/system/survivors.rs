//! Finds processes: those that outlive their job, which are ended, and recent ones of a program.
//!
//! Each task's commands carry a token in their environment, which child processes inherit; `/proc` shows it
//! even if a process has left its process group.
#![expect(
    clippy::disallowed_methods,
    reason = "only this module may call these methods"
)]

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::machine;

/// The environment variable with a task's token: the token of the job's lock, `/`, and the task's number. A task whose
/// program is ended with SIGINT adds `/` and the seconds that the program has to end.
///
/// A daemon that a task leaves running on purpose also carries it. A search for survivors must therefore know
/// which tasks completed.
pub const TOKEN_VARIABLE: &str = "_UNFURL_JOB_TOKEN";

/// The command line argument that makes this program a guard. The token of its job follows.
pub const GUARD_COMMAND: &str = "guard-tasks";

/// The interval for checking whether processes have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The time that killed processes get to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// The age from which on a process is not among the recent ones.
const MAX_RECENT_SECONDS: u64 = 60;

/// The clock ticks of a second in `/proc` (`USER_HZ`): 100 on the architectures that Linux distributions support.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the value of [`TOKEN_VARIABLE`] for a task. With a grace, its processes are ended with SIGINT and have this
/// time to end.
pub fn token_value(token: &str, task: u64, grace: Option<Duration>) -> String {
    match grace {
        Some(grace) => format!("{token}/{task}/{}", grace.as_secs()),
        None => format!("{token}/{task}"),
    }
}

/// The task and the ending of a process, as its token says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessTag {
    task: u64,
    /// The time that the process has to end after SIGINT. None ends it with SIGTERM.
    grace: Option<Duration>,
}

impl ProcessTag {
    /// Reads what follows the job's token and its slash.
    fn parse(text: &[u8]) -> Self {
        let text = std::str::from_utf8(text).unwrap_or_default();
        let (task, grace) = match text.split_once('/') {
            Some((task, grace)) => (task, grace.parse().ok().map(Duration::from_secs)),
            None => (text, None),
        };
        Self {
            // An unreadable number must not match a completed task.
            task: task.parse().unwrap_or(u64::MAX),
            grace,
        }
    }
}

/// A process, identified by id and start time, because ids are reused.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Survivor {
    pub pid: u32,
    /// The start time in clock ticks since boot.
    pub start_time: u64,
    /// The program name, if it is known.
    pub command: String,
    /// The time that the process has to end after SIGINT. None ends it with SIGTERM and the usual grace.
    pub grace: Option<Duration>,
}

impl Survivor {
    /// Whether the process is still running.
    pub fn is_running(&self) -> bool {
        machine::start_time(self.pid) == Some(self.start_time) && machine::is_running(self.pid)
    }

    /// Whether both are the same process, even if it has executed another program since.
    fn is_same_process(&self, other: &Self) -> bool {
        (self.pid, self.start_time) == (other.pid, other.start_time)
    }

    fn signal(&self, signal: Signal) {
        if let (true, Ok(pid)) = (self.is_running(), i32::try_from(self.pid)) {
            // The process may have ended, or may belong to another user.
            kill(Pid::from_raw(pid), signal).ok();
        }
    }
}

/// The result of ending the surviving processes of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminationReport {
    pub found: Vec<Survivor>,
    /// The processes that could not be ended.
    pub remaining: Vec<Survivor>,
}

/// Finds this user's processes that carry the token, and their descendants. Processes of tasks for which
/// `is_spared` returns true are left out, and so is this process.
pub fn find(token: &str, is_spared: &dyn Fn(u64) -> bool) -> Vec<Survivor> {
    let own = machine::pid();
    let processes = list_processes();
    let mut found: HashMap<u32, Option<Duration>> = HashMap::new();
    let mut spared: HashSet<u32> = HashSet::new();
    for pid in processes.keys() {
        match tag_of(*pid, token) {
            Some(tag) if is_spared(tag.task) => drop(spared.insert(*pid)),
            Some(tag) => drop(found.insert(*pid, tag.grace)),
            None => {}
        }
    }
    // A child process or group member belongs to a found process even if its environment lacks the token.
    let mut more = !found.is_empty();
    while more {
        let unknown = processes
            .iter()
            .filter(|(pid, _)| !found.contains_key(*pid) && !spared.contains(*pid));
        let add: Vec<(u32, Option<Duration>)> = unknown
            .filter_map(|(pid, process)| {
                let leader = found.get(&process.group).filter(|_| process.group != 0);
                let grace = found.get(&process.parent).or(leader)?;
                Some((*pid, *grace))
            })
            .collect();
        more = !add.is_empty();
        found.extend(add);
    }
    found.remove(&own);
    let mut survivors: Vec<Survivor> = found
        .into_iter()
        .filter(|(pid, _)| machine::is_running(*pid))
        .map(|(pid, grace)| Survivor {
            pid,
            start_time: processes[&pid].start_time,
            command: command_of(pid),
            grace,
        })
        .collect();
    survivors.sort_by_key(|survivor| (survivor.start_time, survivor.pid));
    survivors
}

/// Ends the processes that [`find`] returns: sends SIGTERM, waits for `grace`, then sends SIGKILL. Returns
/// once all have ended or some cannot be ended.
///
/// A process with a grace of its own gets SIGINT and that time. A `grace` of zero kills these at once, too. If a guard of
/// the job runs, only the guard sends SIGINT: a tool that gets two of them stops without saving its state.
pub fn terminate(
    token: &str,
    is_spared: &dyn Fn(u64) -> bool,
    grace: Duration,
) -> TerminationReport {
    let found = find(token, is_spared);
    let has_own_grace = found.iter().any(|it| it.grace.is_some());
    let is_interrupted = has_own_grace && has_guard(token);
    end(found, token, is_spared, grace, is_interrupted)
}

/// Ends the processes that [`find`] returns as [`terminate`] does. Processes with a grace of their own have got SIGINT
/// before.
pub fn terminate_interrupted(
    token: &str,
    is_spared: &dyn Fn(u64) -> bool,
    grace: Duration,
) -> TerminationReport {
    end(find(token, is_spared), token, is_spared, grace, true)
}

fn end(
    found: Vec<Survivor>,
    token: &str,
    is_spared: &dyn Fn(u64) -> bool,
    grace: Duration,
    is_interrupted: bool,
) -> TerminationReport {
    let mut ended = TerminationReport {
        found,
        remaining: Vec::new(),
    };
    if ended.found.is_empty() {
        return ended;
    }
    for survivor in &ended.found {
        match survivor.grace {
            Some(_) if is_interrupted => {}
            Some(_) => survivor.signal(Signal::SIGINT),
            None => survivor.signal(Signal::SIGTERM),
        }
    }
    wait_and_kill(&ended.found, grace);
    let last = Instant::now() + KILL_TIMEOUT;
    loop {
        // Search again: processes may have started children meanwhile. Keep those found before, because
        // without their parents they cannot be found again.
        for survivor in find(token, is_spared) {
            if !ended.found.iter().any(|it| it.is_same_process(&survivor)) {
                ended.found.push(survivor);
            }
        }
        let left = ended.found.iter().filter(|it| it.is_running());
        ended.remaining = left.cloned().collect();
        for survivor in &ended.remaining {
            survivor.signal(Signal::SIGKILL);
        }
        if ended.remaining.is_empty() || Instant::now() > last {
            return ended;
        }
        wait_for(&ended.remaining, POLL_INTERVAL);
    }
}

/// Returns true if the guard of a job is running.
fn has_guard(token: &str) -> bool {
    let is_guard = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let expected = [GUARD_COMMAND.as_bytes(), token.as_bytes()];
        words.windows(2).any(|pair| pair == expected)
    };
    list_processes().keys().any(is_guard)
}

/// A process or a group that was asked to end.
pub trait Ending {
    fn is_running(&self) -> bool;

    fn kill(&self);

    /// Returns the time that it has to end after the request.
    fn time(&self) -> Duration;
}

/// A process that has a grace of its own or a common one.
struct EndingSurvivor<'a> {
    survivor: &'a Survivor,
    grace: Duration,
}

impl Ending for EndingSurvivor<'_> {
    fn is_running(&self) -> bool {
        self.survivor.is_running()
    }

    fn kill(&self) {
        self.survivor.signal(Signal::SIGKILL);
    }

    fn time(&self) -> Duration {
        let own = self.survivor.grace.filter(|_| !self.grace.is_zero());
        own.map_or(self.grace, |own| own.max(self.grace))
    }
}

fn wait_and_kill(survivors: &[Survivor], grace: Duration) {
    let ending = survivors.iter();
    let ending = ending.map(|survivor| EndingSurvivor { survivor, grace });
    kill_after_grace(Instant::now(), ending.collect());
}

/// Waits until none of the processes is running, and kills each whose time since `start` is over.
pub fn kill_after_grace(start: Instant, mut running: Vec<impl Ending>) {
    loop {
        running.retain(|it| {
            let is_over = start.elapsed() >= it.time();
            if is_over {
                it.kill();
            }
            !is_over && it.is_running()
        });
        let Some(shortest) = running.iter().map(Ending::time).min() else {
            return;
        };
        std::thread::sleep(POLL_INTERVAL.min(shortest));
    }
}

/// Waits up to `time` until none of the processes is running.
fn wait_for(survivors: &[Survivor], time: Duration) {
    let deadline = Instant::now() + time;
    while survivors.iter().any(Survivor::is_running) && Instant::now() < deadline {
        std::thread::sleep(POLL_INTERVAL.min(time));
    }
}

/// Returns the processes of the last minute that run a program of this name with their working folder in `folder`.
/// The processes that have started this one are left out.
pub fn recent_programs_in(name: &str, folder: &Path) -> Vec<Survivor> {
    let earliest = uptime().saturating_sub(MAX_RECENT_SECONDS) * TICKS_PER_SECOND;
    let processes = list_processes();
    let recent = processes
        .iter()
        .filter(|(_, process)| process.start_time >= earliest);
    let mut found: Vec<Survivor> = recent
        .map(|(pid, process)| Survivor {
            pid: *pid,
            start_time: process.start_time,
            command: command_of(*pid),
            grace: None,
        })
        .filter(|process| process.command == name && works_in(process.pid, folder))
        .collect();
    let parent = |pid: &u32| processes.get(pid).map(|process| process.parent);
    // The bound matters if ids are reused while the processes are listed.
    for ancestor in std::iter::successors(parent(&machine::pid()), parent).take(processes.len()) {
        found.retain(|process| process.pid != ancestor);
    }
    found
}

fn works_in(pid: u32, folder: &Path) -> bool {
    std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
}

/// Returns the seconds since the start of the system; 0 if they are unknown.
fn uptime() -> u64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = text.split('.').next().unwrap_or_default();
    seconds.parse().unwrap_or_default()
}

/// The fields of `/proc/<pid>/stat` that the search needs.
struct Process {
    parent: u32,
    group: u32,
    start_time: u64,
}

fn list_processes() -> HashMap<u32, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let fields = machine::fields_after_name(pid)?;
            let mut fields = fields.split_whitespace().skip(1);
            let process = Process {
                parent: fields.next()?.parse().ok()?,
                group: fields.next()?.parse().ok()?,
                start_time: fields.nth(16)?.parse().ok()?,
            };
            Some((pid, process))
        })
        .collect()
}

/// Returns the tag that a process carries after this token. The environment of another user's process cannot be read.
fn tag_of(pid: u32, token: &str) -> Option<ProcessTag> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let prefix = format!("{TOKEN_VARIABLE}={token}/");
    let mut variables = environment.split(|byte| *byte == 0);
    let tag = variables.find_map(|it| it.strip_prefix(prefix.as_bytes()))?;
    Some(ProcessTag::parse(tag))
}

/// Returns the program name of a process without its arguments, which may be secret.
fn command_of(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn start(script: &str, token: &str, task: u64) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).process_group(0);
        command.stdout(Stdio::piped());
        command
            .env(TOKEN_VARIABLE, token_value(token, task, None))
            .spawn()
            .unwrap()
    }

    /// Searches for processes with the token for up to five seconds, until the result is as expected.
    fn find_until(token: &str, expected: impl Fn(&[Survivor]) -> bool) -> Vec<Survivor> {
        let mut found = Vec::new();
        for _ in 0..1000 {
            found = find(token, &|_| false);
            if expected(&found) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("not as expected: {found:?}");
    }

    #[test]
    fn a_process_that_left_its_group_and_ignores_the_first_signal_is_ended() {
        let token = ulid::Ulid::generate().to_string();
        let script = "setsid sh -c 'trap \"\" TERM; sleep 60; sleep 60' & exit 0";
        start(script, &token, 1).wait().unwrap();
        find_until(&token, |found| found.len() == 2);
        let ended = terminate(&token, &|_| false, Duration::from_millis(100));
        assert!(ended.found.len() >= 2, "{ended:?}");
        assert_eq!(ended.remaining, []);
        assert_eq!(find(&token, &|_| false), []);
    }

    #[test]
    fn a_child_without_the_token_is_found_through_its_parent() {
        let token = ulid::Ulid::generate().to_string();
        let mut child = start("env -i sleep 60 & wait", &token, 1);
        // A new process has the name of its parent until it executes `env`, which executes `sleep`.
        find_until(&token, |found| found.iter().any(|it| it.command == "sleep"));
        assert_eq!(
            terminate(&token, &|_| false, Duration::from_secs(5)).remaining,
            []
        );
        child.wait().unwrap();
    }

    #[test]
    fn a_child_that_outlives_the_parent_through_which_it_was_found_is_ended() {
        let token = ulid::Ulid::generate().to_string();
        let script = "env -i sh -c 'trap \"\" TERM; echo on; sleep 60; sleep 60' & wait";
        let mut child = start(script, &token, 1);
        let mut line = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        find_until(&token, |found| found.len() == 3);
        let reaper = std::thread::spawn(move || child.wait().unwrap());
        let ended = terminate(&token, &|_| false, Duration::from_millis(300));
        assert_eq!((line.as_str(), ended.remaining), ("on\n", vec![]));
        assert!(ended.found.iter().all(|it| !it.is_running()));
        reaper.join().unwrap();
    }

    #[test]
    fn what_a_task_that_has_ended_left_is_spared() {
        let token = ulid::Ulid::generate().to_string();
        let mut daemon = start("exec sleep 60", &token, 1);
        let mut other = start("exec sleep 60", &token, 2);
        // While a process executes a program, its environment cannot be read.
        find_until(&token, |found| {
            found.len() == 2 && found.iter().all(|it| it.command == "sleep")
        });
        let ended = terminate(&token, &|task| task == 1, Duration::from_secs(5));
        assert_eq!(ended.found.len(), 1, "{ended:?}");
        assert!(daemon.try_wait().unwrap().is_none());
        other.wait().unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    /// Starts a process that ignores SIGTERM and ends itself some time after the first SIGINT, with the number of them.
    fn start_interruptible(token: &str) -> Child {
        let script = "trap '' TERM; n=0; trap 'n=$((n+1))' INT; echo on; \
                      while [ $n = 0 ]; do sleep 0.05; done; sleep 0.5; sleep 0.5; exit $((n+6))";
        let mut command = Command::new("/bin/sh");
        let value = token_value(token, 1, Some(Duration::from_secs(30)));
        command.args(["-c", script]).process_group(0);
        command.stdout(Stdio::piped()).env(TOKEN_VARIABLE, value);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        child
    }

    #[test]
    fn a_process_with_a_grace_of_its_own_gets_one_interrupt_and_its_time() {
        let token = ulid::Ulid::generate().to_string();
        let mut child = start_interruptible(&token);
        let reaper = std::thread::spawn(move || child.wait().unwrap());
        let ended = terminate(&token, &|_| false, Duration::from_millis(100));
        assert_eq!(ended.remaining, []);
        assert_eq!(reaper.join().unwrap().code(), Some(7));
    }

    #[test]
    fn a_process_that_a_guard_has_interrupted_gets_no_second_interrupt() {
        let token = ulid::Ulid::generate().to_string();
        let mut guard = Command::new("/bin/sh");
        guard.args(["-c", "read line", GUARD_COMMAND, &token]);
        guard.stdin(Stdio::piped());
        let mut guard = guard.process_group(0).spawn().unwrap();
        let mut child = start_interruptible(&token);
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        kill(pid, Signal::SIGINT).unwrap();
        std::thread::sleep(Duration::from_millis(150));
        let reaper = std::thread::spawn(move || child.wait().unwrap());
        let ended = terminate(&token, &|_| false, Duration::from_millis(100));
        assert_eq!(ended.remaining, []);
        assert_eq!(reaper.join().unwrap().code(), Some(7));
        guard.kill().unwrap();
        guard.wait().unwrap();
    }

    #[test]
    fn a_tag_has_the_task_and_perhaps_a_grace() {
        let tag = |text: &str| {
            let tag = ProcessTag::parse(text.as_bytes());
            (tag.task, tag.grace.map(|grace| grace.as_secs()))
        };
        assert_eq!(tag("7"), (7, None));
        assert_eq!(tag("7/300"), (7, Some(300)));
        assert_eq!(tag("x/300"), (u64::MAX, Some(300)));
        assert_eq!(tag(""), (u64::MAX, None));
    }

    #[test]
    fn nobody_is_found_by_a_token_that_nobody_carries() {
        assert_eq!(
            terminate("no-such-token", &|_| false, Duration::from_mins(1)),
            TerminationReport::default()
        );
    }

    #[test]
    fn recent_programs_are_found_by_name_and_folder() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        assert_eq!(recent_programs_in("sleep", &folder), []);
        let mut child = Command::new("sleep")
            .arg("60")
            .current_dir(&folder)
            .spawn()
            .unwrap();
        let found = (0..500).find_map(|_| {
            std::thread::sleep(Duration::from_millis(2));
            recent_programs_in("sleep", &folder).pop()
        });
        let found = found.unwrap();
        assert!(found.is_running());
        assert_eq!(recent_programs_in("sleep", &folder.join("other")), []);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!found.is_running());
    }
}
