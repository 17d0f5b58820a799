//! Journals of interrupted jobs from the previous version: this version recovers them and continues the job.
//!
//! `tests/data/journals/README.md` says how the folders were made.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::support::TestEnv;

const SECRET: &str = "correct-horse-battery";

/// An environment with the folder that the previous version left.
fn left() -> TestEnv {
    let env = TestEnv::with_folder("tests/data/journals/previous/left");
    // Git does not keep the file mode, but the key must be readable by its owner only.
    let key = env.work().join("local/digest.key");
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
    env.variable("STORE_PASSWORD", SECRET)
}

/// The files of the folder. A constant replaces the end time of the last job.
fn files(env: &TestEnv) -> BTreeMap<String, String> {
    let ended = env.ensemble()["lastJob"]["endTime"].clone();
    let ended = ended.as_str().unwrap();
    let work = env.work();
    let files = env.files().into_iter().map(|(path, bytes)| {
        let path = Path::new(&path).strip_prefix(&work).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        (path.display().to_string(), text.replace(ended, "then"))
    });
    files.collect()
}

fn ready(env: &TestEnv, name: &str) -> String {
    let state = &env.ensemble()["status"]["instances"][name]["readyState"];
    format!("{} {}", state["local"], state["state"]).replace('"', "")
}

fn world(env: &TestEnv) -> Vec<String> {
    env.read("world").lines().map(str::to_owned).collect()
}

#[test]
fn a_journal_of_the_version_before_gives_the_record_that_it_gave_there() {
    let env = left();
    env.unfurl(["recover"]).succeeds().prints(&[
        "A61234500000 crashed",
        "the 3 tasks that had finished",
        "one is in doubt: Standard.configure on ::app",
    ]);
    let before = TestEnv::with_folder("tests/data/journals/previous/recovered");
    let (found, expected) = (files(&env), files(&before));
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected));
    for (name, text) in &expected {
        assert_eq!(found[name], *text, "{name}");
        assert!(!found[name].contains(SECRET), "{name}");
    }
    assert_eq!(ready(&env, "db"), "ok configured");
    assert_eq!(ready(&env, "app"), "unknown configuring");
    assert_eq!(ready(&env, "web"), "null null");
}

#[test]
fn a_job_that_the_version_before_has_left_is_gone_on_with() {
    for how in [&["--redo-in-doubt"][..], &["--resume", "--redo-in-doubt"]] {
        let env = left();
        let refused = env.unfurl(["deploy", "--approve"]).exits(1);
        refused.says(&["crashed", "`configure` of `app`", "--redo-in-doubt"]);
        assert_eq!(world(&env).len(), 4);
        let deploy = ["deploy", "--approve"];
        let run = env.unfurl(deploy.iter().chain(how)).succeeds();
        assert!(!run.all().contains(SECRET), "{run}");
        let again = world(&env).split_off(4);
        assert_eq!(again, ["configure app", "create web", "configure web"]);
        for name in ["db", "app", "web"] {
            assert_eq!(ready(&env, name), "ok configured");
        }
        // The values that the tasks read, including secrets, have not changed.
        let run = env.unfurl(deploy).succeeds();
        assert!(run.all().contains("Nothing to do"), "{run}");
        assert!(!run.all().contains("warning"), "{run}");
    }
}
