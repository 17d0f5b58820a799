//! Answers of a lock server that are lost or make no sense, although the server granted the lock.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;

use super::ensemble;
use super::web::{Answer, HttpServer, Request, answer};
use crate::support::TestEnv;

const PATH: &str = "ensemble_46_yaml_46_lock";

/// A server that keeps one lock and answers the request for it wrongly.
#[derive(Clone)]
struct LockServer {
    /// The answer to the request for the lock.
    lost: fn() -> Answer,
    /// The path that the server locks; none if it locks nothing.
    path: Option<&'static str>,
    /// The difference of the server's clock to that of this machine, in seconds; `None` sends no `Date`.
    clock: Option<i64>,
    /// The age of the lock in seconds.
    age: i64,
    /// Whether the server says that the lock belongs to the user.
    is_own: bool,
}

impl LockServer {
    fn of(lost: fn() -> Answer) -> Self {
        Self {
            lost,
            path: Some(PATH),
            clock: Some(0),
            age: 0,
            is_own: true,
        }
    }

    fn dated(&self, status: u16, body: &str) -> Answer {
        let now =
            Timestamp::now() + Duration::from_secs(self.clock.unwrap_or_default().unsigned_abs());
        let date = match self.clock {
            Some(_) => format!("Date: {}\r\n", now.strftime("%a, %d %b %Y %H:%M:%S GMT")),
            None => String::new(),
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} x\r\n{date}Content-Type: application/vnd.git-lfs+json\r\nConnection: close\r\nContent-Length: {length}"
        );
        Answer::Bytes(format!("{head}\r\n\r\n{body}").into_bytes())
    }

    /// Starts the server. The lock exists from the request on until it is released.
    fn start(self) -> (HttpServer, Arc<Mutex<Option<String>>>) {
        let kept = Arc::new(Mutex::new(None::<String>));
        let state = Arc::clone(&kept);
        let server = HttpServer::start(move |asked: &Request| {
            let mut kept = state.lock().unwrap();
            let path = asked.path.split('?').next().unwrap();
            match (&*asked.method, path) {
                ("POST", "/locks") => {
                    let clock = self.clock.unwrap_or_default() - self.age;
                    let at = Timestamp::from_second(Timestamp::now().as_second() + clock).unwrap();
                    *kept = self.path.map(|path| {
                        format!("{{\"id\": \"7\", \"path\": \"{path}\", \"locked_at\": \"{at}\", \"owner\": {{\"name\": \"ann\"}}}}")
                    });
                    (self.lost)()
                }
                ("POST", "/locks/verify") => {
                    let lock = kept.clone().unwrap_or_default();
                    let (ours, theirs) = if self.is_own {
                        (&*lock, "")
                    } else {
                        ("", &*lock)
                    };
                    self.dated(
                        200,
                        &format!("{{\"ours\": [{ours}], \"theirs\": [{theirs}]}}"),
                    )
                }
                ("POST", "/locks/7/unlock") => {
                    let lock = kept.take().unwrap_or_default();
                    self.dated(200, &format!("{{\"lock\": {lock}}}"))
                }
                ("GET", "/locks") => {
                    let lock = kept.clone().unwrap_or_default();
                    self.dated(200, &format!("{{\"locks\": [{lock}]}}"))
                }
                _ => answer(404, "{}"),
            }
        });
        (server, kept)
    }
}

const LOST: [fn() -> Answer; 6] = [
    || Answer::Bytes(Vec::new()),
    || Answer::Bytes(b"HTTP/1.1 201 x\r\nContent-Length: 100\r\n\r\n{\"lock".to_vec()),
    || answer(500, "{}"),
    || answer(201, "{\"lock\": "),
    || answer(201, "<html>granted</html>"),
    || answer(201, "{\"lock\": {\"id\": \"7\", \"path\": \"other\"}}"),
];

fn world(server: &HttpServer) -> TestEnv {
    let settings = format!("{{lock: require, url: '{}'}}", server.url());
    let env = TestEnv::with_ensemble(&ensemble(&settings, "touch here"));
    env.git(&["init", "-q", "-b", "main", "."]);
    env.git(&["config", "lfs.activitytimeout", "1"]);
    env.git(&["config", "lfs.dialtimeout", "1"]);
    env
}

/// D7: an answer that was lost after the server had locked left a lock that the job did not know.
#[test]
fn a_lock_whose_answer_was_lost_is_looked_up_used_and_released() {
    for lost in LOST {
        let (server, kept) = LockServer::of(lost).start();
        let env = world(&server);
        let run = env.unfurl(["deploy", "--approve"]).succeeds();
        run.says(&["note: the server granted the remote lock, although its answer was lost: "]);
        assert!(env.work().join("here").exists());
        assert_eq!(*kept.lock().unwrap(), None);
        assert!(!env.work().join("ensemble.yaml.lfs.lock").exists());
    }
}

#[test]
fn the_clock_of_the_server_may_differ() {
    for clock in [Some(86_400), None] {
        let server = LockServer {
            clock,
            ..LockServer::of(LOST[2])
        };
        let (server, kept) = server.start();
        world(&server).unfurl(["deploy", "--approve"]).succeeds();
        assert_eq!(*kept.lock().unwrap(), None);
    }
}

/// A lock of another user, or of another job of this user, is never used, and the hint names a command that works.
#[test]
fn a_lock_that_does_not_match_the_request_refuses_the_job_and_the_hint_releases_it() {
    let old = |is_own, age| LockServer {
        age,
        is_own,
        ..LockServer::of(LOST[2])
    };
    for server in [old(true, 60), old(false, 0)] {
        let force = if server.is_own { "" } else { " --force" };
        let (server, kept) = server.start();
        let env = world(&server);
        let refused = env.unfurl(["deploy", "--approve"]).exits(1);
        let command = format!("git -c lfs.url={} lfs unlock{force} --id=7", server.url());
        refused.says(&["ann since ", &format!("`{command}`")]);
        assert!(!env.work().join("here").exists());
        if crate::requires::missing_reason("git-lfs").is_some() {
            continue;
        }
        let words: Vec<&str> = command.split(' ').collect();
        let freed = Command::new(words[0])
            .args(&words[1..])
            .current_dir(env.work())
            .output();
        let freed = freed.unwrap();
        assert!(freed.status.success(), "{freed:?}");
        assert_eq!(*kept.lock().unwrap(), None);
    }
}

#[test]
fn a_lock_on_another_path_is_named_with_the_command_that_releases_it() {
    let server = LockServer {
        path: None,
        ..LockServer::of(LOST[5])
    };
    let (server, _) = server.start();
    let refused = world(&server).unfurl(["deploy", "--approve"]).exits(1);
    let command = format!("`git -c lfs.url={} lfs unlock --id=7`", server.url());
    refused.says(&["it locked another path", "`other`", &command]);
}

/// A server that fails and has no lock granted none, so nothing needs to be released.
#[test]
fn a_request_that_failed_without_a_lock_leaves_no_doubt() {
    for lost in &LOST[..5] {
        let server = LockServer {
            path: None,
            ..LockServer::of(*lost)
        };
        let (server, _) = server.start();
        let env = world(&server);
        let refused = env.unfurl(["deploy", "--approve"]).exits(1);
        assert!(!refused.stderr.contains("unlock"), "{refused}");
        assert!(!env.work().join("ensemble.yaml.lfs.lock").exists());
    }
}
