//! The state `git.detached`: keeps a repository at a commit, tag or remote branch with a detached HEAD.
//!
//! [`detached`] is the entry. A [`CheckoutPlan`] collects the commands: clone, set the remote, fetch,
//! check out.

use super::desired::join_comments;
use super::latest::empty_folder_command;
use super::repository::{
    GitAccess, LocalTarget, RemoteRefs, RepositoryQuery, git_command, ref_name, repository_url,
    target_path, update_submodules_command,
};
use crate::states::modules::decision::{act, failure, old_new, single_change, unchanged};
use crate::states::{FactCache, Halt, StateCall, StateDecision, StateOutcome};
use crate::text::{quote_word, with_login_redacted};
use crate::value::{Map, Value};

/// The revision to check out, and the remote to fetch it from.
struct DetachedTarget {
    url: String,
    target: String,
    remote: String,
    /// A commit ID, branch or tag.
    rev: String,
    is_commit: bool,
}

/// The commands to run, with the messages and changes to report.
struct CheckoutPlan {
    commands: Vec<String>,
    comments: Vec<String>,
    changes: Map,
    /// The commit that is checked out before; None without a repository.
    old: Option<String>,
    /// The commit to check out, if it is known before fetching.
    desired_commit: Option<String>,
    fetches: bool,
}

impl CheckoutPlan {
    /// Whether the desired commit is checked out already and nothing is to be fetched.
    fn is_done(&self) -> bool {
        !self.fetches
            && self.commands.is_empty()
            && self
                .old
                .as_ref()
                .zip(self.desired_commit.as_ref())
                .is_some_and(|(old, desired_commit)| old.starts_with(desired_commit))
    }
}

impl DetachedTarget {
    /// Reads the target from a state's arguments; None if `rev` is missing.
    fn from_call(call: &StateCall<'_>) -> Result<Option<Self>, Halt> {
        let url = repository_url(call)?;
        let target = target_path(call, "target")?;
        let Some(rev) = ref_name(call, "rev")? else {
            return Ok(None);
        };
        let remote = ref_name(call, "remote")?.unwrap_or_else(|| "origin".to_owned());
        let is_commit = rev.len() <= 40 && rev.bytes().all(|sign| sign.is_ascii_hexdigit());
        Ok(Some(Self {
            url,
            target,
            remote,
            rev,
            is_commit,
        }))
    }

    fn query<'a>(&'a self, desired_commit: Option<&'a str>) -> RepositoryQuery<'a> {
        RepositoryQuery {
            target: &self.target,
            remote: &self.remote,
            branch: None,
            rev: &self.rev,
            desired_commit,
        }
    }

    /// Plans the commands that create the repository or correct its remote.
    ///
    /// The error is the comment of the failed state.
    fn plan_repository(
        &self,
        call: &StateCall<'_>,
        local: LocalTarget,
    ) -> Result<CheckoutPlan, String> {
        let target = &self.target;
        let mut plan = CheckoutPlan {
            commands: Vec::new(),
            comments: Vec::new(),
            changes: Map::new(),
            old: None,
            desired_commit: self.is_commit.then(|| self.rev.to_lowercase()),
            fetches: call.flag("fetch_remote", true),
        };
        match local {
            LocalTarget::File => {
                return Err(format!(
                    "Target '{target}' exists and is a regular file, cannot proceed"
                ));
            }
            LocalTarget::OtherFolder if !call.flag("force_clone", false) => {
                return Err(format!(
                    "Target '{target}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to remove this directory's contents and proceed with cloning the remote repository"
                ));
            }
            local @ (LocalTarget::OtherFolder | LocalTarget::Empty) => {
                if local == LocalTarget::OtherFolder {
                    plan.commands.push(empty_folder_command(target));
                    plan.changes.extend(single_change("forced clone", true));
                }
                self.plan_clone(&mut plan);
            }
            LocalTarget::Repository(local) => {
                if local.url.as_deref() != Some(self.url.as_str()) && !self.is_commit {
                    self.plan_remote_url(local.url.as_deref(), &mut plan);
                }
                let theirs = local
                    .remote_branch_commit
                    .clone()
                    .or_else(|| local.tag_commit.clone());
                plan.desired_commit = plan.desired_commit.or(theirs);
                plan.fetches &= !local.has_desired_commit;
                plan.old = local.commit;
            }
        }
        Ok(plan)
    }

    /// Adds the clone, which also fetches everything.
    fn plan_clone(&self, plan: &mut CheckoutPlan) {
        plan.commands.push(format!(
            "git clone -q --no-checkout --origin {} -- {} {}",
            quote_word(&self.remote),
            quote_word(&self.url),
            quote_word(&self.target)
        ));
        let shown = with_login_redacted(&self.url);
        plan.comments
            .push(format!("{shown} cloned to {}", self.target));
        plan.fetches = false;
    }

    /// Adds the command that sets the URL of the remote.
    fn plan_remote_url(&self, is: Option<&str>, plan: &mut CheckoutPlan) {
        let (target, remote) = (&self.target, &self.remote);
        let word = if is.is_some() { "set-url" } else { "add" };
        plan.commands
            .push(git_command(target, ["remote", word, remote, &self.url]));
        let is = with_login_redacted(is.unwrap_or("None"));
        let shown = with_login_redacted(&self.url);
        plan.comments
            .push(format!("Remote {remote} updated from '{is}' to '{shown}'"));
    }

