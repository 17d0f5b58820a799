//! The cycle of a configuration: deploy, deploy again, change, check, teardown.

use super::{TerraformEnv, opened};

const MAIN: &str = r#"variable "n" {}
resource "terraform_data" "x" { input = "v-${var.n}" }
output "o" { value = terraform_data.x.output }"#;

fn env() -> TerraformEnv {
    let inputs = "tfvars: {n: {get_env: [N, one]}}";
    TerraformEnv::new(MAIN, inputs).with_variable("UNFURL_VAULT_DEFAULT_PASSWORD", "pw")
}

const STATE: &str = "active/secrets/tf/terraform.tfstate.yaml";

#[test]
fn a_configuration_is_created_kept_changed_and_destroyed() {
    requires!("terraform");
    let env = env();
    env.unfurl(["deploy", "--approve"])
        .succeeds()
        .says(&["terraform_data.x: Creation complete"]);
    assert_eq!(env.attribute("o"), "v-one");
    assert_eq!(env.status(), "ok");
    let created = opened(&env, STATE, "pw");
    assert_eq!(created["resources"].as_array().unwrap().len(), 1);

    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.all().contains("Nothing to do"), "{again}");

    let env = env.with_variable("N", "two");
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.attribute("o"), "v-two");
    let changed = opened(&env, STATE, "pw");
    assert_eq!(changed["lineage"], created["lineage"]);
    let id = |state: &serde_json::Value| {
        state["resources"][0]["instances"][0]["attributes"]["id"].clone()
    };
    assert_eq!(
        id(&changed),
        id(&created),
        "the resource was changed in place"
    );

    env.unfurl(["teardown", "--approve"]).succeeds();
    assert_eq!(env.status(), "absent");
    let destroyed = opened(&env, STATE, "pw");
    assert_eq!(destroyed["resources"].as_array().unwrap().len(), 0);
    assert_eq!(env.private_folders(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn init_runs_again_only_after_a_change_of_the_configuration() {
    requires!("terraform");
    let env = env();
    env.write(
        "tool",
        "#!/bin/sh\necho \"$1\" >> \"$LOG\"\nexec terraform \"$@\"\n",
    );
    std::process::Command::new("chmod")
        .args(["+x", "tool"])
        .current_dir(env.work())
        .status()
        .unwrap();
    let log = env.work().join("log");
    let tool = env.work().join("tool");
    let text = env.read("ensemble.yaml");
    let text = text.replace(
        "tfvars:",
        &format!("command: {}\n                tfvars:", tool.display()),
    );
    env.write("ensemble.yaml", &text);
    let env = env.with_variable("LOG", log.to_str().unwrap());
    let commands = || env.read_if("log").unwrap_or_default();
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(commands(), "init\napply\n");
    let env = env.with_variable("N", "two");
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("log"), "init\napply\napply\n");
    let text = env.read("ensemble.yaml").replace("v-${", "w-${");
    env.write("ensemble.yaml", &text);
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("log"), "init\napply\napply\ninit\napply\n");
    assert_eq!(env.attribute("o"), "w-two");
}

#[test]
fn a_dry_run_plans_and_changes_nothing() {
    requires!("terraform");
    let env = env();
    env.unfurl(["deploy", "--approve", "--dryrun"]).succeeds();
    assert_eq!(env.read_if(STATE), None);
    assert_eq!(env.ensemble().get("status"), None);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let before = env.read(STATE);
    env.unfurl(["teardown", "--approve", "--dryrun"]).succeeds();
    assert_eq!(env.read(STATE), before);
    assert_eq!(env.status(), "ok");
}

#[test]
fn outputs_of_a_dry_run_are_those_that_the_model_says() {
    requires!("terraform");
    let inputs = "tfvars: {n: 1}\ndryrun_outputs: {o: imagined}";
    let env = TerraformEnv::new(MAIN, inputs);
    let run = env
        .unfurl(["deploy", "--approve", "--dryrun", "--output", "json"])
        .succeeds();
    assert_eq!(run.json()["job"]["ok"], 1, "{run}");
    let folder = env.work().join("planned");
    let record = super::files_with(&folder, "o: imagined");
    assert!(!record.is_empty(), "{run}");
}

