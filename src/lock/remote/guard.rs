//! Holds the remote lock while a job runs and releases it on every exit path, including panics.

use super::location::{HeldRemoteLock, RemoteLockError};
use super::settings::{LockMode, RemoteLockSettings};
use crate::diagnostic::Diagnostic;

/// The remote lock of an ensemble, or no lock if none is configured. Released when dropped.
#[derive(Debug, Default)]
#[must_use = "dropping this value releases the lock"]
pub struct RemoteLock {
    /// The settings at the start of the job.
    settings: RemoteLockSettings,
    held: Option<HeldRemoteLock>,
}

impl RemoteLock {
    /// Wraps the result of taking the lock.
    ///
    /// In mode `try`, an unavailable server is only a warning; the value then holds no lock.
    pub fn of(
        settings: RemoteLockSettings,
        taken: Result<HeldRemoteLock, RemoteLockError>,
    ) -> Result<(Self, Option<Diagnostic>), RemoteLockError> {
        let (held, warning) =
            match taken {
                Ok(held) => (Some(held), None),
                Err(
                    refusal @ (RemoteLockError::Unavailable(_) | RemoteLockError::Doubtful { .. }),
                ) if settings.mode == LockMode::Try => (None, Some(warning_of(&refusal))),
                Err(refusal) => return Err(refusal),
            };
        Ok((Self { settings, held }, warning))
    }

    /// Whether this process holds a lock on a server.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Whether `now` requires the same lock as the settings at the start of the job, or none.
    pub fn matches_settings(&self, now: &RemoteLockSettings) -> bool {
        *now == self.settings || now.mode == LockMode::No
    }

    /// Releases the lock. Returns a warning if it could not be released or no longer existed.
    pub fn release(mut self) -> Option<Diagnostic> {
        self.held.take()?.unlock()
    }
}

/// Returns the warning about a lock that cannot be taken and need not be.
fn warning_of(refusal: &RemoteLockError) -> Diagnostic {
    let (reason, hint) = match refusal {
        RemoteLockError::Doubtful { error, hint } => (error.to_string(), format!("; {hint}")),
        RemoteLockError::Unavailable(error) => (error.to_string(), String::new()),
        other => (other.to_string(), String::new()),
    };
    let message = format!(
        "the remote lock could not be taken, so jobs on other machines are not excluded: {reason}"
    );
    let help = format!(
        "a job on another machine may run at the same time; with `lfs_lock: {{lock: require}}`, a \
         job needs the remote lock{hint}"
    );
    Diagnostic::warning(message).help(help)
}

impl Drop for RemoteLock {
    fn drop(&mut self) {
        // A warning cannot be shown here. The next job recognizes a remaining lock by its note.
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

    /// Starts a server that grants a lock after refusing `taken` times. Also returns the log of requests.
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

    /// Returns the lock location of an ensemble in its own repository.
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
