//! A project with age from its creation to its clone, and merges of secrets.

use super::{age_project, get, identity, set};
use crate::support::TestEnv;

const TEMPLATE: &str = "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        web:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              operations:
                configure:
                  implementation: Cmd
                  inputs:
                    cmd: test \"$PW\" = hunter2
                  environment:
                    PW: {eval: {secret: db_password}}
";

#[test]
fn a_deployed_project_with_age_is_cloned_and_nothing_runs_again() {
    let env = TestEnv::new();
    let run = env
        .unfurl(["init", "--secrets", "age", "--mono", "one"])
        .succeeds();
    run.prints(&[
        "secret-readers.yaml",
        "keep a copy in a safe place",
        "cannot change hands",
    ]);
    assert!(identity(&env).exists());
    let policy = env.read("one/secret-readers.yaml");
    assert!(policy.contains("\nreaders:\n  tester: age1"), "{policy}");
    env.write("value", "hunter2");
    let in_one = |words: &[&str]| env.unfurl_in("one", &[], words);
    in_one(&["secret", "set", "db_password", "--from", "../value"]).succeeds();
    env.write("one/ensemble-template.yaml", TEMPLATE);
    in_one(&["commit", "-m", "settings"]).succeeds();
    in_one(&["deploy", "--commit", "--approve"]).succeeds();
    env.unfurl(["clone", "one", "two"]).succeeds();
    let run = env
        .unfurl_in("two", &[], &["deploy", "--approve", "--output", "json"])
        .succeeds();
    let tasks = run.json()["tasks"].as_array().cloned().unwrap_or_default();
    let ran = tasks
        .iter()
        .filter(|task| task["status"] != "skipped" && task["changed"] == true);
    assert_eq!(ran.count(), 0, "{run}");
    assert!(!env.read("two/ensemble/ensemble.yaml").contains("hunter2"));
    // Another project of the same user gets the same key, and another id.
    env.unfurl(["init", "--secrets", "age", "three"]).succeeds();
    let key = |text: &str| text[text.find("age1").unwrap()..].trim().to_owned();
    let other = env.read("three/secret-readers.yaml");
    assert_eq!(key(&policy), key(&other));
    assert_ne!(policy.lines().nth(1), other.lines().nth(1));
    assert_eq!(
        key(&env.read("three/ensemble/secret-readers.yaml")),
        key(&policy)
    );
}

#[test]
fn the_home_project_chooses_age_for_new_projects() {
    let env = TestEnv::new();
    env.write(
        "home/unfurl.yaml",
        "apiVersion: unfurl/v1alpha1\nkind: Project\nsecrets: age\n",
    );
    let home = env.work().join("home").display().to_string();
    let env = env.variable("UNFURL_HOME", &home);
    env.unfurl(["init", "--mono", "one"]).succeeds();
    assert!(env.read("one/secret-readers.yaml").contains("readers:"));
    assert!(!env.read("one/local/unfurl.yaml").contains("vault_secrets"));
    env.unfurl(["init", "--mono", "--secrets", "vault", "two"])
        .succeeds();
    assert!(!env.work().join("two/secret-readers.yaml").exists());
    env.write(
        "home/unfurl.yaml",
        "apiVersion: unfurl/v1alpha1\nkind: Project\nsecrets: pgp\n",
    );
    env.unfurl(["init", "three"])
        .exits(1)
        .says(&["`secrets: pgp` is unknown"]);
}

