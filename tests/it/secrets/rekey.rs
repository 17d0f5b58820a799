//! Changes of readers and passwords: all secrets or none, also after a crash.

use std::fs;

use super::{PASSWORD, age_project, get, set, vault_project};
use crate::support::TestEnv;

/// Another reader's key.
const BOB: &str =
    "bob=ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN";

fn rekey(env: &TestEnv, words: &[&str]) -> crate::support::Run {
    env.unfurl([&["secret", "rekey", "--approve"], words].concat())
}

#[test]
fn readers_come_and_go_and_a_removed_one_leaves_a_list_of_values_to_change() {
    let env = age_project();
    set(&env, "one", &["a"]).succeeds();
    set(&env, "two", &["b"]).succeeds();
    rekey(&env, &["--add-reader", BOB])
        .succeeds()
        .prints(&["wrote 2 files; 2 secrets open"]);
    set(&env, "three", &["c"]).succeeds();
    let before = env.files();
    rekey(&env, &[]).succeeds().prints(&["nothing was written"]);
    assert_eq!(env.files(), before);
    let run = rekey(&env, &["--remove-reader", "bob", "--output", "json"]).succeeds();
    let lists: Vec<&str> = run.json()["rotate"]
        .as_array()
        .unwrap()
        .iter()
        .map(|debt| {
            debt["name"]
                .as_str()
                .unwrap()
                .rsplit('.')
                .next()
                .unwrap()
                .to_owned()
                .leak() as &str
        })
        .collect();
    assert_eq!(lists, ["a", "b", "c"]);
    let run = env
        .unfurl(["secret", "who", "a", "--output", "json"])
        .succeeds();
    assert_eq!(run.json()[0]["readers"], "tester");
    env.unfurl(["secret", "verify"])
        .succeeds()
        .prints(&["was readable for `bob` until"]);
    // Only another value ends the debt.
    set(&env, "one", &["a"]).succeeds();
    assert_eq!(
        env.read("secret-readers.yaml")
            .matches("reader: bob")
            .count(),
        3
    );
    set(&env, "new", &["a"]).succeeds();
    assert_eq!(
        env.read("secret-readers.yaml")
            .matches("reader: bob")
            .count(),
        2
    );
    for name in ["b", "c"] {
        set(&env, "new", &[name]).succeeds();
    }
    assert!(!env.read("secret-readers.yaml").contains("rotate"));
}

#[test]
fn nothing_is_written_if_a_value_cannot_be_opened_or_nobody_could_read() {
    let env = age_project();
    set(&env, "one", &["a"]).succeeds();
    set(&env, "two", &["b"]).succeeds();
    let text = env.read("unfurl.yaml");
    let damaged = text.replacen("recipients: ", "recipients: 0", 1);
    env.write("unfurl.yaml", &damaged);
    let before = env.files();
    let run = rekey(&env, &["--add-reader", BOB]).exits(1);
    run.says(&[
        "secrets that cannot be opened: 1",
        "unfurl.yaml:",
        "so nothing was changed",
    ]);
    assert_eq!(env.files(), before);
    env.write("unfurl.yaml", &text);
    rekey(&env, &["--remove-reader", "tester"])
        .exits(1)
        .says(&["the last reader cannot be removed"]);
    let run = rekey(&env, &["--remove-reader", "tester", "--add-reader", BOB]);
    assert_ne!(run.code, 0, "{run}");
    assert_eq!(env.read("unfurl.yaml"), text);
    rekey(&env, &["--remove-reader", "eve"])
        .exits(1)
        .says(&["has no reader `eve`", "tester"]);
    rekey(&env, &["--add-reader", "x"]).exits(2);
    let asked = env
        .unfurl(["secret", "rekey", "--add-reader", BOB])
        .exits(1);
    asked.says(&["repeat the command with `--approve`"]);
    assert_eq!(env.read("unfurl.yaml"), text);
}

/// A project whose vault password stands in `local/unfurl.yaml`, with values in two files and a whole file.
fn stored_password() -> TestEnv {
    let env = TestEnv::new();
    env.unfurl([
        "init",
        "--mono",
        "--var",
        "VAULT_PASSWORD",
        "first",
        "--var",
        "vaultid",
        "own",
    ])
    .succeeds();
    set(&env, "one", &["a"]).succeeds();
    env.write("x.yaml", "k: v\n");
    set(&env, "two", &["k", "--file", "x.yaml"]).succeeds();
    env
}

