//! Drift made by hand in the examples `webapp` and `states`: found, shown, ignored, repaired.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{drift, finding, findings, make_repository, tree};
use crate::hosts::sshd::free_port;
use crate::support::{TestEnv, wait_until_gone};

/// The example `states`, deployed and committed.
fn states() -> TestEnv {
    let env = TestEnv::with_example("states");
    make_repository(&env);
    env.unfurl(["deploy", "--approve", "--commit"]).succeeds();
    env
}

/// The example `webapp`, deployed on free ports. The processes end with it.
struct WebApp(TestEnv);

impl WebApp {
    fn deployed() -> Self {
        let env = TestEnv::with_example("webapp");
        make_repository(&env);
        let app = Self(env);
        let [first, second] = [free_port().to_string(), free_port().to_string()];
        let words = ["deploy", "--approve", "--commit", "--save-inputs"];
        let ports = [
            "--var",
            "input_app_port",
            &first,
            "--var",
            "input_site_port",
            &second,
        ];
        app.0.unfurl(words.iter().chain(&ports)).succeeds();
        app
    }

    fn kill_site(&self) {
        let pid: u32 = self.0.read("run/site/pid").trim().parse().unwrap();
        kill(Pid::from_raw(pid.try_into().unwrap()), Signal::SIGKILL).unwrap();
        wait_until_gone(&[pid]);
    }
}

impl Drop for WebApp {
    fn drop(&mut self) {
        self.0.unfurl(["teardown", "--approve"]);
    }
}

const PAGE: &str = "page (file.managed)";

#[test]
fn an_edited_file_is_a_difference_with_lines_and_a_look_changes_nothing_but_its_record() {
    let env = states();
    let before = tree(&env.work(), &["drift.tsv"]);
    assert_eq!(drift(&env, &[]).0, 0);
    // The lock file and the record come and go in the folder itself.
    let folder = env.work().display().to_string();
    let without_folder = |mut tree: std::collections::BTreeMap<String, String>| {
        tree.remove(&folder);
        tree
    };
    let after = tree(&env.work(), &["drift.tsv"]);
    assert_eq!(without_folder(after), without_folder(before));
    fs::write(env.work().join("site/index.html"), "<h1>Oops\n").unwrap();
    let before = tree(&env.work(), &["drift.tsv"]);
    let (code, document) = drift(&env, &[]);
    assert_eq!(tree(&env.work(), &["drift.tsv"]), before);
    assert_eq!(code, 3, "{document:#}");
    assert_eq!(findings(&document), [format!("outside site {PAGE}: - → -")]);
    let page = finding(&document, PAGE);
    let expected = "@@ -1 +1,3 @@\n-<h1>Oops\n+<!DOCTYPE html>\n+<title>Hello</title>\n+<h1>Hello from Linux</h1>";
    assert_eq!(page["lines"], expected);
    assert_eq!(page["last_set"]["person"], "tester");
    let commit = env.git(&["rev-parse", "HEAD"]);
    let set_by = page["last_set"]["commit"].as_str().unwrap();
    assert!(commit.starts_with(set_by), "{commit} {set_by}");
    assert_eq!(env.git(&["status", "--short", "drift.tsv"]), "");
}

#[test]
fn a_changed_mode_and_a_deleted_file_are_drift_from_outside() {
    let env = states();
    let page = env.work().join("site/index.html");
    fs::set_permissions(&page, fs::Permissions::from_mode(0o600)).unwrap();
    let (code, document) = drift(&env, &[]);
    assert_eq!(code, 3);
    let expected = format!("outside site {PAGE}: mode: 0644 → -");
    assert_eq!(findings(&document), [expected]);
    fs::remove_file(&page).unwrap();
    let (code, document) = drift(&env, &[]);
    assert_eq!(code, 3);
    let expected = format!("outside site {PAGE}: file → missing");
    assert_eq!(findings(&document), [expected]);
    fs::remove_dir_all(env.work().join("site")).unwrap();
    let (_, document) = drift(&env, &[]);
    let folder = finding(&document, "folder (file.directory)");
    assert_eq!(folder["to"], "missing");
}

#[test]
fn drift_of_states_is_ignored_by_rule_then_repaired_and_gone_from_the_next_answer() {
    let env = states();
    fs::write(env.work().join("site/index.html"), "<h1>Oops\n").unwrap();
    drift(&env, &[]);
    let accept = [
        "drift", "accept", "-i", "site", "--until", "30d", "--reason", "a test",
    ];
    env.unfurl(accept).succeeds();
    let (code, document) = drift(&env, &[]);
    assert_eq!(code, 0, "{document:#}");
    // The value is still looked at.
    let page = finding(&document, PAGE);
    assert!(page["ignored_by"].as_str().unwrap().contains("a test"));
    assert_eq!(page["kind"], "outside");
    // The rule is about this difference, not about another one.
    fs::write(env.work().join("site/index.html"), "<h1>Other\n").unwrap();
    assert_eq!(drift(&env, &[]).0, 3);
    let repair = ["drift", "--repair", "--approve", "--output", "json"];
    let run = env.unfurl(repair);
    // The rule matches nothing any more, and that is told.
    assert_eq!(run.code, 1, "{run}");
    let document = run.json();
    assert_eq!(document["ensembles"][0]["repair"]["result"], "done");
    assert_eq!(findings(&document), [""; 0]);
    assert!(env.read("site/index.html").contains("Hello from"));
}

#[test]
fn a_killed_process_is_found_after_each_check_and_apart_from_a_change_of_the_model() {
    requires!("python3");
    let app = WebApp::deployed();
    let env = &app.0;
    assert_eq!(drift(env, &[]).0, 0);
    app.kill_site();
    let expected = "outside site status: ok → error";
    for _ in 0..3 {
        let (code, document) = drift(env, &[]);
        assert_eq!((code, findings(&document)), (3, vec![expected.to_owned()]));
        let run = env.unfurl(["check"]).exits(64);
        assert!(run.all().contains("1 in error"), "{run}");
    }
    let model = env.read("ensemble.yaml");
    env.write(
        "ensemble.yaml",
        &model.replacen("default: It works", "default: Well", 1),
    );
    let (code, document) = drift(env, &[]);
    let pending = "pending site title: It works → Well".to_owned();
    assert_eq!(
        (code, findings(&document)),
        (3, vec![expected.to_owned(), pending])
    );
    env.unfurl(["drift", "--repair", "--approve"]).succeeds();
    let (code, document) = drift(env, &[]);
    assert_eq!((code, findings(&document)), (0, Vec::new()));
}