#[test]
fn branches_that_change_different_secrets_merge_without_a_key() {
    let env = age_project();
    for name in ["a", "b", "c"] {
        set(&env, "old", &[name]).succeeds();
    }
    env.write("ensemble/ensemble.yaml", &(CLEAR.to_owned() + "x: {}\n"));
    set(&env, "old", &["x.one", "--file", "ensemble/ensemble.yaml"]).succeeds();
    set(&env, "old", &["x.two", "--file", "ensemble/ensemble.yaml"]).succeeds();
    env.unfurl(["git-setup"]).succeeds();
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "base"]);
    env.git(&["checkout", "-qb", "theirs"]);
    set(&env, "theirs", &["a"]).succeeds();
    set(
        &env,
        "theirs",
        &["x.one", "--file", "ensemble/ensemble.yaml"],
    )
    .succeeds();
    env.git(&["commit", "-qam", "theirs"]);
    env.git(&["checkout", "-q", "-"]);
    set(&env, "ours", &["b"]).succeeds();
    set(&env, "ours", &["x.two", "--file", "ensemble/ensemble.yaml"]).succeeds();
    env.git(&["commit", "-qam", "ours"]);
    let key = identity(&env);
    let aside = key.with_extension("aside");
    std::fs::rename(&key, &aside).unwrap();
    env.git(&["merge", "-q", "theirs"]);
    env.unfurl(["secret", "verify"]).succeeds();
    std::fs::rename(&aside, &key).unwrap();
    let all = ["a", "b", "c"].map(|name| get(&env, &[name]));
    assert_eq!(all, ["theirs", "ours", "old"]);
    let of_ensemble = |name: &str| get(&env, &[name, "--file", "ensemble/ensemble.yaml"]);
    assert_eq!(
        (of_ensemble("x.one"), of_ensemble("x.two")),
        ("theirs".into(), "ours".into())
    );
}

#[test]
fn a_check_without_a_key_finds_damage_and_other_readers() {
    let env = age_project();
    set(&env, "one", &["a"]).succeeds();
    let text = env.read("unfurl.yaml");
    let problem = |text: &str, message: &str| {
        env.write("unfurl.yaml", text);
        let run = env.unfurl(["secret", "verify"]).exits(1);
        run.prints(&["unfurl.yaml:13:15: ", message, "1 problem"]);
    };
    std::fs::remove_file(identity(&env)).unwrap();
    problem(
        &text.replacen("digest: ", "digest: 0", 1),
        "its digest is another one",
    );
    problem(
        &text.replace("      a: !age", "      b: !age"),
        "stands at `environments.defaults.secrets.b`",
    );
    let policy = env.read("secret-readers.yaml");
    env.write("secret-readers.yaml", &policy.replace("tester:", "other:"));
    problem(&text, "is encrypted to tester, and the policy names other");
    env.write("secret-readers.yaml", &policy);
    env.write("unfurl.yaml", &text);
    env.unfurl(["secret", "verify"]).succeeds();
    env.write("x.yaml", "a: !age clear\n");
    env.unfurl(["secret", "verify"]).exits(1).prints(&[
        "x.yaml:1:",
        "is not encrypted",
        "unfurl secret encrypt x.yaml",
    ]);
}

/// An ensemble with sensitive values in clear text.
const CLEAR: &str = "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  inputs:
    pin: old1
  service_template:
    node_types:
      app:
        derived_from: tosca.nodes.Root
        properties:
          token: {type: string, metadata: {sensitive: true}, default: of-type}
          host: {type: string, default: localhost}
    topology_template:
      inputs:
        pin: {type: string, metadata: {sensitive: true}}
      node_templates:
        app:
          type: app
          properties:
            token: old2
";

/// A repository whose last commit has the ensemble.
fn committed_clear_values() -> TestEnv {
    let env = age_project();
    env.write("ensemble/ensemble.yaml", CLEAR);
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "base"]);
    env
}

