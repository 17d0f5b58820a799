//! The remotes of a repository: fetch, fast-forward and push. A push is never forced.

use std::path::PathBuf;
use std::time::Duration;

use git2::build::CheckoutBuilder;
use git2::{Direction, ErrorCode, Oid};

use super::Error;
use super::command::error_text;
use super::repository::Repository;
use crate::system::process::Output;

/// The maximum number of commits named in a message.
const MAX_LISTED_COMMITS: usize = 5;
/// The time limit of a push.
const PUSH_TIME_LIMIT: Duration = Duration::from_mins(5);

/// The remote branch that a local branch follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    pub remote: String,
    /// The full name of the branch on the remote.
    pub branch: String,
    /// The full name of the remote-tracking reference, which holds the state of the last fetch.
    pub tracking: Option<String>,
}

impl std::fmt::Display for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let branch = self.branch.strip_prefix("refs/heads/");
        write!(f, "{}/{}", self.remote, branch.unwrap_or(&self.branch))
    }
}

/// The distance between a branch and its upstream, in commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Divergence {
    /// The number of commits that only the local branch has.
    pub ahead: usize,
    /// The number of commits that only the upstream has.
    pub behind: usize,
}

/// The result of a push that the remote has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushOutcome {
    /// The remote has all commits now.
    Done,
    /// The remote has commits that are missing here.
    Behind,
}

impl Repository {
    /// Returns the upstream of the checked-out branch; `None` without a branch or remote.
    pub fn upstream(&self) -> Option<Upstream> {
        let own = self.branch()?;
        let remote = self
            .local_config_value(&format!("branch.{own}.remote"))
            .or_else(|| self.only_remote())?;
        if remote == "." {
            return None;
        }
        let merge = self.local_config_value(&format!("branch.{own}.merge"));
        let branch = merge.unwrap_or_else(|| format!("refs/heads/{own}"));
        Some(self.upstream_of(remote, branch))
    }

    /// Returns the remote branch that the checked-out branch is pushed to.
    pub fn push_target(&self) -> Option<Upstream> {
        let own = self.branch()?;
        let configured = self
            .local_config_value(&format!("branch.{own}.pushRemote"))
            .or_else(|| self.local_config_value("remote.pushDefault"));
        let upstream = self.upstream();
        match configured {
            Some(remote) if upstream.as_ref().is_none_or(|it| it.remote != remote) => {
                Some(self.upstream_of(remote, format!("refs/heads/{own}")))
            }
            _ => upstream,
        }
    }

    fn local_config_value(&self, name: &str) -> Option<String> {
        self.inner.config().ok()?.get_string(name).ok()
    }

    /// Returns `origin` if it exists, or else the only remote.
    pub(super) fn only_remote(&self) -> Option<String> {
        let mut names = self.remote_names();
        if names.iter().any(|name| name == "origin") {
            return Some("origin".to_owned());
        }
        names.pop().filter(|_| names.is_empty())
    }

    pub(super) fn remote_names(&self) -> Vec<String> {
        let names = self.inner.remotes().ok();
        let names = names.iter().flat_map(|names| names.iter());
        let names = names.filter_map(|name| name.ok().flatten());
        names.map(str::to_owned).collect()
    }

    fn upstream_of(&self, remote: String, branch: String) -> Upstream {
        let tracking = self.inner.find_remote(&remote).ok().and_then(|remote| {
            let mut specs = remote.refspecs();
            let spec = specs
                .find(|spec| spec.direction() == Direction::Fetch && spec.src_matches(&branch))?;
            let name = spec.transform(&branch).ok()?;
            name.as_str().ok().map(str::to_owned)
        });
        Upstream {
            remote,
            branch,
            tracking,
        }
    }

    /// Fetches from a remote. The working tree stays unchanged.
    pub fn fetch(&self, remote: &str, limit: Duration) -> Result<(), Error> {
        self.check_git_folder()?;
        let mut words = vec!["fetch", "--quiet", "--no-recurse-submodules"];
        let program = self.isolation()?.server_program(remote, "uploadpack");
        words.extend(program.as_deref());
        words.extend(["--", remote]);
        self.check_addresses(remote, false)?;
        let output = self.git(words)?.time_limit(limit).run()?;
        if output.is_ok() {
            return Ok(());
        }
        Err(self.unreachable(remote, &output))
    }

    fn unreachable(&self, remote: &str, output: &Output) -> Error {
        Error::Unreachable {
            path: self.root().to_owned(),
            remote: remote.to_owned(),
            message: error_text(output),
        }
    }

    /// Returns the upstream's commit as of the last fetch.
    pub(super) fn fetched_commit(&self, upstream: &Upstream) -> Option<Oid> {
        self.inner.refname_to_id(upstream.tracking.as_deref()?).ok()
    }

    /// Returns the distance from the upstream as of the last fetch; `None` if it is unknown.
    pub fn divergence(&self, upstream: &Upstream) -> Result<Option<Divergence>, Error> {
        let Some(there) = self.fetched_commit(upstream) else {
            return Ok(None);
        };
        let Some(here) = self.tip()? else {
            return Ok(None);
        };
        let (ahead, behind) = self
            .inner
            .graph_ahead_behind(here.id(), there)
            .map_err(self.failed("compare"))?;
        Ok(Some(Divergence { ahead, behind }))
    }

    /// Describes the commits that only one side has: the local ones and the upstream's.
    pub fn describe_divergence(&self, upstream: &Upstream) -> Option<(String, String)> {
        let here = self.tip().ok()??.id();
        let there = self.fetched_commit(upstream)?;
        Some((
            self.summarize_commits(here, there)?,
            self.summarize_commits(there, here)?,
        ))
    }

