//! `unfurl add`: node templates for Terraform and Ansible, written into an ensemble with comments.

use super::support::{Run, TestEnv};

/// A manifest with comments and a layout of its own.
const ENSEMBLE: &str = "\
# mine
apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
    service_template:   # the model
        topology_template:
            node_templates:
                # before
                first: {type: tosca.nodes.Root}   # beside
                # after
            outputs: {}
";

const MODULE: &str = "\
variable \"region\" {
  type        = string
  description = \"The place\"
}
variable \"size\" {
  default = 3
}
variable \"token\" {
  type      = string
  sensitive = true
}
resource \"terraform_data\" \"disk\" {
  input = \"${var.region}-${var.size}\"
}
output \"disk\" {
  value = terraform_data.disk.output
}
";

fn ensemble() -> TestEnv {
    let env = TestEnv::new();
    env.write("ensemble.yaml", ENSEMBLE);
    env
}

fn module(env: &TestEnv) {
    env.write("tf/main.tf", MODULE);
}

#[track_caller]
fn is_refused(env: &TestEnv, run: Run, code: i32, texts: &[&str]) {
    run.exits(code).says(texts);
    assert_eq!(env.read("ensemble.yaml"), ENSEMBLE);
}

#[test]
fn a_template_is_added_and_every_other_byte_stays() {
    let env = ensemble();
    module(&env);
    let add = [
        "add",
        "terraform",
        "--module",
        "tf",
        "--var",
        "region",
        "eu",
    ];
    let run = env.unfurl(add).succeeds();
    run.prints(&[
        "added `tf` to ensemble.yaml, line 10",
        "unfurl secret set token",
    ]);
    let text = env.read("ensemble.yaml");
    let kept: Vec<_> = text
        .lines()
        .filter(|line| ENSEMBLE.contains(line))
        .collect();
    assert_eq!(kept.join("\n") + "\n", ENSEMBLE);
    let template =
        &env.ensemble()["spec"]["service_template"]["topology_template"]["node_templates"]["tf"];
    let inputs = &template["interfaces"]["defaults"]["inputs"];
    assert_eq!(inputs["main"], "./tf");
    assert_eq!(inputs["tfvars"]["region"], "eu");
    assert_eq!(inputs["tfvars"]["token"]["eval"]["secret"], "token");
    for comment in [
        "# The place",
        "# These keep the defaults of the module: `size`.",
    ] {
        assert!(text.contains(comment), "{text}");
    }
}

#[test]
fn a_dry_run_shows_the_template_and_writes_nothing() {
    let env = ensemble();
    let run = env
        .unfurl(["add", "ansible", "--dryrun", "--output", "json"])
        .succeeds();
    let report = run.json();
    assert_eq!(report["name"], "ansible_example");
    assert_eq!(report["dryrun"], true);
    assert!(
        report["text"]
            .as_str()
            .unwrap()
            .contains("implementation: Ansible"),
        "{report}"
    );
    assert_eq!(env.read("ensemble.yaml"), ENSEMBLE);
}

#[test]
fn names_files_and_variables_are_checked_before_anything_is_written() {
    let env = ensemble();
    module(&env);
    env.write("site.yaml", "a: 1\n");
    let cases: [(&[&str], i32, &str); 8] = [
        (
            &["ansible", "--name", "first"],
            1,
            "the model has a node template `first` already",
        ),
        (
            &["ansible", "--name", "a b"],
            2,
            "cannot be the name of a node template",
        ),
        (
            &["ansible", "--playbook", "site.yaml"],
            1,
            "it is no list of plays",
        ),
        (
            &["ansible", "--playbook", "no.yaml"],
            1,
            "the playbook `no.yaml` does not exist",
        ),
        (
            &["terraform", "--module", "no"],
            1,
            "the folder of the module `no` does not exist",
        ),
        (
            &["terraform", "--module", "tf"],
            2,
            "the module needs a value for `region`",
        ),
        (
            &[
                "terraform",
                "--module",
                "tf",
                "--var",
                "region",
                "eu",
                "--var",
                "token",
                "x",
            ],
            2,
            "must not stand in the ensemble",
        ),
        (
            &["terraform", "--module", "tf", "--var", "place", "eu"],
            2,
            "the module has no variable `place`",
        ),
    ];
    for (arguments, code, message) in cases {
        let arguments = [&["add"], arguments].concat();
        is_refused(&env, env.unfurl(arguments), code, &[message]);
    }
}

