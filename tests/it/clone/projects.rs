//! Projects that are cloned into a new folder.

use super::{commit, last_line, shown, with_project};
use crate::support::TestEnv;

const URL: &str = "https://example.test/app.git";

#[test]
fn a_project_is_cloned_with_its_ensemble_and_is_not_trusted() {
    let env = with_project();
    let run = env.unfurl(["clone", URL, "mine"]).succeeds();
    let run = run.says(&["the project is not trusted", "unfurl trust"]);
    let line = format!(
        "Cloned project with a pre-existing ensemble(s) to {}",
        shown(&env, "mine")
    );
    assert_eq!(last_line(&run), line, "{run}");
    assert_eq!(env.git(&["-C", "mine", "config", "remote.origin.url"]), URL);
    assert_eq!(env.git(&["-C", "mine", "status", "--porcelain"]), "");
    assert_eq!(
        env.git(&["-C", "mine", "rev-parse", "--abbrev-ref", "HEAD@{upstream}"]),
        "origin/main"
    );
    env.unfurl(["deploy", "mine", "--approve"]).succeeds();
}

#[test]
fn the_name_of_the_source_is_that_of_the_folder() {
    let env = with_project();
    env.unfurl(["clone", URL]).succeeds();
    assert!(env.work().join("app/unfurl.yaml").exists());
    env.unfurl(["clone", "origins/app.git", "again"]).succeeds();
    assert!(env.work().join("again/unfurl.yaml").exists());
}

#[test]
fn a_revision_and_a_path_can_be_named() {
    let env = with_project();
    let first = env.git(&["-C", "origins/app.git", "rev-parse", "HEAD"]);
    env.git(&["-C", "origins/app.git", "tag", "v1"]);
    env.write("origins/app.git/later", "");
    commit(&env, "origins/app.git");
    for (revision, has_later) in [("v1", false), (&*first, false), ("main", true), ("", true)] {
        let folder = format!("of-{revision}");
        let run = env
            .unfurl([
                "clone",
                &format!("{URL}#{revision}:"),
                &folder,
                "--output",
                "json",
            ])
            .succeeds();
        assert_eq!(
            env.work().join(&folder).join("later").exists(),
            has_later,
            "{revision}"
        );
        let report = run.json();
        assert_eq!(report["trusted"], false);
        assert_eq!(report["created"], "project with ensembles");
        assert_eq!(
            report["revision"]["commit"],
            env.git(&["-C", &folder, "rev-parse", "HEAD"])
        );
    }
    env.unfurl(["clone", &format!("{URL}#:ensemble"), "by-path"])
        .succeeds();
    for (what, says) in [
        ("#none", "has no branch, tag or commit `none`"),
        ("#:none", "does not exist in that revision"),
        ("#:../..", "does not exist"),
    ] {
        env.unfurl(["clone", &format!("{URL}{what}"), "bad"])
            .exits(1)
            .says(&[says]);
        assert!(!env.work().join("bad").exists(), "{what}");
    }
}

#[test]
fn a_folder_that_is_not_empty_stays_as_it_is() {
    let env = with_project();
    env.write("full/file", "mine");
    let before = env.names();
    env.unfurl(["clone", URL, "full"])
        .exits(1)
        .says(&["is not empty"]);
    env.unfurl(["clone", URL, "full/file"]).exits(1);
    assert_eq!(env.names(), before);
    env.unfurl(["clone", URL, "full", "--overwrite"])
        .succeeds()
        .says(&["was moved to"]);
    assert!(env.work().join("full/unfurl.yaml").exists());
    let kept = env
        .names()
        .into_iter()
        .find(|name| name.contains("full.old-"))
        .unwrap();
    assert_eq!(env.read(&format!("{kept}/file")), "mine");
}

#[test]
fn an_empty_folder_is_filled_also_if_it_is_the_current_one() {
    let env = with_project();
    std::fs::create_dir_all(env.work().join("empty")).unwrap();
    env.unfurl_in("empty", &[], &["clone", URL, "."]).succeeds();
    assert!(env.work().join("empty/unfurl.yaml").exists());
    assert!(env.work().join("empty/.git").exists());
}

#[test]
fn two_clones_at_the_same_time_work() {
    let env = with_project();
    let runs = ["one", "two"].map(|folder| env.start(["clone", URL, folder]));
    for run in runs {
        run.ends().succeeds();
    }
    for folder in ["one", "two"] {
        env.git(&["-C", folder, "fsck", "--strict", "--no-progress"]);
    }
    let run = env.start(["clone", URL, "same"]);
    let other = env.unfurl(["clone", URL, "same"]);
    assert!((run.ends().code == 0) != (other.code == 0));
}

#[test]
fn a_cached_repository_is_cloned_offline() {
    let env = with_project();
    env.unfurl(["clone", URL, "one"]).succeeds();
    std::fs::rename(env.work().join("origins"), env.work().join("gone")).unwrap();
    env.unfurl(["clone", URL, "two"])
        .succeeds()
        .says(&["the state is that of the last fetch"]);
    assert!(env.work().join("two/unfurl.yaml").exists());
}

/// Creates a project with these options, edits and deploys it, clones it and deploys the clone.
fn travels(options: &[&str], home: bool) {
    let env = TestEnv::new().git_settings("[user]\n\tname = t\n\temail = t@example.com\n");
    let folder = env.work().join("shared-home");
    let env = if home {
        env.variable("UNFURL_HOME", folder.to_str().unwrap())
    } else {
        env
    };
    if home {
        env.write(
            "shared-home/unfurl.yaml",
            "apiVersion: unfurl/v1.0.0\nkind: Project\n",
        );
    }
    env.unfurl([&["init"], options, &["proj"]].concat())
        .succeeds();
    let template = "proj/ensemble-template.yaml";
    let text = "spec:\n  service_template:\n    topology_template:\n      node_templates:\n        it: {type: \
                tosca.nodes.Root, interfaces: {Standard: {configure: echo hi}}}\n";
    env.write(template, text);
    env.git(&["-C", "proj", "add", "-A"]);
    env.git(&["-C", "proj", "commit", "-q", "-m", "edit"]);
    env.unfurl(["deploy", "proj", "--approve", "--commit"])
        .succeeds()
        .prints(&["Deployed: 1 created"]);
    let run = env.unfurl(["clone", "proj", "elsewhere"]).succeeds();
    let line = format!(
        "Cloned project with a pre-existing ensemble(s) to {}",
        shown(&env, "elsewhere")
    );
    assert_eq!(last_line(&run), line);
    let again = env
        .unfurl(["deploy", "elsewhere", "--approve", "--output", "json"])
        .succeeds();
    let job = &again.json()["job"];
    assert_eq!(
        (&job["ok"], &job["error"]),
        (&0.into(), &0.into()),
        "{again}"
    );
    let before = env.git(&["-C", "proj", "status", "--porcelain"]);
    assert_eq!(
        env.git(&["-C", "elsewhere", "status", "--porcelain"]),
        before
    );
}

#[test]
fn a_deployed_project_is_cloned_with_its_record_so_that_nothing_runs_again() {
    travels(&["--mono"], false);
    travels(&[], false);
    travels(&[], true);
}
