//! Remote locks against a real server over SSH, together with the real git-lfs client.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::thread;

use nix::sys::signal::Signal;

use super::ensemble;
use super::sshd::Server;
use super::web::{HttpServer, answer};
use crate::support::{Run, TestEnv, wait_for};

const PATH: &str = "ensemble_46_yaml_46_lock";

/// A command that reports its start in `here/began` and waits until `here/end` exists.
const WAITS: &str = "mkdir -p here && touch here/began && for i in $(seq 600); do test -e here/end && \
                     break; sleep 0.1; done";

/// A part of the message of a job that waits for another job's lock.
const WAITING: &str = " s for the remote lock, which is held by ";

fn deploy(env: &TestEnv) -> Run {
    env.unfurl(["deploy", "--approve"])
}

/// Deploys after a killed job, whose task is in doubt and has to run again.
fn again(env: &TestEnv) -> Run {
    env.unfurl(["deploy", "--approve", "--redo-in-doubt"])
}

fn wait_until_started(env: &TestEnv) {
    let began = env.work().join("here/began");
    wait_for(began.display(), || began.exists().then_some(()));
}

fn end(env: &TestEnv) {
    fs::write(env.work().join("here/end"), "").unwrap();
}

/// Runs `act` while a job of the ensemble runs, and returns the result of the job.
fn meanwhile(env: &TestEnv, act: impl FnOnce()) -> Run {
    thread::scope(|scope| {
        let job = scope.spawn(|| deploy(env));
        wait_until_started(env);
        act();
        fs::write(env.work().join("here/end"), "").unwrap();
        job.join().unwrap()
    })
}

#[test]
fn a_job_holds_a_lock_that_git_lfs_sees_and_frees_it() {
    requires!("tests/lfs.sh");
    let server = Server::start();
    let env = server.with_ensemble(&ensemble("{lock: require}", WAITS));
    let run = meanwhile(&env, || {
        let locks = server.locks(&env);
        assert_eq!(locks[0]["path"], PATH, "{locks}");
        assert!(env.work().join("ensemble.yaml.lfs.lock").exists());
        let list = env.unfurl(["lock", "list"]).succeeds().all();
        assert!(list.contains(PATH) && list.contains("a job here"), "{list}");
    });
    let run = run.succeeds();
    assert!(!run.all().contains("warning"), "{run}");
    assert_eq!(server.locks(&env), serde_json::json!([]));
    assert!(!env.work().join("ensemble.yaml.lfs.lock").exists());
    let list = env.unfurl(["lock", "list"]).succeeds().all();
    // The table wraps long lines.
    let words: Vec<&str> = list.split_whitespace().collect();
    assert!(words.join(" ").contains(": free"), "{list}");
}

