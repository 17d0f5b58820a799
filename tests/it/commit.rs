//! `--commit` and `unfurl commit`: a job's own files are committed, and no others.

use std::fs;

use crate::repos::{deploy, ensemble, files_of, hook, is_whole, masked, subjects, with_repository};
use crate::support::TestEnv;

const RECORD: [&str; 3] = ["changes/ID.yaml", "ensemble.yaml", "jobs.tsv"];

#[test]
fn a_record_is_committed_and_a_second_deploy_commits_nothing() {
    let env = with_repository(&["a"]);
    let run = deploy(&env, ".", &["--commit"]).succeeds();
    assert!(masked(&run.stderr).contains("committed "), "{run}");
    assert_eq!(files_of(&env, ".", "HEAD"), RECORD);
    assert_eq!(
        subjects(&env, ".", "HEAD"),
        ["deploy: create 1 (a) [job ID]", "ensemble"]
    );
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let head = env.git(&["rev-parse", "HEAD"]);
    deploy(&env, ".", &["--commit"]).succeeds();
    assert_eq!(env.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    is_whole(&env, ".");
}

#[test]
fn work_that_is_staged_or_unrelated_stays_as_it_is() {
    let env = with_repository(&["a"]);
    env.write("tracked", "1\n");
    env.git(&["add", "tracked"]);
    env.git(&["commit", "-q", "-m", "more"]);
    env.write("tracked", "2\n");
    env.write("staged", "1\n");
    env.git(&["add", "staged"]);
    env.write("staged", "2\n");
    env.write("untracked", "");
    env.write("active/artifacts/mine", "");
    let before = env.git(&["status", "--porcelain"]);
    // Uncommitted changes stop the commit unless `--dirty ok` allows them.
    deploy(&env, ".", &["--commit"])
        .exits(1)
        .says(&["has uncommitted changes: `staged`, `tracked`"]);
    deploy(&env, ".", &["--commit", "--dirty", "ok", "-m", "my words"]).succeeds();
    assert_eq!(files_of(&env, ".", "HEAD"), RECORD);
    assert_eq!(subjects(&env, ".", "HEAD")[0], "my words");
    assert_eq!(env.git(&["status", "--porcelain"]), before);
    assert_eq!(env.git(&["show", ":staged"]), "1");
    is_whole(&env, ".");
}

#[test]
fn the_repositories_of_the_template_count_too() {
    let env = TestEnv::new();
    let text = ensemble(&["a"]);
    let with = "service_template:\n    repositories: {r: {url: 'file:../r'}}\n";
    env.write(
        "e/ensemble.yaml",
        &text.replace("service_template:\n", with),
    );
    env.write("r/x", "1");
    for folder in ["e", "r"] {
        env.git(&["init", "-q", folder]);
        env.git(&["-C", folder, "add", "-A"]);
        env.git(&["-C", folder, "commit", "-q", "-m", "x"]);
    }
    env.write("r/x", "2");
    for words in [&["--commit"][..], &["--dirty", "abort"]] {
        let run = deploy(&env, "e", words).exits(1);
        run.says(&["/r` has uncommitted changes: `x`"]);
    }
    env.git(&["-C", "r", "commit", "-q", "-am", "x"]);
    deploy(&env, "e", &["--commit"]).succeeds();
    let run = env
        .unfurl(["git", "--dir", "e", "log", "--format=%s", "-1"])
        .succeeds();
    assert!(run.stdout.contains("in './../r'\nx\n"), "{run}");
}

#[test]
fn what_tasks_leave_for_keeps_is_committed_and_what_is_private_is_not() {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n    \
         topology_template:\n      node_templates:\n        a: {type: unfurl.nodes.Generic, \
         interfaces: {Standard: {configure: 'mkdir -p artifacts active/secrets; touch \
         artifacts/x active/secrets/y ../other'}}}\n",
    );
    fs::create_dir(env.work().join("e")).unwrap();
    fs::rename(
        env.work().join("ensemble.yaml"),
        env.work().join("e/ensemble.yaml"),
    )
    .unwrap();
    env.git(&["init", "-q"]);
    deploy(&env, "e", &["--commit"]).succeeds();
    assert_eq!(
        files_of(&env, ".", "HEAD"),
        [
            "e/artifacts/x",
            "e/changes/ID.yaml",
            "e/ensemble.yaml",
            "e/jobs.tsv"
        ]
    );
    is_whole(&env, ".");
}