#[test]
fn a_vault_gets_a_new_password_everywhere() {
    let env = stored_password();
    let env = env.variable("UNFURL_NEW_VAULT_PASSWORD", "second");
    let run = rekey(&env, &["--new-password"]).succeeds();
    run.prints(&["wrote 4 files; 3 secrets open with the new keys"]);
    assert!(env.read("local/unfurl.yaml").contains("second"));
    assert_eq!(
        (get(&env, &["a"]), get(&env, &["k", "--file", "x.yaml"])),
        ("one".into(), "two".into())
    );
    let old = [("UNFURL_VAULT_OWN_PASSWORD".to_owned(), "first".to_owned())];
    env.unfurl_in("", &old, &["secret", "get", "a"])
        .exits(1)
        .says(&["the password of the vault `own` is wrong"]);
    let env = vault_project().variable("UNFURL_NEW_VAULT_PASSWORD", "second");
    set(&env, "one", &["a"]).succeeds();
    rekey(&env, &["--new-password"])
        .succeeds()
        .says(&["set `UNFURL_VAULT_DEFAULT_PASSWORD` to the new one"]);
    let env = env.variable(PASSWORD.0, "second");
    assert_eq!(get(&env, &["a"]), "one");
    rekey(&env, &["--new-password"])
        .exits(1)
        .says(&["the new password is the present one"]);
}

#[cfg(feature = "fault-injection")]
#[test]
fn a_rekey_that_is_killed_at_a_write_leaves_all_values_old_or_all_new() {
    let base = stored_password();
    let calls = base.work().join("../calls");
    let count = format!("count:{}", calls.display());
    let words = ["secret", "rekey", "--approve", "--new-password"];
    let counted = base
        .copied()
        .variable("UNFURL_NEW_VAULT_PASSWORD", "second");
    counted
        .unfurl_with(("UNFURL_TEST_FAULT", &count), &words)
        .succeeds();
    let calls = fs::read_to_string(&calls).unwrap().lines().count();
    assert!(calls > 10, "{calls}");
    let (mut old, mut new) = (0, 0);
    for call in 1..=calls {
        let env = base
            .copied()
            .variable("UNFURL_NEW_VAULT_PASSWORD", "second");
        let fault = format!("kill:{call}");
        env.unfurl_with(("UNFURL_TEST_FAULT", &fault), &words);
        // The next command finishes or discards the change.
        env.unfurl(["secret", "verify"]).succeeds();
        // All values open. Their texts are compared from time to time, because each command derives keys.
        match call % 6 {
            0 => assert_eq!(get(&env, &["a"]), "one", "{fault}"),
            3 => assert_eq!(get(&env, &["k", "--file", "x.yaml"]), "two", "{fault}"),
            _ => {}
        }
        assert!(!env.work().join("local/secret-rekey").exists(), "{fault}");
        if env.read("local/unfurl.yaml").contains("second") {
            new += 1;
        } else {
            assert_eq!(env.read("x.yaml"), base.read("x.yaml"), "{fault}");
            old += 1;
        }
    }
    assert!(old > 0 && new > 0, "{old} {new}");
}

#[cfg(feature = "fault-injection")]
#[test]
fn loading_an_ensemble_finishes_a_rekey_that_was_killed() {
    let env = stored_password().variable("UNFURL_NEW_VAULT_PASSWORD", "second");
    let words = ["secret", "rekey", "--approve", "--new-password"];
    env.unfurl_with(("UNFURL_TEST_FAULT", "kill:rename=x.yaml"), &words);
    assert!(env.work().join("local/secret-rekey/journal.json").exists());
    let run = env.unfurl(["validate"]).succeeds();
    run.says(&["an interrupted `unfurl secret rekey` was finished"]);
    assert!(!env.work().join("local/secret-rekey").exists());
    assert!(env.read("local/unfurl.yaml").contains("second"));
    assert_eq!(get(&env, &["k", "--file", "x.yaml"]), "two");
}
