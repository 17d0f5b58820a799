//! Safety of git repositories (D2, D3, D10): kills within `--commit` and `--push`, locks of others, and a user who
//! works with git at the same time.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::repos::{deploy, is_whole, subjects, try_git, with_clones, with_repository};
use crate::support::TestEnv;

/// The names of lock files and private files in a git folder.
fn left_over(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_private = folder.ends_with("unfurl") && name != "merge-driver-notice";
        let is_lock = entry.path().extension().is_some_and(|it| it == "lock");
        if is_lock || name.contains(".tmp.") || is_private {
            found.push(entry.path().display().to_string());
        }
        if entry.file_type().unwrap().is_dir() {
            found.extend(left_over(&entry.path()));
        }
    }
    found
}

/// A repository in which the user has staged, changed and untracked files. Returns it with git's status.
fn with_work() -> (TestEnv, String) {
    let env = with_repository(&["a"]);
    env.write("changed", "1\n");
    env.git(&["add", "changed"]);
    env.git(&["commit", "-q", "-m", "more"]);
    env.write("changed", "2\n");
    env.write("staged", "1\n");
    env.git(&["add", "staged"]);
    env.write("staged", "2\n");
    env.write("untracked", "");
    let status = env.git(&["status", "--porcelain"]);
    (env, status)
}

/// D2: before the repair, locks of the dead process stayed, and the record was staged for deletion.
#[cfg(feature = "fault-injection")]
#[test]
fn a_job_that_is_killed_while_it_commits_is_made_up_for_by_the_next_one() {
    let words = ["deploy", ".", "--approve", "--commit", "--dirty", "ok"];
    for fault in [
        "kill:link=.json#2",
        "kill:link=.git/index.lock",
        "kill-after:link=.git/index.lock",
        "kill-after:link=heads/main.lock",
        "kill:rename=logs/refs/heads/main",
        "kill:rename=.git/index",
        "kill:rename=refs/heads/main#2",
        "kill-after:rename=refs/heads/main#2",
        "kill:unlink=.git/index.lock",
    ] {
        let (env, status) = with_work();
        let run = env.unfurl_with(("UNFURL_TEST_FAULT", fault), &words);
        assert_eq!(run.code, -1, "{fault}: {run}");
        let removed = env.git(&["diff", "--cached", "--diff-filter=D", "--name-only"]);
        assert_eq!(removed, "", "{fault}");
        is_whole(&env, ".");
        env.unfurl(words).succeeds();
        assert_eq!(env.git(&["status", "--porcelain"]), status, "{fault}");
        assert_eq!(env.git(&["show", ":staged"]), "1");
        assert_eq!(
            left_over(&env.work().join(".git")),
            [] as [&str; 0],
            "{fault}"
        );
        is_whole(&env, ".");
        // A fresh clone has nothing to do.
        env.git(&["clone", "-q", ".", "../clone"]);
        let clone = env.work().join("../clone").display().to_string();
        let run = deploy(&env, &clone, &["--output", "json"]).succeeds();
        assert_eq!(run.json()["job"]["ok"], 0, "{fault}");
    }
}

/// D2: the lock of a job that was killed stopped each later job that commits.
#[cfg(feature = "fault-injection")]
#[test]
fn recover_and_a_job_without_commit_remove_the_locks_of_a_killed_job_too() {
    for after in [&["recover"][..], &["deploy", "--approve", "--force"]] {
        let env = with_repository(&["a"]);
        let words = ["deploy", "--approve", "--commit"];
        let fault = ("UNFURL_TEST_FAULT", "kill:rename=.git/index");
        assert_eq!(env.unfurl_with(fault, &words).code, -1);
        assert_ne!(left_over(&env.work().join(".git")), [] as [&str; 0]);
        env.unfurl(after).succeeds();
        assert_eq!(left_over(&env.work().join(".git")), [] as [&str; 0]);
        env.git(&["add", "-A"]);
    }
}

/// D2: power failures left empty objects, and `unfurl commit` failed for ever.
#[test]
fn a_damaged_object_that_a_crash_left_is_written_again() {
    let env = with_repository(&["a"]);
    deploy(&env, ".", &[]).succeeds();
    let id = env.git(&["hash-object", "jobs.tsv"]);
    for content in ["", "x\u{1}no object"] {
        env.write(&format!(".git/objects/{}/{}", &id[..2], &id[2..]), content);
    }
    env.unfurl(["commit", "--no-edit"]).succeeds();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    is_whole(&env, ".");
}

