//! Checks of git repositories and of the git-lfs lock.

use std::fs;

use crate::support::TestEnv;

use super::{EMPTY, checks, doctor, find, is_fixed_by_its_command};

fn repository() -> TestEnv {
    let env = TestEnv::with_ensemble(EMPTY);
    env.git(&["init", "--quiet", "--initial-branch", "main"]);
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "-m", "first"]);
    env
}

/// Without an identity in the environment or in settings.
fn without_identity(env: TestEnv) -> TestEnv {
    let settings = env.work().with_file_name("home").join(".gitconfig");
    let names = [
        "AUTHOR_NAME",
        "AUTHOR_EMAIL",
        "COMMITTER_NAME",
        "COMMITTER_EMAIL",
    ];
    let env = env.variable("GIT_CONFIG_GLOBAL", settings.to_str().unwrap());
    names
        .iter()
        .fold(env, |env, name| env.without(&format!("GIT_{name}")))
}

#[test]
fn a_good_repository_is_named_with_its_branch() {
    let run = doctor(&repository(), &["--commit"]).succeeds();
    assert!(
        find(&checks(&run), "git", "branch `main`").is_some(),
        "{run}"
    );
    assert!(find(&checks(&run), "git", "git version").is_some(), "{run}");
}

#[test]
fn a_missing_repository_matters_only_for_commits() {
    let env = TestEnv::with_ensemble(EMPTY);
    let run = doctor(&env, &[]).succeeds();
    let found = find(&checks(&run), "git", "no git repository").unwrap();
    assert_eq!(found["state"], "note", "{run}");
    is_fixed_by_its_command(&env, &["--commit"], ("error", "git", "no git repository"));
}

#[test]
fn a_missing_identity_matters_only_for_commits() {
    let env = without_identity(repository());
    let run = doctor(&env, &[]).succeeds();
    let found = find(&checks(&run), "git", "no user name").unwrap();
    assert_eq!(found["state"], "note", "{run}");
    is_fixed_by_its_command(&env, &["--commit"], ("error", "git", "no user name"));
}

#[test]
fn an_unfinished_merge_is_told_and_the_command_ends_it() {
    let env = repository();
    env.git(&["switch", "--quiet", "-c", "other"]);
    env.write("a", "1\n");
    env.git(&["add", "a"]);
    env.git(&["commit", "--quiet", "-m", "a"]);
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["merge", "--quiet", "--no-ff", "--no-commit", "other"]);
    is_fixed_by_its_command(&env, &[], ("warning", "git", "a merge is not finished"));
}

#[test]
fn a_detached_head_is_told() {
    let env = repository();
    env.git(&["checkout", "--quiet", "--detach"]);
    is_fixed_by_its_command(
        &env,
        &["--commit"],
        ("error", "git", "no branch is checked out"),
    );
}

#[test]
fn a_lock_file_of_git_is_told() {
    let env = repository();
    env.write(".git/index.lock", "");
    is_fixed_by_its_command(&env, &[], ("warning", "git", "the lock file of git exists"));
}

#[test]
fn ignored_settings_of_the_repository_are_told() {
    let env = repository();
    env.git(&["config", "core.hooksPath", "hooks"]);
    let run = doctor(&env, &[]).succeeds();
    let found = find(&checks(&run), "model", "are ignored").unwrap();
    assert_eq!(found["state"], "warning", "{run}");
    assert!(
        found["fix"].as_str().unwrap().starts_with("unfurl trust "),
        "{run}"
    );
}

/// Two clones of one bare repository, with a commit in each that the other does not have.
fn diverged() -> TestEnv {
    let env = repository();
    let work = env.work();
    let bare = work.with_file_name("bare");
    let bare = bare.to_str().unwrap();
    env.git(&["clone", "--quiet", "--bare", ".", bare]);
    env.git(&["remote", "add", "origin", bare]);
    env.git(&["fetch", "--quiet"]);
    env.git(&["branch", "--quiet", "--set-upstream-to", "origin/main"]);
    env.write("there", "");
    env.git(&["add", "there"]);
    env.git(&["commit", "--quiet", "-m", "there"]);
    env.git(&["push", "--quiet", "origin", "main"]);
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    env
}

