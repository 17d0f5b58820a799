//! Values and files of age: their place, their readers, their keys, and other programs for age.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{PROJECT, age_project, get, home, identity, recipient, set};
use crate::requires::prepared_folder;
use crate::support::TestEnv;

/// A bare ensemble whose property is a value.
fn ensemble(value: &str) -> String {
    format!(
        "apiVersion: unfurl/v1alpha1\nkind: Ensemble\nspec:\n  inputs:\n    word: {value}\n  service_template:\n    \
         topology_template:\n      inputs:\n        word: {{type: string}}\n        other: {{type: string, required: \
         false}}\n      node_templates: {{}}\n"
    )
}

fn output_of(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{program} {words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_value_at_another_place_or_with_another_line_is_refused_when_it_is_loaded() {
    let env = age_project();
    env.write("ensemble/ensemble.yaml", &ensemble("x"));
    set(
        &env,
        "hunter2",
        &["spec.inputs.word", "--file", "ensemble/ensemble.yaml"],
    )
    .succeeds();
    let text = env.read("ensemble/ensemble.yaml");
    env.unfurl(["validate"]).succeeds();
    let refused = |text: String, reason: &str| {
        env.write("ensemble/ensemble.yaml", &text);
        let run = env.unfurl(["validate"]);
        assert_ne!(run.code, 0, "{run}");
        run.says(&["cannot be decrypted", reason, "ensemble/ensemble.yaml:"]);
    };
    refused(
        text.replace("    word: !age", "    other: !age"),
        "stands at `spec.inputs.other`",
    );
    refused(
        text.replace("readers: tester", "readers: tester, bob"),
        "its digest is another one",
    );
    let body = text.find("ENCRYPTED FILE-----\n").unwrap() + 100;
    let changed = if &text[body..=body] == "A" { "B" } else { "A" };
    refused(
        format!("{}{changed}{}", &text[..body], &text[body + 1..]),
        "its digest is another one",
    );
    let policy = env.read("secret-readers.yaml");
    let id = policy
        .lines()
        .find(|line| line.starts_with("id: "))
        .unwrap();
    env.write("secret-readers.yaml", &policy.replace(id, "id: 01OTHER"));
    refused(text.clone(), "and this is the project 01OTHER");
    fs::remove_file(env.work().join("secret-readers.yaml")).unwrap();
    refused(text, "has no file `secret-readers.yaml`");
}

#[test]
fn who_cannot_read_a_value_learns_its_readers_and_the_way_to_become_one() {
    let env = age_project();
    set(&env, "hunter2", &["db"]).succeeds();
    fs::remove_file(identity(&env)).unwrap();
    let run = env.unfurl(["secret", "get", "db"]).exits(1);
    run.says(&[
        "no age identity was found",
        "UNFURL_AGE_IDENTITIES",
        "unfurl.yaml:",
    ]);
    let run = env
        .unfurl(["secret", "who", "db", "--output", "json"])
        .succeeds();
    assert_eq!(run.json()[0]["readers"], "tester");
    env.unfurl(["secret", "verify"])
        .succeeds()
        .prints(&["checked 1 value"]);
    run_keygen(&env, "ed25519", "");
    let run = env.unfurl(["secret", "get", "db"]).exits(1);
    run.says(&[
        "none of the 1 identities opens it (readers: tester)",
        "rekey --add-reader",
    ]);
}

/// Creates an SSH key in the home folder. Returns its public key.
fn run_keygen(env: &TestEnv, kind: &str, password: &str) -> String {
    let folder = home(env).join(".ssh");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("id_{kind}"));
    output_of(
        "ssh-keygen",
        &[
            "-q",
            "-t",
            kind,
            "-N",
            password,
            "-C",
            "",
            "-f",
            path(&file),
        ],
    );
    fs::read_to_string(file.with_extension("pub"))
        .unwrap()
        .trim()
        .to_owned()
}

#[test]
fn ssh_keys_open_values_with_their_passphrase_and_debian_age_opens_ours() {
    requires!("age", "ssh-keygen");
    let env = age_project();
    let ed25519 = run_keygen(&env, "ed25519", "pass phrase");
    let rsa = run_keygen(&env, "rsa", "");
    for (name, key) in [("ed", &ed25519), ("rsa", &rsa)] {
        let reader = format!("{name}={key}");
        env.unfurl(["secret", "rekey", "--approve", "--add-reader", &reader])
            .succeeds();
    }
    set(&env, "hunter2", &["db"]).succeeds();
    let ssh = home(&env).join(".ssh");
    let open = |variables: &[(&str, &str)]| {
        let variables: Vec<(String, String)> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        env.unfurl_in("", &variables, &["secret", "get", "db"])
    };
    let (key, rsa) = (ssh.join("id_ed25519"), ssh.join("id_rsa"));
    let identities = ("UNFURL_AGE_IDENTITIES", path(&rsa));
    assert_eq!(open(&[identities]).succeeds().stdout, "hunter2\n");
    let identities = ("UNFURL_AGE_IDENTITIES", path(&key));
    let run = open(&[identities]).exits(1);
    run.says(&[
        "needs a passphrase, and there is no terminal",
        "UNFURL_AGE_PASSPHRASE",
    ]);
    let run = open(&[identities, ("UNFURL_AGE_PASSPHRASE", "wrong")]).exits(1);
    run.says(&["the passphrase of the SSH key", "is wrong"]);
    let right = [identities, ("UNFURL_AGE_PASSPHRASE", "pass phrase")];
    assert_eq!(open(&right).succeeds().stdout, "hunter2\n");
    // The armor inside of the value is a file of age.
    let text = env.read("unfurl.yaml");
    let start = text.find("-----BEGIN").unwrap();
    let end = text.find("-----END AGE ENCRYPTED FILE-----").unwrap() + 32;
    let armor: Vec<&str> = text[start..end].lines().map(str::trim).collect();
    let file = env.work().join("value.age");
    fs::write(&file, armor.join("\n") + "\n").unwrap();
    for key in [identity(&env), rsa] {
        let payload = output_of("age", &["-d", "-i", path(&key), path(&file)]);
        let payload: serde_json::Value = serde_json::from_str(&payload).unwrap();
        assert_eq!(payload["value"], "hunter2");
        assert_eq!(payload["name"], "environments.defaults.secrets.db");
    }
}

#[test]
fn whole_files_are_those_of_age_in_both_directions() {
    requires!("age", "tests/python.sh");
    let python = prepared_folder("tests/python.sh")
        .unwrap()
        .join("bin/python3");
    let env = age_project();
    let key = recipient(&env);
    let plain = env.work().join("plain.yaml");
    fs::write(
        &plain,
        "environments:\n  defaults:\n    secrets:\n      db: hunter2\n",
    )
    .unwrap();
    fs::create_dir_all(env.work().join(".secrets")).unwrap();
    let theirs = env.work().join(".secrets/more.yaml");
    output_of(
        "age",
        &["-a", "-r", &key, "-o", path(&theirs), path(&plain)],
    );
    let project = PROJECT.replace("# keep\n", "+include: .secrets/more.yaml\n");
    env.write("unfurl.yaml", &project);
    env.write("ensemble/ensemble.yaml", &ensemble("{eval: {secret: db}}"));
    env.unfurl(["validate"]).succeeds();
    // A rekey writes the file anew.
    let before = fs::read(&theirs).unwrap();
    let bob = env.work().join("bob.txt");
    output_of("age-keygen", &["-o", path(&bob)]);
    let bob_key = output_of("age-keygen", &["-y", path(&bob)]);
    let reader = format!("bob={}", bob_key.trim());
    env.unfurl(["secret", "rekey", "--approve", "--add-reader", &reader])
        .succeeds();
    assert_ne!(fs::read(&theirs).unwrap(), before);
    let clear = fs::read_to_string(&plain).unwrap();
    for identity in [&bob, &identity(&env)] {
        assert_eq!(
            output_of("age", &["-d", "-i", path(identity), path(&theirs)]),
            clear
        );
    }
    let script = "import sys, pyrage\n\
        key = [line for line in open(sys.argv[1]) if line.startswith('AGE-')][0].strip()\n\
        text = pyrage.decrypt(open(sys.argv[2], 'rb').read(), [pyrage.x25519.Identity.from_str(key)])\n\
        sys.stdout.buffer.write(text)\n\
        own = pyrage.x25519.Identity.from_str(key).to_public()\n\
        open(sys.argv[2], 'wb').write(pyrage.encrypt(text, [own], armored=True))\n";
    let said = output_of(
        path(&python),
        &["-c", script, path(&identity(&env)), path(&theirs)],
    );
    assert_eq!(said, clear);
    env.unfurl(["validate"]).succeeds();
    let mut cut = fs::read(&theirs).unwrap();
    cut.truncate(cut.len() / 2);
    fs::write(&theirs, cut).unwrap();
    let run = env.unfurl(["validate"]);
    assert_ne!(run.code, 0);
    run.says(&["this encrypted file cannot be decrypted"]);
    env.unfurl(["secret", "verify"])
        .exits(1)
        .prints(&[".secrets/more.yaml:1:1"]);
}

#[test]
fn an_identity_file_with_a_passphrase_opens_values() {
    requires!("tests/python.sh");
    let python = prepared_folder("tests/python.sh")
        .unwrap()
        .join("bin/python3");
    let env = age_project();
    set(&env, "hunter2", &["db"]).succeeds();
    let locked = env.work().join("locked.age");
    let script = "import sys, pyrage\n\
        text = open(sys.argv[1], 'rb').read()\n\
        open(sys.argv[2], 'wb').write(pyrage.passphrase.encrypt(text, 'pass phrase', armored=True))\n";
    output_of(
        path(&python),
        &["-c", script, path(&identity(&env)), path(&locked)],
    );
    let identities = ("UNFURL_AGE_IDENTITIES".to_owned(), path(&locked).to_owned());
    let words = ["secret", "get", "db"];
    let passphrase = |text: &str| ("UNFURL_AGE_PASSPHRASE".to_owned(), text.to_owned());
    let right = env.unfurl_in("", &[identities.clone(), passphrase("pass phrase")], &words);
    assert_eq!(right.succeeds().stdout, "hunter2\n");
    let wrong = env
        .unfurl_in("", &[identities.clone(), passphrase("x")], &words)
        .exits(1);
    wrong.says(&["the passphrase of the identity file", "is wrong"]);
    let none = env.unfurl_in("", &[identities], &words).exits(1);
    none.says(&["needs a passphrase, and there is no terminal to ask on"]);
}

#[test]
fn a_plugin_that_only_the_project_names_does_not_run() {
    let env = age_project();
    let folder = env.work().join("../bin");
    fs::create_dir(&folder).unwrap();
    let plugin = folder.join("age-plugin-test");
    fs::write(&plugin, "#!/bin/sh\ntouch \"$0.ran\"\nexit 1\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&plugin, mode).unwrap();
    let search = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let env = env.variable("PATH", &search);
    let policy = env.read("secret-readers.yaml") + "  evil: age1test1qqqqqqqqgsf9kn\n";
    env.write("secret-readers.yaml", &policy);
    let run = set(&env, "x", &["db"]).exits(1);
    run.says(&[
        "the plugin `age-plugin-test` is named by",
        "UNFURL_AGE_PLUGINS=test",
    ]);
    assert!(!folder.join("age-plugin-test.ran").exists());
    let env = env.variable("UNFURL_AGE_PLUGINS", "test");
    set(&env, "x", &["db"]).exits(1);
    assert!(folder.join("age-plugin-test.ran").exists());
}

#[test]
fn readable_identity_files_cause_a_warning() {
    let env = age_project();
    set(&env, "hunter2", &["db"]).succeeds();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(identity(&env), mode).unwrap();
    let run = env.unfurl(["secret", "get", "db"]).succeeds();
    run.says(&["other users can read the identity file", "chmod 600"]);
    assert_eq!(get(&env, &["db"]), "hunter2");
}
