//! Signals while a lock server hangs, in each phase of a request.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::ensemble;
use super::sshd::Server;
use super::web::{bare, lock, locks};
use crate::support::{Run, Started, TestEnv, is_full, wait_for};

const PATH: &str = "ensemble_46_yaml_46_lock";

/// The part of an exchange in which the server hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The server accepts the connection and sends nothing, also no TLS greeting.
    Tls,
    /// The server sends no answer to the request for the lock.
    Headers,
    /// The server sends one byte of its answer at a time.
    Body,
    /// The server does not tell who holds the lock.
    List,
    /// The server grants the lock, and does not answer when the job asks for it at its end.
    FindAtEnd,
    /// The same when the job releases the lock.
    Unlock,
}

/// A server that hangs in a phase.
struct HangingServer {
    url: String,
    hangs: Arc<AtomicBool>,
}

impl HangingServer {
    /// Waits until a job waits for the server.
    fn wait_until_it_hangs(&self) {
        wait_for("a request", || {
            self.hangs.load(Ordering::SeqCst).then_some(())
        });
    }
}

fn server(phase: Phase) -> HangingServer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let scheme = if phase == Phase::Tls { "https" } else { "http" };
    let url = format!("{scheme}://{}", listener.local_addr().unwrap());
    let hangs = Arc::new(AtomicBool::new(false));
    let reached = Arc::clone(&hangs);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let reached = Arc::clone(&reached);
            thread::spawn(move || serve(stream.unwrap(), phase, &reached));
        }
    });
    HangingServer { url, hangs }
}

fn serve(mut stream: TcpStream, phase: Phase, reached: &AtomicBool) {
    let mut bytes = [0; 4096];
    let count = stream.read(&mut bytes).unwrap();
    let line = String::from_utf8_lossy(&bytes[..count]).into_owned();
    let is_list = line.starts_with("GET");
    let is_unlock = line.contains("/unlock ");
    let hangs = match phase {
        Phase::Tls | Phase::Headers | Phase::Body => true,
        Phase::List | Phase::FindAtEnd => is_list,
        Phase::Unlock => is_unlock,
    };
    if hangs {
        reached.store(true, Ordering::SeqCst);
        if phase == Phase::Body {
            let head = "HTTP/1.1 201 x\r\nContent-Length: 4000\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            while stream.write_all(b" ").is_ok() {
                thread::sleep(Duration::from_millis(50));
            }
        }
        thread::sleep(Duration::from_secs(90));
        return;
    }
    let (status, body) = match phase {
        Phase::List => (409, "{}".to_owned()),
        _ if is_list => (200, locks(&[&bare("7", PATH, "ann")], None)),
        _ => (201, lock("7", PATH, "ann")),
    };
    let head = format!("HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: ");
    let text = format!("{head}{}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).unwrap();
}

fn world(url: &str) -> TestEnv {
    let text = ensemble(&format!("{{lock: require, url: '{url}'}}"), "echo >> here");
    let env = TestEnv::with_ensemble(&text);
    env.git(&["init", "-q", "-b", "main", "."]);
    env
}

fn state_of_one(env: &TestEnv) -> String {
    let state = &env.ensemble()["status"]["instances"]["one"]["readyState"]["local"];
    state.as_str().unwrap_or_default().to_owned()
}

/// Signals a job that hangs, and asserts that it ends soon.
#[track_caller]
fn ends_in_time(job: Started, signal: Signal, code: i32) -> Run {
    job.signal(signal);
    let signalled = Instant::now();
    let run = job.ends_by_itself();
    let time = signalled.elapsed();
    // On an idle machine, 0.4 s are enough.
    assert!(time < Duration::from_secs(2), "{time:?} {run}");
    run.exits(code)
}

/// D7: a signal while a git-lfs server hangs took 60 s.
#[test]
fn a_signal_while_a_server_hangs_before_the_job_ends_it_within_a_second() {
    for phase in [Phase::Tls, Phase::Headers, Phase::Body, Phase::List] {
        for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
            if signal == Signal::SIGTERM && phase != Phase::Headers {
                continue;
            }
            let server = server(phase);
            let env = world(&server.url);
            let job = env.start(["deploy", "--approve"]);
            server.wait_until_it_hangs();
            let run = ends_in_time(job, signal, code);
            run.says(&["interrupted before anything was done"]);
            assert!(!env.work().join("here").exists());
            assert!(!env.work().join("ensemble.yaml.lock").exists());
            assert_eq!(
                env.work().join("ensemble.yaml.lfs.lock").exists(),
                phase != Phase::List
            );
        }
    }
}