#[test]
fn the_upstream_is_compared_as_of_the_last_fetch() {
    let env = diverged();
    is_fixed_by_its_command(&env, &[], ("note", "git-upstream", "adds commits"));
    let env = diverged();
    env.write("here", "");
    env.git(&["add", "here"]);
    env.git(&["commit", "--quiet", "-m", "here"]);
    is_fixed_by_its_command(&env, &[], ("error", "git-upstream", "have diverged"));
    is_fixed_by_its_command(&env, &[], ("note", "git-upstream", "not pushed to"));
}

#[test]
fn a_repository_of_another_user_is_an_error_and_the_command_permits_it() {
    requires!("root");
    let env = without_identity(repository());
    for path in [env.work(), env.work().join(".git")] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    is_fixed_by_its_command(&env, &[], ("error", "ensemble", "belongs to"));
}

#[test]
fn a_missing_merge_driver_is_told_where_others_push() {
    is_fixed_by_its_command(&diverged(), &[], ("note", "git-merge", "line by line"));
    let run = doctor(&repository(), &[]);
    assert_eq!(find(&checks(&run), "git-merge", ""), None, "{run}");
}

#[test]
fn the_remote_is_asked_only_online() {
    let env = diverged();
    env.git(&["merge", "--quiet", "--ff-only", "origin/main"]);
    env.git(&["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let run = doctor(&env, &[]).succeeds();
    assert_eq!(find(&checks(&run), "git-upstream", ""), None, "{run}");
    let before = env.files();
    let run = doctor(&env, &["--online"]).succeeds();
    assert!(
        find(&checks(&run), "git-upstream", "not fetched yet").is_some(),
        "{run}"
    );
    assert_eq!(env.files(), before);
    is_fixed_by_its_command(
        &env,
        &["--online"],
        ("note", "git-upstream", "not fetched yet"),
    );
    fs::remove_dir_all(env.work().with_file_name("bare")).unwrap();
    let run = doctor(&env, &["--online"]);
    let found = find(&checks(&run), "git-upstream", "cannot be reached");
    let found = found.unwrap_or_else(|| panic!("{run}"));
    assert_eq!(found["state"], "warning", "{run}");
}

#[test]
fn the_remote_lock_is_checked_where_the_environment_has_one() {
    let env = repository();
    let project = |lock: &str| {
        format!(
            "apiVersion: unfurl/v1.0.0\nkind: Project\nenvironments: {{defaults: {{lfs_lock: {lock}}}}}\n"
        )
    };
    env.write("unfurl.yaml", &project("{lock: require}"));
    let run = doctor(&env, &[]).exits(1);
    let found = find(&checks(&run), "remote-lock", "").unwrap();
    assert_eq!(found["state"], "error", "{run}");
    env.write(
        "unfurl.yaml",
        &project("{lock: try, url: 'http://127.0.0.1:9/x'}"),
    );
    let run = doctor(&env, &[]).succeeds();
    let found = find(&checks(&run), "remote-lock", "not asked").unwrap();
    assert_eq!(found["state"], "ok", "{run}");
    let run = doctor(&env, &["--online"]).succeeds();
    let found = find(&checks(&run), "remote-lock", "unknown").unwrap();
    assert_eq!(found["state"], "warning", "{run}");
}

#[test]
fn a_repository_that_is_not_cloned_is_told() {
    let text = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    repositories:
      tools: {url: 'https://example.com/tools.git'}
      unused: {url: 'https://example.com/unused.git'}
    topology_template:
      node_templates:
        web:
          type: tosca:Root
          artifacts:
            tool: {type: tosca.artifacts.File, file: tool.sh, repository: tools}
";
    let run = doctor(&TestEnv::with_ensemble(text), &[]);
    let found = find(&checks(&run), "repository", "`tools`").unwrap();
    assert_eq!(found["state"], "warning", "{run}");
    assert_eq!(find(&checks(&run), "repository", "`unused`"), None, "{run}");
}

#[test]
fn logins_in_addresses_are_not_shown() {
    let env = repository();
    let url = "http://ada:s3cret@127.0.0.1:9/x.git";
    env.git(&["remote", "add", "origin", url]);
    env.git(&["config", "branch.main.remote", "origin"]);
    env.git(&["config", "branch.main.merge", "refs/heads/main"]);
    for more in [&[] as &[_], &["--online"]] {
        let run = doctor(&env, more);
        assert!(!run.all().contains("s3cret"), "{run}");
    }
}