/// D2: objects had their names before their bytes were durable, and the branch before the objects.
#[cfg(feature = "fault-injection")]
#[test]
fn a_commit_is_durable_in_the_order_objects_reflog_index_branch() {
    let env = with_repository(&["a"]);
    let calls = env.work().join("../calls").display().to_string();
    let words = ["deploy", "--approve", "--commit"];
    env.unfurl_with(("UNFURL_TEST_FAULT", &format!("count:{calls}")), &words)
        .succeeds();
    let text = fs::read_to_string(&calls).unwrap();
    let at = |end: &str| {
        let lines: Vec<&str> = text.lines().collect();
        let found = lines.iter().rposition(|line| line.ends_with(end));
        found.unwrap_or_else(|| panic!("no {end}: {text}"))
    };
    let kind = |index: usize, kind: &str| text.lines().nth(index).unwrap().contains(kind);
    let objects = at(".git/objects");
    assert!(kind(objects, "sync-folder"), "{text}");
    let order = [objects, at("logs/HEAD"), at(".git/index"), at("refs/heads")];
    assert!(order.is_sorted(), "{order:?} {text}");
    // D10: one write for all patterns. `.git/config` and the attributes are never written.
    let renames = |end: &str| {
        let lines = text.lines();
        lines
            .filter(|line| line.contains("rename") && line.ends_with(end))
            .count()
    };
    assert_eq!(renames("info/exclude"), 1, "{text}");
    assert_eq!(renames(".git/config") + renames("info/attributes"), 0);
}

/// D3: files that the user staged while a job committed were lost, and the record stayed staged for deletion.
#[test]
fn files_that_are_staged_while_jobs_commit_stay_staged() {
    let env = with_repository(&["a"]);
    for number in 0..1500 {
        env.write(&format!("many/{number}"), &format!("{number}\n"));
    }
    env.git(&["add", "-A"]);
    env.git(&["commit", "-q", "-m", "many"]);
    let ended = AtomicBool::new(false);
    let added = std::thread::scope(|scope| {
        let user = scope.spawn(|| {
            let mut added = Vec::new();
            for number in 0.. {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                let name = format!("added{number}");
                env.write(&name, &name);
                if try_git(&env.work(), &["add", &name]).0 == 0 {
                    added.push(name);
                }
            }
            added
        });
        for _ in 0..6 {
            deploy(&env, ".", &["--commit", "--force", "--dirty", "ok"]).succeeds();
        }
        ended.store(true, Ordering::Relaxed);
        user.join().unwrap()
    });
    let staged = env.git(&["diff", "--cached", "--name-status"]);
    let lost: Vec<&String> = added
        .iter()
        .filter(|name| !staged.lines().any(|line| line == format!("A\t{name}")))
        .collect();
    assert!(
        lost.is_empty() && !added.is_empty(),
        "{lost:?} of {added:?}"
    );
    assert_eq!(staged.lines().count(), added.len(), "{staged}");
}

/// D3: libgit2 cannot read split and sparse indexes, so `--commit` was refused there.
#[test]
fn a_commit_keeps_the_format_and_the_flags_of_the_index() {
    let formats: [&[&[&str]]; 4] = [
        &[&["update-index", "--index-version", "4"]],
        &[&["update-index", "--split-index"]],
        &[&["sparse-checkout", "set", "--cone", "--sparse-index", "kept"]],
        &[&["pack-refs", "--all"], &["checkout", "-q", "-b", "x/y"]],
    ];
    for commands in formats {
        let env = with_repository(&["a"]);
        for name in ["skipped", "assumed", "kept/x", "sparse/x"] {
            env.write(name, "1\n");
        }
        env.git(&["add", "-A"]);
        env.git(&["commit", "-q", "-m", "files"]);
        for command in commands {
            env.git(command);
        }
        env.git(&["update-index", "--skip-worktree", "skipped"]);
        env.git(&["update-index", "--assume-unchanged", "assumed"]);
        env.write("intended", "1\n");
        env.git(&["add", "--intent-to-add", "--sparse", "intended"]);
        let flags = |env: &TestEnv| {
            let text = env.git(&["ls-files", "-v", "--", ":!changes", ":!jobs.tsv"]);
            (text, env.git(&["diff", "--name-status"]))
        };
        let before = flags(&env);
        deploy(&env, ".", &["--commit", "--dirty", "ok"]).succeeds();
        assert_eq!(flags(&env), before, "{commands:?}");
        assert_eq!(env.git(&["diff", "--cached", "--name-only"]), "");
        assert_eq!(subjects(&env, ".", "HEAD").len(), 3, "{commands:?}");
        is_whole(&env, ".");
    }
}

/// D2: the reflogs are written here, in git's format.
#[test]
fn the_reflogs_name_each_commit() {
    let env = with_repository(&["a"]);
    deploy(&env, ".", &["--commit"]).succeeds();
    for of in ["HEAD", "main"] {
        let log = env.git(&["reflog", "-1", "--format=%gs %gn <%ge>", of]);
        assert!(
            log.starts_with("commit: deploy: create 1 (a) [job "),
            "{log}"
        );
        assert!(log.ends_with(" tester <tester@example.com>"), "{log}");
        let before = env.git(&["rev-parse", &format!("{of}@{{1}}")]);
        assert_eq!(before, env.git(&["rev-parse", "HEAD~1"]));
    }
    env.git(&["config", "core.logAllRefUpdates", "false"]);
    fs::remove_file(env.work().join(".git/logs/refs/heads/main")).unwrap();
    deploy(&env, ".", &["--commit", "--force"]).succeeds();
    assert!(!env.work().join(".git/logs/refs/heads/main").exists());
    assert_eq!(env.git(&["reflog"]).lines().count(), 3);
    is_whole(&env, ".");
}