#[test]
fn an_earlier_record_that_was_not_committed_goes_along() {
    let env = with_repository(&["a"]);
    deploy(&env, ".", &[]).succeeds();
    assert_eq!(subjects(&env, ".", "HEAD").len(), 1);
    // The job has nothing to do, but the earlier record is not committed yet.
    deploy(&env, ".", &["--commit"]).succeeds();
    assert_eq!(files_of(&env, ".", "HEAD"), RECORD);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    deploy(&env, ".", &["--force"]).succeeds();
    deploy(&env, ".", &["--force", "--commit"]).succeeds();
    assert_eq!(files_of(&env, ".", "HEAD").len(), 4);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_dry_run_and_a_declined_job_commit_nothing() {
    let env = with_repository(&["a"]);
    deploy(&env, ".", &["--commit", "--dryrun"]).succeeds();
    env.unfurl(["deploy", "--commit"]).exits(1);
    assert_eq!(subjects(&env, ".", "HEAD"), ["ensemble"]);
}

#[test]
fn what_would_stop_the_commit_stops_the_job_before_it_runs() {
    let refused = |env: &TestEnv, words: &[&str], says: &[&str]| {
        let run = deploy(env, ".", words).exits(1).says(says);
        assert!(!env.work().join("jobs.tsv").exists(), "{run}");
    };
    let env = TestEnv::with_ensemble(&ensemble(&["a"]));
    refused(
        &env,
        &["--commit"],
        &["is not in a git repository", "git init"],
    );

    let env = with_repository(&["a"]);
    refused(
        &env,
        &["--push"],
        &["has no remote to push to", "git remote add origin URL"],
    );
    env.git(&["checkout", "-q", "--detach"]);
    refused(
        &env,
        &["--push"],
        &["no branch is checked out", "git switch"],
    );

    let env = TestEnv::with_ensemble(&ensemble(&["a"]));
    env.git(&["init", "-q"]);
    env.write(".gitignore", "ensemble.yaml\n");
    refused(&env, &["--commit"], &["git ignores `"]);

    let env = with_repository(&["a"]);
    env.git(&["checkout", "-q", "-b", "other"]);
    env.write("x", "1");
    env.git(&["add", "x"]);
    env.git(&["commit", "-q", "-m", "1"]);
    env.git(&["checkout", "-q", "main"]);
    env.write("x", "2");
    env.git(&["add", "x"]);
    env.git(&["commit", "-q", "-m", "2"]);
    for (words, what) in [
        (["merge", "other"], "a merge"),
        (["cherry-pick", "other"], "a cherry-pick"),
        (["rebase", "other"], "a rebase"),
    ] {
        let (code, _) = crate::repos::try_git(&env.work(), &words);
        assert_ne!(code, 0);
        let words = ["--commit", "--dirty", "ok"];
        refused(&env, &words, &[what, "is not finished", "--abort"]);
        env.git(&[what.split(' ').next_back().unwrap(), "--abort"]);
    }
}

#[test]
fn without_a_name_nothing_runs_and_the_message_says_how_to_give_one() {
    let mut env = with_repository(&["a"]);
    for name in [
        "AUTHOR_NAME",
        "AUTHOR_EMAIL",
        "COMMITTER_NAME",
        "COMMITTER_EMAIL",
    ] {
        env = env.without(&format!("GIT_{name}"));
    }
    let run = deploy(&env, ".", &["--commit"]).exits(1);
    let run = run.says(&[
        "git has no user name and e-mail address configured",
        "git config --global user.name",
        "git config --global user.email",
    ]);
    assert!(!env.work().join("jobs.tsv").exists(), "{run}");
    env.git(&["config", "user.name", "me"]);
    env.git(&["config", "user.email", "me@example.com"]);
    deploy(&env, ".", &["--commit"]).succeeds();
    assert_eq!(
        env.git(&["log", "-1", "--format=%an %ce"]),
        "me me@example.com"
    );
}

#[test]
fn any_layout_of_a_repository_will_do() {
    // Case 1: the first commit of the repository.
    let env = TestEnv::with_ensemble(&ensemble(&["a"]));
    env.git(&["init", "-q"]);
    deploy(&env, ".", &["--commit"]).succeeds();
    assert_eq!(files_of(&env, ".", "HEAD"), RECORD);
    // Case 2: a detached HEAD, so no branch is checked out.
    env.git(&["checkout", "-q", "--detach"]);
    let run = deploy(&env, ".", &["--commit", "--force"]).succeeds();
    run.says(&["no branch is checked out", "will not belong to any branch"]);
    assert_eq!(subjects(&env, ".", "HEAD").len(), 2);
    is_whole(&env, ".");
    // Case 3: a second working tree.
    env.git(&["worktree", "add", "-q", "-b", "more", "../tree"]);
    let run = env
        .unfurl(["deploy", "-a", "../tree", "--force", "--commit"])
        .succeeds();
    assert_eq!(subjects(&env, "../tree", "more").len(), 3, "{run}");
    assert_eq!(env.git(&["-C", "../tree", "status", "--porcelain"]), "");
    // Case 4: a submodule.
    let source = env.work();
    let env = TestEnv::new();
    env.git(&["init", "-q"]);
    env.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        source.to_str().unwrap(),
        "sub",
    ]);
    env.git(&["commit", "-q", "-m", "sub"]);
    deploy(&env, "sub", &["--force", "--commit"]).succeeds();
    assert_eq!(subjects(&env, "sub", "HEAD").len(), 3);
    assert_eq!(env.git(&["-C", "sub", "status", "--porcelain"]), "");
    assert_eq!(subjects(&env, ".", "HEAD"), ["sub"]);
    is_whole(&env, "sub");
}

