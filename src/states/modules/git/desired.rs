//! The desired repository of `git.latest` and the messages about it.
//!
//! [`DesiredRepository`] holds the parsed arguments, shared by `latest` and `update`.

use super::repository::{
    GitAccess, RemoteRefs, Repository, RepositoryQuery, Revision, RevisionKind, ref_name,
    repository_url, target_path,
};
use crate::host::change::Change;
use crate::states::{Halt, StateCall, refuse};
use crate::value::Value;

/// The condition under which `git.latest` discards local changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForceReset {
    Never,
    /// Only if the remote has a new commit.
    RemoteChanges,
    Always,
}

/// The upstream that a local branch is to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Upstream {
    /// Keep the current upstream, if any.
    Unchanged,
    Unset,
    Branch(String),
}

/// A repository as described by the arguments of `git.latest`.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the fields are the arguments of the state"
)]
pub(super) struct DesiredRepository {
    pub(super) url: String,
    pub(super) target: String,
    pub(super) rev: String,
    pub(super) branch: Option<String>,
    pub(super) remote: String,
    pub(super) depth: Option<i64>,
    pub(super) force_reset: ForceReset,
    pub(super) forces_clone: bool,
    pub(super) forces_checkout: bool,
    pub(super) forces_fetch: bool,
    pub(super) updates_head: bool,
    pub(super) has_submodules: bool,
    pub(super) is_bare: bool,
    pub(super) is_mirror: bool,
    pub(super) fetches_tags: bool,
    pub(super) removes_tags: bool,
    pub(super) access: GitAccess,
}

impl DesiredRepository {
    pub(super) fn from_call(call: &StateCall<'_>) -> Result<Self, Halt> {
        let url = repository_url(call)?;
        let is_mirror = call.flag("mirror", false);
        let is_bare = is_mirror || call.flag("bare", false);
        let rev = ref_name(call, "rev")?.unwrap_or_else(|| "HEAD".to_owned());
        if rev != "HEAD" && is_bare {
            return refuse("'rev' is not compatible with the 'mirror' and 'bare' arguments");
        }
        let force_reset = match call.arg("force_reset") {
            None | Some(Value::Bool(false)) => ForceReset::Never,
            Some(Value::Str(text)) if **text == *"remote-changes" => ForceReset::RemoteChanges,
            Some(Value::Bool(true)) => ForceReset::Always,
            Some(_) => {
                return refuse("'force_reset' must be one of True, False, or 'remote-changes'");
            }
        };
        Ok(Self {
            url,
            target: target_path(call, "target")?,
            rev,
            branch: ref_name(call, "branch")?,
            remote: ref_name(call, "remote")?.unwrap_or_else(|| "origin".to_owned()),
            depth: call.int("depth")?,
            force_reset,
            forces_clone: call.flag("force_clone", false),
            forces_checkout: call.flag("force_checkout", false),
            forces_fetch: call.flag("force_fetch", false),
            updates_head: call.flag("update_head", true),
            has_submodules: call.flag("submodules", false),
            is_bare,
            is_mirror,
            fetches_tags: call.flag("fetch_tags", true),
            removes_tags: call.flag("sync_tags", true),
            access: GitAccess::from_call(call)?,
        })
    }

    pub(super) fn query<'a>(&'a self, revision: Option<&'a Revision>) -> RepositoryQuery<'a> {
        RepositoryQuery {
            target: &self.target,
            remote: &self.remote,
            branch: self.branch.as_deref(),
            rev: &self.rev,
            desired_commit: revision.map(|it| it.commit.as_str()),
        }
    }

    /// Returns the upstream that the branch is to follow for this revision.
    pub(super) fn desired_upstream(&self, revision: Option<&Revision>) -> Upstream {
        match revision.map(|it| it.kind) {
            None => Upstream::Unchanged,
            Some(RevisionKind::Branch) => Upstream::Branch(format!("{}/{}", self.remote, self.rev)),
            Some(_) if self.rev == "HEAD" => Upstream::Unchanged,
            Some(RevisionKind::Tag | RevisionKind::Commit) => Upstream::Unset,
        }
    }

    /// Returns the revision as messages name it.
    pub(super) fn revision_label(&self, revision: &Revision) -> String {
        let short = short_commit(&revision.commit);
        match revision.kind {
            RevisionKind::Commit if self.rev == "HEAD" => format!("remote HEAD ({short})"),
            RevisionKind::Commit => short.to_owned(),
            RevisionKind::Branch => format!("{}/{} ({short})", self.remote, self.rev),
            RevisionKind::Tag => format!("{} ({short})", self.rev),
        }
    }

    /// Returns the branch to check out; None if it is checked out already or the state names none.
    pub(super) fn branch_to_check_out(&self, repository: &Repository) -> Option<&str> {
        self.branch
            .as_deref()
            .filter(|branch| repository.branch.as_deref() != Some(branch))
    }

    /// Returns why the repository cannot be updated without losing changes, and which option forces the
    /// update.
    pub(super) fn refusal_comment(
        &self,
        repository: &Repository,
        revision: &Revision,
        remote: &RemoteRefs,
    ) -> String {
        let is_dirty = repository.is_dirty;
        let pre = repository.base.as_deref().or(repository.commit.as_deref());
        let (pre, post) = (
            short_commit(pre.unwrap_or_default()),
            short_commit(&revision.commit),
        );
        let range = if is_dirty && pre != post {
            format!("from {pre} to {post}")
        } else {
            format!("to {post}")
        };
        let after = self
            .branch_to_check_out(repository)
            .map(|branch| format!(" (after checking out local branch '{branch}')"))
            .unwrap_or_default();
        let why = if is_dirty {
            "there are uncommitted changes"
        } else {
            "this is not a fast-forward merge"
        };
        let (or, and) = if is_dirty {
            (" (or 'remote-changes')", " and discard these changes")
        } else {
            ("", "")
        };
        format!(
            "Repository would be updated {range}{after}, but {why}. Set 'force_reset' to True{or} to force this update{and}.{}",
            self.branch_hint(repository, remote)
        )
    }

    fn branch_hint(&self, repository: &Repository, remote: &RemoteRefs) -> String {
        let rev = &self.rev;
        let local = repository.branch.as_deref().unwrap_or("None");
        if self.branch.is_some() {
            return String::new();
        }
        if rev != "HEAD" {
            if local == rev {
                return String::new();
            }
            return format!(
                " The desired rev ({rev}) differs from the name of the local branch ({local}), if the desired rev is a branch name then a forced update could possibly be avoided by setting the 'branch' argument to '{rev}' instead."
            );
        }
        match remote.default_branch().filter(|default| *default != local) {
            None => String::new(),
            Some(default) => format!(
                " The default remote branch ({default}) differs from the local branch ({local}). This could be caused by changing the default remote branch, or if the local branch was manually changed. Rather than forcing an update, it may be advisable to set the 'branch' argument to '{local}' instead. To ensure that this state follows the '{default}' branch instead of the remote HEAD, set the 'rev' argument to '{default}'."
            ),
        }
    }
}

/// Returns a commit ID shortened to seven digits.
pub(super) fn short_commit(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// Joins messages to one comment, as Salt does.
pub(super) fn join_comments(comments: &[String]) -> String {
    let text = comments.join(". ");
    if comments.len() > 1 { text + "." } else { text }
}

/// Returns the change that runs a command in the desired repository.
pub(super) fn repository_change(desired: &DesiredRepository, text: String) -> Change {
    desired.access.change(text, &desired.target)
}