#[test]
fn a_lock_of_the_git_lfs_client_refuses_a_job_and_names_its_holder() {
    requires!("tests/lfs.sh");
    let server = Server::start();
    let text = ensemble("{lock: try, name: 'group/$environment'}", "touch here");
    let env = server.with_ensemble(&text);
    let other = server.clone_it();
    let locked = server.git(&other, &["lfs", "lock", "group/defaults"]);
    assert!(locked.status.success(), "{locked:?}");
    let owner = if server.give_locks_to_nobody() {
        "nobody".to_owned()
    } else {
        server.locks(&env)[0]["owner"]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    deploy(&env).exits(1).says(&[
        &format!("error: the ensemble is locked by {owner} since 20"),
        "`group/defaults` on `ssh://127.0.0.1:",
        "hint: wait until that job has ended; if you are sure that it has ended, run `git lfs unlock --force --id=",
    ]);
    assert!(!env.work().join("here").exists());
    assert!(!env.work().join("ensemble.yaml.lfs.lock").exists());
    assert_eq!(server.locks(&env).as_array().unwrap().len(), 1);
    // A plan neither takes a lock nor respects one.
    env.unfurl(["plan"]).succeeds();
    env.unfurl(["lock", "break"]).succeeds();
    assert_eq!(server.locks(&env).as_array().unwrap().len(), 1);
    env.unfurl(["lock", "break", "--force"]).succeeds();
    deploy(&env).succeeds();
}

#[test]
fn of_two_clones_that_deploy_at_once_the_second_is_refused() {
    requires!("tests/lfs.sh");
    let server = Server::start();
    let one = server.with_ensemble(&ensemble("{lock: require}", WAITS));
    let two = server.clone_it();
    let run = meanwhile(&one, || {
        let refused = deploy(&two).exits(1);
        assert!(
            refused.stderr.contains("the ensemble is locked by "),
            "{refused}"
        );
        assert!(refused.stderr.contains(PATH), "{refused}");
        assert!(!two.work().join("here").exists());
        // The refused job did not touch the lock.
        assert_eq!(server.locks(&two)[0]["path"], PATH);
    });
    run.succeeds();
    fs::create_dir(two.work().join("here")).unwrap();
    end(&two);
    deploy(&two).succeeds();
    assert_eq!(server.locks(&two), serde_json::json!([]));
}

#[test]
fn the_job_after_one_that_was_killed_takes_its_lock_up_again() {
    requires!("tests/lfs.sh");
    let server = Server::start();
    let env = server.with_ensemble(&ensemble("{lock: require}", WAITS));
    let other = server.clone_it();
    let killed = kill_a_job(&env);
    assert_ne!(killed, 0);
    assert_eq!(server.locks(&env)[0]["path"], PATH);
    // Other users see it as a normal lock.
    deploy(&other)
        .exits(1)
        .says(&["the ensemble is locked by "]);
    end(&env);
    again(&env)
        .succeeds()
        .says(&["note: took over the remote lock of an earlier job here that was killed"]);
    assert_eq!(server.locks(&env), serde_json::json!([]));
}

#[test]
fn a_lock_that_was_made_after_one_that_was_left_is_somebody_elses() {
    requires!("tests/lfs.sh");
    let server = Server::start();
    let env = server.with_ensemble(&ensemble("{lock: require}", WAITS));
    kill_a_job(&env);
    // This server gives a lock of the same path the same id; only its age differs.
    server.make_locks_older();
    end(&env);
    again(&env).exits(1).says(&["the ensemble is locked by "]);
    assert_eq!(server.locks(&env)[0]["path"], PATH);
}

/// Kills a running job and returns its process id.
fn kill_a_job(env: &TestEnv) -> i32 {
    thread::scope(|scope| {
        let job = scope.spawn(|| deploy(env));
        wait_until_started(env);
        let pid = env.read("ensemble.yaml.lock");
        let killed = Command::new("kill").args(["-9", pid.trim()]).status();
        assert!(killed.unwrap().success());
        assert!(job.join().unwrap().code < 0);
        pid.trim().parse().unwrap()
    })
}

#[test]
fn a_job_that_fails_or_is_declined_frees_its_lock() {
    requires!("tests/lfs.sh");
    let server = Server::start();
    let env = server.with_ensemble(&ensemble("{lock: require}", "exit 3"));
    deploy(&env).exits(64);
    assert_eq!(server.locks(&env), serde_json::json!([]));
    env.unfurl(["deploy", "--force"]).exits(1);
    assert_eq!(server.locks(&env), serde_json::json!([]));
    env.unfurl(["deploy", "--template", "none"]).exits(64);
    assert_eq!(server.locks(&env), serde_json::json!([]));
}

#[test]
fn a_job_that_is_interrupted_frees_its_lock() {
    requires!("tests/lfs.sh");
    let server = Server::start();
    let first = server.with_ensemble(&ensemble("{lock: require}", WAITS));
    let second = server.clone_it();
    for (env, signal, code) in [(first, Signal::SIGINT, 130), (second, Signal::SIGTERM, 143)] {
        let job = env.start(["deploy", "--approve", "--grace", "0s"]);
        wait_until_started(&env);
        assert_eq!(server.locks(&env)[0]["path"], PATH);
        job.signal(signal);
        let run = job.ends_by_itself().exits(code);
        assert!(!run.stderr.contains("the remote lock"), "{run}");
        assert_eq!(server.locks(&env), serde_json::json!([]));
        assert!(!env.work().join("ensemble.yaml.lfs.lock").exists());
    }
}

#[test]
fn a_job_waits_for_a_lock_for_the_requested_time() {
    requires!("tests/lfs.sh");
    let server = Server::start();
    let one = server.with_ensemble(&ensemble("{lock: require}", WAITS));
    let two = server.clone_it();
    fs::create_dir(two.work().join("here")).unwrap();
    end(&two);
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| deploy(&one));
        wait_until_started(&one);
        // A job that is interrupted during the wait has changed nothing.
        let waits = two.start(["deploy", "--approve", "--lock-timeout", "90s"]);
        waits.wait_until_it_says(WAITING);
        waits.signal(Signal::SIGINT);
        let run = waits.ends_by_itself().exits(130);
        run.says(&["interrupted before anything was done"]);
        assert_eq!(server.locks(&two)[0]["path"], PATH);
        let second = two.start(["deploy", "--approve", "--lock-timeout", "90s"]);
        second.wait_until_it_says(WAITING);
        end(&one);
        (first.join().unwrap(), second.ends_by_itself())
    });
    first.succeeds();
    second.succeeds();
    assert_eq!(server.locks(&two), serde_json::json!([]));
}

