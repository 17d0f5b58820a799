//! Repositories are cloned once, or made empty.

use super::desired::joined;
use super::latest::emptied;
use super::repository::{Access, Local, Question, Repository, address, git, name, target};
use crate::converge::module::command::{act_or_fail, failure, old_new, one, unchanged};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};
use crate::text::{quoted, with_login_redacted};
use crate::value::Map;

/// Clones a repository to where nothing is.
fn clone(access: &Access, url: &str, target: &str, branch: Option<&str>) -> Result<Verdict, Halt> {
    let shown = with_login_redacted(url);
    let with = branch.map(|it| format!(" with branch '{it}'"));
    let with = with.unwrap_or_default();
    let option = branch.map(|it| format!(" --branch {}", quoted(it)));
    let text = format!(
        "git clone -q{} -- {} {}",
        option.unwrap_or_default(),
        quoted(url),
        quoted(target)
    );
    let changes = one("new", format!("{shown} => {target}"));
    let would = format!("{shown} would be cloned to {target}{with}");
    let steps = vec![access.run(text, target)];
    let predicted = Outcome::would(changes.clone(), would);
    let outcome = Outcome::changed(changes, format!("{shown} cloned to {target}{with}"));
    act_or_fail(predicted, steps, outcome, "Clone failed: ")
}

/// Checks another branch of a repository out.
fn change_branch(
    access: &Access,
    target: &str,
    local: &Repository,
    branch: &str,
) -> Result<Verdict, Halt> {
    let start = format!("origin/{branch}");
    let text = if local.branches.contains(branch) {
        git(target, ["checkout", "-q", branch])
    } else {
        git(target, ["checkout", "-q", "-b", branch, &start])
    };
    let changes = one("branch", old_new(local.branch.clone(), branch));
    let would = format!("Branch would be changed to '{branch}'");
    let steps = vec![access.run(text, target)];
    let predicted = Outcome::would(changes.clone(), would);
    let outcome = Outcome::changed(changes, format!("Branch changed to '{branch}'"));
    let complaint = format!("Failed to change branch to '{branch}': ");
    act_or_fail(predicted, steps, outcome, complaint)
}

/// Brings a repository to be there, whatever commit it is at.
pub(super) fn cloned(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let url = address(call)?;
    let target = target(call, "target")?;
    let branch = name(call, "branch")?;
    let access = Access::of(call)?;
    let question = Question {
        target: &target,
        remote: "origin",
        branch: branch.as_deref(),
        rev: "HEAD",
        wanted: None,
    };
    match question.ask(&access, facts)? {
        Local::File | Local::Other => {
            failure(format!("{target} exists and is not a git repository"))
        }
        Local::Nothing => clone(&access, &url, &target, branch.as_deref()),
        Local::Repository(local) => {
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

/// The command that makes a repository. What it does beside that is added to the actions.
fn init_command(call: &Call<'_>, target: &str, actions: &mut Vec<String>) -> Result<String, Halt> {
    let mut text = String::from("git init -q");
    if call.flag("bare", true) {
        text.push_str(" --bare");
    }
    if let Some(template) = call.text("template")? {
        text = format!("{text} --template={}", quoted(&template));
        actions.push(format!("Template directory set to {template}"));
    }
    if let Some(folder) = call.text("separate_git_dir")? {
        text = format!("{text} --separate-git-dir={}", quoted(&folder));
        actions.push(format!("Gitdir set to {folder}"));
    }
    if let Some(shared) = call.text("shared")? {
        text = format!("{text} --shared={}", quoted(&shared.to_lowercase()));
    }
    Ok(format!("{text} -- {}", quoted(target)))
}

/// Brings an empty repository to be there, or one that was.
pub(super) fn present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let target = target(call, "name")?;
    let bare = call.flag("bare", true);
    let access = Access::of(call)?;
    let question = Question {
        target: &target,
        remote: "origin",
        rev: "HEAD",
        ..Question::default()
    };
    let kind = if bare { "bare " } else { "" };
    let mut changes = Map::new();
    let mut steps = Vec::new();
    let mut would = format!("New {kind}repository would be created");
    match question.ask(&access, facts)? {
        Local::Repository(local) if local.is_bare == bare => return unchanged(""),
        Local::Nothing => {}
        Local::File => {
            return failure(format!("{target} exists and is a file"));
        }
        _ if call.flag("force", false) => {
            would = format!(
                "Target directory {target} exists. Since force=True, the contents of {target} would be deleted, and a {kind}repository would be initialized in its place."
            );
            changes.extend(one("forced init", true));
            steps.push(access.run(emptied(&target), &target));
        }
        _ => {
            return failure(format!(
                "Target '{target}' exists, is non-empty, and is not a git repository. Set the 'force' option to True to remove this directory's contents and proceed with initializing a repository"
            ));
        }
    }
    let mut actions = vec![format!("Initialized {kind}repository in {target}")];
    let text = init_command(call, &target, &mut actions)?;
    steps.push(access.run(text, &target));
    changes.extend(one("new", target));
    let predicted = Outcome::would(changes.clone(), would);
    let outcome = Outcome::changed(changes, joined(&actions));
    act_or_fail(predicted, steps, outcome, "")
}
