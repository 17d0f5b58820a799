//! Checks and drift: the status tells what is left of a configuration, and the differences name resources.

use super::TerraformEnv;

/// A file that the tool's own provider cannot look at stands for a resource of the world: `triggers_replace` reads it.
const MAIN: &str = r#"variable "n" {}
resource "terraform_data" "x" { input = var.n }
resource "terraform_data" "y" { input = "fixed" }
output "o" { value = terraform_data.x.output }"#;

fn env() -> TerraformEnv {
    TerraformEnv::new(MAIN, "tfvars: {n: {get_env: [N, one]}}")
}

#[test]
fn nothing_is_absent_before_the_first_deploy() {
    requires!("terraform");
    let env = env();
    env.unfurl(["check"]);
    assert_eq!(env.status(), "absent");
}

#[test]
fn an_equal_configuration_is_ok_and_a_different_one_degraded() {
    requires!("terraform");
    let env = env();
    env.unfurl(["deploy", "--approve"]).succeeds();
    env.unfurl(["check"]).succeeds();
    assert_eq!(env.status(), "ok");
    let env = env.with_variable("N", "two");
    env.unfurl(["check"]).succeeds();
    assert_eq!(env.status(), "degraded");
    let record = super::files_with(&env.work().join("jobs"), "terraform_data.x: differs");
    assert!(!record.is_empty());
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.status(), "ok");
}

#[test]
fn drift_names_the_resource_and_the_attribute_and_writes_nothing() {
    requires!("terraform");
    let env = env();
    env.unfurl(["deploy", "--approve"]).succeeds();
    let before = env.tracked();
    let run = env.unfurl(["drift"]);
    assert_eq!(run.code, 0, "{run}");
    let env = env.with_variable("N", "two");
    let run = env.unfurl(["drift"]);
    let all = run.all();
    for part in ["terraform_data.x", "input", "\"one\"", "\"two\""] {
        assert!(all.contains(part), "{part} is missing in {run}");
    }
    assert!(!all.contains("terraform_data.y"), "{run}");
    let after = env.tracked();
    let is_kept = |path: &std::path::Path| !path.ends_with("drift.tsv");
    let files = |all: &[(std::path::PathBuf, Vec<u8>)]| -> Vec<_> {
        let kept = all.iter().filter(|(path, _)| is_kept(path));
        kept.cloned().collect()
    };
    assert_eq!(files(&before), files(&after));
    assert_eq!(env.private_folders(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn values_that_the_tool_calls_sensitive_are_masked_in_drift() {
    requires!("terraform");
    let main = r#"variable "n" { sensitive = true }
resource "terraform_data" "x" { input = var.n }
output "o" { value = terraform_data.x.id }"#;
    let env = TerraformEnv::new(main, "tfvars: {n: {get_env: [N, first-hidden]}}");
    env.unfurl(["deploy", "--approve"]).succeeds();
    let env = env.with_variable("N", "second-hidden");
    let run = env.unfurl(["drift"]);
    // The model shows the variable; the differences of the tool do not.
    run.prints(&["terraform_data.x: differs   input: <<REDACTED>>"]);
}
