//! Runs the user's commit hooks for a commit of a record.
//!
//! Hooks run only if the user's git setting `unfurl.hooks` is true and the user trusts the project: hooks are
//! usually written for manual commits, and a repository can come from an untrusted source.

use std::time::Duration;

use git2::Oid;

use super::Error;
use super::command::error_text;
use super::isolation::Isolation;
use super::operation::{Operation, OperationRecord};
use super::repository::Repository;
use crate::system::fs;

/// The time limit of a hook.
const TIME_LIMIT: Duration = Duration::from_mins(5);

/// The hooks of one commit, with a private index if they are enabled.
pub(super) struct CommitHooks<'r> {
    repository: &'r Repository,
    /// An operation with the private index and the message; `None` if hooks are disabled.
    folder: Option<Operation>,
}

impl<'r> CommitHooks<'r> {
    /// Prepares the hooks for a commit of a tree.
    pub(super) fn prepare(repository: &'r Repository, tree: Oid) -> Result<Self, Error> {
        let folder = if repository.isolation().is_ok_and(Isolation::runs_hooks) {
            let folder = repository.begin_operation(OperationRecord::new(), &[])?;
            let failed = || repository.failed("prepare hooks");
            let mut index = git2::Index::open(&folder.path("index")).map_err(failed())?;
            let tree = repository.inner.find_tree(tree).map_err(failed())?;
            let written = index.read_tree(&tree).and_then(|()| index.write());
            written.map_err(failed())?;
            Some(folder)
        } else {
            None
        };
        Ok(Self { repository, folder })
    }

    /// Runs `pre-commit` and returns the tree to commit, which the hook may have changed.
    pub(super) fn run_pre_commit(&mut self, tree: Oid) -> Result<Oid, Error> {
        let Some(folder) = &self.folder else {
            return Ok(tree);
        };
        self.run_hook("pre-commit", &[])?;
        let failed = || self.repository.failed("read the index after a hook");
        let index = git2::Index::open(&folder.path("index")).map_err(failed())?;
        self.repository.tree_of_index(&index)
    }

    /// Runs `commit-msg` and returns the message, which the hook may have changed.
    pub(super) fn run_commit_msg(&mut self, message: &str) -> Result<String, Error> {
        let Some(folder) = &self.folder else {
            return Ok(message.to_owned());
        };
        let file = folder.path("COMMIT_EDITMSG");
        fs::write_plain(&file, message.as_bytes(), None)?;
        let name = file.to_string_lossy().into_owned();
        self.run_hook("commit-msg", &[&name])?;
        Ok(fs::read_to_string(&file)?)
    }

    /// Runs `post-commit`. Its error is returned as a warning, because the commit already exists.
    pub(super) fn run_post_commit(&mut self) -> Option<String> {
        self.folder.as_ref()?;
        self.run_hook("post-commit", &[])
            .err()
            .map(|error| error.to_string())
    }

    fn run_hook(&self, name: &'static str, words: &[&str]) -> Result<(), Error> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let mut call = vec!["hook", "run", "--ignore-missing", name, "--"];
        call.extend(words);
        let index = folder.path("index").to_string_lossy().into_owned();
        let call = self.repository.git(call)?;
        let call = call
            .time_limit(TIME_LIMIT)
            .set_env("GIT_INDEX_FILE", index)
            .set_env("GIT_EDITOR", ":");
        let output = call.run()?;
        if output.is_ok() {
            return Ok(());
        }
        Err(Error::Hook {
            path: self.repository.root().to_owned(),
            name,
            message: error_text(&output),
        })
    }
}