    fn summarize_commits(&self, of: Oid, without: Oid) -> Option<String> {
        let mut walk = self.inner.revwalk().ok()?;
        walk.push(of).ok()?;
        walk.hide(without).ok()?;
        let ids: Vec<Oid> = walk.filter_map(Result::ok).collect();
        let mut names: Vec<String> = ids
            .iter()
            .take(MAX_LISTED_COMMITS)
            .filter_map(|id| {
                let commit = self.inner.find_commit(*id).ok()?;
                let subject = commit
                    .summary()
                    .ok()
                    .flatten()
                    .unwrap_or_default()
                    .to_owned();
                Some(format!("{} {subject}", &id.to_string()[..7]))
            })
            .collect();
        if ids.len() > MAX_LISTED_COMMITS {
            names.push(format!("{} more", ids.len() - MAX_LISTED_COMMITS));
        }
        Some(names.join(", "))
    }

    /// Fast-forwards the branch and the working tree to the upstream and returns the changed files.
    ///
    /// # Errors
    ///
    /// Uncommitted changes would be overwritten; nothing is changed then.
    pub fn fast_forward(&self, upstream: &Upstream) -> Result<Vec<PathBuf>, Error> {
        let Some(there) = self.fetched_commit(upstream) else {
            return Ok(Vec::new());
        };
        self.checkout_commit(there, &format!("unfurl: fast-forward to {upstream}"))
    }

    /// Checks out a commit: first the files, then the branch.
    ///
    /// A crash in between leaves uncommitted changes, and never a branch that is newer than the files.
    pub(super) fn checkout_commit(&self, to: Oid, log: &str) -> Result<Vec<PathBuf>, Error> {
        let tip = self.tip()?;
        let commit = self.inner.find_commit(to);
        let tree = commit.and_then(|commit| commit.tree());
        let tree = tree.map_err(self.failed("find the commit"))?;
        let base = match &tip {
            Some(tip) => Some(tip.tree().map_err(self.failed("read the commit"))?),
            None => None,
        };
        let files = self.differences(base.as_ref(), tree.id())?;
        let conflicting = self.changed_files(&files)?;
        if !conflicting.is_empty() {
            return Err(Error::WouldOverwrite {
                path: self.root().to_owned(),
                files: conflicting,
            });
        }
        self.checkout_files(&tree, &files)?;
        self.advance(tip.map(|tip| tip.id()), to, log)?;
        Ok(files)
    }

    fn changed_files(&self, files: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
        let paths: Vec<&std::path::Path> = files.iter().map(PathBuf::as_path).collect();
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut changed = self.changes(&paths)?;
        changed.retain(|path| {
            files
                .iter()
                .any(|file| file == path || file.starts_with(path))
        });
        Ok(changed)
    }

    fn checkout_files(&self, tree: &git2::Tree<'_>, files: &[PathBuf]) -> Result<(), Error> {
        if files.iter().any(|file| self.has_filter(file)) {
            self.check_filters(files)?;
            return self.checkout_with_git(tree);
        }
        let mut options = CheckoutBuilder::new();
        options.safe().overwrite_ignored(false);
        let done = self
            .inner
            .checkout_tree(tree.as_object(), Some(&mut options));
        done.map_err(|error| match error.code() {
            ErrorCode::Conflict => Error::WouldOverwrite {
                path: self.root().to_owned(),
                files: Vec::new(),
            },
            ErrorCode::Locked => Error::Locked {
                path: self.root().to_owned(),
                subject: "index".to_owned(),
            },
            _ => self.failed("check out")(error),
        })
    }

    /// Filter programs, such as git-lfs, are run by git, so git does the checkout.
    fn checkout_with_git(&self, tree: &git2::Tree<'_>) -> Result<(), Error> {
        let old = match self.tip()? {
            Some(tip) => tip.tree_id().to_string(),
            None => return Ok(()),
        };
        let new = tree.id().to_string();
        let call = self.git(["read-tree", "-m", "-u", &old, &new])?;
        call.run_checked("check out").map(drop)
    }

    /// Pushes the checked-out branch. If the remote has other commits, returns [`PushOutcome::Behind`].
    pub fn push(&self, target: &Upstream) -> Result<PushOutcome, Error> {
        let own = self.branch().ok_or_else(|| Error::Detached {
            path: self.root().to_owned(),
        })?;
        let refs = format!("refs/heads/{own}:{}", target.branch);
        let mut words = vec!["push", "--porcelain"];
        let program = self
            .isolation()?
            .server_program(&target.remote, "receivepack");
        words.extend(program.as_deref());
        words.extend(["--", &target.remote, &refs]);
        self.check_push(&target.remote)?;
        let output = self.git(words)?.time_limit(PUSH_TIME_LIMIT).run()?;
        if output.is_ok() {
            return Ok(PushOutcome::Done);
        }
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        let refused = report.lines().find(|line| line.starts_with('!'));
        let Some(refused) = refused else {
            return Err(self.unreachable(&target.remote, &output));
        };
        let races = [
            "fetch first",
            "non-fast-forward",
            "stale info",
            "cannot lock ref",
            "failed to update ref",
            "incorrect old value",
        ];
        if races.iter().any(|race| refused.contains(race)) {
            return Ok(PushOutcome::Behind);
        }
        let summary = refused.rsplit('\t').next().unwrap_or(refused);
        Err(Error::Rejected {
            path: self.root().to_owned(),
            remote: target.remote.clone(),
            message: format!("{summary}; {}", error_text(&output)),
        })
    }
}
