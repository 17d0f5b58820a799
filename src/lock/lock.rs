//! The local lock of an ensemble, so that only one job runs at a time on this computer.
//!
//! The lock file beside the manifest contains the process id, as in Unfurl; an owner file beside it describes
//! the holder. [`Lock::acquire`] takes over a lock only if its holder has provably ended.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::LockError;
use super::owner::LockOwner;
use super::state::{LockState, StaleHolder};
use crate::system::fs::IrregularFile;
use crate::system::lockfile::{LockFile, write_beside_lock};
use crate::system::process_identity::ProcessState;
use crate::system::{fs, machine};

/// The maximum number of bytes read from an owner file, which has the command line of its process.
const MAX_OWNER_BYTES: u64 = 1 << 20;

/// The maximum number of attempts if the lock file vanishes or is replaced while it is examined.
const MAX_ATTEMPTS: usize = 20;

/// The interval for checking whether the kernel still reports a holder.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The time for which the kernel may report a holder although its process has ended.
///
/// A child process of the holder has the lock until it executes its own program, and so does every process
/// that only examines the lock. On a busy computer this takes longer.
const DEAD_HOLDER_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of acquiring a lock.
#[derive(Debug)]
pub struct AcquiredLock {
    pub lock: Lock,
    /// The holder of the stale lock that was taken over; the user should be informed.
    pub taken_over: Option<StaleHolder>,
}

/// The lock of a manifest. Other processes cannot acquire it while this value exists.
#[derive(Debug)]
#[must_use = "dropping this value releases the lock at once"]
pub struct Lock {
    file: Option<LockFile>,
    path: PathBuf,
    owner: LockOwner,
    /// A second lock beside the symbolic link to the manifest, for programs that check only that path.
    beside_link: Option<Box<Self>>,
}

impl Lock {
    /// Locks a manifest for this process. `command` is the command line for the owner file.
    ///
    /// If the path is a symbolic link, the target is locked, so that different links to a manifest share one
    /// lock.
    pub fn acquire(manifest: &Path, command: &str) -> Result<AcquiredLock, LockError> {
        let Some(real) = link_target(manifest) else {
            return Self::acquire_at(manifest, command);
        };
        let mut acquired = Self::acquire_at(&real, command)?;
        let beside = Self::acquire_at(manifest, command)?;
        acquired.lock.beside_link = Some(Box::new(beside.lock));
        acquired.taken_over = acquired.taken_over.or(beside.taken_over);
        Ok(acquired)
    }

    fn acquire_at(manifest: &Path, command: &str) -> Result<AcquiredLock, LockError> {
        let path = lock_path(manifest);
        if let Some(found) = irregular_file(&path) {
            return Err(LockError::Irregular { lock: path, found });
        }
        let owner = LockOwner::this_process(command);
        let pid = owner.process.pid.to_string();
        let patience = Instant::now() + DEAD_HOLDER_TIMEOUT;
        let mut attempt = 0;
        while attempt < MAX_ATTEMPTS {
            attempt += 1;
            if let Some(file) = LockFile::create(&path, pid.as_bytes())? {
                return Self::write_owner_file(file, path, owner, None);
            }
            let Some(mut file) = LockFile::open(&path)? else {
                continue;
            };
            let state = read_state(&mut file, &path)?;
            if !file.is_current() {
                // Another process released or took over the lock while it was examined.
                continue;
            }
            match state {
                LockState::Free => {}
                // The kernel's file lock lets only one of several processes rewrite a stale lock.
                LockState::Stale(stale) if file.is_locked() => {
                    file.rewrite(pid.as_bytes())?;
                    return Self::write_owner_file(file, path, owner, Some(stale));
                }
                // The kernel reports a holder although the process in the lock file has ended: wait for it to
                // go away.
                LockState::Stale(_) | LockState::Held { .. }
                    if state.has_dead_holder(&path)
                        && !file.is_locked()
                        && Instant::now() < patience =>
                {
                    attempt -= 1;
                    std::thread::sleep(POLL_INTERVAL);
                }
                LockState::Stale(stale) => {
                    return Err(LockError::held(path, stale.pid, stale.owner));
                }
                LockState::Held { pid, owner } => return Err(LockError::held(path, pid, owner)),
                LockState::Ours => return Err(LockError::Ours { lock: path }),
                LockState::Unreadable => return Err(LockError::Unreadable { lock: path }),
                LockState::Irregular(found) => {
                    return Err(LockError::Irregular { lock: path, found });
                }
            }
        }
        Err(LockError::Busy { lock: path })
    }

