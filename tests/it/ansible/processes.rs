//! The processes of a playbook: interrupts, time limits, and the end of unfurl itself.

use nix::sys::signal::Signal;

use super::playbooks::{node, status};
use crate::support::{TestEnv, wait_until_gone};

/// A playbook that writes the process id of a command, which then waits.
fn waiting(more: &str) -> TestEnv {
    let env = node(
        "
        playbook:
          q:
            - {name: first, shell: 'echo x'}
            - name: wait
              shell: echo $$ > \"{{ folder }}/pid\"; sleep 100
        arguments: {folder: '{{ \".\" | get_dir }}'}
        ",
        "{}",
    );
    let env = env.build().replace(
        "implementation: Ansible",
        &format!("implementation: {{primary: Ansible{more}}}"),
    );
    TestEnv::with_ensemble(&env)
}

#[test]
fn an_interrupt_ends_the_playbook_and_its_processes() {
    requires!("ansible-playbook");
    let env = waiting("");
    let job = env.start(["deploy", "--approve", "--grace", "0"]);
    let pid: u32 = env.wait_for("pid").trim().parse().unwrap();
    job.signal(Signal::SIGINT);
    let run = job.ends();
    assert_eq!(run.code, 130, "{run}");
    wait_until_gone(&[pid]);
    assert_eq!(status(&env), "error");
}

#[test]
fn a_killed_unfurl_takes_the_playbook_with_it() {
    requires!("ansible-playbook");
    let env = waiting("");
    let job = env.start(["deploy", "--approve"]);
    let pid: u32 = env.wait_for("pid").trim().parse().unwrap();
    job.signal(Signal::SIGKILL);
    wait_until_gone(&[pid]);
    drop(job);
    let next = env.unfurl(["deploy", "--approve"]).does_not_panic();
    assert!(next.all().contains("in doubt"), "{next}");
}

#[test]
fn a_playbook_that_hangs_is_ended_by_its_time_limit() {
    requires!("ansible-playbook");
    // Long enough for a slow machine to reach the task that waits.
    let env = waiting(", timeout: 15");
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    assert!(
        run.all().contains("ran longer than its limit of 15 s"),
        "{run}"
    );
    assert!(run.all().contains("ansible-core 2."), "{run}");
    let pid: u32 = env.read("pid").trim().parse().unwrap();
    wait_until_gone(&[pid]);
}
