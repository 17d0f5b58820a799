//! Holds the lock while a job runs, and frees it on every way out.

use super::place::{Held, Patience, Place, Refusal};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::lock::{LockMode, RemoteLockSettings as Settings};
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::request::JobRequest;
use crate::ops::session::{self, Found};
use crate::ops::view::View;
use crate::project::Environment;
use crate::system::fs;

/// The lock of an ensemble for all machines; none where none is asked for. Freed with this value.
#[derive(Debug, Default)]
#[must_use = "the lock is freed with this value"]
pub(in crate::ops) struct RemoteLock {
    /// What the environment said when the job began.
    settings: Settings,
    held: Option<Held>,
}

/// Locks the ensemble if its environment says so, waiting for as long as the job may while somebody
/// else has it.
pub(in crate::ops) fn take(
    found: &Found,
    request: &JobRequest,
    view: &mut dyn View,
) -> Result<RemoteLock, Failure> {
    if !may_ask(found) {
        return Ok(RemoteLock::default());
    }
    // What is wrong with the ensemble is told when all of it is read.
    let Ok((manifest, environment)) = session::surroundings(found) else {
        return Ok(RemoteLock::default());
    };
    let settings = environment.remote_lock.clone();
    if settings.mode == LockMode::No {
        return Ok(RemoteLock::default());
    }
    let patience = Patience {
        time: request.lock_timeout,
        interrupts: &request.interrupts,
    };
    let place = Place::of(&environment, &manifest, &found.env);
    let taken = place.and_then(|place| place.take(patience, view));
    if taken.is_err() {
        // What did not come to its end for that reason needs no other.
        request.go_on()?;
    }
    let held = match taken {
        Ok(held) => Some(held),
        Err(Refusal::Failure(failure)) => return Err(*failure),
        Err(Refusal::Unavailable(error)) if settings.mode == LockMode::Try => {
            let message = format!("the ensemble is not locked for other machines: {error}");
            let help = "a job on another machine may run at the same time; `lfs_lock: {lock: \
                        require}` would refuse this one";
            let warning = Diagnostic::warning(message).help(help);
            view.warnings(&warning.into(), &found.sources);
            None
        }
        Err(Refusal::Unavailable(error)) => {
            let message = format!("the ensemble cannot be locked for other machines: {error}");
            return Err(Failure::new(FailureKind::Refused, message, error.hint()));
        }
    };
    Ok(RemoteLock { settings, held })
}

/// Whether an environment may ask for a lock: reading an ensemble twice takes time.
fn may_ask(found: &Found) -> bool {
    let located = &found.located;
    let environment = located.environment(None);
    let text = || fs::read_to_string(&located.manifest).unwrap_or_default();
    let says = |text: String| text.contains("lfs_lock") || text.contains("include");
    environment.section("lfs_lock").is_some() || says(text())
}

impl RemoteLock {
    /// Refuses the job if the ensemble asks for another lock than when it began: what others have
    /// pushed may say so.
    pub(in crate::ops) fn is_what_is_asked_for(
        &self,
        environment: &Environment,
    ) -> Result<(), Failure> {
        let now = &environment.remote_lock;
        if *now == self.settings || now.mode == LockMode::No {
            return Ok(());
        }
        let message = "the settings of `lfs_lock` were changed by what was pulled";
        let hint = "run it again: it takes the lock that is asked for now";
        let hint = Some(hint.to_owned());
        Err(Failure::new(FailureKind::Refused, message, hint))
    }

    /// Frees the lock. A lock that cannot be freed, or was not there any more, is told.
    pub(in crate::ops) fn release(mut self, view: &mut dyn View) {
        let Some(mut held) = self.held.take() else {
            return;
        };
        if let Some(warning) = held.let_go() {
            view.warnings(&Diagnostics::from(warning), &Sources::default());
        }
    }
}

impl Drop for RemoteLock {
    fn drop(&mut self) {
        // Nobody can be told here; what stays is known again by the next job.
        if let Some(held) = &mut self.held {
            held.let_go();
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
    use crate::job::{Event, Proposal};
    use crate::ops::view::Decision;
    use crate::system::env::Env;
    use crate::system::process::{Helper, run};
    use crate::system::signals::Interrupts;

    struct Nobody;

    impl View for Nobody {
        fn warnings(&mut self, _: &Diagnostics, _: &Sources) {}
        fn problem(&mut self, _: &Diagnostic, _: &Sources) {}
        fn notice(&mut self, _: &str) {}
        fn approve(&mut self, _: &dyn Fn() -> Proposal, _: &Sources) -> Decision {
            Decision::Decline
        }
        fn event(&mut self, _: &Event) {}
    }

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

    fn take(place: Place, seconds: u64) -> Result<Held, Refusal> {
        let patience = Patience {
            time: Duration::from_secs(seconds),
            interrupts: &Interrupts::default(),
        };
        place.take(patience, &mut Nobody)
    }

    /// The lock of an ensemble in a repository of its own.
    fn place(folder: &std::path::Path, url: &str) -> Place {
        let mut init = Helper::new(["git", "init", "-q", "-b", "main", "."]);
        init.cwd = Some(folder.to_owned());
        assert!(run(&init).unwrap().is_ok());
        let repository = Repository::discover(folder).unwrap().unwrap();
        let client = Client::open(&repository, Some(url), &Env::default()).unwrap();
        Place::at(client, "x".to_owned(), folder.join("ensemble.yaml"))
    }

    #[test]
    fn a_lock_that_somebody_has_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (url, asked) = server(1);
        let refused = take(place(folder.path(), &url), 0);
        assert!(matches!(refused, Err(Refusal::Failure(_))));
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
            settings: Settings::default(),
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