#[test]
fn without_a_vault_password_the_state_is_encrypted_for_the_clone_and_the_next_job_reads_it() {
    requires!("terraform");
    let env = TerraformEnv::new(MAIN, "tfvars: {n: {get_env: [N, one]}}");
    env.unfurl(["deploy", "--approve"])
        .succeeds()
        .says(&["local/state-identity.txt", "of this clone alone"]);
    assert!(
        env.read(STATE)
            .starts_with("-----BEGIN AGE ENCRYPTED FILE-----")
    );
    let env = env.with_variable("N", "two");
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(!run.stderr.contains("of this clone alone"), "{run}");
    assert_eq!(env.attribute("o"), "v-two");
    // Without its key, nobody can go on, and nothing is changed.
    let key = env.read("local/state-identity.txt");
    std::fs::remove_file(env.work().join("local/state-identity.txt")).unwrap();
    let before = env.read(STATE);
    let run = env.unfurl(["teardown", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["cannot be decrypted", "local/state-identity.txt"]);
    assert_eq!(env.read(STATE), before);
    assert_eq!(env.private_folders(), [] as [std::path::PathBuf; 0]);
    env.write("local/state-identity.txt", &key);
    env.unfurl(["teardown", "--approve"]).succeeds();
}

#[test]
fn a_missing_state_of_something_that_exists_is_refused() {
    requires!("terraform");
    let env = env();
    env.unfurl(["deploy", "--approve"]).succeeds();
    std::fs::remove_file(env.work().join(STATE)).unwrap();
    for command in ["teardown", "check"] {
        let run = env.unfurl([command, "--approve"]);
        assert_ne!(run.code, 0, "{run}");
        run.says(&["terraform.tfstate.yaml` is missing", "restore"]);
    }
    // The way out of the message.
    env.write(STATE, "{\"version\": 4}");
    env.unfurl(["teardown", "--approve"]).succeeds();
}

#[test]
fn a_configuration_without_resources_needs_no_state() {
    requires!("terraform");
    let env = TerraformEnv::new("output \"o\" { value = \"hello\" }\n", "tfvars: {}");
    env.unfurl(["deploy", "--approve"]).succeeds();
    std::fs::remove_file(env.work().join(STATE)).unwrap();
    env.unfurl(["check"]).succeeds();
    env.unfurl(["teardown", "--approve"]).succeeds();
    assert_eq!(env.status(), "absent");
}

#[test]
fn a_clone_goes_on_from_the_committed_state() {
    requires!("terraform", "git");
    let env = env();
    env.git(&["init", "-q"]);
    env.git(&["add", "."]);
    env.git(&["commit", "-qm", "model"]);
    env.unfurl(["deploy", "--approve", "--commit"]).succeeds();
    let files = env.git(&["ls-files"]);
    assert!(
        files.contains("active/.secrets/tf/terraform.tfstate.yaml"),
        "{files}"
    );
    assert!(!files.contains("active/secrets"), "{files}");
    let created = opened(&env, STATE, "pw");
    // All that git ignores is gone, as in a clone.
    env.git(&["clean", "-qfdX"]);
    assert_eq!(env.read_if(STATE), None);
    // A look reads the committed copy, and restores nothing.
    env.unfurl(["drift"]).succeeds().prints(&["No drift"]);
    env.unfurl(["teardown", "--approve", "--dryrun"]).succeeds();
    assert_eq!(env.read_if(STATE), None);
    env.unfurl(["teardown", "--approve"]).succeeds();
    let destroyed = opened(&env, STATE, "pw");
    assert_eq!(destroyed["lineage"], created["lineage"]);
    assert_eq!(destroyed["resources"].as_array().unwrap().len(), 0);
}

#[test]
fn the_state_in_artifacts_hides_secret_values_only() {
    requires!("terraform");
    let main = r#"resource "terraform_data" "x" { input = "open" }
output "o" { value = terraform_data.x.output }
output "s" {
  value     = "hunter2-artifact"
  sensitive = true
}"#;
    let env = TerraformEnv::new(main, "stateLocation: artifacts")
        .with_variable("UNFURL_VAULT_DEFAULT_PASSWORD", "pw");
    env.unfurl(["deploy", "--approve"]).succeeds();
    let text = env.read("active/artifacts/tf/terraform.tfstate.yaml");
    assert!(
        text.contains("value: open") && text.contains("!vault"),
        "{text}"
    );
    assert!(!text.contains("hunter2-artifact"), "{text}");
    let check = env.unfurl(["check"]).succeeds();
    assert!(check.all().contains("1 ok"), "{check}");
    env.unfurl(["teardown", "--approve"]).succeeds();
}

#[test]
fn many_instances_run_at_the_same_time() {
    requires!("terraform");
    let node = |name: &str| {
        format!(
            "
            {name}:
              type: tosca.nodes.Root
              interfaces:
                defaults:
                  implementation: Terraform
                  inputs:
                    main: |
                      resource \"terraform_data\" \"x\" {{ input = \"{name}\" }}
                Standard: {{operations: {{configure: , delete: }}}}
            "
        )
    };
    let all: String = ["a", "b", "c", "d"].map(node).concat();
    let env = TerraformEnv::with_text(&crate::drafts::nodes(&all).build());
    let run = env.unfurl(["deploy", "--approve", "--parallel", "4", "--output", "json"]);
    assert_eq!(run.succeeds().json()["job"]["ok"], 4);
    let run = env.unfurl([
        "teardown",
        "--approve",
        "--parallel",
        "4",
        "--output",
        "json",
    ]);
    assert_eq!(run.succeeds().json()["job"]["ok"], 4);
}
