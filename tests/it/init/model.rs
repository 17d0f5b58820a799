//! Skeletons, their variables, environments and shared repositories.

use super::{call, files, git};
use crate::support::TestEnv;

/// An environment with a home project.
fn with_home() -> TestEnv {
    let env = TestEnv::new().without("UNFURL_HOME");
    env.unfurl(["home", "--init"]).succeeds();
    env
}

#[test]
fn every_built_in_skeleton_makes_a_project_that_loads() {
    let env = TestEnv::new();
    for name in [
        "aws",
        "azure",
        "digitalocean",
        "gcp",
        "k8s",
        "dashboard",
        "home",
    ] {
        let folder = format!("{name}-staging");
        env.unfurl(["init", "--mono", "--skeleton", name, name])
            .succeeds();
        let words = [
            "init",
            "--mono",
            "--skeleton",
            name,
            &folder,
            "--use-environment",
            "staging",
        ];
        env.unfurl(words).succeeds();
        for folder in [name, &folder] {
            call(&env, folder, &["validate"]).succeeds();
        }
    }
}

#[test]
fn variables_reach_the_skeleton_and_cannot_break_the_file() {
    let env = TestEnv::new();
    let words = [
        "init",
        "--mono",
        "proj",
        "--var",
        "VAULT_PASSWORD",
        "a\" b: {",
        "--var",
        "vaultid",
        "main",
        "--var",
        "input_text",
        "'a: [b'",
        "--var",
        "input_port",
        "80",
    ];
    env.unfurl(words).succeeds();
    let local: serde_json::Value =
        serde_yaml::from_str(&env.read("proj/local/unfurl.yaml")).unwrap();
    let secrets = &local["environments"]["defaults"]["secrets"]["vault_secrets"];
    assert_eq!(secrets["main"], "a\" b: {");
    let text = env.read("proj/ensemble/ensemble.yaml");
    let ensemble: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    assert_eq!(
        ensemble["spec"]["inputs"],
        serde_json::json!({ "text": "a: [b", "port": 80 })
    );
    let wrong = ["init", "x", "--var", "input_a", "[1"];
    env.unfurl(wrong).exits(1).says(&["`input_a`", "as YAML"]);
    let wrong = ["init", "x", "--var", "vaultid", "a;b"];
    env.unfurl(wrong)
        .exits(2)
        .says(&["cannot be the id of a vault"]);
    assert!(!env.work().join("x").exists());
}

#[test]
fn a_skeleton_in_a_folder_replaces_files_and_reads_nothing_else() {
    let env = TestEnv::new();
    env.write(
        "mine/unfurl.yaml.j2",
        "#jinja2: variable_start_string: '[%', variable_end_string: '%]'\napiVersion: [% api_version %]\nkind: Project\n\
         [% include %]\nenvironments:\n  defaults:\n    variables:\n      GREETING: [% greeting | default('hi') %]\n",
    );
    env.write("mine/service_template.py.j2", "");
    env.unfurl([
        "init",
        "--skeleton",
        "mine",
        "proj",
        "--var",
        "greeting",
        "hello",
    ])
    .succeeds();
    assert!(env.read("proj/unfurl.yaml").contains("GREETING: hello"));
    assert!(!files(&env, "proj").contains(&"service_template.py".to_owned()));
    call(&env, "proj", &["deploy", "--approve"]).succeeds();
    env.write("bad/unfurl.yaml.j2", "kind: Project\na: {{ missing }}\n");
    env.unfurl(["init", "--skeleton", "bad", "x"])
        .exits(1)
        .says(&[
            "unfurl.yaml.j2`:2 cannot be rendered: 'missing' is undefined",
            "--var",
        ]);
    env.write(
        "spy/unfurl.yaml.j2",
        "a: {{ lookup('file', '/etc/passwd') }}\n",
    );
    env.unfurl(["init", "--skeleton", "spy", "x"]).exits(1);
    env.write("none/readme", "");
    env.unfurl(["init", "--skeleton", "none", "x"])
        .exits(1)
        .says(&["has none of the files", "`unfurl.yaml.j2`"]);
    env.unfurl(["init", "--skeleton", "https://127.0.0.1:9/a.git", "x"])
        .exits(1)
        .says(&["127.0.0.1"]);
    assert!(!env.work().join("x").exists());
}

