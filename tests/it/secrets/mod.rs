//! The secrets of projects: the command `secret`, encryption with age, and readers.

mod age;
mod commands;
mod rekey;
mod scenario;

use std::fs;
use std::path::PathBuf;

use crate::support::{Run, TestEnv};

/// The variable with the password of a vault.
const PASSWORD: (&str, &str) = ("UNFURL_VAULT_DEFAULT_PASSWORD", "pass");
const PROJECT: &str = "apiVersion: unfurl/v1alpha1\nkind: Project\n# keep\nenvironments:\n  defaults:\n    variables: {A: 1}\n";

/// A project with a vault password.
fn vault_project() -> TestEnv {
    let env = TestEnv::new().variable(PASSWORD.0, PASSWORD.1);
    env.write("unfurl.yaml", PROJECT);
    env
}

/// A project with age, whose only reader is `tester`.
fn age_project() -> TestEnv {
    let env = TestEnv::new();
    env.unfurl(["init", "--secrets", "age", "--mono"])
        .succeeds();
    env
}

/// The home folder of an environment.
fn home(env: &TestEnv) -> PathBuf {
    env.work().parent().unwrap().join("home")
}

/// The identity file that `init` creates.
fn identity(env: &TestEnv) -> PathBuf {
    home(env).join(".config/unfurl/age-identity.txt")
}

/// The public key of `tester`.
fn recipient(env: &TestEnv) -> String {
    let text = fs::read_to_string(identity(env)).unwrap();
    let line = text.lines().next().unwrap();
    line.trim_start_matches("# public key: ").to_owned()
}

/// Sets a secret through the standard input.
fn set(env: &TestEnv, value: &str, words: &[&str]) -> Run {
    let input = env.work().parent().unwrap().join("tmp/input");
    fs::write(&input, value).unwrap();
    let words = [&["secret", "set"], words].concat();
    env.unfurl_after(&format!("exec < '{}'", input.display()), &words)
}

/// Decrypts a secret.
fn get(env: &TestEnv, words: &[&str]) -> String {
    let words = [&["secret", "get"], words].concat();
    let run = env.unfurl(words).succeeds();
    run.stdout.trim_end_matches('\n').to_owned()
}
