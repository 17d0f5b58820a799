//! A tool that fails, is missing, too old, silent, hangs, or lies.

use std::os::unix::fs::PermissionsExt as _;

use super::TerraformEnv;

const MAIN: &str = r#"resource "terraform_data" "good" { input = 1 }
resource "terraform_data" "bad" {
  depends_on = [terraform_data.good]
  provisioner "local-exec" { command = "echo out of order >&2; exit 3" }
}
output "o" { value = terraform_data.good.output }"#;

/// An ensemble whose tool is a script.
fn with_tool(script: &str) -> TerraformEnv {
    let env = TerraformEnv::new(MAIN, "command: TOOL");
    let path = env.work().join("tool");
    env.write("tool", &format!("#!/bin/sh\n{script}\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    let text = env.read("ensemble.yaml");
    env.write(
        "ensemble.yaml",
        &text.replace("TOOL", path.to_str().unwrap()),
    );
    env
}

#[test]
fn an_error_is_that_of_its_resource_with_the_tools_words_and_the_line() {
    requires!("terraform");
    let env = TerraformEnv::new(MAIN, "tfvars: {}");
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    let run = run.says(&[
        "terraform_data.bad: local-exec provisioner error",
        "exit status 3",
        "main.unfurl.tmp.tf:4",
        "`terraform apply` (version ",
    ]);
    // What was made is on record, so the next job repairs it.
    assert_eq!(env.status(), "error", "{run}");
    let text = env.read("ensemble.yaml").replace("exit 3", "exit 0");
    env.write("ensemble.yaml", &text);
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.status(), "ok");
}

#[test]
fn an_error_in_the_configuration_changes_nothing() {
    requires!("terraform");
    let env = TerraformEnv::new(
        "resource \"terraform_data\" \"x\" {\n  inputt = 1\n}",
        "tfvars: {}",
    );
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["Unsupported argument", "main.unfurl.tmp.tf:2"]);
    assert_eq!(env.status(), "pending");
    assert_eq!(env.private_folders(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn a_missing_tool_is_named_with_what_to_do() {
    let env = TerraformEnv::new(MAIN, "command: no-such-tool");
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["`no-such-tool`", "was not found on PATH", "install"]);
    assert_eq!(env.status(), "pending");
    let env = TerraformEnv::new(MAIN, "command: /no/such/tool");
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["`/no/such/tool`", "does not exist", "install"]);
    assert_eq!(env.status(), "pending");
}

#[test]
fn a_tool_that_is_too_old_is_named_with_its_version_its_command_and_its_last_lines() {
    let script = "case $1 in init) exit 0;; version) echo 'Terraform v0.12.31'; exit 0;; esac
        echo 'flag provided but not defined: -json' >&2; exit 1";
    let env = with_tool(script);
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&[
        "(version 0.12.31) failed: exit code 1",
        "this version is too old; install Terraform 1.4",
        "flag provided but not defined: -json",
        "the command was:",
        "tool apply -json -input=false -auto-approve",
    ]);
    assert_eq!(env.status(), "unknown");
}

#[test]
fn a_tool_that_says_nothing_has_not_succeeded() {
    let env = with_tool("exit 0");
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&[
        "printed no summary",
        "not known",
        "version unknown, because `version` names neither Terraform nor OpenTofu",
        "the command was:",
    ]);
    assert_eq!(env.status(), "unknown");
}

#[test]
fn a_tool_that_prints_nonsense_is_reported_with_its_last_lines_and_a_masked_command() {
    let script = "case $1 in init) exit 0;; version) echo 'OpenTofu v1.9.0'; exit 0;; esac
        printf '\\377\\376\\n{\"@level\": 7}\\n[1, 2\\nabracadabra\\n'; exit 0";
    let env = with_tool(script);
    let tool = env.work().join("tool").display().to_string();
    let text = env.read("ensemble.yaml");
    let sealed = format!("command: {{eval: {{sensitive: [{tool}, -chdir=., -x=hunter2-word]}}}}");
    env.write(
        "ensemble.yaml",
        &text.replace(&format!("command: {tool}"), &sealed),
    );
    env.write(
        "tool",
        &env.read("tool").replace("case $1", "shift 2\ncase $1"),
    );
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    assert!(!run.all().contains("hunter2-word"), "{run}");
    run.says(&["(version 1.9.0)", "printed no summary", "abracadabra"]);
    assert_eq!(env.status(), "unknown");
    env.has_nowhere("hunter2-nothing");
}

#[test]
fn a_success_with_an_error_inside_is_a_failure() {
    let line = r#"{"@level":"error","@message":"Error: quota","type":"diagnostic","diagnostic":{"severity":"error","summary":"quota","detail":"exceeded"}}"#;
    let env = with_tool(&format!(
        "case $1 in init) exit 0;; esac\necho '{line}'; exit 0"
    ));
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&[
        "reports errors although it ended with exit code 0",
        "quota: exceeded",
    ]);
}

#[test]
fn a_tool_that_dies_by_a_signal_leaves_the_instance_in_doubt() {
    let script = "case $1 in init) exit 0;; version) echo 'Terraform v1.5.7'; exit 0;; esac
        echo 'panic: runtime error' >&2; kill -SEGV $$";
    let env = with_tool(script);
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&[
        "ended by signal 11",
        "(version 1.5.7)",
        "panic: runtime error",
        "tool apply -json",
    ]);
    assert_eq!(env.status(), "unknown");
}

