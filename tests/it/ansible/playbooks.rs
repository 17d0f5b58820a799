//! Playbooks on this machine: results, facts, changes of files, dry runs and drift.

use serde_json::Value as Json;

use crate::drafts::{Draft, ensemble, nodes};
use crate::support::TestEnv;

/// A node whose `configure` is Ansible with these inputs and outputs.
pub(super) fn node(inputs: &str, outputs: &str) -> Draft {
    ensemble(
        "
        node_types:
          App:
            derived_from: tosca.nodes.Root
            properties: {greeting: {type: string}}
        topology_template:
          node_templates:
            app:
              type: App
              properties: {greeting: Hello}
              interfaces:
                Standard:
                  configure:
                    implementation: Ansible
                    inputs:
                      <inputs>
                    outputs: <outputs>
        ",
    )
    .with("inputs", inputs)
    .with("outputs", outputs)
}

/// The tasks of the record of the last job that changed something.
pub(super) fn attributes(env: &TestEnv) -> Json {
    env.ensemble()["status"]["instances"]["app"]["attributes"].clone()
}

pub(super) fn status(env: &TestEnv) -> Json {
    env.ensemble()["status"]["instances"]["app"]["readyState"]["local"].clone()
}

/// A playbook of a file that writes a page with a role.
fn with_role() -> TestEnv {
    let env = node("playbook: play/site.yml", "{}");
    let env = env.env();
    env.write(
        "play/site.yml",
        "- hosts: localhost\n  connection: local\n  gather_facts: false\n  roles: [page]\n",
    );
    env.write("play/group_vars/all.yml", "word: first\n");
    env.write(
        "play/roles/page/tasks/main.yml",
        "- name: write the page\n  template: {src: page.j2, dest: \"{{ playbook_dir }}/../page\"}\n",
    );
    env.write("play/roles/page/templates/page.j2", "{{ word }}\n");
    env
}

/// A task with plain scalars that YAML 1.1 reads otherwise than YAML 1.2, and with their quoted forms.
const SCALARS: &str = "
- set_fact:
    shown: \"{% for key in values %}{{ key }}={{ values[key] }}:{{ values[key] | type_debug }} {% endfor %}\"
  vars:
    values:
      octal: 0644
      quoted: \"0644\"
      text: 0o644
      truth: yes
      switch: Off
      word: \"yes\"
      minutes: 12:30
      time: \"12:30\"
      date: 2024-01-02
      day: \"2024-01-02\"
      grouped: 1_000
      hex: 0x1F
      exponent: 1e3
      float: 1.0e+3
      negative: -0012
      eight: 08
      letter: y
      seconds: 190:20:30.15
";

/// Deploys, and returns what the node `app` was told.
fn told(env: &TestEnv) -> String {
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    let told = attributes(env)["told"].as_str().map(str::to_owned);
    told.unwrap_or_else(|| panic!("nothing was told: {run}"))
}

#[test]
fn scalars_of_a_playbook_in_the_model_are_those_of_the_same_text_in_a_file() {
    requires!("ansible-playbook");
    let list = node(
        &format!("playbook:\n  q:{}", SCALARS.replace('\n', "\n    ")),
        "{shown: told}",
    )
    .env();
    let text = node(
        &format!("playbook:\n  q: |{}", SCALARS.replace('\n', "\n    ")),
        "{shown: told}",
    )
    .env();
    let file = node("playbook: tasks.yml", "{shown: told}").env();
    file.write("tasks.yml", SCALARS);
    let expected = told(&file);
    assert!(
        expected.contains("octal=420:int") && expected.contains("minutes=750:int"),
        "{expected}"
    );
    assert_eq!(told(&list), expected);
    assert_eq!(told(&text), expected);
}

