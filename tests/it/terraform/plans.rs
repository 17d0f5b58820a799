//! The plan of a check is applied by the next operation of the same job, as it is, and nowhere else.

use std::os::unix::fs::PermissionsExt as _;

use super::{TerraformEnv, files_with};

const MAIN: &str = r#"variable "n" { type = string }
resource "terraform_data" "x" { input = var.n }
output "o" { value = terraform_data.x.id }"#;

const SECRET: &str = "hunter2-canary-plan";

/// Returns the environment with a tool that notes its commands in the file `log`. `$1` is the subcommand in `script`.
fn logged(env: TerraformEnv, script: &str) -> TerraformEnv {
    let tool = env.work().join("tool");
    let log = env.work().join("log");
    let text = format!(
        "#!/bin/sh\necho \"$@\" >> {}\n{script}\nexec terraform \"$@\"\n",
        log.display()
    );
    env.write("tool", &text);
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = env
        .read("ensemble.yaml")
        .replace("TOOL", tool.to_str().unwrap());
    env.write("ensemble.yaml", &text);
    env
}

/// Returns the subcommands that ran, with `PLAN` for those that had the plan as their last word.
fn commands(env: &TerraformEnv) -> Vec<String> {
    let log = env.read("log");
    let name = |line: &str| {
        let first = line.split(' ').next().unwrap_or_default();
        let plan = if line.ends_with("/job.plan") {
            " PLAN"
        } else {
            ""
        };
        format!("{first}{plan}")
    };
    log.lines().map(name).collect()
}

#[test]
fn the_plan_of_the_check_is_applied_and_no_file_has_it() {
    requires!("terraform");
    let inputs = "command: TOOL\ntfvars: {n: {eval: {sensitive: {get_env: CANARY}}}}";
    let env = logged(TerraformEnv::new(MAIN, inputs), "");
    let env = env.with_variable("CANARY", SECRET);
    let run = env.unfurl(["deploy", "--approve", "--check"]).succeeds();
    // Neither a second plan nor a look at resources that do not exist.
    assert_eq!(commands(&env), ["init", "plan", "apply PLAN"]);
    assert!(!run.all().contains(SECRET), "{run}");
    env.has_nowhere(SECRET);
    let plans = files_with(&env.work(), "tfplan");
    assert!(plans.iter().all(|path| path.ends_with("tool")), "{plans:?}");
    assert_eq!(env.private_folders(), [] as [std::path::PathBuf; 0]);
    assert_eq!(env.status(), "ok");
    assert!(env.attribute("o").is_string());
    // A later job makes a plan of its own.
    env.unfurl(["deploy", "--approve", "--force"]).succeeds();
    assert_eq!(commands(&env)[3..], ["apply"]);
    env.unfurl(["teardown", "--approve"]).succeeds();
    assert_eq!(env.status(), "absent");
}

#[test]
fn a_plan_of_other_values_is_not_applied() {
    requires!("terraform");
    let inputs = "command: TOOL\ntfvars: {n: {get_env: [N, of-check]}}";
    let env = TerraformEnv::new(MAIN, inputs);
    let text = env.read("ensemble.yaml").replace(
        "inputs: {resultTemplate:",
        "inputs: {tfvars: {n: of-configure}, resultTemplate:",
    );
    env.write(
        "ensemble.yaml",
        &text.replace("terraform_data.x.id", "terraform_data.x.output"),
    );
    let env = logged(env, "");
    env.unfurl(["deploy", "--approve", "--check"]).succeeds();
    assert_eq!(commands(&env), ["init", "plan", "apply"]);
    assert_eq!(env.attribute("o"), "of-configure");
}

#[test]
fn a_dry_run_leaves_no_plan_to_a_deploy() {
    requires!("terraform");
    let env = logged(
        TerraformEnv::new(MAIN, "command: TOOL\ntfvars: {n: one}"),
        "",
    );
    env.unfurl(["deploy", "--approve", "--check", "--dryrun"])
        .succeeds();
    assert_eq!(commands(&env), ["init", "plan", "plan"]);
    assert_eq!(env.status(), "");
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(commands(&env)[3..], ["apply"]);
    assert_eq!(env.status(), "ok");
}

#[test]
fn a_dry_run_for_real_applies_its_own_plan_and_records_nothing() {
    requires!("terraform");
    let inputs = "command: TOOL\ndryrun_mode: real\ntfvars: {n: one}";
    let env = logged(TerraformEnv::new(MAIN, inputs), "");
    env.unfurl(["deploy", "--approve", "--check", "--dryrun"])
        .succeeds();
    assert_eq!(commands(&env), ["init", "plan", "apply PLAN"]);
    assert_eq!(env.status(), "");
}

#[test]
fn a_stale_plan_is_made_again_and_the_reason_is_shown() {
    requires!("terraform");
    let env = TerraformEnv::new(
        &format!("terraform {{\n  backend \"local\" {{ path = \"BACKEND\" }}\n}}\n{MAIN}"),
        "command: TOOL\nstateLocation: remote\ntfvars: {n: mine}",
    );
    let backend = env.work().join("shared.tfstate");
    let text = env.read("ensemble.yaml");
    env.write(
        "ensemble.yaml",
        &text.replace("BACKEND", backend.to_str().unwrap()),
    );
    // Somebody else applies the same configuration after the plan was made.
    let others = "[ \"$1\" = plan ] && { terraform \"$@\"; code=$?
      terraform apply -input=false -auto-approve -var n=theirs >/dev/null; exit $code; }";
    let env = logged(env, others);
    let run = env.unfurl(["deploy", "--approve", "--check"]).succeeds();
    assert_eq!(commands(&env), ["init", "plan", "apply PLAN", "apply"]);
    run.says(&[
        "the plan of the check was not applied",
        "Saved plan is stale",
    ]);
    assert_eq!(env.status(), "ok");
    assert!(env.read("shared.tfstate").contains("mine"));
}

#[test]
fn values_that_a_plan_does_not_have_are_passed_to_a_new_one() {
    requires!("terraform");
    let main = format!("variable \"t\" {{\n  type      = string\n  ephemeral = true\n}}\n{MAIN}");
    let env = TerraformEnv::new(&main, "command: TOOL\ntfvars: {n: one, t: token}");
    let env = logged(env, "");
    env.unfurl(["deploy", "--approve", "--check"]).succeeds();
    assert_eq!(env.status(), "ok");
    assert_eq!(commands(&env)[..3], ["init", "plan", "apply PLAN"]);
}
