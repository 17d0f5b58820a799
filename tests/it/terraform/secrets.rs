//! Secret variables and outputs are in no file in clear text, except in memory while the tool runs.

use super::TerraformEnv;

const SECRET: &str = "hunter2-canary-77";

const MAIN: &str = r#"variable "pw" {}
resource "terraform_data" "x" {
  input = var.pw
  provisioner "local-exec" { command = "echo ${var.pw} >/dev/null; sleep 0.2" }
}
output "o" { value = nonsensitive(terraform_data.x.id) }
output "secret" {
  value     = var.pw
  sensitive = true
}"#;

fn text(main: &str, variables: &str) -> String {
    let draft = crate::drafts::topology(
        "
        inputs:
          pw: {type: string, metadata: {sensitive: true}}
        node_templates:
          tf:
            type: tosca.nodes.Root
            interfaces:
              defaults:
                implementation: Terraform
                inputs:
                  <variables>
                  main: |
                    <main>
              Install: {operations: {check: }}
              Standard:
                operations:
                  configure:
                    inputs: {resultTemplate: {attributes: {o: '{{ outputs.o }}'}}}
                    outputs: {secret: secret}
                  delete:
        ",
    );
    draft
        .with("main", main)
        .with("variables", variables)
        .build()
}

#[test]
fn a_secret_variable_and_a_sensitive_output_are_nowhere_in_clear_text() {
    requires!("terraform", "git");
    for password in ["vault", ""] {
        let env = TerraformEnv::with_text(&text(MAIN, "tfvars: {pw: {get_input: pw}}"))
            .with_variable("UNFURL_VAULT_DEFAULT_PASSWORD", password);
        env.git(&["init", "-q"]);
        env.git(&["add", "."]);
        env.git(&["commit", "-qm", "model"]);
        let value = ["--var", "input_pw", SECRET];
        for command in [
            &["deploy", "--approve", "--commit"][..],
            &["check"],
            &["deploy", "--approve", "--force", "--commit"],
            &["plan"],
            &["teardown", "--approve", "--commit"],
        ] {
            let run = env.unfurl(command.iter().chain(&value)).succeeds();
            assert!(!run.all().contains(SECRET), "{run}");
            env.has_nowhere(SECRET);
        }
        let status = env.git(&["status", "--porcelain"]);
        assert!(!status.contains("active/secrets"), "{status}");
        assert_eq!(env.private_folders(), [] as [std::path::PathBuf; 0]);
    }
}

#[test]
fn a_secret_in_a_text_of_variables_goes_to_the_private_folder() {
    requires!("terraform");
    let variables = "tfvars: 'pw = \"{{ TOPOLOGY.inputs.pw }}\"'";
    let env = TerraformEnv::with_text(&text(MAIN, variables));
    let run = env.unfurl(["deploy", "--approve", "--var", "input_pw", SECRET]);
    run.succeeds();
    env.has_nowhere(SECRET);
}

#[test]
fn a_failed_run_shows_no_secret_either() {
    requires!("terraform");
    let main = MAIN.replace("sleep 0.2", "echo ${var.pw} >&2; exit 3");
    let env = TerraformEnv::with_text(&text(&main, "tfvars: {pw: {get_input: pw}}"));
    let run = env.unfurl(["deploy", "--approve", "--var", "input_pw", SECRET]);
    assert_ne!(run.code, 0, "{run}");
    assert!(!run.all().contains(SECRET), "{run}");
    env.has_nowhere(SECRET);
    assert_eq!(env.status(), "error");
}

#[test]
fn a_secret_in_the_configuration_is_refused() {
    requires!("terraform");
    let main = "output \"o\" {\n  value = \"{{ TOPOLOGY.inputs.pw }}\"\n}";
    let env = TerraformEnv::with_text(&text(main, "tfvars: {}"));
    let run = env.unfurl(["deploy", "--approve", "--var", "input_pw", SECRET]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["`main` contains a secret", "tfvars"]);
    env.has_nowhere(SECRET);
}

#[test]
fn a_module_in_a_folder_gets_its_secrets_through_a_variable() {
    requires!("terraform");
    let text = text("x", "main: mod\ntfvars: {pw: {get_input: pw}}");
    let text = text.replace("{{ outputs.o }}", "{{ outputs.secret }}");
    let env = TerraformEnv::with_text(&remove_inline(&text));
    env.write("mod/main.tf", MAIN);
    env.unfurl(["deploy", "--approve", "--var", "input_pw", SECRET])
        .succeeds();
    env.has_nowhere(SECRET);
    let call = env.read("active/tasks/tf/main.tmp.tf.json");
    assert!(call.contains("${var.pw}"), "{call}");
}

/// Removes the inline configuration `x` of a draft.
fn remove_inline(text: &str) -> String {
    let kept = text
        .lines()
        .filter(|line| !matches!(line.trim(), "x" | "main: |"));
    let kept: Vec<&str> = kept.collect();
    kept.join("\n") + "\n"
}