#[test]
fn a_repository_with_sha_256_is_reported() {
    let env = TestEnv::with_ensemble(&ensemble(&["a"]));
    env.git(&["init", "-q", "--object-format=sha256"]);
    deploy(&env, ".", &["--commit"])
        .exits(1)
        .says(&["has a format that is not supported"]);
    deploy(&env, ".", &[]).succeeds();
}

#[test]
fn a_foreign_lock_of_the_index_stays_and_is_named() {
    let env = with_repository(&["a"]);
    env.write(".git/index.lock", "");
    let run = deploy(&env, ".", &["--commit"]).exits(64);
    let run = run.says(&[
        "the record is saved, but could not be committed",
        ".git/index.lock` exists",
        "make sure that no git process runs there, and delete `",
        "run `unfurl commit` to try again",
    ]);
    assert!(!run.all().contains("git reset"), "{run}");
    assert_eq!(subjects(&env, ".", "HEAD"), ["ensemble"]);
    fs::remove_file(env.work().join(".git/index.lock")).unwrap();
    env.unfurl(["commit", "--no-edit"]).succeeds();
    assert_eq!(files_of(&env, ".", "HEAD"), RECORD);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_stale_lock_of_the_branch_leaves_a_record_that_can_be_committed() {
    let env = with_repository(&["a"]);
    env.write(".git/refs/heads/main.lock", "");
    let run = deploy(&env, ".", &["--commit"]).exits(64);
    run.says(&[
        "the record is saved, but could not be committed",
        "run `unfurl commit` to try again",
    ]);
    fs::remove_file(env.work().join(".git/refs/heads/main.lock")).unwrap();
    let run = env.unfurl(["commit", "--no-edit"]).succeeds();
    assert_eq!(run.stdout, "Committed to 1 repositories.\n");
    assert_eq!(files_of(&env, ".", "HEAD"), RECORD);
    is_whole(&env, ".");
}

#[test]
fn hooks_run_only_where_they_are_asked_for() {
    let env = with_repository(&["a"]);
    hook(&env, ".git/hooks/pre-commit", "echo 'no way' >&2; exit 1");
    hook(&env, ".git/hooks/commit-msg", "echo checked >> \"$1\"");
    hook(&env, ".git/hooks/post-commit", "touch posted");
    deploy(&env, ".", &["--commit"]).succeeds();
    assert!(!env.work().join("posted").exists());
    let env = env.trusted().git_settings("[unfurl]\n\thooks = true\n");
    let run = deploy(&env, ".", &["--commit", "--force"]).exits(64);
    run.says(&[
        "the record is saved, but could not be committed: the hook `pre-commit`",
        "refused the commit: no way",
        "run `unfurl commit` to try again",
    ]);
    assert_eq!(subjects(&env, ".", "HEAD").len(), 2);
    // The hook sees the files that will be committed.
    hook(
        &env,
        ".git/hooks/pre-commit",
        "git diff --cached --name-only > seen",
    );
    env.unfurl(["commit", "--no-edit"]).succeeds();
    assert_eq!(subjects(&env, ".", "HEAD").len(), 3);
    assert!(env.git(&["log", "-1", "--format=%b%s"]).contains("checked"));
    assert!(env.work().join("posted").exists());
    let seen = env.read("seen");
    assert!(seen.lines().any(|line| line == "jobs.tsv"), "{seen}");
    is_whole(&env, ".");
}

#[test]
fn a_program_that_is_killed_while_it_commits_leaves_a_record_that_can_be_committed() {
    let env = with_repository(&["a"]).trusted();
    let env = env.git_settings("[unfurl]\n\thooks = true\n");
    let killer = "read -r _ _ _ parent _ < /proc/$PPID/stat; kill -9 \"$parent\"";
    for name in ["pre-commit", "commit-msg", "post-commit"] {
        hook(&env, &format!(".git/hooks/{name}"), killer);
        let run = deploy(&env, ".", &["--commit", "--force"]);
        assert_eq!(run.code, -1, "{run}");
        is_whole(&env, ".");
        fs::remove_file(env.work().join(format!(".git/hooks/{name}"))).unwrap();
        deploy(&env, ".", &["--commit"]).succeeds();
        assert_eq!(env.git(&["status", "--porcelain"]), "", "after {name}");
        is_whole(&env, ".");
    }
    assert_eq!(subjects(&env, ".", "HEAD").len(), 4);
}

#[test]
fn a_commit_is_signed_if_git_is_configured_to() {
    requires!("ssh-keygen");
    let env = with_repository(&["a"]);
    let key = env.work().join(".git/key");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key)
        .status()
        .unwrap();
    assert!(made.success());
    for (name, value) in [
        ("gpg.format", "ssh"),
        ("user.signingkey", key.to_str().unwrap()),
        ("commit.gpgsign", "true"),
    ] {
        env.git(&["config", name, value]);
    }
    deploy(&env, ".", &["--commit"]).succeeds();
    let commit = env.git(&["cat-file", "commit", "HEAD"]);
    assert!(commit.contains("-----BEGIN SSH SIGNATURE-----"), "{commit}");
    assert_eq!(files_of(&env, ".", "HEAD"), RECORD);
    fs::remove_file(&key).unwrap();
    let run = deploy(&env, ".", &["--commit", "--force"]).exits(64);
    run.says(&["git could not sign the commit", "commit.gpgsign"]);
}

