//! Processes that outlive the job that started them: found by the token that each task of a job
//! has in its environment, wherever they went meanwhile.
#![expect(clippy::disallowed_methods, reason = "this is the door")]

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::machine;

/// The variable in which each command of a task carries its job and its task: the token of the
/// job's lock, `/`, and the number of the task. A daemon that a task may leave behind carries it
/// as well, so that whoever looks for survivors must know which tasks have ended.
pub const TOKEN_VARIABLE: &str = "_UNFURL_JOB_TOKEN";

/// How often it is looked whether processes have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long processes that were killed may take to go.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// The value of the [`VARIABLE`] for a task.
pub fn token_value(token: &str, task: u64) -> String {
    format!("{token}/{task}")
}

/// A process, told from any other that had its id before or gets it after.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Survivor {
    /// Its process id.
    pub pid: u32,
    /// When it started, in ticks since the boot.
    pub start_time: u64,
    /// What it runs, as far as that is known.
    pub command: String,
}

impl Survivor {
    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        machine::start_time(self.pid) == Some(self.start_time) && machine::is_running(self.pid)
    }

    /// Whether it is the same process, whatever it runs meanwhile.
    fn is_same_process(&self, other: &Self) -> bool {
        (self.pid, self.start_time) == (other.pid, other.start_time)
    }

    fn signal(&self, signal: Signal) {
        if let (true, Ok(pid)) = (self.is_running(), i32::try_from(self.pid)) {
            // It may have ended meanwhile, or be another user's.
            kill(Pid::from_raw(pid), signal).ok();
        }
    }
}

/// What came of processes that were to end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminationReport {
    /// Those that were found.
    pub found: Vec<Survivor>,
    /// Those that are still there.
    pub remaining: Vec<Survivor>,
}

/// Finds this user's processes that carry the token, and those that they started. Those of tasks
/// that `is_spared` names by their number are left out, and so is this process.
pub fn find(token: &str, is_spared: &dyn Fn(u64) -> bool) -> Vec<Survivor> {
    let own = machine::pid();
    let processes = list_processes();
    let mut found: HashSet<u32> = HashSet::new();
    let mut spared: HashSet<u32> = HashSet::new();
    for pid in processes.keys() {
        match task_of(*pid, token) {
            Some(task) if is_spared(task) => drop(spared.insert(*pid)),
            Some(_) => drop(found.insert(*pid)),
            None => {}
        }
    }
    // What one of them started belongs to it, also where it gave itself another environment.
    let mut more = !found.is_empty();
    while more {
        let add: Vec<u32> = processes
            .iter()
            .filter(|(pid, process)| {
                !found.contains(*pid) && !spared.contains(*pid) && {
                    let leader = found.contains(&process.group) && process.group != 0;
                    found.contains(&process.parent) || leader
                }
            })
            .map(|(pid, _)| *pid)
            .collect();
        more = !add.is_empty();
        found.extend(add);
    }
    found.remove(&own);
    let mut survivors: Vec<Survivor> = found
        .into_iter()
        .filter(|pid| machine::is_running(*pid))
        .map(|pid| Survivor {
            pid,
            start_time: processes[&pid].start_time,
            command: command_of(pid),
        })
        .collect();
    survivors.sort_by_key(|survivor| (survivor.start_time, survivor.pid));
    survivors
}

/// Ends the processes that [`find`] finds: they are asked first, and killed once the grace is over.
/// Returns when none is left, or some cannot be ended.
pub fn terminate(
    token: &str,
    is_spared: &dyn Fn(u64) -> bool,
    grace: Duration,
) -> TerminationReport {
    let mut ended = TerminationReport {
        found: find(token, is_spared),
        remaining: Vec::new(),
    };
    if ended.found.is_empty() {
        return ended;
    }
    for survivor in &ended.found {
        survivor.signal(Signal::SIGTERM);
    }
    wait_for(&ended.found, grace);
    let last = Instant::now() + KILL_TIMEOUT;
    loop {
        // What they started meanwhile must end as well; and some may be found no more, since
        // those are gone through which they were.
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

/// Waits until none of them runs, but no longer than this.
fn wait_for(survivors: &[Survivor], time: Duration) {
    let deadline = Instant::now() + time;
    while survivors.iter().any(Survivor::is_running) && Instant::now() < deadline {
        std::thread::sleep(POLL_INTERVAL.min(time));
    }
}

/// What is to be known of a process.
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

/// The task whose token a process carries; of another user's process nothing is known.
fn task_of(pid: u32, token: &str) -> Option<u64> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let prefix = format!("{TOKEN_VARIABLE}={token}/");
    let mut variables = environment.split(|byte| *byte == 0);
    let task = variables.find_map(|it| it.strip_prefix(prefix.as_bytes()))?;
    // One that cannot be read is no task that has ended.
    let task = std::str::from_utf8(task)
        .ok()
        .and_then(|it| it.parse().ok());
    Some(task.unwrap_or(u64::MAX))
}

/// The program of a process, without its arguments: they may be secret.
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
            .env(TOKEN_VARIABLE, token_value(token, task))
            .spawn()
            .unwrap()
    }

    /// Looks for processes with the token until those found are as expected, for five seconds.
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
        // A new process has the name of its parent until it becomes `env`, which becomes `sleep`.
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
        find_until(&token, |found| found.len() == 2);
        let ended = terminate(&token, &|task| task == 1, Duration::from_secs(5));
        assert_eq!(ended.found.len(), 1, "{ended:?}");
        assert!(daemon.try_wait().unwrap().is_none());
        other.wait().unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    #[test]
    fn nobody_is_found_by_a_token_that_nobody_carries() {
        assert_eq!(
            terminate("no-such-token", &|_| false, Duration::from_mins(1)),
            TerminationReport::default()
        );
    }
}
