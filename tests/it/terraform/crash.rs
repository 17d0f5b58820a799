//! Kills of the program and of Terraform: the next job knows every resource.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{TerraformEnv, files_with, opened};
use crate::support::{is_full, wait_for};

const STATE: &str = "active/secrets/tf/terraform.tfstate.yaml";

/// Three resources one after another. Each notes its id in the file `made` once it exists. The last one is not complete
/// as long as the file `made.hold` exists.
const MAIN: &str = r#"variable "pw" { sensitive = true }
resource "terraform_data" "a" {
  input = var.pw
  provisioner "local-exec" { command = "echo ${self.id} >> $MADE; sleep 0.1" }
}
resource "terraform_data" "b" {
  triggers_replace = terraform_data.a.id
  provisioner "local-exec" { command = "echo ${self.id} >> $MADE; sleep 0.1" }
}
resource "terraform_data" "c" {
  triggers_replace = terraform_data.b.id
  provisioner "local-exec" {
    command = "echo ${self.id} >> $MADE; sleep 0.1; while [ -e $MADE.hold ]; do sleep 0.1; done"
  }
}
output "o" { value = terraform_data.c.id }"#;

fn env() -> TerraformEnv {
    let secret = "tfvars: {pw: {eval: {sensitive: {get_env: CANARY}}}}";
    let env = TerraformEnv::new(MAIN, secret)
        .with_variable("CANARY", SECRET)
        .with_variable("UNFURL_VAULT_DEFAULT_PASSWORD", "pw");
    let made = env.work().join("made").to_str().unwrap().to_owned();
    env.with_variable("MADE", &made)
}

/// The environment of a run that lasts until it is ended or the file is removed.
fn env_that_holds() -> TerraformEnv {
    let env = env();
    env.write("made.hold", "");
    env
}

/// A secret that the tool gets as a variable.
const SECRET: &str = "hunter2-canary-crash";

fn ids(state: &serde_json::Value) -> Vec<String> {
    let resources = state["resources"].as_array().unwrap();
    let instances = resources
        .iter()
        .flat_map(|resource| resource["instances"].as_array().unwrap());
    instances
        .map(|instance| instance["attributes"]["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn after_a_kill_of_the_program_the_next_job_knows_every_resource() {
    requires!("terraform");
    let count = if is_full() { 20 } else { 3 };
    for turn in 0..count {
        let env = env();
        // The moments are spread over the run of the tool.
        let time = Duration::from_millis(150 + 700 * turn / count);
        env.killed_after(time, &["deploy", "--approve"]);
        let root = env.work().with_file_name("");
        assert_eq!(files_with(&root, SECRET), [] as [std::path::PathBuf; 0]);
        // The command that takes over waits for the tool, and looks.
        env.unfurl(["check", "--approve"]);
        let made = env.read_if("made").unwrap_or_default();
        let known = match env.read_if(STATE) {
            Some(_) => ids(&opened(&env, STATE, "pw")),
            None => Vec::new(),
        };
        for id in made.lines() {
            assert!(
                known.contains(&id.to_owned()),
                "after {time:?}: {id} is not in {known:?}"
            );
        }
        assert_eq!(env.private_folders(), [] as [std::path::PathBuf; 0]);
        let run = env
            .unfurl(["deploy", "--approve", "--repair", "degraded"])
            .succeeds();
        assert_eq!(env.status(), "ok", "{run}");
        env.unfurl(["teardown", "--approve"]).succeeds();
        assert_eq!(ids(&opened(&env, STATE, "pw")), [] as [String; 0]);
        env.has_nowhere(SECRET);
    }
}

#[test]
fn the_guard_lets_the_tool_end_after_an_interrupt() {
    requires!("terraform");
    let env = env_that_holds();
    let mut started = env.start(["deploy", "--approve"]);
    wait_for("the first resource", || env.read_if("made"));
    let folder = wait_for("the private folder", || env.private_folders().pop());
    started.signal(Signal::SIGKILL);
    let output = folder.join("output.jsonl");
    wait_for("the interrupt", || {
        let text = std::fs::read_to_string(&output).unwrap_or_default();
        text.contains("Interrupt received").then_some(())
    });
    started = env.start(["check", "--approve"]);
    started
        .ends()
        .says(&["the state of `tf` is now that of the run that was cut off"]);
    assert_eq!(env.private_folders(), [] as [std::path::PathBuf; 0]);
}

/// Returns the process of the tool whose arguments name a folder.
fn process_of(folder: &str) -> Option<i32> {
    let processes = std::fs::read_dir("/proc").unwrap();
    processes.flatten().find_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        (line.starts_with("terraform") && line.contains(folder)).then_some(pid)
    })
}

