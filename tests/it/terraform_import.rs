//! `unfurl import terraform`: resources that the real Terraform has deployed become instances.

use std::process::Command;

use super::support::TestEnv;

const MODULE: &str = "\
variable \"region\" {
  type = string
}
variable \"token\" {
  type      = string
  sensitive = true
}
resource \"terraform_data\" \"web\" {
  count = 2
  input = \"${var.region}-${count.index}\"
}
resource \"terraform_data\" \"secret\" {
  input      = var.token
  depends_on = [terraform_data.web]
}
module \"net\" {
  source   = \"./net\"
  for_each = toset([\"a.b\", \"c\"])
  name     = each.key
}
output \"first\" {
  value = terraform_data.web[0].output
}
output \"token\" {
  value     = terraform_data.secret.output
  sensitive = true
}
";

const NET: &str = "\
variable \"name\" {}
resource \"terraform_data\" \"cable\" {
  input = var.name
}
";

const ENSEMBLE: &str = "\
apiVersion: unfurl/v1.0.0
kind: Ensemble
environment:
  secrets: {token: hunter2}
spec:
  service_template:
    topology_template:
      node_templates: {}
";

const PROJECT: &str = "\
apiVersion: unfurl/v1.0.0
kind: Project
ensembles:
- file: ensemble/ensemble.yaml
";

/// An environment whose folder `tf` was applied by Terraform, and an ensemble in `ensemble`.
fn applied() -> TestEnv {
    let env = TestEnv::new();
    env.write("unfurl.yaml", PROJECT);
    env.write("ensemble/ensemble.yaml", ENSEMBLE);
    env.write("tf/main.tf", MODULE);
    env.write("tf/net/main.tf", NET);
    env.write(
        "tf/terraform.tfvars",
        "region = \"eu\"\ntoken = \"hunter2\"\n",
    );
    terraform(&env, &["init", "-input=false"]);
    terraform(&env, &["apply", "-input=false", "-auto-approve"]);
    env
}