/// D7: the lock may exist although its answer never came.
#[test]
fn an_interrupted_request_for_a_lock_names_the_lock_that_may_exist() {
    let server = server(Phase::Headers);
    let env = world(&server.url);
    let job = env.start(["deploy", "--approve"]);
    server.wait_until_it_hangs();
    let run = ends_in_time(job, Signal::SIGINT, 130);
    let command = format!(
        "`unfurl lock break --force {}/ensemble.yaml`",
        env.work().display()
    );
    run.says(&[PATH, "the server may have granted the lock", &command]);
}

/// D7: the record is saved before the lock is released, so the signal costs nothing but the release.
#[test]
fn a_signal_while_the_release_of_a_lock_hangs_keeps_the_record_and_names_the_lock() {
    for phase in [Phase::FindAtEnd, Phase::Unlock] {
        let server = server(phase);
        let url = &server.url;
        let env = world(url);
        let job = env.start(["deploy", "--approve"]);
        server.wait_until_it_hangs();
        let run = ends_in_time(job, Signal::SIGINT, 130);
        let command = format!("`git -c lfs.url={url} lfs unlock --id=7`");
        run.says(&["was not released", &command]);
        assert_eq!(state_of_one(&env), "ok");
        assert_eq!(env.read("here"), "\n");
        assert!(env.work().join("ensemble.yaml.lfs.lock").exists());
        assert!(!env.work().join("ensemble.yaml.lock").exists());
    }
}

/// D7: the server is reached over SSH.
#[test]
fn a_signal_while_a_server_hangs_over_ssh_ends_the_job_within_a_second() {
    requires!("sshd", "ssh", "ssh-keygen");
    let programs = ["git-lfs-transfer", "git-lfs-authenticate"];
    for program in programs.into_iter().take(if is_full() { 2 } else { 1 }) {
        let programs = tempfile::tempdir().unwrap();
        let path = programs.path().join(program);
        let mark = programs.path().join("mark");
        let script = format!("#!/bin/sh\ntouch '{}'\nexec sleep 90\n", mark.display());
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let server = Server::with_programs(programs.path());
        let env = server.with_ensemble(&ensemble("{lock: require}", "touch here"));
        let job = env.start(["deploy", "--approve"]);
        wait_for(mark.display(), || mark.exists().then_some(()));
        ends_in_time(job, Signal::SIGINT, 130);
        assert!(!env.work().join("here").exists());
    }
}

/// D7, siblings: a remote that hangs when a job fetches, or pushes its record.
#[test]
fn a_signal_while_a_git_remote_hangs_ends_the_job_within_a_second() {
    let server = server(Phase::Headers);
    let remote = format!("{}/x.git", server.url);
    let text = ensemble("{lock: 'no'}", "echo >> here");
    let env = TestEnv::with_ensemble(&text).without("UNFURL_SKIP_UPSTREAM_CHECK");
    env.write(".gitignore", "here\n*.lock\n");
    env.git(&["init", "-q", "-b", "main", "."]);
    env.git(&["add", "-A"]);
    env.git(&["commit", "-q", "-m", "x"]);
    env.git(&["remote", "add", "origin", &remote]);
    env.git(&["config", "branch.main.remote", "origin"]);
    env.git(&["config", "branch.main.merge", "refs/heads/main"]);
    let job = env.start(["deploy", "--approve"]);
    server.wait_until_it_hangs();
    ends_in_time(job, Signal::SIGINT, 130);
    assert!(!env.work().join("here").exists());

    server.hangs.store(false, Ordering::SeqCst);
    let words = [
        "deploy",
        "--approve",
        "--skip-upstream-check",
        "--commit",
        "--push",
    ];
    let job = env.start(words);
    server.wait_until_it_hangs();
    ends_in_time(job, Signal::SIGINT, 130);
    assert_eq!(state_of_one(&env), "ok");
    env.git(&["fsck", "--strict"]);
}