#[test]
fn after_a_kill_of_the_tool_the_instance_is_in_doubt_and_every_complete_resource_is_known() {
    requires!("terraform");
    let env = env_that_holds();
    let started = env.start(["deploy", "--approve"]);
    let folder = wait_for("the private folder", || env.private_folders().pop());
    let folder = folder.to_str().unwrap().to_owned();
    wait_for("the second resource", || {
        let made = env.read_if("made").unwrap_or_default();
        (made.lines().count() >= 2).then_some(())
    });
    let pid = wait_for("the tool", || process_of(&folder));
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let run = started.ends();
    assert_ne!(run.code, 0, "{run}");
    run.says(&["terraform apply", "signal 9"]);
    assert_eq!(env.status(), "unknown");
    let made = env.read("made");
    let known = ids(&opened(&env, STATE, "pw"));
    // The first one was complete.
    assert!(
        known.contains(&made.lines().next().unwrap().to_owned()),
        "{known:?}"
    );
    assert_eq!(env.private_folders(), [] as [std::path::PathBuf; 0]);
    std::fs::remove_file(env.work().join("made.hold")).unwrap();
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.status(), "ok");
}

#[test]
fn resources_that_the_state_lacks_are_named_with_the_command_that_imports_them() {
    requires!("terraform");
    let env = env_that_holds();
    let started = env.start(["deploy", "--approve"]);
    let folder = wait_for("the private folder", || env.private_folders().pop());
    wait_for("the first complete resource", || {
        let text = std::fs::read_to_string(folder.join("output.jsonl")).unwrap_or_default();
        text.contains("apply_complete").then_some(())
    });
    // The state is lost together with the tool, as after a failure of the disk.
    let pid = wait_for("the tool", || process_of(folder.to_str().unwrap()));
    kill(Pid::from_raw(pid), Signal::SIGSTOP).unwrap();
    for file in ["terraform.tfstate", "terraform.tfstate.backup"] {
        std::fs::remove_file(folder.join(file)).ok();
    }
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let run = started.ends();
    let first = env.read("made").lines().next().unwrap().to_owned();
    let import = format!("terraform import terraform_data.a {first}");
    run.says(&["the state lacks them", &import]);
}

#[test]
fn after_the_loss_of_the_private_folder_the_journal_names_what_the_state_lacks() {
    requires!("terraform");
    let env = env_that_holds();
    let started = env.start(["deploy", "--approve"]);
    let folder = wait_for("the private folder", || env.private_folders().pop());
    wait_for("the first complete resource", || {
        let journals = files_with(&env.work().join(".unfurl"), "Creation complete");
        let all = files_with(&env.work(), "Creation complete");
        (!journals.is_empty() || !all.is_empty()).then_some(())
    });
    // Everything ends at once, and memory is lost.
    let pid = wait_for("the tool", || process_of(folder.to_str().unwrap()));
    kill(Pid::from_raw(pid), Signal::SIGSTOP).unwrap();
    started.signal(Signal::SIGKILL);
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    started.ends();
    std::fs::remove_dir_all(&folder).unwrap();
    let run = env.unfurl(["check", "--approve"]);
    let first = env.read("made").lines().next().unwrap().to_owned();
    let import = format!("terraform import terraform_data.a {first}");
    let run = run.says(&["these resources of `tf` exist, but no state of it is stored here"]);
    assert!(run.all().contains(&import), "{run}");
    // The record of the operation in doubt says the same.
    assert!(
        !files_with(&env.work().join("jobs"), &import).is_empty(),
        "{run}"
    );
    env.has_nowhere(SECRET);
}

#[test]
fn an_interrupt_ends_the_tool_and_keeps_its_state() {
    requires!("terraform");
    let env = env_that_holds();
    let started = env.start(["deploy", "--approve", "--grace", "0"]);
    wait_for("the first resource", || env.read_if("made"));
    started.signal(Signal::SIGINT);
    let run = started.ends();
    assert_eq!(run.code, 130, "{run}");
    let made = env.read("made");
    env.unfurl(["check", "--approve"]);
    let known = ids(&opened(&env, STATE, "pw"));
    for id in made.lines() {
        assert!(
            known.contains(&id.to_owned()),
            "{id} is not in {known:?}\n{run}"
        );
    }
    assert_eq!(env.private_folders(), [] as [std::path::PathBuf; 0]);
}