#[test]
fn a_skeleton_in_a_repository_is_used_at_its_revision() {
    let env = crate::packages::world();
    let skeleton = |greeting: &str| {
        format!(
            "apiVersion: [% api_version %]\nkind: Project\n[% include %]\nenvironments:\n  defaults:\n    \
             variables: {{GREETING: {greeting}}}\n"
        )
    };
    let head = "#jinja2: variable_start_string: '[%', variable_end_string: '%]'\n";
    for (greeting, tag) in [("one", "v1.0.0"), ("two", "")] {
        let text = format!("{head}{}", skeleton(greeting));
        crate::packages::publish(&env, "skeletons", &[("team/unfurl.yaml.j2", &text)], tag);
    }
    let url = "https://example.test/skeletons.git";
    for (fragment, folder, greeting) in [("#v1.0.0:team", "a", "one"), ("#:team", "b", "two")] {
        env.unfurl_in(
            ".",
            &[],
            &["init", "--skeleton", &format!("{url}{fragment}"), folder],
        )
        .succeeds();
        assert!(
            env.read(&format!("{folder}/unfurl.yaml"))
                .contains(greeting)
        );
    }
    env.unfurl(["init", "--skeleton", &format!("{url}#:none"), "c"])
        .exits(1)
        .says(&["no folder `none`"]);
    assert!(!env.work().join("c").exists());
}

#[test]
fn a_new_project_is_registered_in_the_home_project_and_trusted() {
    let env = with_home();
    env.unfurl(["init", "proj"])
        .succeeds()
        .prints(&["home project"]);
    let local =
        std::fs::read_to_string(env.work().join("../home/.unfurl_home/local/unfurl.yaml")).unwrap();
    let local: serde_json::Value = serde_yaml::from_str(&local).unwrap();
    let first = git(&env, "proj", &["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!(local["projects"]["proj"]["initial"], first[0]);
    let clones = local["localRepositories"].as_object().unwrap();
    assert!(
        clones.keys().any(|path| path.ends_with("/proj")),
        "{clones:?}"
    );
    let trusted = env
        .unfurl(["trust", "--list", "--output", "json"])
        .succeeds()
        .json();
    let folders: Vec<&str> = trusted
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["folder"].as_str().unwrap())
        .collect();
    assert_eq!(folders.len(), 2, "{folders:?}");
    // A skeleton of unknown origin grants no trust; one in the home project does.
    env.write("mine/secrets.yaml.j2", "kind: Project\n");
    env.unfurl(["init", "--skeleton", "mine", "other"])
        .succeeds();
    std::fs::create_dir_all(env.work().join("../home/.unfurl_home/skeletons")).unwrap();
    std::fs::rename(
        env.work().join("mine"),
        env.work().join("../home/.unfurl_home/skeletons/mine"),
    )
    .unwrap();
    env.unfurl(["init", "--skeleton", "mine", "third"])
        .succeeds();
    let trusted = env.unfurl(["trust", "--list"]).succeeds().stdout;
    assert!(
        !trusted.contains("/other") && trusted.contains("/third"),
        "{trusted}"
    );
}

#[test]
fn ensembles_of_an_environment_are_created_in_its_shared_project() {
    let env = with_home();
    env.unfurl(["init", "--as-shared-home", "staging"])
        .succeeds();
    env.unfurl(["init", "--use-environment", "staging", "web"])
        .succeeds();
    assert!(env.work().join("staging/web/ensemble.yaml").is_file());
    assert!(!env.work().join("web/ensemble").exists());
    assert_eq!(git(&env, "staging", &["status", "--porcelain"]), [""; 0]);
    let shared = env.read("staging/unfurl.yaml");
    for text in [
        "defaultProject: SELF",
        "file: web/ensemble.yaml",
        "managedBy: web",
        "environment: staging",
    ] {
        assert!(shared.contains(text), "{text}\n{shared}");
    }
    call(&env, "staging", &["deploy", "--approve", "web"]).succeeds();
    call(&env, "web", &["deploy", "--approve"]).succeeds();
    env.unfurl(["init", "--shared-repository", "staging", "api"])
        .succeeds();
    assert!(env.work().join("staging/api/ensemble.yaml").is_file());
    env.unfurl(["init", "--shared-repository", "/", "x"])
        .exits(1)
        .says(&["there is no project in the shared repository"]);
}

#[test]
fn an_environment_that_nobody_declares_is_added_to_the_project() {
    let env = TestEnv::new();
    env.unfurl(["init", "--mono", "proj"]).succeeds();
    call(
        &env,
        "proj",
        &["init", "--use-environment", "test", ".", "second"],
    )
    .succeeds();
    assert!(env.read("proj/unfurl.yaml").contains("test:"));
    call(&env, "proj", &["deploy", "--approve", "second"]).succeeds();
}