#[test]
fn a_tool_that_hangs_is_ended_after_the_time_limit_of_the_operation() {
    let env = with_tool(
        "case $1 in init) exit 0;; version) echo 'Terraform v1.6.0'; exit 0;; esac
            echo thinking; trap 'exit 1' INT; while :; do sleep 0.1; done",
    );
    let text = env.read("ensemble.yaml");
    let text = text.replace(
        "implementation: Terraform",
        "implementation: {primary: Terraform, timeout: 1}",
    );
    env.write("ensemble.yaml", &text);
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&[
        "longer than its limit of 1 s",
        "(version 1.6.0)",
        "thinking",
        "tool apply -json",
    ]);
}

#[test]
fn a_failed_init_shows_the_error_of_the_tool() {
    requires!("terraform");
    let main = "terraform {\n  required_providers {\n    x = { source = \"example.invalid/none/x\" }\n  }\n}";
    let env = TerraformEnv::new(main, "tfvars: {}");
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&[
        "`terraform init` (version ",
        "failed: exit code 1",
        "example.invalid/none/x",
        "terraform init -input=false",
    ]);
    assert_eq!(env.status(), "pending");
    assert_eq!(env.private_folders(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn without_a_file_system_in_memory_nothing_runs() {
    requires!("terraform");
    let env =
        TerraformEnv::new(MAIN, "tfvars: {}").with_variable("UNFURL_PRIVATE_FOLDER", "/nowhere");
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["/nowhere"]);
    assert_eq!(env.status(), "pending");
}

/// The output of an apply with a provider that refuses a resource.
const PROVIDER_ERROR: &str = r#"{"@level":"info","@message":"Terraform 1.11.4","@module":"terraform.ui","terraform":"1.11.4","type":"version","ui":"1.2"}
{"@level":"info","@message":"aws_s3_bucket.logs: Creating...","@module":"terraform.ui","hook":{"resource":{"addr":"aws_s3_bucket.logs"},"action":"create"},"type":"apply_start"}
{"@level":"info","@message":"aws_s3_bucket.logs: Creation errored after 1s","@module":"terraform.ui","hook":{"resource":{"addr":"aws_s3_bucket.logs"},"action":"create","elapsed_seconds":1},"type":"apply_errored"}
{"@level":"error","@message":"Error: creating S3 Bucket (logs): BucketAlreadyExists","@module":"terraform.ui","diagnostic":{"severity":"error","summary":"creating S3 Bucket (logs): BucketAlreadyExists","detail":"status code 409","address":"aws_s3_bucket.logs","range":{"filename":"main.unfurl.tmp.tf","start":{"line":7,"column":1,"byte":1},"end":{"line":7,"column":2,"byte":2}}},"type":"diagnostic"}"#;

#[test]
fn an_error_of_a_provider_is_that_of_its_resource_by_transcript() {
    let env = with_tool("case $1 in init) exit 0;; esac\ncat transcript; exit 1");
    let path = env.work().join("transcript");
    env.write("transcript", PROVIDER_ERROR);
    let text = env
        .read("tool")
        .replace("cat transcript", &format!("cat {}", path.display()));
    env.write("tool", &text);
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&[
        "aws_s3_bucket.logs: creating S3 Bucket (logs): BucketAlreadyExists: status code 409 (main.unfurl.tmp.tf:7)",
    ]);
    assert_eq!(env.status(), "error");
}

#[test]
fn the_lock_file_is_kept_and_providers_come_from_a_shared_cache_by_transcript() {
    let script = r#"if [ "$1" = init ]; then
  echo "init $TF_PLUGIN_CACHE_DIR $(cat .terraform.lock.hcl 2>/dev/null)" >> "$LOG"
  echo 'provider "x" { version = "1.2.3" }' > .terraform.lock.hcl
  exit 0
fi
echo '{"@level":"info","@message":"x","terraform":"1.11.4","type":"version"}'
echo '{"@level":"info","@message":"x","type":"change_summary","changes":{"add":0,"change":0,"remove":0,"operation":"apply"}}'
echo '{"@level":"info","@message":"x","type":"outputs","outputs":{"o":{"sensitive":false,"value":"x"}}}'"#;
    let env = with_tool(script);
    // The script keeps no state.
    let text = env.read("ensemble.yaml");
    let text = text.replace("main: |", "stateLocation: remote\n                main: |");
    env.write("ensemble.yaml", &text);
    let log = env.work().join("log");
    let env = env.with_variable("LOG", log.to_str().unwrap());
    env.unfurl(["deploy", "--approve"]).succeeds();
    let lock = env.read("active/artifacts/tf/.terraform.lock.hcl");
    assert!(lock.contains("1.2.3"), "{lock}");
    assert!(
        env.read("log").contains(".cache/unfurl/terraform-plugins"),
        "{}",
        env.read("log")
    );
    // Another configuration is initialised with the versions of the lock file.
    let text = env.read("ensemble.yaml").replace("input = 1", "input = 2");
    env.write("ensemble.yaml", &text);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let last = env.read("log").lines().last().unwrap().to_owned();
    assert!(last.contains("1.2.3"), "{last}");
    // The user's own settings of the cache are left alone.
    let home = env.work().with_file_name("home");
    std::fs::write(
        home.join(".terraformrc"),
        "plugin_cache_dir = \"/elsewhere\"\n",
    )
    .unwrap();
    let text = env.read("ensemble.yaml").replace("input = 2", "input = 3");
    env.write("ensemble.yaml", &text);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let last = env.read("log").lines().last().unwrap().to_owned();
    assert!(!last.contains("terraform-plugins"), "{last}");
}
