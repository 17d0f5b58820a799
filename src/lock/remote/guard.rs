//! Holds the lock while a job runs, and frees it on every way out.

use super::location::{HeldRemoteLock, RemoteLockError};
use super::settings::{LockMode, RemoteLockSettings};
use crate::diagnostic::Diagnostic;

/// The lock of an ensemble for all machines; none where none is asked for. Freed with this value.
#[derive(Debug, Default)]
#[must_use = "the lock is freed with this value"]
pub struct RemoteLock {
    /// What the environment said when the job began.
    settings: RemoteLockSettings,
    held: Option<HeldRemoteLock>,
}

impl RemoteLock {
    /// The lock that was taken, or none where `settings` ask for it only if there is a server: then
    /// a warning says why.
    pub fn of(
        settings: RemoteLockSettings,
        taken: Result<HeldRemoteLock, RemoteLockError>,
    ) -> Result<(Self, Option<Diagnostic>), RemoteLockError> {
        let (held, warning) = match taken {
            Ok(held) => (Some(held), None),
            Err(RemoteLockError::Unavailable(error)) if settings.mode == LockMode::Try => {
                let message = format!("the ensemble is not locked for other machines: {error}");
                let help = "a job on another machine may run at the same time; `lfs_lock: {lock: \
                            require}` would refuse this one";
                (None, Some(Diagnostic::warning(message).help(help)))
            }
            Err(refusal) => return Err(refusal),
        };
        Ok((Self { settings, held }, warning))
    }

    /// Whether the ensemble asks for the lock that it asked for when the job began, or for none.
    pub fn matches_settings(&self, now: &RemoteLockSettings) -> bool {
        *now == self.settings || now.mode == LockMode::No
    }

    /// Frees the lock. A warning tells of a lock that cannot be freed, or was not there any more.
    pub fn release(mut self) -> Option<Diagnostic> {
        self.held.take()?.unlock()
    }
}

impl Drop for RemoteLock {
    fn drop(&mut self) {
        // Nobody can be told here; what stays is known again by the next job.
        if let Some(held) = &mut self.held {
            held.unlock();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::git::Repository;
    use crate::git::lfs::Client;
    use crate::lock::remote::location::LockLocation;
    use crate::lock::wait::LockWait;
    use crate::system::env::Env;
    use crate::system::fs;
    use crate::system::process::{Helper, run};
    use crate::system::signals::Interrupts;

    /// A server that gives a lock after it was taken so many times; says what it was asked.
    fn server(mut taken: usize) -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut bytes = [0; 4096];
                let count = stream.read(&mut bytes).unwrap();
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                let line = text.lines().next().unwrap_or_default().to_owned();
                let lock = "{\"id\": \"7\", \"path\": \"x\"}";
                let body = if line.starts_with("GET") {
                    format!("{{\"locks\": [{lock}]}}")
                } else {
                    format!("{{\"lock\": {lock}}}")
                };
                all.lock().unwrap().push(line);
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:";
                let mut answer = format!("{head} {}\r\n\r\n{body}", body.len());
                if taken > 0 {
                    taken -= 1;
                    answer = answer.replace("200 OK", "409 Conflict");
                }
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        (url, asked)
    }

    fn take(place: LockLocation, seconds: u64) -> Result<HeldRemoteLock, RemoteLockError> {
        let wait = LockWait {
            timeout: Duration::from_secs(seconds),
            interrupts: &Interrupts::default(),
        };
        place.take(wait, &mut |_| ())
    }

    /// The lock of an ensemble in a repository of its own.
    fn place(folder: &std::path::Path, url: &str) -> LockLocation {
        let mut init = Helper::new(["git", "init", "-q", "-b", "main", "."]);
        init.cwd = Some(folder.to_owned());
        assert!(run(&init).unwrap().is_ok());
        let repository = Repository::discover(folder).unwrap().unwrap();
        let client = Client::open(&repository, Some(url), &Env::default()).unwrap();
        LockLocation::at(client, "x".to_owned(), folder.join("ensemble.yaml"))
    }

    #[test]
    fn a_lock_that_somebody_has_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (url, asked) = server(1);
        let refused = take(place(folder.path(), &url), 0);
        assert!(matches!(refused, Err(RemoteLockError::HeldByOther { .. })));
        let (url, _) = server(1);
        let began = Instant::now();
        let held = take(place(folder.path(), &url), 1);
        assert!(began.elapsed() >= Duration::from_secs(1));
        assert!(held.is_ok());
        assert_eq!(asked.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_panic_frees_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let (url, asked) = server(0);
        let place = place(folder.path(), &url);
        let note = place.note.clone();
        let held = take(place, 0).unwrap();
        assert!(fs::exists(&note));
        let lock = RemoteLock {
            settings: RemoteLockSettings::default(),
            held: Some(held),
        };
        let job = catch_unwind(AssertUnwindSafe(move || {
            let _lock = lock;
            panic!("the job breaks");
        }));
        assert!(job.is_err());
        let asked = asked.lock().unwrap().clone();
        assert_eq!(asked.last().unwrap(), "POST /locks/7/unlock HTTP/1.1");
        assert!(!fs::exists(&note));
    }
}
