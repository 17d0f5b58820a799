//! Exchange of encrypted texts with the real `ansible-vault`.

use std::path::Path;
use std::process::Command;

use unfurl::testing::secret::seal;

use super::vault;
use crate::drafts::nodes;
use crate::requires::target;
use crate::support::TestEnv;

/// Runs `ansible-vault` in the working folder and returns its output.
fn ansible(env: &TestEnv, arguments: &[&str]) -> String {
    let program = target().join("unfurl-py/bin/ansible-vault");
    let output = Command::new(program)
        .args(arguments)
        .current_dir(env.work())
        .env("HOME", env.work().parent().unwrap().join("home"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// An ensemble that writes a secret property and the content of an encrypted file.
fn ensemble(value: &str, file: &str) -> TestEnv {
    let env = nodes(
        "
        app:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              operations:
                configure:
                  implementation: printf %s \"$VALUE$FILE\" > written
                  environment:
                    VALUE: <value>
                    FILE: \"{{ lookup('file', 'closed') }}\"
        ",
    )
    .with("value", value)
    .env();
    env.write("closed", file);
    env.variable("UNFURL_VAULT_WEB_PASSWORD", "w")
        .variable("UNFURL_VAULT_DEFAULT_PASSWORD", "d")
}

#[test]
fn ansible_opens_texts_of_both_versions_and_its_texts_are_opened() {
    requires!("target/unfurl-py");
    let env = TestEnv::new();
    env.write("d", "d");
    env.write("w", "w");
    for (file, id, password) in [("one", "default", "d"), ("two", "web", "w")] {
        env.write(file, &seal("clear é\n".as_bytes(), id, password).unwrap());
    }
    let ids = ["--vault-id", "default@d", "--vault-id", "web@w"];
    ansible(&env, &[&["decrypt"], &ids[..], &["one", "two"]].concat());
    assert_eq!(
        (env.read("one"), env.read("two")),
        ("clear é\n".into(), "clear é\n".into())
    );

    ansible(&env, &["encrypt", "--vault-id", "default@d", "one"]);
    let arguments = ["encrypt_string", "--vault-id", "web@w", "their value"];
    let value = ansible(&env, &arguments);
    assert!(value.starts_with("!vault |"), "{value}");
    let lines: Vec<&str> = value.lines().map(str::trim).collect();
    let value = lines.join(&format!("\n{}", " ".repeat(24)));
    let theirs = ensemble(&value, &env.read("one"));
    let run = theirs.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(theirs.read("written"), "their valueclear é");
    let all = format!(
        "{}{}{}",
        run.stdout,
        run.stderr,
        theirs.read("ensemble.yaml")
    );
    for secret in ["their value", "clear é"] {
        assert!(!all.contains(secret), "{all}");
    }
}

#[test]
fn an_encrypted_file_that_cannot_be_opened_fails_the_expression_with_the_reason() {
    let env = ensemble("x", &seal(b"y", "other", "o").unwrap());
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    assert!(!Path::new(&env.work()).join("written").exists());
    let said = run.stdout + &run.stderr;
    assert!(
        said.contains("no password for the vault `other` is known"),
        "{said}"
    );
}

#[test]
fn a_tag_for_json_keeps_its_structure() {
    let value = vault("!vault-json", r#"{"a": ["x", "é"]}"#, "web", "w", 24);
    let env = ensemble(&value, "plain");
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(env.read("written").contains("é"), "{}", env.read("written"));
}