    fn write_owner_file(
        file: LockFile,
        path: PathBuf,
        owner: LockOwner,
        taken_over: Option<StaleHolder>,
    ) -> Result<AcquiredLock, LockError> {
        let lock = Self {
            file: Some(file),
            path,
            owner,
            beside_link: None,
        };
        let text = serde_yaml::to_string(&lock.owner)
            .map_err(std::io::Error::other)
            .map_err(|source| {
                fs::Error::new(fs::FileAction::Write, &owner_path(&lock.path), source)
            })?;
        write_beside_lock(&owner_path(&lock.path), text.as_bytes())?;
        Ok(AcquiredLock { lock, taken_over })
    }

    /// Returns the state of a manifest's lock, without acquiring it.
    pub fn state(manifest: &Path) -> Result<LockState, LockError> {
        let state = Self::state_at(&link_target(manifest).unwrap_or_else(|| manifest.to_owned()))?;
        if state == LockState::Free && link_target(manifest).is_some() {
            return Self::state_at(manifest);
        }
        Ok(state)
    }

    fn state_at(manifest: &Path) -> Result<LockState, LockError> {
        let path = lock_path(manifest);
        if let Some(found) = irregular_file(&path) {
            return Ok(LockState::Irregular(found));
        }
        match LockFile::open(&path)? {
            Some(mut file) => read_state(&mut file, &path),
            None => Ok(LockState::Free),
        }
    }

    /// Removes the lock of a manifest and returns its previous state. With `force`, also removes the lock of a
    /// process that may run, and an entry in place of a lock file.
    pub fn break_lock(manifest: &Path, force: bool) -> Result<LockState, LockError> {
        let Some(real) = link_target(manifest) else {
            return Self::break_at(manifest, force);
        };
        let state = Self::break_at(&real, force)?;
        let beside = Self::break_at(manifest, force)?;
        Ok(if state == LockState::Free {
            beside
        } else {
            state
        })
    }

    fn break_at(manifest: &Path, force: bool) -> Result<LockState, LockError> {
        let path = lock_path(manifest);
        let broken = match irregular_file(&path) {
            Some(found) if force => {
                for path in [owner_path(&path), path.clone()] {
                    if let Some(found) = IrregularFile::at(&path) {
                        found.remove()?;
                    }
                }
                Self::break_regular(path.clone(), true)?;
                LockState::Irregular(found)
            }
            Some(found) => return Err(LockError::Irregular { lock: path, found }),
            None => Self::break_regular(path.clone(), force)?,
        };
        sync_removal(&path);
        Ok(broken)
    }

    fn break_regular(path: PathBuf, force: bool) -> Result<LockState, LockError> {
        let Some(mut file) = LockFile::open(&path)? else {
            fs::remove_file_if_exists(&owner_path(&path))?;
            return Ok(LockState::Free);
        };
        let state = read_state(&mut file, &path)?;
        let is_alive = file.is_held_by_another() || matches!(state, LockState::Held { .. });
        if is_alive && !force {
            return Err(match state {
                LockState::Held { pid, owner } => LockError::held(path, pid, owner),
                _ => LockError::held(path, None, None),
            });
        }
        fs::remove_file_if_exists(&owner_path(&path))?;
        file.remove()?;
        Ok(state)
    }

    /// Whether the lock file is still the one that this process created. If another user broke the lock,
    /// nothing may be published any more.
    pub fn is_ours(&self) -> bool {
        self.file.as_ref().is_some_and(LockFile::is_current)
    }

    pub fn owner(&self) -> &LockOwner {
        &self.owner
    }

    /// Releases the lock and reports errors, unlike dropping it.
    pub fn release(mut self) -> Result<(), LockError> {
        self.remove_files()
    }

    fn remove_files(&mut self) -> Result<(), LockError> {
        if let Some(mut beside) = self.beside_link.take() {
            beside.remove_files()?;
        }
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let mut removed = Ok(false);
        if file.is_current() {
            // Remove the owner file first: a lock without an owner file can be taken over, and an owner file
            // without a lock has no meaning.
            removed = fs::remove_file_if_exists(&owner_path(&self.path));
        }
        // The lock is free from here on, so that nobody waits for the sync.
        if file.remove()? {
            sync_removal(&self.path);
        }
        removed?;
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If removal fails, a stale lock remains, which the next job takes over.
        self.remove_files().ok();
    }
}