#[test]
fn who_waited_for_a_lock_goes_on_from_what_was_pushed_meanwhile() {
    requires!("tests/lfs.sh");
    let server = Server::start();
    let one = server.with_ensemble(&ensemble("{lock: require}", WAITS));
    let two = server.clone_it();
    let second = thread::scope(|scope| {
        let first = scope.spawn(|| one.unfurl(["deploy", "--approve", "--commit", "--push"]));
        wait_until_started(&one);
        let check = ["--check-upstream", "deploy", "--approve"];
        let second = two.start(check.into_iter().chain(["--lock-timeout", "90s"]));
        second.wait_until_it_says(WAITING);
        end(&one);
        first.join().unwrap().succeeds();
        second.ends_by_itself()
    });
    let second = second.succeeds();
    assert!(!two.work().join("here").exists(), "{second}");
    assert_eq!(one.read("ensemble.yaml"), two.read("ensemble.yaml"));
    assert_eq!(server.locks(&two), serde_json::json!([]));
}

#[test]
fn a_lock_that_is_broken_while_a_job_runs_is_reported() {
    requires!("tests/lfs.sh");
    let server = Server::start();
    let env = server.with_ensemble(&ensemble("{lock: require}", WAITS));
    let other = server.clone_it();
    let run = meanwhile(&env, || {
        let id = server.locks(&other)[0]["id"].as_str().unwrap().to_owned();
        let freed = server.git(&other, &["lfs", "unlock", "--force", "--id", &id]);
        assert!(freed.status.success(), "{freed:?}");
    });
    run.succeeds()
        .says(&["warning: the remote lock", "was broken while the job ran"]);
    let env = server.clone_it();
    let run = meanwhile(&env, || {
        // Another user broke the lock and took it again: the id is the same, the lock is not.
        server.make_locks_older();
    });
    run.succeeds().says(&["it was released, and "]);
    assert_eq!(server.locks(&env)[0]["path"], PATH);
}

#[test]
fn a_server_that_is_gone_refuses_or_warns_as_it_is_set() {
    requires!("tests/lfs.sh");
    let mut server = Server::start();
    let env = server.with_ensemble(&ensemble("{lock: require}", WAITS));
    let run = meanwhile(&env, || server.stop());
    let run = run.succeeds();
    let run = run.says(&[
        "warning: the remote lock",
        "was not released",
        "run `git lfs unlock --id=",
    ]);
    assert!(run.stderr.contains("cannot be reached"), "{run}");
    assert!(env.work().join("ensemble.yaml.lfs.lock").exists());
    deploy(&env).exits(1).says(&[
        "error: the remote lock cannot be taken",
        "cannot be reached",
    ]);
    env.write("ensemble.yaml", &ensemble("{lock: try}", "touch here/end"));
    let run = deploy(&env).succeeds();
    run.says(&["warning: the remote lock could not be taken"]);
}

#[test]
fn a_server_without_git_lfs_transfer_says_where_its_http_api_is() {
    requires!("tests/lfs.sh");
    let web = HttpServer::start(|asked| {
        if asked.header("authorization") != Some("Bearer t0p-s3cret") {
            return answer(401, "{}");
        }
        match (&*asked.method, &*asked.path) {
            ("POST", "/locks") => answer(201, &super::web::lock("7", PATH, "ann")),
            ("POST", _) => answer(200, "{}"),
            _ => answer(
                200,
                &super::web::locks(&[&super::web::bare("7", PATH, "ann")], None),
            ),
        }
    });
    let programs = tempfile::tempdir().unwrap();
    let script = programs.path().join("git-lfs-authenticate");
    let said = format!(
        "{{\"href\": \"{}\", \"header\": {{\"Authorization\": \"Bearer t0p-s3cret\"}}}}",
        web.url()
    );
    fs::write(
        &script,
        format!("#!/bin/sh\ntest $2 = upload && echo '{said}'\n"),
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let server = Server::with_programs(programs.path());
    let env = server.with_ensemble(&ensemble("{lock: require}", "mkdir here"));
    let run = deploy(&env).succeeds();
    assert!(!run.all().contains("warning"), "{run}");
    let asked: Vec<_> = web.requests().iter().map(|it| it.method.clone()).collect();
    assert_eq!(asked, ["POST", "GET", "POST"]);
    for (path, bytes) in env.files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("t0p-s3cret"), "{path}");
    }
}
