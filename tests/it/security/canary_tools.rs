//! Canaries in Terraform and Ansible: secrets that these tools print in many forms are found in no output, no file, no
//! commit and no command line (S4).

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::{Value as Json, json};

use super::canary::{CANARIES, Canary, CommandLines, ENCODER, FORMS};
use crate::support::TestEnv;

/// A module that nobody has told what is secret, so that Terraform prints all of it.
const MODULE: &str = r#"
resource "terraform_data" "x" {
  for_each = local.forms
  input    = local.secrets[each.value]
  provisioner "local-exec" {
    command     = "python3 WORK/encode.py ${each.key}"
    environment = { S = local.secrets[each.value] }
  }
}
output "whole" { value = var.pw0 }
output "encoded" { value = { a = base64encode(var.pw0), b = [upper(var.pw0)] } }
output "state" { value = terraform_data.x }
output "declared" {
  value     = var.pw4
  sensitive = true
}
"#;

/// A module whose resource fails and prints a secret meanwhile.
const FAILING: &str = r#"
resource "terraform_data" "x" {
  input = var.pw1
  provisioner "local-exec" {
    command     = "python3 WORK/encode.py base64; sh WORK/wait.sh tf; python3 WORK/encode.py raw fail"
    environment = { S = var.pw1 }
  }
}
"#;

/// Waits in the middle of an operation, if there is the file that says so.
const WAIT: &str =
    "cd \"${0%/*}\"\n[ -e kept-wait ] || exit 0\necho here > \"kept-at-$1\"\nsleep 60\n";

/// The number of the secret for each form.
fn of_forms() -> impl Iterator<Item = (&'static str, usize)> {
    let forms = FORMS.iter().enumerate();
    forms.map(|(place, form)| (*form, place % CANARIES.len()))
}

/// Returns a module with its variables.
fn module(body: &str, work: &str) -> String {
    let names: Vec<String> = (0..CANARIES.len()).map(|it| format!("pw{it}")).collect();
    let mut text = String::new();
    for name in &names {
        text.push_str(&format!("variable \"{name}\" {{ type = string }}\n"));
    }
    let forms: Vec<String> = of_forms()
        .map(|(form, at)| format!("{form} = {at}"))
        .collect();
    let values: Vec<String> = names.iter().map(|name| format!("var.{name}")).collect();
    text.push_str(&format!(
        "locals {{\n  forms   = {{ {} }}\n  secrets = [{}]\n}}\n",
        forms.join(", "),
        values.join(", ")
    ));
    text + &body.replace("WORK", work)
}

/// Returns the arguments of a module that prints a secret in a form.
///
/// The command gets it through its input, because Ansible itself writes the `environment` of a task on a command line.
fn encode(work: &str, words: &str, secret: &str) -> Json {
    let command = format!("python3 {work}/encode.py {words}");
    json!({"cmd": command, "stdin": format!("{{{{ {secret} }}}}"), "stdin_add_newline": false})
}

/// Returns a playbook that prints, returns and fails with secrets.
fn playbook(work: &str) -> Json {
    let items: Vec<Json> = of_forms()
        .map(|(form, at)| json!({"form": form, "name": format!("pw{at}")}))
        .collect();
    let encode = |words: &str, secret: &str| encode(work, words, secret);
    json!([{
        "vars_files": [format!("{work}/kept-vaulted.yml")],
        "tasks": [
            {"name": "print", "shell": encode("{{ item.form }} -", "lookup('vars', item.name)"), "loop": items,
             "register": "printed"},
            {"name": "show", "debug": {"msg": "{{ printed.results | map(attribute='stdout') | list }} {{ vaulted }}"}},
            {"name": "refuse", "shell": encode("hex fail", "pw1"), "ignore_errors": true},
            {"name": "tell", "set_fact": {"told": "{{ printed.results | map(attribute='stdout') | list }}",
             "whole": "{{ pw3 }}", "opened": "{{ vaulted | b64encode }}"}}
        ]
    }])
}