/// A change within the same second, of the same length, must not be overlooked because of recorded metadata.
#[test]
fn a_file_that_changes_right_after_its_commit_counts_as_changed() {
    let env = with_repository(&["a"]);
    deploy(&env, ".", &["--commit"]).succeeds();
    for _ in 0..3 {
        let path = env.work().join("jobs.tsv");
        let text = fs::read_to_string(&path).unwrap();
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let mut bytes = text.clone().into_bytes();
        bytes[0] = if bytes[0] == b'#' { b'!' } else { b'#' };
        fs::write(&path, &bytes).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(time).unwrap();
        assert_eq!(env.git(&["status", "--porcelain"]), "M jobs.tsv");
        fs::write(&path, text).unwrap();
        deploy(&env, ".", &["--commit", "--force"]).succeeds();
        assert_eq!(env.git(&["status", "--porcelain"]), "");
    }
}

/// D2: libgit2 wrote the files of a rebase in place, so that a kill left half of `ensemble.yaml`.
#[cfg(feature = "fault-injection")]
#[test]
fn a_rebase_that_is_killed_within_the_checkout_is_completed_by_the_next_job() {
    let words = ["deploy", "b", "--approve", "--push", "--instance", "b"];
    for fault in [
        "kill:rename=b/ensemble.yaml",
        "kill-after:rename=b/ensemble.yaml",
        "kill:rename=b/jobs.tsv",
        "kill-after:rename=b/.git/index#2",
    ] {
        let env = with_clones(&["a", "b"]);
        deploy(&env, "a", &["--push", "--instance", "a"]).succeeds();
        let run = env.unfurl_with(("UNFURL_TEST_FAULT", fault), &words);
        assert_eq!(run.code, -1, "{fault}: {run}");
        let text = env.read("b/ensemble.yaml");
        serde_yaml::from_str::<serde_json::Value>(&text).unwrap();
        env.unfurl(["commit", "b", "--no-edit", "--push"])
            .succeeds();
        let text = env.git(&["-C", "origin.git", "show", "main:ensemble.yaml"]);
        let ensemble: serde_json::Value = serde_yaml::from_str(&text).unwrap();
        let instances = ensemble["status"]["instances"].as_object().unwrap();
        assert_eq!(instances.len(), 2, "{fault}");
        assert_eq!(
            env.git(&["-C", "b", "status", "--porcelain"]),
            "",
            "{fault}"
        );
        assert_eq!(subjects(&env, "origin.git", "main").len(), 3, "{fault}");
        assert_eq!(left_over(&env.work().join("b/.git")), [] as [&str; 0]);
        is_whole(&env, "b");
    }
}

/// D2: a git that was killed while it received a push left its lock, and each later push failed.
#[test]
fn a_push_that_is_killed_leaves_no_lock_in_a_remote_on_this_machine() {
    let env = with_clones(&["a"]);
    let script = "[ \"$1\" = prepared ] && rm \"$0\" && kill -9 $PPID; exit 0";
    crate::repos::hook(&env, "origin.git/hooks/reference-transaction", script);
    deploy(&env, "a", &["--push", "--allow", "git-config"]).exits(64);
    env.unfurl(["commit", "a", "--no-edit", "--push"])
        .succeeds();
    for folder in ["a/.git", "origin.git"] {
        assert_eq!(left_over(&env.work().join(folder)), [] as [&str; 0]);
    }
    assert_eq!(subjects(&env, "origin.git", "main").len(), 2);
}

/// D10: several ensembles of a repository start their first jobs at once.
#[test]
fn jobs_that_start_at_once_write_the_excluded_patterns_once() {
    let env = with_repository(&["a"]);
    env.write(".git/info/exclude", "mine\nno newline");
    let names = ["e1", "e2", "e3", "e4"];
    for name in names {
        env.write(&format!("{name}/ensemble.yaml"), &env.read("ensemble.yaml"));
    }
    std::thread::scope(|scope| {
        for name in names {
            let env = &env;
            scope.spawn(move || deploy(env, name, &[]).succeeds());
        }
    });
    let text = env.read(".git/info/exclude");
    assert!(
        text.starts_with("mine\nno newline\n**/planned/\n"),
        "{text}"
    );
    let mut lines: Vec<&str> = text.lines().collect();
    let count = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), count, "{text}");
    for line in ["**/local/digest.key", "*.lfs.lock", "**/jobs/"] {
        assert!(lines.contains(&line), "{line}: {text}");
    }
}