#[test]
fn facts_become_outputs_and_attributes_and_results_are_recorded() {
    requires!("ansible-playbook");
    let env = node(
        "
        playbook:
          q:
            - name: say
              command: echo '{{ greeting }} from {{ \".name\" | eval }}, {{ SELF.greeting }}'
              register: said
            - set_fact:
                told: \"{{ said.stdout }}\"
                mode: \"0644\"
                number: \"{{ 6 * 7 }}\"
        arguments: {greeting: Hi}
        resultTemplate: {attributes: {result: '{{ stdout }}', ok: '{{ success }}', out: '{{ outputs.told }}'}}
        ",
        "{told: told, number: number, other: }",
    )
    .env();
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    let attributes = attributes(&env);
    assert_eq!(attributes["told"], "Hi from app, Hello", "{run}");
    assert_eq!(attributes["result"], "Hi from app, Hello");
    assert_eq!(attributes["out"], "Hi from app, Hello");
    assert_eq!(attributes["number"], "42");
    let records = std::fs::read_dir(env.work().join("jobs")).unwrap();
    let mut records = records.map(|entry| entry.unwrap().path());
    let record = records.find(|path| path.extension().is_some_and(|end| end == "yaml"));
    let record = std::fs::read_to_string(record.unwrap()).unwrap();
    assert!(
        record.contains("className: unfurl.configurators.ansible.AnsibleConfigurator"),
        "{record}"
    );
    assert!(record.contains("stdout: Hi from app, Hello"), "{record}");
    assert!(
        env.read("active/tasks/app/configure/playbook.yml")
            .contains("hosts: localhost")
    );
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.all().contains("Nothing to do"), "{again}");
}

#[test]
fn a_second_deploy_does_nothing_until_a_file_of_the_playbook_changes() {
    requires!("ansible-playbook");
    let env = with_role();
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("page"), "first\n");
    let nothing = || {
        let run = env.unfurl(["deploy", "--approve"]).succeeds();
        assert!(run.all().contains("Nothing to do"), "{run}");
    };
    nothing();
    env.write("play/roles/page/templates/page.j2", "role: {{ word }}\n");
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("page"), "role: first\n");
    nothing();
    env.write("play/group_vars/all.yml", "word: second\n");
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("page"), "role: second\n");
    nothing();
}

#[test]
fn a_dry_run_and_drift_change_nothing_and_report_differences() {
    requires!("ansible-playbook");
    let env = with_role();
    let run = env.unfurl(["deploy", "--approve", "--dryrun"]).succeeds();
    assert_eq!(env.read_if("page"), None, "{run}");
    env.unfurl(["deploy", "--approve"]).succeeds();
    env.unfurl(["drift"]).succeeds();
    env.write("page", "edited\n");
    let drift = env.unfurl(["drift"]).does_not_panic();
    assert_ne!(drift.code, 0, "{drift}");
    for text in ["localhost: page : write the page", "-edited", "+first"] {
        assert!(drift.all().contains(text), "{text}: {drift}");
    }
    assert_eq!(env.read("page"), "edited\n");
}

#[test]
fn a_failed_task_is_named_with_its_host_and_the_message_of_the_module() {
    requires!("ansible-playbook");
    let env = node(
        "
        playbook:
          q:
            - {name: may fail, command: 'false', ignore_errors: true}
            - {name: set up, fail: {msg: 'the disk is full'}}
        ",
        "{}",
    )
    .env();
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    assert!(
        run.all()
            .contains("localhost: task `set up`: failed: the disk is full"),
        "{run}"
    );
    assert!(!run.all().contains("PLAY RECAP"), "{run}");
}

#[test]
fn a_failure_that_the_playbook_handles_is_none() {
    requires!("ansible-playbook");
    let env = node(
        "
        playbook:
          q:
            - {name: may fail, command: 'false', ignore_errors: true}
            - block: [{command: 'false'}]
              rescue: [{set_fact: {rescued: 'yes!'}}]
        ",
        "{rescued: rescued}",
    )
    .env();
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(attributes(&env)["rescued"], "yes!");
    assert_eq!(status(&env), "ok");
}

#[test]
fn operations_of_a_life_cycle_set_the_status_by_a_fact() {
    requires!("ansible-playbook");
    let env = nodes(
        "
        app:
          type: tosca.nodes.Root
          interfaces:
            Install: {check: }
            Standard:
              operations: {configure: , delete: }
            defaults:
              implementation: Ansible
              outputs: {status: .status}
              inputs:
                playbook:
                  q:
                    - when: task.operation == 'check' and not '.present' | eval
                      set_fact: {status: absent}
                    - when: task.operation == 'delete'
                      set_fact: {status: absent}
                    - when: task.operation == 'configure'
                      set_fact: {status: ok}
        ",
    )
    .env();
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(status(&env), "ok");
    env.unfurl(["check", "--approve"]).succeeds();
    assert_eq!(status(&env), "ok");
    env.unfurl(["teardown", "--approve"]).succeeds();
    assert_eq!(status(&env), "absent");
}
