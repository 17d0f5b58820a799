//! `unfurl run --module`: one module of Ansible, without a playbook.

use super::playbooks::node;

#[test]
fn a_module_runs_with_arguments_that_are_templates_of_the_instance() {
    requires!("ansible-playbook");
    let env = node("playbook: {q: [{meta: noop}]}", "{}").env();
    env.unfurl(["deploy", "--approve"]).succeeds();
    let module = ["run", "--module", "ansible.builtin.copy", "-i", "app", "--"];
    let folder = env.work().display().to_string();
    let arguments = format!("dest={folder}/copied content='{{{{ SELF.greeting }}}}'");
    env.unfurl(module.iter().chain(&[arguments.as_str()]))
        .succeeds();
    assert_eq!(env.read("copied"), "Hello");
    let changed = env.unfurl([
        "run",
        "--module",
        "command",
        "--args",
        &format!("rm {folder}/copied"),
        "--output",
        "json",
    ]);
    assert_eq!(changed.succeeds().json()["job"]["changed"], 1);
    assert_eq!(env.read_if("copied"), None);
}

#[test]
fn a_module_that_fails_gives_its_message() {
    requires!("ansible-playbook");
    let env = node("playbook: {q: [{meta: noop}]}", "{}").env();
    let run = env.unfurl(["run", "--module", "fail", "--", "msg=nope"]);
    run.exits(64).says(&["failed: nope"]);
    let run = env.unfurl(["run", "--module", "no_such_module", "--", "x=1"]);
    run.exits(64)
        .says(&["couldn't resolve module/action 'no_such_module'"]);
}