/// Returns a short playbook that prints a secret in the middle, and fails with another one at its end if `fails` is true.
fn short_playbook(work: &str) -> Json {
    json!([{
        "vars_files": [format!("{work}/kept-vaulted.yml")],
        "tasks": [
            {"name": "show", "debug": {"msg": "{{ vaulted }} {{ pw2 | b64encode }}"}},
            {"name": "print", "shell": encode(work, "base64; sh WORK/wait.sh ansible".replace("WORK", work).as_str(), "pw1")},
            {"name": "end {{ pw0 }}", "shell": encode(work, "half fail", "vaulted"), "when": "fails | bool"}
        ]
    }])
}

/// Returns a node template: its name, its properties, its configurator and the inputs of all operations, then the rest of
/// `configure`, and of `check` and `delete`.
fn node_template(heads: [&str; 4], more: &str, others: &str) -> String {
    let [name, properties, kind, inputs] = heads;
    format!(
        "        {name}:
          type: unfurl.nodes.Generic
          properties: {{{properties}}}
          interfaces:
            defaults:
              implementation: {kind}
              inputs: {inputs}
            Install: {{operations: {{check: {others}}}}}
            Standard:
              operations:
                configure: {more}
                delete: {others}
"
    )
}

fn ensemble(work: &str) -> String {
    let lines = |line: &dyn Fn(usize) -> String| -> String {
        let all: Vec<String> = (0..CANARIES.len()).map(line).collect();
        all.concat()
    };
    let declared = lines(&|it| format!("        pw{it}: {{type: string, sensitive: true}}\n"));
    let properties = lines(&|it| format!("pw{it}: {{get_input: pw{it}}}, "));
    let variables = lines(&|it| format!("pw{it}: '{{{{ SELF.pw{it} }}}}', "));
    let node = |name: &str, kind: &str, inputs: &str, more: &str, others: &str| {
        let heads = [name, properties.as_str(), kind, inputs];
        node_template(heads, more, others)
    };
    let terraform = |body: &str| {
        let main = json!(module(body, work));
        format!("{{main: {{q: {main}}}, tfvars: {{{variables}}}}}")
    };
    let ansible = |playbook: &Json, fails: bool| {
        format!("{{playbook: {{q: {playbook}}}, arguments: {{{variables} fails: {fails}}}}}")
    };
    let (long, short) = (playbook(work), short_playbook(work));
    let shorter = format!("{{inputs: {{playbook: {{q: {short}}}}}}}");
    let told = "{inputs: {resultTemplate: {attributes: {told: '{{ outputs.encoded }}', list: ['{{ outputs.whole }}', \
                '{{ outputs.state }}']}}}, outputs: {declared: declared}}";
    let facts = "{outputs: {told: told, whole: whole, opened: opened}}";
    let nodes = [
        node("tf", "Terraform", &terraform(MODULE), told, ""),
        node("tf-fails", "Terraform", &terraform(FAILING), "", ""),
        node(
            "ansible",
            "Ansible",
            &ansible(&long, false),
            facts,
            &shorter,
        ),
        node(
            "ansible-fails",
            "Ansible",
            &ansible(&short, true),
            facts,
            "",
        ),
    ];
    format!(
        "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      inputs:
{declared}
      node_templates:
{}",
        nodes.concat()
    )
}

/// An ensemble in a repository whose secrets are in variables of the environment. The vault password is one of them, too.
fn environment() -> TestEnv {
    let mut env = TestEnv::new();
    let work = env.work().canonicalize().unwrap().display().to_string();
    env.write("ensemble.yaml", &ensemble(&work));
    env.write("encode.py", ENCODER);
    env.write("wait.sh", WAIT);
    let mut inputs = String::new();
    for (number, secret) in CANARIES.iter().enumerate() {
        inputs.push_str(&format!(
            "pw{number}: {{eval: {{sensitive: {{get_env: PW{number}}}}}}}\n"
        ));
        env = env.variable(&format!("PW{number}"), secret);
    }
    env.write("vars.yaml", &inputs);
    seal_variables(&env);
    env.write(
        ".gitignore",
        "vars.yaml\nkept-*\njobs\nplanned\nactive\nlocal\n*.log\nfailed\n",
    );
    env.git(&["init", "-q"]);
    env.git(&["add", "."]);
    env.git(&["commit", "-qm", "start"]);
    env.variable("UNFURL_VAULT_DEFAULT_PASSWORD", CANARIES[0])
        .variable("CHECKPOINT_DISABLE", "1")
        .without("TF_CLI_CONFIG_FILE")
}

