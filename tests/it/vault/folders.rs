//! The folders `secrets` and `.secrets`: on load, on commit, and together with the real Unfurl.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use unfurl::testing::secret::seal;

use crate::requires::target;
use crate::support::TestEnv;

/// A project with an ensemble that writes a secret variable and the content of a secret file.
fn project() -> TestEnv {
    let env = TestEnv::new();
    let init = [
        "init",
        "--mono",
        "p",
        "--var",
        "VAULT_PASSWORD",
        "pass",
        "--var",
        "vaultid",
        "main",
    ];
    env.unfurl(init).succeeds();
    env.write(
        "p/ensemble/ensemble.yaml",
        "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        app:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              operations:
                configure:
                  implementation: printf %s \"$WORD$TOKEN\" > ../../../written
                  inputs: {cwd: .}
                  environment:
                    WORD: {get_env: WORD}
                    TOKEN: {eval: {file: secrets/token}, select: contents}
",
    );
    env.write(
        "p/secrets/secrets.yaml",
        "apiVersion: unfurl/v1alpha1\nkind: Project\nenvironments: {defaults: {variables: {WORD: 'a word, '}}}\n",
    );
    env.write("p/ensemble/secrets/token", "a token\nof two lines\n");
    env
}

/// Clones the project into `c`, with the password of the original.
fn cloned(env: &TestEnv) {
    env.git(&["clone", "-q", "p", "c"]);
    env.write("c/local/unfurl.yaml", &env.read("p/local/unfurl.yaml"));
}

fn in_clone(env: &TestEnv, arguments: &[&str]) -> crate::support::Run {
    env.unfurl_in("c", &[], arguments)
}

#[test]
fn commit_encrypts_changed_files_once_and_never_commits_clear_ones() {
    let env = project();
    let only = env
        .unfurl(["commit", "p", "--save-secrets-only"])
        .succeeds();
    assert_eq!(only.stdout, "Updated 2 secret files.\n");
    env.unfurl(["commit", "p", "--no-edit"])
        .succeeds()
        .prints(&["Committed to 1"]);
    let files = env.git(&["-C", "p", "ls-files"]);
    assert!(files.contains("ensemble/.secrets/token") && files.contains(".secrets/secrets.yaml"));
    assert!(
        !files
            .lines()
            .any(|file| file.split('/').any(|part| part == "secrets")),
        "{files}"
    );
    let sealed = env.read("p/ensemble/.secrets/token");
    assert!(
        sealed.starts_with("$ANSIBLE_VAULT;1.2;AES256;main\n"),
        "{sealed}"
    );
    // The same content, written again, changes nothing.
    env.write("p/ensemble/secrets/token", "a token\nof two lines\n");
    env.unfurl(["commit", "p", "--no-edit"])
        .succeeds()
        .prints(&["Nothing to commit!"]);
    assert_eq!(env.read("p/ensemble/.secrets/token"), sealed);
    env.write("p/ensemble/secrets/token", "new");
    let json = ["commit", "p", "--save-secrets-only", "--output", "json"];
    let saved = env.unfurl(json).succeeds().json();
    assert!(
        saved["secrets"][0]
            .to_string()
            .contains("ensemble/.secrets/token"),
        "{saved}"
    );
    assert_ne!(env.read("p/ensemble/.secrets/token"), sealed);
}

#[test]
fn a_file_that_cannot_be_encrypted_is_an_error_with_its_path() {
    let env = project();
    env.write(
        "p/local/unfurl.yaml",
        "apiVersion: unfurl/v1alpha1\nkind: Project\nensembles: [{file: ensemble/ensemble.yaml}]\n",
    );
    let run = env.unfurl(["commit", "p", "--no-edit"]);
    assert_ne!(run.code, 0, "{run}");
    run.says(&[
        "secrets/secrets.yaml` cannot be encrypted",
        "UNFURL_VAULT_DEFAULT_PASSWORD",
    ]);
    let files = env.git(&["-C", "p", "log", "-1", "--format=%s"]);
    assert_ne!(files, "Commit by Unfurl");
}

#[test]
fn a_clone_with_the_password_works_and_only_jobs_restore_files() {
    let env = project();
    env.unfurl(["commit", "p", "--no-edit"]).succeeds();
    cloned(&env);
    in_clone(&env, &["validate", "."]).succeeds();
    in_clone(&env, &["plan"]).succeeds();
    assert!(!env.work().join("c/secrets").exists());
    let run = in_clone(&env, &["deploy", "--approve"]).succeeds();
    run.says(&["ensemble/secrets/token` is restored from its encrypted copy"]);
    assert_eq!(
        env.read("c/ensemble/secrets/token"),
        "a token\nof two lines\n"
    );
    assert_eq!(
        env.read("c/secrets/secrets.yaml"),
        env.read("p/secrets/secrets.yaml")
    );
    let mode = env
        .work()
        .join("c/ensemble/secrets/token")
        .metadata()
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    // The restored files mean the same, so nothing runs again.
    let again = in_clone(&env, &["deploy", "--approve"]).succeeds();
    assert!(again.stdout.contains("Nothing to do"), "{again}");
    assert_eq!(
        env.git(&[
            "-C",
            "c",
            "status",
            "--short",
            ".secrets",
            "ensemble/.secrets"
        ]),
        ""
    );
}

