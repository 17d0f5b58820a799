//! What a state wants of a repository, and how messages name it.

use super::repository::{
    Access, Kind, Question, Remote, Repository, Revision, address, name, target,
};
use crate::converge::{Call, Halt, refuse};
use crate::host::change::Change;
use crate::value::Value;

/// When what stands in the way is thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Force {
    Never,
    /// Only if there is something new.
    RemoteChanges,
    Always,
}

/// What a branch is to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Upstream {
    /// What it does follow.
    AsIs,
    Nothing,
    Branch(String),
}

/// What a state wants of a repository.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the arguments that people write"
)]
pub(super) struct Desired {
    pub(super) url: String,
    pub(super) target: String,
    pub(super) rev: String,
    pub(super) branch: Option<String>,
    pub(super) remote: String,
    pub(super) depth: Option<i64>,
    pub(super) force_reset: Force,
    pub(super) forces_clone: bool,
    pub(super) forces_checkout: bool,
    pub(super) forces_fetch: bool,
    pub(super) updates_head: bool,
    pub(super) has_submodules: bool,
    pub(super) is_bare: bool,
    pub(super) is_mirror: bool,
    pub(super) fetches_tags: bool,
    pub(super) removes_tags: bool,
    pub(super) access: Access,
}

impl Desired {
    pub(super) fn of(call: &Call<'_>) -> Result<Self, Halt> {
        let url = address(call)?;
        let is_mirror = call.flag("mirror", false);
        let is_bare = is_mirror || call.flag("bare", false);
        let rev = name(call, "rev")?.unwrap_or_else(|| "HEAD".to_owned());
        if rev != "HEAD" && is_bare {
            return refuse("'rev' is not compatible with the 'mirror' and 'bare' arguments");
        }
        let force_reset = match call.arg("force_reset") {
            None | Some(Value::Bool(false)) => Force::Never,
            Some(Value::Str(text)) if **text == *"remote-changes" => Force::RemoteChanges,
            Some(Value::Bool(true)) => Force::Always,
            Some(_) => {
                return refuse("'force_reset' must be one of True, False, or 'remote-changes'");
            }
        };
        Ok(Self {
            url,
            target: target(call, "target")?,
            rev,
            branch: name(call, "branch")?,
            remote: name(call, "remote")?.unwrap_or_else(|| "origin".to_owned()),
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
            access: Access::of(call)?,
        })
    }

    pub(super) fn question<'a>(&'a self, wanted: Option<&'a Revision>) -> Question<'a> {
        Question {
            target: &self.target,
            remote: &self.remote,
            branch: self.branch.as_deref(),
            rev: &self.rev,
            wanted: wanted.map(|it| it.commit.as_str()),
        }
    }

    /// What the branch is to follow.
    pub(super) fn upstream(&self, wanted: Option<&Revision>) -> Upstream {
        match wanted.map(|it| it.kind) {
            None => Upstream::AsIs,
            Some(Kind::Branch) => Upstream::Branch(format!("{}/{}", self.remote, self.rev)),
            Some(_) if self.rev == "HEAD" => Upstream::AsIs,
            Some(Kind::Tag | Kind::Commit) => Upstream::Nothing,
        }
    }

    /// The revision in messages.
    pub(super) fn place(&self, wanted: &Revision) -> String {
        let short = short(&wanted.commit);
        match wanted.kind {
            Kind::Commit if self.rev == "HEAD" => format!("remote HEAD ({short})"),
            Kind::Commit => short.to_owned(),
            Kind::Branch => format!("{}/{} ({short})", self.remote, self.rev),
            Kind::Tag => format!("{} ({short})", self.rev),
        }
    }

    /// The branch that it has to go to, if it is not there.
    pub(super) fn other_branch(&self, repository: &Repository) -> Option<&str> {
        self.branch
            .as_deref()
            .filter(|branch| repository.branch.as_deref() != Some(branch))
    }

    /// Why it cannot be updated without losing something.
    pub(super) fn no_fast_forward(
        &self,
        repository: &Repository,
        wanted: &Revision,
        remote: &Remote,
    ) -> String {
        let is_dirty = repository.is_dirty;
        let pre = repository.base.as_deref().or(repository.commit.as_deref());
        let (pre, post) = (short(pre.unwrap_or_default()), short(&wanted.commit));
        let way = if is_dirty && pre != post {
            format!("from {pre} to {post}")
        } else {
            format!("to {post}")
        };
        let after = self
            .other_branch(repository)
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
            "Repository would be updated {way}{after}, but {why}. Set 'force_reset' to True{or} to force this update{and}.{}",
            self.branch_hint(repository, remote)
        )
    }

    fn branch_hint(&self, repository: &Repository, remote: &Remote) -> String {
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

/// The first letters of a commit.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// Several remarks as one comment.
pub(super) fn joined(comments: &[String]) -> String {
    let text = comments.join(". ");
    if comments.len() > 1 { text + "." } else { text }
}

/// A step of a repository.
pub(super) fn step(desired: &Desired, text: String) -> Change {
    desired.access.run(text, &desired.target)
}