#[test]
fn files_that_a_program_encrypts_are_committed_encrypted() {
    let env = with_repository(&["a"]);
    env.write(".gitattributes", "changes/* filter=swap\n");
    let swap = "[filter \"swap\"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n";
    let env = env.git_settings(swap);
    env.git(&["config", "filter.swap.clean", "tr a-z A-Z"]);
    env.git(&["config", "filter.swap.smudge", "tr A-Z a-z"]);
    env.git(&["add", "-A"]);
    env.git(&["commit", "-q", "-m", "filter"]);
    deploy(&env, ".", &["--commit"]).succeeds();
    let name = env.git(&["ls-files", "changes"]);
    assert!(env.read(&name).contains("manifest:"));
    assert!(
        env.git(&["cat-file", "-p", &format!("HEAD:{name}")])
            .starts_with("MANIFEST:")
    );
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn commit_takes_what_is_changed_in_the_ensemble_alone() {
    let env = with_repository(&["a"]);
    fs::create_dir_all(env.work().join("e")).unwrap();
    env.write("e/ensemble.yaml", &ensemble(&["b"]));
    env.git(&["add", "-A"]);
    env.git(&["commit", "-q", "-m", "e"]);
    assert_eq!(
        env.unfurl(["commit", "e", "-m", "x"]).succeeds().stdout,
        "Nothing to commit!\n"
    );
    env.write("e/new", "");
    env.write("outside", "");
    env.git(&["add", "outside"]);
    let run = env
        .unfurl(["commit", "e", "-m", "words", "--output", "json"])
        .succeeds();
    let answer = run.json();
    assert_eq!(answer["commits"][0]["files"], serde_json::json!(["e/new"]));
    assert_eq!(env.git(&["status", "--porcelain"]), "A  outside");
    // `--skip-add` commits only staged files.
    env.write("e/more", "");
    env.unfurl(["commit", "e", "-m", "staged", "--skip-add"])
        .succeeds();
    assert_eq!(files_of(&env, ".", "HEAD"), ["outside"]);
    assert_eq!(env.git(&["status", "--porcelain"]), "?? e/more");
    is_whole(&env, ".");
}

#[test]
fn files_folders_and_links_may_take_each_others_places() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let env = with_repository(&["a"]);
    let path = |name: &str| env.work().join(name);
    for name in ["d/e/f", "z/y", "x", "sp ace", "new\nline", "link"] {
        env.write(name, "1");
    }
    env.unfurl(["commit", "--no-edit"]).succeeds();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    fs::remove_dir_all(path("d")).unwrap();
    fs::remove_dir_all(path("z")).unwrap();
    for name in ["x", "link"] {
        fs::remove_file(path(name)).unwrap();
    }
    env.write("x/y", "2");
    env.write("z", "2");
    symlink("x", path("link")).unwrap();
    symlink("/no/where", path("dangling")).unwrap();
    fs::set_permissions(path("sp ace"), fs::Permissions::from_mode(0o755)).unwrap();
    env.unfurl(["commit", "--no-edit"]).succeeds();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let tree = env.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "HEAD"]);
    insta::assert_snapshot!(tree, @r#"
    120000 dangling
    100644 ensemble.yaml
    120000 link
    100644 "new\nline"
    100755 sp ace
    100644 x/y
    100644 z
    "#);
    is_whole(&env, ".");
}

