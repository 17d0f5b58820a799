//! The real Unfurl and this program take turns on the same resources.

use std::process::Command;

use super::{TerraformEnv, files_with, opened};
use crate::requires::target;
use crate::support::TestEnv;

const STATE: &str = "active/secrets/tf/terraform.tfstate.yaml";

const ENSEMBLE: &str = r#"apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        tf:
          type: tosca.nodes.Root
          interfaces:
            defaults:
              implementation: Terraform
              inputs:
                tfvars: {n: {get_env: [N, "one"]}}
                main: |
                  variable "n" {}
                  resource "terraform_data" "x" { input = var.n }
                  output "o" { value = terraform_data.x.id }
            Standard:
              operations:
                configure:
                  inputs: {resultTemplate: {attributes: {o: "{{ outputs.o }}"}}}
                delete:
"#;

const PROJECT: &str = "apiVersion: unfurl/v1alpha1
kind: Project
ensembles:
- file: ensemble.yaml
environments:
  defaults:
    secrets:
      vault_secrets: {default: pw}
";

/// Runs the real Unfurl in the working folder.
fn real_unfurl(env: &TerraformEnv, arguments: &[&str]) {
    let program = target().join("unfurl-py/bin/python3");
    let words = [&["-m", "unfurl", "--home", "", "-q"], arguments].concat();
    let output = env
        .prepared(Command::new(program), &words)
        .env("UNFURL_NORUNTIME", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}");
}

#[test]
fn the_same_resource_goes_from_unfurl_to_this_program_and_back() {
    requires!("terraform", "target/unfurl-py");
    let env = TerraformEnv::with_text(ENSEMBLE);
    env.write("unfurl.yaml", PROJECT);
    real_unfurl(&env, &["deploy", "--approve", "."]);
    let id = env.attribute("o");
    assert!(id.is_string(), "{id}");
    let env = env.with_variable("N", "two");
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.attribute("o"), id, "the resource was changed in place");
    let ours = opened(&env, STATE, "pw");
    let input = &ours["resources"][0]["instances"][0]["attributes"]["input"]["value"];
    assert_eq!(input, "two");
    // The clear text that Unfurl left beside the state is gone.
    assert_eq!(env.read_if("active/tasks/tf/terraform.tfstate"), None);
    let env = env.with_variable("N", "three");
    real_unfurl(&env, &["deploy", "--approve", "."]);
    assert_eq!(
        env.attribute("o"),
        id,
        "Unfurl went on from the encrypted state"
    );
    env.unfurl(["teardown", "--approve"]).succeeds();
    let destroyed = opened(&env, STATE, "pw");
    assert_eq!(destroyed["lineage"], ours["lineage"]);
    assert_eq!(destroyed["resources"].as_array().unwrap().len(), 0);
}

/// The home folder of an environment's user, with the identity of age.
fn identity(env: &TestEnv) -> std::path::PathBuf {
    let home = env.work().parent().unwrap().join("home");
    home.join(".config/unfurl/age-identity.txt")
}

#[test]
fn a_second_reader_goes_on_from_the_state() {
    requires!("terraform", "git");
    let bob = TestEnv::new();
    bob.unfurl(["init", "--secrets", "age", "--mono"])
        .succeeds();
    let key_of_bob = std::fs::read_to_string(identity(&bob)).unwrap();
    let public = key_of_bob.lines().next().unwrap();
    let reader = public.replace("# public key: ", "bob=");

    let env = TerraformEnv::of(TestEnv::new());
    env.unfurl(["init", "--secrets", "age", "--mono", "."])
        .succeeds();
    env.write("ensemble/ensemble.yaml", ENSEMBLE);
    env.unfurl(["deploy", "--approve", "--commit", "ensemble"])
        .succeeds();
    let path = format!("ensemble/{STATE}");
    let sealed = env.read(&path);
    assert!(
        sealed.starts_with("-----BEGIN AGE ENCRYPTED FILE-----"),
        "{sealed}"
    );
    let own_key = std::fs::read_to_string(identity(&env)).unwrap();

    // Nobody else can read it.
    std::fs::write(identity(&env), &key_of_bob).unwrap();
    let run = env.unfurl(["teardown", "--approve", "ensemble"]);
    assert_ne!(run.code, 0, "{run}");
    assert_eq!(env.read(&path), sealed);

    std::fs::write(identity(&env), &own_key).unwrap();
    let run = env
        .unfurl(["secret", "rekey", "--approve", "--add-reader", &reader])
        .succeeds();
    assert_ne!(
        env.read(&path),
        sealed,
        "the state has its new reader at once: {run}"
    );
    // The second reader has the repository alone. What is restored from it stays encrypted.
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "readers"]);
    env.git(&["clean", "-qfdX", "--", "ensemble"]);
    assert_eq!(env.read_if(&path), None);
    std::fs::write(identity(&env), &key_of_bob).unwrap();
    let env = env.with_variable("N", "two");
    let id = env.read("ensemble/ensemble.yaml");
    env.unfurl(["deploy", "--approve", "ensemble"]).succeeds();
    let id_of = |text: &str| {
        let all: serde_json::Value = serde_yaml::from_str(text).unwrap();
        all["status"]["instances"]["tf"]["attributes"]["o"].clone()
    };
    assert!(id_of(&id).is_string(), "{id}");
    assert_eq!(id_of(&id), id_of(&env.read("ensemble/ensemble.yaml")));
    let lineages = files_with(env.work().parent().unwrap(), "\"lineage\"");
    assert_eq!(lineages, [] as [std::path::PathBuf; 0]);
    // The first reader goes on from what the second one wrote, and removes the second one.
    std::fs::write(identity(&env), &own_key).unwrap();
    env.unfurl(["secret", "rekey", "--approve", "--remove-reader", "bob"])
        .succeeds()
        .says(&["a removed reader may have kept files of `active`"]);
    std::fs::write(identity(&env), &key_of_bob).unwrap();
    let run = env.unfurl(["teardown", "--approve", "ensemble"]);
    assert_ne!(run.code, 0, "{run}");
    std::fs::write(identity(&env), &own_key).unwrap();
    let run = env.unfurl(["teardown", "--approve", "ensemble"]).succeeds();
    run.says(&["terraform_data.x: Destruction complete"]);
}

#[test]
fn a_new_password_of_the_vault_opens_the_state_and_its_committed_copy() {
    requires!("terraform", "git");
    let env =
        TerraformEnv::with_text(ENSEMBLE).with_variable("UNFURL_VAULT_DEFAULT_PASSWORD", "first");
    env.write("unfurl.yaml", &PROJECT.replace("{default: pw}", "{}"));
    env.git(&["init", "-q"]);
    env.git(&["add", "."]);
    env.git(&["commit", "-qm", "model"]);
    env.unfurl(["deploy", "--approve", "--commit"]).succeeds();
    let created = opened(&env, STATE, "first");
    let env = env.with_variable("UNFURL_NEW_VAULT_PASSWORD", "second");
    env.unfurl(["secret", "rekey", "--approve", "--new-password"])
        .succeeds();
    assert_eq!(opened(&env, STATE, "second"), created);
    let env = env.with_variable("UNFURL_VAULT_DEFAULT_PASSWORD", "second");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "password"]);
    env.git(&["clean", "-qfdX"]);
    assert_eq!(env.read_if(STATE), None);
    let run = env.unfurl(["teardown", "--approve"]).succeeds();
    run.says(&["terraform_data.x: Destruction complete"]);
    assert_eq!(opened(&env, STATE, "second")["lineage"], created["lineage"]);
}
