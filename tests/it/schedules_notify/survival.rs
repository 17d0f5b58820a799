//! Notices outlive the server, a receiver that is away, and a full disk.

use nix::sys::signal::Signal;

use super::project::{break_task, project, serve, titles, undelivered};
use super::receiver::Receiver;
use crate::requires::program;
use crate::support::{binary, wait_for};

#[test]
fn a_notice_survives_the_kill_of_the_server_and_is_tried_again() {
    let receiver = Receiver::start(&[500, 503, 200]);
    let env = project(&format!(
        "t: {{every: 1s, action: task, task: look, notify: [{{on: failure, webhook: {{url: 'http://{}/'}}}}]}}",
        receiver.address
    ));
    break_task(&env, true);
    let server = serve(&env);
    server.wait_until_it_says("the server answered with status 500");
    // The message comes before the record of the attempt.
    let (_, reason) = wait_for("the record", || undelivered(&env, "t").pop());
    server.signal(Signal::SIGKILL);
    assert!(reason.starts_with("the server answered with status 500; next attempt at "));
    drop(server);
    let server = serve(&env);
    server.wait_until_it_says("the server answered with status 503");
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    let ids = [0, 1].map(|place| requests[place].header("x-unfurl-delivery").unwrap());
    assert_eq!(ids[0], ids[1], "a receiver can tell a repetition");
    drop(server);
}

#[test]
fn a_run_that_is_cut_off_by_a_kill_is_notified_by_the_next_server() {
    let env = project(
        "t: {every: 1s, action: task, task: look, notify: [{on: failure, command: cat >> notices}]}",
    );
    env.write(
        "tasks.yaml",
        "tasks:\n  look:\n    steps:\n      - local: touch begun; sleep 600\n",
    );
    let server = serve(&env);
    env.wait_for("local/schedules/t.tsv");
    wait_for("the task", || {
        env.work().join("begun").exists().then_some(())
    });
    server.signal(Signal::SIGKILL);
    drop(server);
    env.write(
        "tasks.yaml",
        "tasks:\n  look:\n    steps:\n      - local: 'true'\n",
    );
    let server = serve(&env);
    let title = wait_for("the notice", || titles(&env).into_iter().next());
    assert!(title.starts_with("t: the run was cut off"), "{title}");
    drop(server);
}

#[test]
fn notices_wait_while_the_disk_of_the_outbox_is_full() {
    requires!("root", "unshare");
    let env = project(
        "t: {every: 1s, action: task, task: look, notify: [{on: failure, command: cat >> notices}]}",
    );
    break_task(&env, true);
    env.write("local/schedules/outbox/x", "");
    let script = format!(
        "mount -t tmpfs -o size=4k tmpfs local/schedules/outbox
         head -c 4096 /dev/zero > local/schedules/outbox/full
         exec '{}' serve",
        binary().display()
    );
    let unshare = std::process::Command::new(program("unshare").unwrap());
    let server = env.start_command(unshare, ["-m", "sh", "-c", &script]);
    server.wait_until_it_says("notices wait until they can be queued: ");
    server.wait_until_it_says("no space left on device");
    assert!(titles(&env).is_empty());
    let root = format!("/proc/{}/root", server.pid());
    let full = format!("{root}{}/local/schedules/outbox/full", env.work().display());
    std::fs::remove_file(full).unwrap();
    server.wait_until_it_says("notices can be queued again");
    let title = wait_for("the notice", || titles(&env).into_iter().next());
    assert!(title.starts_with("t: the run failed"), "{title}");
    drop(server);
}
