//! The remotes of a repository: fetch and push. A push is never forced.

use std::path::Path;
use std::time::Duration;

use git2::{Direction, Oid};

use super::Error;
use super::command::error_text;
use super::lock_file::GitLock;
use super::operation::{FETCHED_REFS, Operation, OperationRecord, TransferRecord};
use super::repository::Repository;
use crate::system::process::Output;
use crate::system::{clock, survivors};

/// The maximum number of commits named in a message.
const MAX_LISTED_COMMITS: usize = 5;
/// The time limit of a push.
const PUSH_TIME_LIMIT: Duration = Duration::from_mins(5);

/// The words of git's fetch: fetched objects become a pack, which git syncs, and no other reference changes.
const FETCH: [&str; 10] = [
    "-c",
    "fetch.unpackLimit=1",
    "-c",
    "fetch.writeCommitGraph=false",
    "fetch",
    "--quiet",
    "--no-recurse-submodules",
    "--no-tags",
    "--no-prune",
    "--refmap=",
];

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

    /// Fetches the branch that the upstream names. The working tree stays unchanged.
    ///
    /// Git writes to a reference of this operation alone, so that a killed git leaves no lock on a reference of the
    /// user. The remote-tracking reference then follows here.
    pub fn fetch(&self, upstream: &Upstream, limit: Duration) -> Result<(), Error> {
        self.check_git_folder()?;
        let Some(tracking) = &upstream.tracking else {
            return Ok(());
        };
        let program = self
            .isolation()?
            .server_program(&upstream.remote, "uploadpack");
        self.check_addresses(&upstream.remote, false)?;
        let lock = self.lock_file_of(tracking);
        let transfer = transfer_of(upstream, false);
        let mut record = OperationRecord::new();
        record.transfer = Some(transfer.clone());
        let operation = self.begin_operation(record, &[&lock])?;
        let own = format!("{FETCHED_REFS}/{}", operation.id);
        let refs = format!("+{}:{own}", upstream.branch);
        let mut words = FETCH.map(str::to_owned).to_vec();
        words.extend(program);
        words.extend(["--".to_owned(), upstream.remote.clone(), refs]);
        let output = self.run_transfer(&transfer, &operation, words, limit)?;
        if !output.is_ok() {
            return Err(self.unreachable(&upstream.remote, &output));
        }
        self.sync_packs()?;
        let fetched = self.inner.refname_to_id(&own);
        let fetched = fetched.map_err(self.failed("find the fetched commit"))?;
        let lock = GitLock::acquire(&lock, self.root())?;
        let log = format!("fetch {}", upstream.remote);
        self.set_reference(tracking, fetched, &log, lock, &operation)
    }

    /// Asks the remote for the commit of the upstream's branch; `None` if it has no such branch. Changes nothing.
    pub fn ask_remote(
        &self,
        upstream: &Upstream,
        limit: Duration,
    ) -> Result<Option<String>, Error> {
        self.check_git_folder()?;
        let program = self
            .isolation()?
            .server_program(&upstream.remote, "uploadpack");
        self.check_addresses(&upstream.remote, false)?;
        let mut words = vec!["ls-remote".to_owned(), "--quiet".to_owned()];
        words.extend(program);
        words.extend([
            "--".to_owned(),
            upstream.remote.clone(),
            upstream.branch.clone(),
        ]);
        let output = self.git(words)?.over_network(limit).run()?;
        if !output.is_ok() {
            return Err(self.unreachable(&upstream.remote, &output));
        }
        let text = output.text();
        Ok(text.split_whitespace().next().map(str::to_owned))
    }

    /// Returns the id of the upstream's commit as of the last fetch.
    pub fn fetched_id(&self, upstream: &Upstream) -> Option<String> {
        self.fetched_commit(upstream).map(|id| id.to_string())
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

    /// Pushes the checked-out branch. If the remote has other commits, returns [`PushOutcome::Behind`].
    pub fn push(&self, target: &Upstream) -> Result<PushOutcome, Error> {
        let own = self.branch().ok_or_else(|| Error::Detached {
            path: self.root().to_owned(),
        })?;
        let refs = format!("refs/heads/{own}:{}", target.branch);
        // The lock on the remote-tracking reference is held here, so git would wait for it in vain.
        let mut words = vec!["-c", "core.filesRefLockTimeout=0", "push", "--porcelain"];
        let program = self
            .isolation()?
            .server_program(&target.remote, "receivepack");
        words.extend(program.as_deref());
        words.extend(["--", &target.remote, &refs]);
        self.check_push(&target.remote)?;
        let output = self.run_push(target, &own, words)?;
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

    /// Runs git's push, and sets the remote-tracking reference after it.
    ///
    /// The lock on that reference is held meanwhile, so that git cannot leave one behind.
    fn run_push(&self, target: &Upstream, branch: &str, words: Vec<&str>) -> Result<Output, Error> {
        let lock = target.tracking.as_ref().map(|name| self.lock_file_of(name));
        let transfer = transfer_of(target, true);
        let mut record = OperationRecord::new();
        record.transfer = Some(transfer.clone());
        let locks: Vec<&Path> = lock.as_deref().into_iter().collect();
        let operation = self.begin_operation(record, &locks)?;
        let lock = lock.map(|lock| GitLock::acquire(&lock, self.root()));
        let lock = lock.transpose()?;
        let pushed = self.inner.refname_to_id(&format!("refs/heads/{branch}"));
        let output = self.run_transfer(&transfer, &operation, words, PUSH_TIME_LIMIT)?;
        if let (true, Some(name), Some(lock), Ok(pushed)) =
            (output.is_ok(), &target.tracking, lock, pushed)
        {
            self.set_reference(name, pushed, "update by push", lock, &operation)?;
        }
        Ok(output)
    }

    /// Runs a git program that fetches or pushes. If the program fails, removes the locks that it has left.
    fn run_transfer(
        &self,
        transfer: &TransferRecord,
        operation: &Operation,
        words: impl IntoIterator<Item = impl Into<String>>,
        limit: Duration,
    ) -> Result<Output, Error> {
        let call = self.git(words)?.over_network(limit);
        let token = survivors::token_value(&operation.id, 0, None);
        let output = call.set_env(survivors::TOKEN_VARIABLE, token).run()?;
        if !output.is_ok() {
            self.remove_locks_of_transfer(transfer, &operation.id)?;
        }
        Ok(output)
    }
}

fn transfer_of(upstream: &Upstream, is_push: bool) -> TransferRecord {
    TransferRecord {
        is_push,
        remote: upstream.remote.clone(),
        branch: upstream.branch.clone(),
        started: clock::now().as_second(),
    }
}