/// Returns the lock file's path: the manifest's path with `.lock` appended, as in Unfurl.
fn lock_path(manifest: &Path) -> PathBuf {
    let mut name = manifest.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Returns the owner file's path. Its end matches the pattern for lock files in the `.gitignore` of projects.
fn owner_path(lock: &Path) -> PathBuf {
    lock.with_extension("owner.lock")
}

/// Makes the removal of a lock file durable, so that the lock does not come back after a loss of power.
fn sync_removal(lock: &Path) {
    // If the sync fails, the next job takes over a lock that came back.
    fs::sync_parent(lock).ok();
}

/// Returns the entry in place of the lock file, or else of the owner file, that is no regular file.
fn irregular_file(lock: &Path) -> Option<IrregularFile> {
    IrregularFile::at(lock).or_else(|| IrregularFile::at(&owner_path(lock)))
}

/// Returns the target of a manifest path that is a symbolic link.
fn link_target(manifest: &Path) -> Option<PathBuf> {
    if fs::is_symlink(manifest) {
        fs::canonicalize(manifest).ok()
    } else {
        None
    }
}

/// The content of an owner file.
enum OwnerFile {
    Missing,
    Malformed,
    Owner(LockOwner),
}

fn read_state(file: &mut LockFile, path: &Path) -> Result<LockState, LockError> {
    let content = file.content()?;
    let text = String::from_utf8_lossy(&content);
    let pid = text.trim().parse::<u32>().ok().filter(|pid| *pid > 0);
    let owner_file = match fs::read_within(&owner_path(path), MAX_OWNER_BYTES) {
        Err(error) if error.is_not_found() => OwnerFile::Missing,
        Err(_) => OwnerFile::Malformed,
        Ok(bytes) => serde_yaml::from_slice(&bytes).map_or(OwnerFile::Malformed, OwnerFile::Owner),
    };
    let owner_file = match owner_file {
        // The process ids differ, so the owner file belongs to an earlier lock.
        OwnerFile::Owner(owner) if pid.is_some_and(|pid| pid != owner.process.pid) => {
            OwnerFile::Missing
        }
        owner_file => owner_file,
    };
    let evidence = LockEvidence {
        pid,
        alive: file.is_held_by_another(),
        locked: file.is_locked(),
    };
    Ok(evidence.evaluate(owner_file, path))
}

/// The observable facts about a lock file.
struct LockEvidence {
    /// The process id in the lock file.
    pid: Option<u32>,
    /// Whether another process holds the kernel's file lock.
    alive: bool,
    /// Whether this process obtained the kernel's file lock when it opened the file, because no other process
    /// had it.
    locked: bool,
}

impl LockEvidence {
    /// Decides from the facts whether the holder has provably ended.
    fn evaluate(self, owner_file: OwnerFile, lock: &Path) -> LockState {
        let Self { pid, alive, .. } = self;
        match owner_file {
            OwnerFile::Owner(owner) => self.lock_state_by_owner(owner, lock),
            OwnerFile::Missing if alive && self.is_own_pid() => LockState::Ours,
            OwnerFile::Missing | OwnerFile::Malformed if alive => {
                LockState::Held { pid, owner: None }
            }
            OwnerFile::Missing if pid.is_some_and(|pid| self.is_dead(pid)) => {
                LockState::Stale(StaleHolder { pid, owner: None })
            }
            OwnerFile::Missing | OwnerFile::Malformed if pid.is_some() => {
                LockState::Held { pid, owner: None }
            }
            OwnerFile::Missing | OwnerFile::Malformed => LockState::Unreadable,
        }
    }

    fn lock_state_by_owner(self, owner: LockOwner, lock: &Path) -> LockState {
        let pid = self.pid;
        let state = owner.process.state(lock);
        if state == ProcessState::Running && self.is_own_pid() {
            return LockState::Ours;
        }
        let owner = Some(owner);
        if state == ProcessState::Ended && !self.alive {
            LockState::Stale(StaleHolder { pid, owner })
        } else {
            LockState::Held { pid, owner }
        }
    }

    fn is_own_pid(&self) -> bool {
        self.pid == Some(machine::pid())
    }

    /// Whether the process with this id has ended.
    ///
    /// This process may have the same id as an ended holder, because the only program of a container gets the
    /// same id at each start.
    fn is_dead(&self, pid: u32) -> bool {
        !machine::is_running(pid) || (self.is_own_pid() && self.locked)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    struct TestEnsemble {
        _folder: tempfile::TempDir,
        manifest: PathBuf,
        lock: PathBuf,
        owner: PathBuf,
    }

    fn place() -> TestEnsemble {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("ensemble.yaml");
        let lock = lock_path(&manifest);
        TestEnsemble {
            owner: owner_path(&lock),
            lock,
            manifest,
            _folder: folder,
        }
    }

    fn acquire(place: &TestEnsemble) -> Result<AcquiredLock, LockError> {
        Lock::acquire(&place.manifest, "unfurl deploy")
    }

    fn names(place: &TestEnsemble) -> usize {
        fs::list(place.manifest.parent().unwrap()).unwrap().len()
    }

    /// Returns the id of a process that has just ended.
    fn dead_pid() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    fn write_owner(place: &TestEnsemble, change: impl FnOnce(&mut LockOwner)) {
        let mut owner = LockOwner::this_process("unfurl deploy web");
        change(&mut owner);
        std::fs::write(&place.owner, serde_yaml::to_string(&owner).unwrap()).unwrap();
        std::fs::write(&place.lock, owner.process.pid.to_string()).unwrap();
    }

    #[test]
    fn the_lock_file_holds_the_bare_process_id_and_goes_with_the_lock() {
        let place = place();
        let acquired = acquire(&place).unwrap();
        assert_eq!(acquired.taken_over, None);
        assert_eq!(
            std::fs::read_to_string(&place.lock).unwrap(),
            machine::pid().to_string()
        );
        assert!(place.owner.exists() && acquired.lock.is_ours());
        acquired.lock.release().unwrap();
        assert_eq!(names(&place), 0);
    }

    #[test]
    fn locking_twice_in_one_process_has_its_own_error() {
        let place = place();
        let _acquired = acquire(&place).unwrap();
        let error = acquire(&place).unwrap_err();
        assert!(matches!(error, LockError::Ours { .. }), "{error}");
        assert_eq!(Lock::state(&place.manifest).unwrap(), LockState::Ours);
    }

    #[test]
    fn the_lock_of_a_running_process_is_respected() {
        let place = place();
        std::fs::write(&place.lock, "1\n").unwrap();
        let error = acquire(&place).unwrap_err();
        let text = error.to_string();
        assert!(
            text.ends_with("ensemble.yaml.lock` is locked by process 1"),
            "{text}"
        );
        let folder = place.manifest.parent().unwrap();
        insta::assert_snapshot!(
            error.hint_with_timeout().unwrap().replace(&folder.display().to_string(), "FOLDER"),
            @"wait until that job has ended, or use `--lock-timeout`; if you are sure that its process has ended, run `unfurl lock break --force FOLDER/ensemble.yaml`"
        );
        assert_eq!(std::fs::read_to_string(&place.lock).unwrap(), "1\n");
    }

    #[test]
    fn the_lock_of_a_process_that_is_gone_is_taken_over_and_reported() {
        let place = place();
        let pid = dead_pid();
        std::fs::write(&place.lock, pid.to_string()).unwrap();
        let acquired = acquire(&place).unwrap();
        let notice = acquired.taken_over.unwrap().to_string();
        assert_eq!(
            notice,
            format!("took over the lock of process {pid}, which no longer runs")
        );
        assert!(acquired.lock.is_ours());
    }

    #[test]
    fn an_owner_that_started_at_another_time_is_gone() {
        let place = place();
        write_owner(&place, |owner| {
            owner.process.pid = 1;
            owner.process.start_time = machine::start_time(1).map(|ticks| ticks + 1);
        });
        let acquired = acquire(&place).unwrap();
        assert_eq!(acquired.taken_over.unwrap().owner.unwrap().process.pid, 1);
    }

    #[test]
    fn an_owner_out_of_sight_may_still_run() {
        let pid = dead_pid();
        let changes: [fn(&mut LockOwner); 3] = [
            |owner| owner.process.host.push('x'),
            |owner| {
                owner.process.boot_id = Some("another".into());
                owner.process.machine_id = None;
            },
            |owner| owner.process.pid_namespace = Some("pid:[1]".into()),
        ];
        for change in changes {
            let place = place();
            write_owner(&place, |owner| {
                owner.process.pid = pid;
                change(owner);
            });
            let error = acquire(&place).unwrap_err();
            assert!(matches!(error, LockError::Held { .. }), "{error}");
            assert!(
                error.to_string().contains("(`unfurl deploy web`)"),
                "{error}"
            );
        }
    }

    #[test]
    fn an_owner_file_of_an_earlier_lock_says_nothing() {
        let place = place();
        write_owner(&place, |owner| owner.process.host.push('x'));
        std::fs::write(&place.lock, dead_pid().to_string()).unwrap();
        assert!(acquire(&place).unwrap().taken_over.is_some());
    }

    #[test]
    fn garbage_in_the_lock_file_is_no_proof_unless_the_owner_file_is() {
        let place = place();
        for garbage in ["", "x", "-4", "0", "99999999999999"] {
            std::fs::write(&place.lock, garbage).unwrap();
            let error = acquire(&place).unwrap_err();
            assert!(matches!(error, LockError::Unreadable { .. }), "{error}");
        }
        let pid = dead_pid();
        write_owner(&place, |owner| owner.process.pid = pid);
        std::fs::write(&place.lock, "garbage").unwrap();
        assert!(acquire(&place).unwrap().taken_over.is_some());
    }

    #[test]
    fn a_broken_owner_file_is_no_proof() {
        let place = place();
        std::fs::write(&place.lock, dead_pid().to_string()).unwrap();
        std::fs::write(&place.owner, "{").unwrap();
        assert!(matches!(acquire(&place), Err(LockError::Held { .. })));
    }

    #[test]
    fn a_lock_can_be_broken_unless_its_holder_runs() {
        let place = place();
        std::fs::write(&place.lock, "garbage").unwrap();
        assert_eq!(
            Lock::break_lock(&place.manifest, false).unwrap(),
            LockState::Unreadable
        );
        let acquired = acquire(&place).unwrap();
        assert!(Lock::break_lock(&place.manifest, false).is_err());
        Lock::break_lock(&place.manifest, true).unwrap();
        assert!(!acquired.lock.is_ours());
        // Releasing a broken lock must not remove the lock of the next holder.
        let next = acquire(&place).unwrap();
        drop(acquired);
        assert!(next.lock.is_ours() && place.owner.exists());
        drop(next);
        assert_eq!(names(&place), 0);
    }

    /// Runs one test of this program in another process.
    fn child_test(name: &str, manifest: &Path) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                &format!("lock::lock::tests::{name}"),
                "--nocapture",
                "--ignored",
            ])
            .env("UNFURL_TEST_MANIFEST", manifest)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn wait_for_line(child: &mut Child, word: &str) {
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let found = lines.map_while(Result::ok).any(|line| line.contains(word));
        assert!(found, "the child never said {word}");
    }

    #[test]
    #[ignore = "runs inside of the process that other tests start"]
    fn child_that_holds_the_lock() {
        let Ok(manifest) = std::env::var("UNFURL_TEST_MANIFEST") else {
            return;
        };
        let _acquired = Lock::acquire(Path::new(&manifest), "unfurl child").unwrap();
        println!("LOCKED");
        std::thread::sleep(Duration::from_mins(1));
    }

    #[test]
    fn a_holder_that_is_killed_gives_way_at_once() {
        let place = place();
        let mut child = child_test("child_that_holds_the_lock", &place.manifest);
        wait_for_line(&mut child, "LOCKED");
        let error = acquire(&place).unwrap_err();
        assert!(error.to_string().contains("(`unfurl child`)"), "{error}");
        child.kill().unwrap();
        child.wait().unwrap();
        let acquired = acquire(&place).unwrap();
        assert_eq!(acquired.taken_over.unwrap().pid, Some(child.id()));
    }

    /// Simulates a command that the killed process was about to start.
    #[test]
    fn what_a_killed_holder_was_about_to_start_may_have_the_lock_for_a_while() {
        let place = place();
        std::fs::write(&place.lock, dead_pid().to_string()).unwrap();
        let held = LockFile::open(&place.lock).unwrap().unwrap();
        assert!(held.is_locked());
        let begins = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            drop(held);
        });
        let acquired = acquire(&place).unwrap();
        assert!(acquired.taken_over.is_some());
        begins.join().unwrap();
    }

    #[test]
    fn of_many_that_take_over_a_stale_lock_one_gets_it() {
        for _ in 0..20 {
            let place = place();
            std::fs::write(&place.lock, dead_pid().to_string()).unwrap();
            let winners: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| acquire(&place))).collect();
                let results = threads.into_iter().map(|thread| thread.join().unwrap());
                results.filter_map(Result::ok).collect()
            });
            assert_eq!(winners.len(), 1);
            assert!(winners[0].lock.is_ours());
        }
    }
}