#[test]
fn a_clone_without_the_password_names_the_copies() {
    let env = project();
    env.unfurl(["commit", "p", "--no-edit"]).succeeds();
    env.git(&["clone", "-q", "p", "c"]);
    env.write(
        "c/local/unfurl.yaml",
        "apiVersion: unfurl/v1alpha1\nkind: Project\nensembles: [{file: ensemble/ensemble.yaml}]\n",
    );
    in_clone(&env, &["validate", "."]).says(&[
        "secrets/secrets.yaml` is left out, because",
        "no password for the vault `main` is known",
        "UNFURL_VAULT_MAIN_PASSWORD",
    ]);
    let run = in_clone(&env, &["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    let said = run.stdout + &run.stderr;
    assert!(
        said.contains("secrets/token` cannot be decrypted"),
        "{said}"
    );
}

#[test]
fn a_job_with_commit_encrypts_the_files_of_its_ensemble() {
    let env = project();
    env.unfurl(["commit", "p", "--no-edit"]).succeeds();
    env.write("p/ensemble/secrets/token", "made before the job");
    env.unfurl_in("p", &[], &["deploy", "--approve", "--commit"])
        .succeeds();
    let sealed = env.git(&["-C", "p", "show", "HEAD:ensemble/.secrets/token"]);
    let old = env.git(&["-C", "p", "show", "HEAD~1:ensemble/.secrets/token"]);
    assert_ne!(sealed, old);
    assert_eq!(
        env.git(&["-C", "p", "status", "--short", "ensemble/.secrets"]),
        ""
    );
}

/// Calls the real Unfurl in a folder of the working folder.
fn real(env: &TestEnv, folder: &str, arguments: &[&str]) -> String {
    let output = Command::new(target().join("unfurl-py/bin/unfurl"))
        .args(["--home", ""])
        .args(arguments)
        .current_dir(env.work().join(folder))
        .env("HOME", env.work().parent().unwrap().join("home"))
        .env("UNFURL_NORUNTIME", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "t")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "t@example.com")))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{arguments:?}: {said}");
    said.into_owned()
}

#[test]
fn the_real_unfurl_restores_our_copies_and_its_copies_are_restored() {
    requires!("target/unfurl-py");
    let env = project();
    env.write("p/secrets/data.json", "{\"a\": [1, \"é\"]}\n");
    env.unfurl(["commit", "p", "--no-edit"]).succeeds();
    cloned(&env);
    // The service template of the tests has keys that Unfurl 1.2 does not know.
    let ensemble = env.read("c/ensemble/ensemble.yaml");
    let end = ensemble.find("      node_templates:").unwrap();
    let empty = format!("{}      node_templates: {{}}\n", &ensemble[..end]);
    env.write("c/ensemble/ensemble.yaml", &empty);
    real(&env, "c", &["plan", "ensemble"]);
    for file in [
        "secrets/data.json",
        "secrets/secrets.yaml",
        "ensemble/secrets/token",
    ] {
        assert_eq!(
            env.read(&format!("c/{file}")),
            env.read(&format!("p/{file}")),
            "{file}"
        );
    }
    // The other way: Unfurl encrypts new files, with the directive of `vault_secrets` as its password.
    env.write("c/secrets/theirs.yaml", "a: 1\nb: [x]\n");
    env.write("c/secrets/word", "theirs");
    real(&env, "c", &["commit", "-m", "theirs", "."]);
    env.git(&["clone", "-q", "c", "d"]);
    env.write("d/local/unfurl.yaml", &env.read("p/local/unfurl.yaml"));
    let run = env.unfurl_in("d", &[], &["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("d/secrets/theirs.yaml"), "a: 1\nb: [x]\n");
    assert_eq!(env.read("d/secrets/word"), "theirs");
    assert!(run.stderr.contains("restored"), "{run}");
}

#[test]
fn a_copy_with_a_password_that_everyone_knows_is_a_warning() {
    let env = project();
    let sealed = seal(b"made by unfurl", "+%", "merge").unwrap();
    std::fs::remove_file(env.work().join("p/ensemble/secrets/token")).unwrap();
    env.write("p/ensemble/.secrets/token", &sealed);
    let run = env.unfurl_in("p", &[], &["deploy", "--approve"]).succeeds();
    run.says(&["encrypted with the password `merge`, which everyone knows"]);
}