#[track_caller]
fn terraform(env: &TestEnv, arguments: &[&str]) -> String {
    let output = Command::new("terraform")
        .args(arguments)
        .current_dir(env.work().join("tf"))
        .env("HOME", env.work())
        .env("CHECKPOINT_DISABLE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn ensemble(env: &TestEnv) -> serde_json::Value {
    serde_yaml::from_str(&env.read("ensemble/ensemble.yaml")).unwrap()
}

#[track_caller]
fn has_nothing_to_do(env: &TestEnv) {
    let plan = env.unfurl(["plan", "ensemble"]).succeeds();
    assert!(plan.all().contains("Nothing to do"), "{plan}");
}

#[test]
fn imported_resources_need_no_deploy_and_are_torn_down() {
    requires!("terraform");
    let env = applied();
    let original = env.read("tf/terraform.tfstate");
    let run = env.unfurl(["import", "terraform", "tf", "ensemble", "--output", "json"]);
    let report = run.succeeds().json();
    assert_eq!(report["resources"], 5);
    let names: Vec<_> = report["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].clone())
        .collect();
    assert_eq!(names, ["tf_net_a_b", "tf_net_c"]);
    assert_eq!(env.read("tf/terraform.tfstate"), original);
    has_nothing_to_do(&env);
    let instances = &ensemble(&env)["status"]["instances"];
    assert_eq!(instances["tf"]["readyState"]["local"], "ok");
    assert_eq!(instances["tf"]["attributes"]["first"], "eu-0");
    // Terraform agrees: no resource is changed.
    let check = env.unfurl(["check", "ensemble", "--approve"]).succeeds();
    assert!(!check.all().contains("degraded"), "{check}");
    has_nothing_to_do(&env);
    for (path, bytes) in env.tracked() {
        let is_known = path.ends_with("ensemble.yaml") || path.starts_with(env.work().join("tf"));
        assert!(
            is_known || !String::from_utf8_lossy(&bytes).contains("hunter2"),
            "{}",
            path.display()
        );
    }
    env.unfurl(["teardown", "ensemble", "--approve"]).succeeds();
    let instances = &ensemble(&env)["status"]["instances"];
    assert_eq!(instances["tf"]["readyState"]["local"], "absent");
}

#[test]
fn each_resource_gets_an_instance_on_request() {
    requires!("terraform");
    let env = applied();
    env.unfurl([
        "import",
        "terraform",
        "tf",
        "ensemble",
        "--per",
        "resource",
        "--name",
        "site",
    ])
    .succeeds();
    has_nothing_to_do(&env);
    let site = &ensemble(&env)["status"]["instances"]["site"];
    let names: Vec<_> = site["instances"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(
        names,
        [
            "site_net_a_b",
            "site_net_c",
            "site_terraform_data_secret",
            "site_terraform_data_web_0",
            "site_terraform_data_web_1"
        ]
    );
    assert!(
        site["instances"]["site_net_c"]["instances"]["site_net_c_terraform_data_cable"].is_object(),
        "{site}"
    );
}

#[test]
fn the_state_of_a_backend_is_pulled() {
    requires!("terraform");
    let env = applied();
    let backend = "terraform {\n  backend \"local\" {\n    path = \"elsewhere.tfstate\"\n  }\n}\n";
    env.write("tf/backend.tf", backend);
    terraform(
        &env,
        &["init", "-input=false", "-migrate-state", "-force-copy"],
    );
    let run = env
        .unfurl(["import", "terraform", "tf", "ensemble"])
        .succeeds();
    run.prints(&[
        "imported `tf` with 5 resources",
        "the backend `local` of the module is not used any more",
    ]);
    has_nothing_to_do(&env);
}

#[test]
fn folders_that_cannot_be_imported_are_refused_and_nothing_is_written() {
    let env = TestEnv::new();
    env.write("unfurl.yaml", PROJECT);
    env.write("ensemble/ensemble.yaml", ENSEMBLE);
    env.write(
        "tf/main.tf",
        "variable \"size\" {}\nresource \"terraform_data\" \"x\" {}\n",
    );
    let import =
        |more: &[&str]| env.unfurl([&["import", "terraform", "tf", "ensemble"], more].concat());
    let state = |text: &str| env.write("tf/terraform.tfstate", text);
    import(&[]).exits(1).says(&["has no state"]);
    state("{\"version\": 3}");
    import(&[])
        .exits(1)
        .says(&["it has version 3", "terraform apply -refresh-only"]);
    state(
        "{\"version\": 4, \"serial\": 1, \"lineage\": \"l\", \"outputs\": {}, \"resources\": []}",
    );
    import(&[]).exits(1).says(&["has no resources"]);
    state(
        "{\"version\": 4, \"serial\": 1, \"lineage\": \"l\", \"outputs\": {}, \"resources\": [{\"mode\": \"managed\", \
         \"type\": \"terraform_data\", \"name\": \"x\", \"instances\": [{\"attributes\": {\"id\": \"i\"}}]}]}",
    );
    import(&[])
        .exits(2)
        .says(&["the module needs a value for `size`"]);
    env.write("tf/terraform.tfvars", "size = var.x\n");
    import(&[])
        .exits(1)
        .says(&["line 1: a value is not a literal"]);
    env.write("tf/terraform.tfvars", "size = 1\n");
    env.write("tf/.terraform.tfstate.lock.info", "{}");
    import(&[]).exits(1).says(&["is locked"]);
    std::fs::remove_file(env.work().join("tf/.terraform.tfstate.lock.info")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::copy(
        env.work().join("tf/main.tf"),
        elsewhere.path().join("main.tf"),
    )
    .unwrap();
    let outside = elsewhere.path().display().to_string();
    let run = env
        .unfurl(["import", "terraform", &outside, "ensemble"])
        .exits(1);
    run.says(&["lies outside of the project", "move it into the project"]);
    import(&["--dryrun"]).succeeds().prints(&["main: ../tf"]);
    let folder = env.work().join("ensemble");
    let written = env
        .tracked()
        .into_iter()
        .filter(|(path, _)| path.starts_with(&folder));
    assert_eq!(written.count(), 1);
    assert_eq!(env.read("ensemble/ensemble.yaml"), ENSEMBLE);
}

/// The files of a folder with their contents.
#[cfg(feature = "fault-injection")]
fn files_of(folder: &std::path::Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let file = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, std::fs::read(entry.path()).unwrap())
    };
    files.map(file).collect()
}

#[cfg(feature = "fault-injection")]
const IMPORT: [&str; 4] = ["import", "terraform", "tf", "ensemble"];

/// Returns the number of file changes and program starts of a command.
#[cfg(feature = "fault-injection")]
fn calls_of(env: &TestEnv, words: &[&str]) -> usize {
    let calls = env.work().join("../calls");
    let count = format!("count:{}", calls.display());
    env.unfurl_with(("UNFURL_TEST_FAULT", &count), words)
        .succeeds();
    std::fs::read_to_string(&calls).unwrap().lines().count()
}

/// Returns the numbers of calls to disturb: all of them in full loops, else some.
#[cfg(feature = "fault-injection")]
fn places(calls: usize, some: usize) -> impl Iterator<Item = usize> {
    let step = if crate::support::is_full() {
        1
    } else {
        (calls / some).max(1)
    };
    (1..=calls).step_by(step)
}

#[cfg(feature = "fault-injection")]
#[test]
fn an_import_that_is_killed_at_a_write_is_repeated_and_nothing_is_created_twice() {
    requires!("terraform");
    let base = applied();
    let original = files_of(&base.work().join("tf"));
    let calls = calls_of(&base.copied(), &IMPORT);
    for call in places(calls, 12) {
        let env = base.copied();
        let fault = format!("kill:{call}");
        env.unfurl_with(("UNFURL_TEST_FAULT", &fault), &IMPORT);
        env.unfurl(["validate", "ensemble"]).succeeds();
        let run = env.unfurl(IMPORT).succeeds();
        assert_eq!(files_of(&env.work().join("tf")), original, "{fault}");
        has_nothing_to_do(&env);
        let instances = &ensemble(&env)["status"]["instances"];
        assert_eq!(
            instances["tf"]["readyState"]["local"], "ok",
            "{fault}\n{run}"
        );
        let text = env.read("ensemble/ensemble.yaml");
        assert_eq!(text.matches("\n        tf:").count(), 1, "{fault}\n{text}");
        let check = env.unfurl(["check", "ensemble", "--approve"]).succeeds();
        assert!(!check.all().contains("degraded"), "{fault}\n{check}");
    }
}

#[cfg(feature = "fault-injection")]
#[test]
fn an_import_on_a_full_disk_is_taken_back() {
    requires!("terraform");
    let base = applied();
    let original = files_of(&base.work().join("tf"));
    let calls = calls_of(&base.copied(), &IMPORT);
    for call in places(calls, 12) {
        let env = base.copied();
        let fault = format!("fail-from:ENOSPC:{call}");
        let run = env
            .unfurl_with(("UNFURL_TEST_FAULT", &fault), &IMPORT)
            .does_not_panic();
        assert_eq!(files_of(&env.work().join("tf")), original, "{fault}");
        if run.code != 0 {
            run.says(&["no space left on device"]);
            env.unfurl(IMPORT).succeeds();
        }
        has_nothing_to_do(&env);
    }
}