#[test]
fn a_commit_refuses_new_secrets_in_clear_text_and_keeps_old_ones() {
    let env = committed_clear_values();
    let commit = |words: &[&str]| env.unfurl([&["commit", "-m", "x"], words].concat());
    // The values of the last commit stay as they are.
    env.write("ensemble/ensemble.yaml", &(CLEAR.to_owned() + "# more\n"));
    commit(&[]).succeeds();
    env.write("ensemble/ensemble.yaml", &CLEAR.replace("old2", "hunter2"));
    let run = commit(&[]).exits(1);
    let run = run.says(&[
        "1 secret would be committed in clear text",
        "ensemble/ensemble.yaml:20:20: the property `token` of `app` is sensitive",
        "unfurl secret encrypt",
        "--allow clear-secrets",
    ]);
    assert!(!run.all().contains("hunter2"), "{run}");
    let run = env.unfurl(["deploy", "--commit", "--approve"]);
    assert_eq!(run.code, 1, "{run}");
    run.says(&["would be committed in clear text"]);
    assert!(!env.read("ensemble/ensemble.yaml").contains("lastJob"));
    for name in ["token: hunter2", "pin: old1"] {
        let text = env.read("ensemble/ensemble.yaml");
        env.write(
            "ensemble/ensemble.yaml",
            &text.replace(name, &name.replace(": ", ": !sensitive ")),
        );
    }
    env.unfurl(["secret", "encrypt", "ensemble/ensemble.yaml"])
        .succeeds();
    commit(&[]).succeeds();
    env.write("ensemble/ensemble.yaml", &CLEAR.replace("old1", "hunter2"));
    commit(&[]).exits(1).says(&["the input `pin` is sensitive"]);
    commit(&["--allow", "clear-secrets"]).succeeds();
}

#[test]
fn files_of_secrets_are_encrypted_for_the_readers_and_restored() {
    let env = TestEnv::new();
    env.unfurl(["init", "--secrets", "age", "--mono", "one"])
        .succeeds();
    let in_one = |words: &[&str]| env.unfurl_in("one", &[], words);
    env.write("one/secrets/token.yaml", "hunter2");
    in_one(&["commit", "-m", "token"]).succeeds();
    let sealed = env.read("one/.secrets/token.yaml");
    assert!(sealed.starts_with("-----BEGIN AGE ENCRYPTED FILE-----"));
    in_one(&["commit", "-m", "again"]).succeeds();
    assert_eq!(env.read("one/.secrets/token.yaml"), sealed);
    env.unfurl(["clone", "one", "two"]).succeeds();
    assert!(!env.work().join("two/secrets/token.yaml").exists());
    env.unfurl_in("two", &[], &["deploy", "--approve"])
        .succeeds();
    assert_eq!(env.read("two/secrets/token.yaml"), "hunter2");
}

#[test]
fn a_scan_finds_values_that_the_model_declares_sensitive_and_known_forms() {
    let env = committed_clear_values();
    env.write("notes.txt", "ok\nkey AKIAABCDEFGHIJKLMNOP\n");
    env.write(
        "hosts.yaml",
        "web: {password: hunter2}\nb: {password: '{{ pw }}'}\n",
    );
    env.write("local/more.yaml", "password: hunter2\n");
    let run = env.unfurl(["secret", "scan"]).exits(1);
    let run = run.prints(&[
        "ensemble/ensemble.yaml:5:10: the input `pin` is sensitive",
        "ensemble/ensemble.yaml:20:20: the property `token` of `app` is sensitive",
        "hosts.yaml:1:17: the value of `password` is a password in clear text",
        "notes.txt:2:5: the text has the form of an access key of AWS",
        "4 secrets in clear text",
    ]);
    assert!(!run.all().contains("hunter2"), "{run}");
    let run = env.unfurl(["secret", "scan", "--output", "json"]).exits(1);
    assert_eq!(run.json().as_array().unwrap().len(), 4);
    set(&env, "x", &["db"]).succeeds();
    env.git(&["rm", "-q", "-f", "ensemble/ensemble.yaml"]);
    std::fs::remove_file(env.work().join("notes.txt")).unwrap();
    std::fs::remove_file(env.work().join("hosts.yaml")).unwrap();
    let run = env.unfurl(["secret", "scan"]).succeeds();
    run.prints(&["no secret in clear text was found"]);
}
