//! Encrypted values in all files of a project.

use super::{PASSWORD, vault};
use crate::drafts::ensemble as ensemble_draft;
use crate::support::TestEnv;

const SECRET: &str = "hunter2hunter";

/// An ensemble whose task writes the length of a secret property.
fn ensemble(value: &str) -> String {
    ensemble_draft(
        "
        node_types:
          app:
            derived_from: tosca.nodes.Root
            properties:
              own: {type: string}
        topology_template:
          inputs:
            word: {type: string}
          node_templates:
            app:
              type: app
              properties:
                own: <value>
              interfaces:
                Standard:
                  operations:
                    configure:
                      implementation: printf %s \"$OWN$INPUT\" > written
                      environment:
                        OWN: {eval: '::app::own'}
                        INPUT: {get_input: word}
        ",
    )
    .with("value", value)
    .build()
}

fn env(value: &str, input: &str) -> TestEnv {
    let text = ensemble(value);
    TestEnv::with_ensemble(
        &text.replace("spec:\n", &format!("spec:\n  inputs:\n    word: {input}\n")),
    )
}

#[test]
fn commands_get_the_clear_value_and_the_ensemble_keeps_the_encrypted_one() {
    let value = vault("!vault", SECRET, "default", "pass", 18);
    let input = vault("!vault", "in put", "default", "pass", 6);
    let env = env(&value, &input).variable(PASSWORD.0, PASSWORD.1);
    let before = env.read("ensemble.yaml");
    let spec = |text: &str| text[..text.find("status:").unwrap_or(text.len())].to_owned();
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("written"), format!("{SECRET}in put"));
    let after = env.read("ensemble.yaml");
    assert!(spec(&after).starts_with(before.trim_end()), "{after}");
    for text in [&run.stdout, &run.stderr, &after] {
        assert!(!text.contains(SECRET), "{text}");
    }
    // The second job sees the same values, so nothing has changed.
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(spec(&env.read("ensemble.yaml")), spec(&after));
}

#[test]
fn a_value_that_cannot_be_opened_is_an_error_with_its_place() {
    let value = vault("!vault", SECRET, "web", "pass", 18);
    let env = env(&value, "x");
    let place = "ensemble.yaml:21:19";
    for command in [&["deploy", "--approve"][..], &["plan"], &["validate", "."]] {
        let run = env.unfurl(command);
        assert_ne!(run.code, 0, "{run}");
        run.says(&[
            "this `!vault` value cannot be decrypted: no password for the vault `web` is known",
            place,
            "set the variable `UNFURL_VAULT_WEB_PASSWORD`",
        ]);
    }
    let wrong = env.variable("UNFURL_VAULT_WEB_PASSWORD", "other");
    wrong
        .unfurl(["deploy", "--approve"])
        .exits(64)
        .says(&["the password of the vault `web` is wrong"]);
    assert!(!wrong.names().contains(&"written".to_owned()));
}

#[test]
fn values_stay_redacted_with_the_variable_of_upstream() {
    let value = vault("!vault", SECRET, "web", "pass", 18);
    let env = env(&value, "x").variable("UNFURL_SKIP_VAULT_DECRYPT", "1");
    env.unfurl(["validate", "."]).succeeds();
    env.unfurl(["plan"]).succeeds();
}

const PROJECT: &str = "apiVersion: unfurl/v1.0.0\nkind: Project\n+?include-local: local/unfurl.yaml\n\
                       ensembles: [{file: ensemble.yaml, environment: prod}]\n";
const LOCAL: &str = "apiVersion: unfurl/v1.0.0\nkind: Project\nenvironments:\n";

/// Passwords come from project files, which can have encrypted values themselves.
#[test]
fn passwords_of_the_project_open_values_of_the_project_and_of_the_ensemble() {
    let value = vault("!vault", SECRET, "web", "pass", 18);
    let env = env(&value, "{get_env: WORD}");
    env.write("unfurl.yaml", PROJECT);
    let second = vault("!vault", "pass", "first", "one", 10);
    let word = vault("!vault", "of the project", "web", "pass", 8);
    env.write(
        "local/unfurl.yaml",
        &format!(
            "{LOCAL}  defaults:\n    variables:\n      WORD: {word}\n    secrets:\n      vault_secrets:\n        \
             +%: merge\n        first: one\n  prod:\n    secrets:\n      vault_secrets:\n        +%: merge\n        \
             web: {second}\n"
        ),
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("written"), format!("{SECRET}of the project"));
    // Another environment has no password for `web`.
    let run = env.unfurl(["plan", "--use-environment", "defaults"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["local/unfurl.yaml:7", "those of `first` do not open it"]);
}

#[test]
fn included_and_encrypted_files_are_opened() {
    let env = env("{get_env: WORD}", "x").variable(PASSWORD.0, PASSWORD.1);
    env.write(
        "unfurl.yaml",
        &PROJECT.replace("local/unfurl.yaml", "closed.yaml"),
    );
    let clear = format!("{LOCAL}  defaults:\n    variables:\n      WORD: {SECRET}\n");
    let closed = unfurl::testing::secret::seal(clear.as_bytes(), "default", "pass").unwrap();
    env.write("closed.yaml", &closed);
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("written"), format!("{SECRET}x"));
    assert!(!(run.stdout + &run.stderr + &env.read("ensemble.yaml")).contains(SECRET));
    // Mistakes in the file are reported without its content.
    let wrong = format!("{clear}  other: {SECRET}\n");
    let closed = unfurl::testing::secret::seal(wrong.as_bytes(), "default", "pass").unwrap();
    env.write("closed.yaml", &closed);
    let run = env.unfurl(["plan"]);
    assert_ne!(run.code, 0, "{run}");
    let run = run.says(&["closed.yaml:7:10", "must be a map"]);
    assert!(!run.stderr.contains(SECRET), "{run}");
}

#[test]
fn an_ensemble_that_is_encrypted_as_a_whole_is_refused() {
    let env = TestEnv::new().variable(PASSWORD.0, PASSWORD.1);
    let text = unfurl::testing::secret::seal(ensemble("x").as_bytes(), "default", "pass").unwrap();
    env.write("ensemble.yaml", &text);
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&["an ensemble cannot be encrypted as a whole"]);
    assert_eq!(env.read("ensemble.yaml"), text);
}

#[test]
fn files_of_values_and_hosts_are_opened() {
    let env = env("x", "y").variable(PASSWORD.0, PASSWORD.1);
    env.write(
        "values.yaml",
        &format!("word: {}\n", vault("!vault", SECRET, "default", "pass", 2)),
    );
    env.unfurl(["deploy", "--approve", "--var-file", "values.yaml"])
        .succeeds();
    assert_eq!(env.read("written"), format!("x{SECRET}"));
    let host = vault("!vault", "localhost", "default", "pass", 8);
    env.write(
        "hosts.yaml",
        &format!("all:\n  hosts:\n    a:\n      ansible_connection: local\n      x: {host}\n"),
    );
    env.unfurl(["run", "-H", "a", "--hosts-file", "hosts.yaml", "--", "true"])
        .succeeds();
    env.write(
        "hosts.yaml",
        &format!(
            "all:\n  hosts:\n    a:\n      x: {}\n",
            vault("!vault", "y", "other", "q", 8)
        ),
    );
    let run = env.unfurl(["run", "-H", "a", "--hosts-file", "hosts.yaml", "--", "true"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&[
        "hosts.yaml:5:9",
        "no password for the vault `other` is known",
    ]);
}