    /// Adds the fetch of all branches and tags.
    fn plan_fetch(&self, plan: &mut CheckoutPlan) {
        let (target, remote) = (&self.target, &self.remote);
        let heads = format!("+refs/heads/*:refs/remotes/{remote}/*");
        let words = ["fetch", "-q", "--force", remote, &heads];
        let words = words.into_iter().chain(["+refs/tags/*:refs/tags/*"]);
        plan.commands.push(git_command(target, words));
        plan.comments.push(format!(
            "Remote {remote} was fetched, resulting in updated refs"
        ));
    }

    /// Adds the checkout and the commands around it.
    fn plan_checkout(&self, call: &StateCall<'_>, plan: &mut CheckoutPlan) {
        let target = &self.target;
        if call.flag("hard_reset", false) {
            plan.commands
                .push(git_command(target, ["reset", "-q", "--hard", "HEAD"]));
            let comment = "Repository was reset to HEAD before checking out revision";
            plan.comments.push(comment.to_owned());
        }
        let is_forced = call.flag("force_checkout", false);
        plan.commands
            .push(checkout_command(target, &self.remote, &self.rev, is_forced));
        if call.flag("submodules", false) {
            plan.commands.push(update_submodules_command(target));
        }
    }

    /// Returns the outcome of a dry run.
    fn dry_run_outcome(&self, plan: &CheckoutPlan) -> StateOutcome {
        let target = &self.target;
        let new = plan.desired_commit.as_ref().unwrap_or(&self.rev);
        let mut expected = plan.changes.clone();
        expected.extend(single_change(
            "HEAD",
            old_new(plan.old.clone(), new.as_str()),
        ));
        let would = if plan.old.is_none() {
            let shown = with_login_redacted(&self.url);
            format!("Repository {shown} would be cloned to {target}")
        } else {
            format!("Commit ID {new} would be checked out at {target}")
        };
        StateOutcome::would_change(expected, would)
    }

    /// Returns the outcome after the commands, read from the repository.
    fn evaluate_result(
        &self,
        plan: &CheckoutPlan,
        access: &GitAccess,
        facts: &FactCache,
    ) -> Result<StateOutcome, Halt> {
        let LocalTarget::Repository(local) = self.query(None).probe(access, facts)? else {
            return Ok(StateOutcome::failed("Failed to update repository"));
        };
        let mut comments = plan.comments.clone();
        let mut changes = plan.changes.clone();
        if local.commit == plan.old {
            comments.push("Already checked out at correct revision".to_owned());
        } else {
            let commit = local.commit.as_deref().unwrap_or_default();
            let target = &self.target;
            comments.push(format!("Commit ID {commit} was checked out at {target}"));
            changes.extend(single_change(
                "HEAD",
                old_new(
                    plan.old.clone(),
                    local.commit.map_or(Value::Null, Value::from),
                ),
            ));
        }
        Ok(StateOutcome::changed(changes, join_comments(&comments)))
    }
}

/// Decides `git.detached`: checks out a revision with a detached HEAD.
pub(super) fn detached(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let Some(target) = DetachedTarget::from_call(call)? else {
        return failure("'' is not a valid value for the 'rev' argument");
    };
    let access = GitAccess::from_call(call)?;
    let question = target.query(target.is_commit.then_some(target.rev.as_str()));
    let mut plan = match target.plan_repository(call, question.probe(&access, facts)?) {
        Ok(plan) => plan,
        Err(why) => return failure(why),
    };
    // A branch may have moved on the remote, so the remote is asked. A commit that exists locally needs no
    // fetch.
    if plan.fetches && !target.is_commit {
        let known = plan.desired_commit.as_deref();
        plan.fetches = has_moved(&access, facts, &target, known)?;
    }
    if plan.fetches {
        target.plan_fetch(&mut plan);
    }
    if plan.is_done() {
        return unchanged("Already checked out at correct revision");
    }
    target.plan_checkout(call, &mut plan);
    let predicted = target.dry_run_outcome(&plan);
    let commands = std::mem::take(&mut plan.commands).into_iter();
    let steps = commands
        .map(|text| access.change(text, &target.target))
        .collect();
    act(predicted, steps, move |complaint, facts| match complaint {
        Some(why) => Ok(StateOutcome::failed(why)),
        None => target.evaluate_result(&plan, &access, facts),
    })
}

/// Whether the remote's branch or tag is at a commit other than the known one.
fn has_moved(
    access: &GitAccess,
    facts: &FactCache,
    target: &DetachedTarget,
    known: Option<&str>,
) -> Result<bool, Halt> {
    Ok(match RemoteRefs::probe(access, facts, &target.url)? {
        Ok(remote) => {
            let desired_commit = remote.find_revision(&target.rev);
            desired_commit.map(|it| it.commit).as_deref() != known
        }
        // The remote cannot be read: the fetch will fail and report the reason.
        Err(_) => true,
    })
}

/// Returns the command that checks out the remote's branch, the tag or the commit of a name, in this
/// order.
fn checkout_command(target: &str, remote: &str, rev: &str, is_forced: bool) -> String {
    let force = if is_forced { "-f " } else { "" };
    let names = [
        format!("refs/remotes/{remote}/{rev}"),
        format!("refs/tags/{rev}"),
        rev.to_owned(),
    ];
    let names: Vec<String> = names
        .iter()
        .map(|name| quote_word(&format!("{name}^{{commit}}")))
        .collect();
    let target = quote_word(target);
    format!(
        "for n in {}; do c=$(git -C {target} rev-parse -q --verify \"$n\") && break; done; \
         if [ -z \"$c\" ]; then echo {} >&2; exit 1; fi; \
         git -C {target} checkout -q {force}--detach \"$c\"",
        names.join(" "),
        quote_word(&format!("Revision '{rev}' does not exist"))
    )
}