#[test]
fn without_an_ensemble_and_in_flow_style_nothing_is_added() {
    let env = TestEnv::new();
    env.unfurl(["add", "terraform"])
        .exits(1)
        .says(&["there is no ensemble"]);
    let flow = "{apiVersion: unfurl/v1.0.0, kind: Ensemble, spec: {service_template: {topology_template: {node_templates: {a: {type: tosca.nodes.Root}}}}}}\n";
    env.write("ensemble.yaml", flow);
    let run = env.unfurl(["add", "terraform"]).exits(1);
    run.says(&["cannot be changed in place", "block style"]);
    assert_eq!(env.read("ensemble.yaml"), flow);
    env.write("ensemble.yaml", "spec: [\n");
    env.unfurl(["add", "terraform"]).exits(64);
    assert_eq!(env.read("ensemble.yaml"), "spec: [\n");
}

#[test]
fn templates_that_were_added_deploy_with_the_real_tools() {
    requires!("terraform", "ansible-playbook");
    let env = ensemble();
    env.write("tf/main.tf", MODULE);
    let add = [
        "add",
        "terraform",
        "--module",
        "tf",
        "--var",
        "region",
        "eu",
    ];
    env.unfurl(add).succeeds();
    env.unfurl(["add", "terraform", "--var", "text", "hi"])
        .succeeds();
    env.unfurl(["add", "ansible"]).succeeds();
    env.write("site.yaml", "- hosts: all\n  gather_facts: no\n  tasks:\n  - copy: {content: '{{ word }}', dest: '{{ folder }}/said'}\n");
    let folder = env.work().display().to_string();
    let playbook = [
        "add",
        "ansible",
        "--playbook",
        "site.yaml",
        "--var",
        "word",
        "hello",
        "--var",
        "folder",
        &folder,
    ];
    env.unfurl(playbook).succeeds();
    // The sensitive variable is a secret of the environment.
    let text = env.read("ensemble.yaml");
    env.write(
        "ensemble.yaml",
        &(text + "environment: {secrets: {token: hunter2}}\n"),
    );
    env.unfurl(["validate"]).succeeds();
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("said"), "hello");
    let instances = &env.ensemble()["status"]["instances"];
    // The outputs of a module in a folder count as secret.
    assert_eq!(instances["tf"]["attributes"]["disk"], "<<REDACTED>>");
    assert_eq!(instances["terraform_example"]["attributes"]["text"], "hi");
    let plan = env.unfurl(["plan"]).succeeds();
    assert!(plan.all().contains("Nothing to do"), "{plan}");
    env.unfurl(["teardown", "--approve"]).succeeds();
    let instances = &env.ensemble()["status"]["instances"];
    assert_eq!(instances["tf"]["readyState"]["local"], "absent");
}

