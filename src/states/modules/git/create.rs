//! The states `git.cloned` and `git.present`: create a repository once.
//!
//! `cloned` clones if nothing exists and at most changes the branch; `present` initializes an empty
//! repository. For repositories that follow a remote see `latest`.

use super::desired::join_comments;
use super::latest::empty_folder_command;
use super::repository::{
    GitAccess, LocalTarget, Repository, RepositoryQuery, git_command, ref_name, repository_url,
    target_path,
};
use crate::states::modules::decision::{act_or_fail, failure, old_new, single_change, unchanged};
use crate::states::{FactCache, Halt, StateCall, StateDecision, StateOutcome};
use crate::text::{quote_word, with_login_redacted};
use crate::value::Map;

/// Decides to clone a repository to a path where nothing exists.
fn clone_repository(
    access: &GitAccess,
    url: &str,
    target: &str,
    branch: Option<&str>,
) -> Result<StateDecision, Halt> {
    let shown = with_login_redacted(url);
    let with = branch.map(|it| format!(" with branch '{it}'"));
    let with = with.unwrap_or_default();
    let option = branch.map(|it| format!(" --branch {}", quote_word(it)));
    let text = format!(
        "git clone -q{} -- {} {}",
        option.unwrap_or_default(),
        quote_word(url),
        quote_word(target)
    );
    let changes = single_change("new", format!("{shown} => {target}"));
    let would = format!("{shown} would be cloned to {target}{with}");
    let steps = vec![access.change(text, target)];
    let predicted = StateOutcome::would_change(changes.clone(), would);
    let outcome = StateOutcome::changed(changes, format!("{shown} cloned to {target}{with}"));
    act_or_fail(predicted, steps, outcome, "Clone failed: ")
}

/// Decides to check out another branch of an existing repository.
fn change_branch(
    access: &GitAccess,
    target: &str,
    local: &Repository,
    branch: &str,
) -> Result<StateDecision, Halt> {
    let start = format!("origin/{branch}");
    let text = if local.branches.contains(branch) {
        git_command(target, ["checkout", "-q", branch])
    } else {
        git_command(target, ["checkout", "-q", "-b", branch, &start])
    };
    let changes = single_change("branch", old_new(local.branch.clone(), branch));
    let would = format!("Branch would be changed to '{branch}'");
    let steps = vec![access.change(text, target)];
    let predicted = StateOutcome::would_change(changes.clone(), would);
    let outcome = StateOutcome::changed(changes, format!("Branch changed to '{branch}'"));
    let complaint = format!("Failed to change branch to '{branch}': ");
    act_or_fail(predicted, steps, outcome, complaint)
}

/// Decides `git.cloned`. The commit of an existing repository does not matter.
pub(super) fn cloned(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let url = repository_url(call)?;
    let target = target_path(call, "target")?;
    let branch = ref_name(call, "branch")?;
    let access = GitAccess::from_call(call)?;
    let question = RepositoryQuery {
        target: &target,
        remote: "origin",
        branch: branch.as_deref(),
        rev: "HEAD",
        desired_commit: None,
    };
    match question.probe(&access, facts)? {
        LocalTarget::File | LocalTarget::OtherFolder => {
            failure(format!("{target} exists and is not a git repository"))
        }
        LocalTarget::Empty => clone_repository(&access, &url, &target, branch.as_deref()),
        LocalTarget::Repository(local) => {
            let Some(branch) = branch.filter(|it| local.branch.as_ref() != Some(it)) else {
                let at = local.branch.filter(|_| call.arg("branch").is_some());
                let at = at.map(|it| format!(" and is checked out to branch '{it}'"));
                let at = at.unwrap_or_default();
                return unchanged(format!("Repository already exists at {target}{at}"));
            };
            change_branch(&access, &target, &local, &branch)
        }
    }
}

/// Returns the `git init` command, and adds a message about each option to `actions`.
fn init_command(
    call: &StateCall<'_>,
    target: &str,
    actions: &mut Vec<String>,
) -> Result<String, Halt> {
    let mut text = String::from("git init -q");
    if call.flag("bare", true) {
        text.push_str(" --bare");
    }
    if let Some(template) = call.text("template")? {
        text = format!("{text} --template={}", quote_word(&template));
        actions.push(format!("Template directory set to {template}"));
    }
    if let Some(folder) = call.text("separate_git_dir")? {
        text = format!("{text} --separate-git-dir={}", quote_word(&folder));
        actions.push(format!("Gitdir set to {folder}"));
    }
    if let Some(shared) = call.text("shared")? {
        text = format!("{text} --shared={}", quote_word(&shared.to_lowercase()));
    }
    Ok(format!("{text} -- {}", quote_word(target)))
}

/// Decides `git.present`: initializes a repository unless one exists.
pub(super) fn present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let target = target_path(call, "name")?;
    let bare = call.flag("bare", true);
    let access = GitAccess::from_call(call)?;
    let question = RepositoryQuery {
        target: &target,
        remote: "origin",
        rev: "HEAD",
        ..RepositoryQuery::default()
    };
    let kind = if bare { "bare " } else { "" };
    let mut changes = Map::new();
    let mut steps = Vec::new();
    let mut would = format!("New {kind}repository would be created");
    match question.probe(&access, facts)? {
        LocalTarget::Repository(local) if local.is_bare == bare => return unchanged(""),
        LocalTarget::Empty => {}
        LocalTarget::File => {
            return failure(format!("{target} exists and is a file"));
        }
        _ if call.flag("force", false) => {
            would = format!(
                "Target directory {target} exists. Since force=True, the contents of {target} would be deleted, and a {kind}repository would be initialized in its place."
            );
            changes.extend(single_change("forced init", true));
            steps.push(access.change(empty_folder_command(&target), &target));
        }
        _ => {
            return failure(format!(
                "Target '{target}' exists, is non-empty, and is not a git repository. Set the 'force' option to True to remove this directory's contents and proceed with initializing a repository"
            ));
        }
    }
    let mut actions = vec![format!("Initialized {kind}repository in {target}")];
    let text = init_command(call, &target, &mut actions)?;
    steps.push(access.change(text, &target));
    changes.extend(single_change("new", target));
    let predicted = StateOutcome::would_change(changes.clone(), would);
    let outcome = StateOutcome::changed(changes, join_comments(&actions));
    act_or_fail(predicted, steps, outcome, "")
}