#[test]
fn commit_in_the_folder_of_a_project_takes_the_project_and_its_ensemble() {
    let env = TestEnv::new();
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\nensembles:\n- file: e/ensemble.yaml\n",
    );
    env.write("e/ensemble.yaml", &ensemble(&["a"]));
    env.git(&["init", "-q", "-b", "main"]);
    env.git(&["init", "-q", "-b", "main", "e"]);
    env.write(".git/info/exclude", "e/\n");
    let run = env.unfurl(["commit", "--no-edit"]).succeeds();
    assert_eq!(run.stdout, "Committed to 2 repositories.\n");
    assert_eq!(files_of(&env, ".", "HEAD"), ["unfurl.yaml"]);
    assert_eq!(files_of(&env, "e", "HEAD"), ["ensemble.yaml"]);
    // The same works from within a hook of another repository, where git's variables point elsewhere.
    let env = env
        .variable("GIT_DIR", "/nowhere")
        .variable("GIT_INDEX_FILE", "/nowhere");
    deploy(&env, "e", &["--commit"]).succeeds();
    assert_eq!(files_of(&env, "e", "HEAD"), RECORD);
    assert_eq!(env.git(&["-C", "e", "status", "--porcelain"]), "");
    // `unfurl git` works even if the ensemble is broken.
    env.write("e/ensemble.yaml", "a: [");
    env.unfurl(["git", "status", "-s"]).succeeds();
}

#[test]
fn git_runs_in_each_repository_and_gives_the_last_bad_exit_code() {
    let env = TestEnv::new();
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\nensembles:\n- file: e/ensemble.yaml\n",
    );
    env.write("e/ensemble.yaml", &ensemble(&["a"]));
    env.git(&["init", "-q", "-b", "main"]);
    env.git(&["init", "-q", "-b", "main", "e"]);
    env.write(".git/info/exclude", "e/\n");
    let run = env.unfurl(["git", "status", "-s"]).succeeds();
    insta::assert_snapshot!(run.stdout, @r"
    *** Running 'git status -s' in '.'
    ?? unfurl.yaml

    *** Running 'git status -s' in './e'
    ?? ensemble.yaml
    ");
    let run = env
        .unfurl(["git", "--dir", "e", "rev-parse", "--verify", "-q", "HEAD"])
        .exits(1);
    insta::assert_snapshot!(run.stdout, @r"
    *** Running 'git rev-parse --verify -q HEAD' in './..'


    *** Running 'git rev-parse --verify -q HEAD' in '.'
    ");
    let run = env.unfurl(["git-status", "--dirty"]).succeeds();
    let shown = run.stdout.replace(env.work().to_str().unwrap(), "WORK");
    for part in [
        "Status for spec at WORK/:\n",
        "\tunfurl.yaml",
        "\n\nStatus for self at WORK/e/:\n",
    ] {
        assert!(shown.contains(part), "{run}");
    }
    let run = env
        .unfurl(["git-status", "e", "--output", "json"])
        .succeeds();
    assert_eq!(
        run.json()[1]["changes"],
        serde_json::json!(["ensemble.yaml"])
    );
    let run = env
        .unfurl(["commit", "e", "--all-repositories", "-m", "all"])
        .succeeds();
    assert_eq!(run.stdout, "Committed to 2 repositories.\n");
    assert_eq!(
        env.unfurl(["git-status", "--dirty"]).succeeds().stdout,
        "No status to display.\n"
    );
}

#[test]
fn no_commit_runs_while_a_job_does() {
    let env = with_repository(&["a"]);
    env.write("new", "");
    env.write("ensemble.yaml.lock", &std::process::id().to_string());
    env.unfurl(["commit", "-m", "x"]).exits(1);
    assert_eq!(subjects(&env, ".", "HEAD"), ["ensemble"]);
}