#[cfg(feature = "fault-injection")]
#[test]
fn an_add_that_is_killed_or_fails_at_a_write_leaves_the_manifest_whole() {
    let base = ensemble();
    module(&base);
    let terraform: &[&str] = &[
        "add",
        "terraform",
        "--module",
        "tf",
        "--var",
        "region",
        "eu",
    ];
    for words in [terraform, &["add", "ansible"]] {
        let counted = base.copied();
        let calls = counted.work().join("../calls");
        let count = format!("count:{}", calls.display());
        counted
            .unfurl_with(("UNFURL_TEST_FAULT", &count), words)
            .succeeds();
        let added = counted.read("ensemble.yaml");
        let calls = std::fs::read_to_string(&calls).unwrap().lines().count();
        assert!(calls >= 3, "{calls}");
        for call in 1..=calls {
            for fault in [format!("kill:{call}"), format!("fail-from:ENOSPC:{call}")] {
                let env = base.copied();
                let run = env.unfurl_with(("UNFURL_TEST_FAULT", &fault), words);
                let text = env.read("ensemble.yaml");
                assert!(text == ENSEMBLE || text == added, "{fault}\n{run}\n{text}");
                if run.code == 0 {
                    assert_eq!(text, added, "{fault}\n{run}");
                }
                if text == ENSEMBLE {
                    env.unfurl(words).succeeds();
                    assert_eq!(env.read("ensemble.yaml"), added, "{fault}");
                }
                env.unfurl(["validate"]).succeeds();
                // The next job removes what was being written.
                env.unfurl(["recover", "."]).succeeds();
                let names = std::fs::read_dir(env.work()).unwrap().flatten();
                let left: Vec<_> = names
                    .map(|entry| entry.file_name().to_string_lossy().into_owned())
                    .filter(|name| !["ensemble.yaml", "tf"].contains(&name.as_str()))
                    .collect();
                assert_eq!(left, [""; 0], "{fault}");
            }
        }
    }
}

#[test]
fn the_tasks_of_roles_are_committed_where_git_ignored_them() {
    requires!("git");
    let env = ensemble();
    // Unfurl makes such a file for its projects.
    env.write(".gitignore", "*.log\n**/planned\n**/jobs\n**/tasks");
    env.write("play/site.yml", "- hosts: localhost\n  roles: [web]\n");
    env.write("play/tasks/more.yml", "- ping:\n");
    env.write("play/roles/web/tasks/main.yml", "- ping:\n");
    env.write("active/tasks/first/configure/playbook.yml", "[]\n");
    env.git(&["init", "-q"]);
    let committed = || {
        env.git(&["add", "."]);
        let files = env.git(&["ls-files"]);
        let tasks = files.lines().filter(|file| file.contains("/tasks/"));
        tasks.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(committed(), [""; 0]);
    let add = ["add", "ansible", "--playbook", "play/site.yml"];
    let shown = env.unfurl([&add[..], &["--dryrun"]].concat()).succeeds();
    shown.prints(&["gets `!**/roles/*/tasks` and `!/play/tasks`"]);
    assert!(!env.read(".gitignore").contains("roles"));
    env.unfurl(add).succeeds();
    let text = env.read(".gitignore");
    assert!(
        text.ends_with("**/tasks\n!**/roles/*/tasks\n!/play/tasks\n"),
        "{text}"
    );
    assert_eq!(
        committed(),
        ["play/roles/web/tasks/main.yml", "play/tasks/more.yml"]
    );
    let plan = env.unfurl(["plan"]).succeeds();
    assert!(!plan.all().contains("git ignores"), "{plan}");
    env.git(&["rm", "-q", "-r", "--cached", "play"]);
    env.write(".gitignore", "**/tasks\n");
    env.unfurl(["plan"]).succeeds().says(&[
        "git ignores files that playbooks use, so no commit has them: `play/roles/web/tasks/main.yml`",
    ]);
    // A second template needs no further lines, and new projects need none.
    env.write(".gitignore", &text);
    env.unfurl(["add", "ansible"]).succeeds();
    assert_eq!(env.read(".gitignore"), text);
    env.unfurl(["init", "new"]).succeeds();
    let role = "new/roles/web/tasks/main.yml";
    env.write(role, "- ping:\n");
    env.write("new/active/tasks/first/playbook.yml", "[]\n");
    let within = ["-C", "new", "add", "."];
    env.git(&within);
    let files = env.git(&["-C", "new", "ls-files"]);
    let tasks: Vec<_> = files
        .lines()
        .filter(|file| file.contains("tasks/"))
        .collect();
    assert_eq!(tasks, ["roles/web/tasks/main.yml"]);
}