/// Writes a file of variables that is encrypted with the password of the project.
fn seal_variables(env: &TestEnv) {
    let password = env.work().join("kept-password");
    std::fs::write(&password, CANARIES[0]).unwrap();
    let variables = json!({"vaulted": CANARIES[3]});
    env.write("kept-vaulted.yml", &variables.to_string());
    let mut sealing = Command::new("ansible-vault");
    sealing.args(["encrypt", "--vault-id"]);
    sealing.arg(format!("default@{}", password.display()));
    sealing.arg(env.work().join("kept-vaulted.yml"));
    let sealed = sealing.env("HOME", env.work()).output().unwrap();
    assert!(sealed.status.success(), "{sealed:?}");
    std::fs::remove_file(password).unwrap();
}

#[test]
fn s4_no_form_of_a_secret_leaves_terraform_and_ansible() {
    requires!("terraform", "ansible-playbook", "git");
    let canary = Canary::new();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(memory.path(), mode).unwrap();
    let env = environment().variable("XDG_RUNTIME_DIR", memory.path().to_str().unwrap());
    let lines = CommandLines::watch();
    let deploy =
        "-vv --logfile all.log deploy --approve --commit --jobexitcode never --var-file vars.yaml";
    let run = env.unfurl(deploy.split(' ')).does_not_panic();
    let lines = lines.end();
    let seen = String::from_utf8_lossy(&lines);
    for program in ["encode.py", "terraform", "ansible-playbook"] {
        assert!(seen.contains(program), "{program}: {run}");
    }
    canary.is_not_in(&lines, "the command lines");
    canary.is_not_shown(&run);
    let status = |name: &str| {
        let all = env.ensemble();
        let state = &all["status"]["instances"][name]["readyState"]["local"];
        state.as_str().unwrap_or_default().to_owned()
    };
    let all = ["tf", "tf-fails", "ansible", "ansible-fails"].map(status);
    assert_eq!(all, ["ok", "error", "ok", "error"], "{run}");
    canary.is_in_no_file(&env, "after the deploy");
    // The drift of another value is looked for, and shown without it.
    let env = env.variable("PW0", CANARIES[2]);
    for command in [
        "plan --var-file vars.yaml",
        "drift --var-file vars.yaml",
        "check --approve --commit --instance ansible --instance ansible-fails --var-file vars.yaml --jobexitcode never",
        "status --output json",
        "status --query ::tf::told",
        "status --query ::ansible::told",
        "history",
        "explain tf",
        "explain ansible-fails",
        "export",
        "teardown --approve --commit --var-file vars.yaml --jobexitcode never",
    ] {
        let run = env.unfurl(command.split(' ')).does_not_panic();
        canary.is_not_shown(&run);
    }
    canary.is_in_no_file(&env, "at the end");
    killed_in_the_middle(&env, &canary);
    let left: Vec<_> = std::fs::read_dir(memory.path().join("unfurl"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Kills a job while Terraform and Ansible run, and looks for secrets before and after the next command.
fn killed_in_the_middle(env: &TestEnv, canary: &Canary) {
    env.write("kept-wait", "");
    let deploy = "--logfile all.log deploy --approve --var-file vars.yaml --instance tf-fails --instance ansible-fails";
    let started = env.start(deploy.split(' '));
    env.wait_for("kept-at-tf");
    env.wait_for("kept-at-ansible");
    started.signal(Signal::SIGKILL);
    canary.is_not_shown(&started.ends());
    canary.is_in_no_file(env, "after the kill");
    canary.is_not_shown(&env.unfurl(["recover", "."]));
    canary.is_in_no_file(env, "after the recovery");
}
