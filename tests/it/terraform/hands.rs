//! The real Unfurl and this program take turns on the same resources.

use std::process::Command;

use super::{TerraformEnv, opened};
use crate::requires::target;

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
