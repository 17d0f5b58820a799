//! Checks whether a repository is ready for a commit, and reads the git settings that a commit needs.

use git2::RepositoryState;

use super::Error;
use super::command::GitCommand;
use super::repository::Repository;
use crate::system::env::Env;
use crate::system::process::Output;

impl Repository {
    /// Refuses to commit during an unfinished operation, such as a merge or rebase, or if git knows no
    /// author.
    pub fn check_ready_to_commit(&self) -> Result<(), Error> {
        if let Some((operation, go_on)) = unfinished_operation(self.inner.state()) {
            return Err(Error::Unfinished {
                path: self.root().to_owned(),
                subject: operation,
                resume_commands: go_on,
            });
        }
        self.identities().map(|_| ())
    }

    /// Whether `HEAD` is detached, so that new commits would belong to no branch.
    pub fn is_detached(&self) -> bool {
        self.inner.head_detached().unwrap_or(false)
    }

    /// Returns the author and the committer for a commit made now.
    pub(super) fn identities(
        &self,
    ) -> Result<(git2::Signature<'static>, git2::Signature<'static>), Error> {
        let author = self.inner.author_from_env();
        let committer = self.inner.committer_from_env();
        if let (Ok(author), Ok(committer)) = (author, committer) {
            return Ok((author, committer));
        }
        // Git reads settings from more places than libgit2, but must not invent a name from the user and host
        // name.
        let read_identity = |name: &str| {
            let words = ["-c", "user.useConfigOnly=true", "var", name];
            let output = GitCommand::new(self.root(), words).run().ok()?;
            output.is_ok().then(|| identity(&output.text())).flatten()
        };
        match (
            read_identity("GIT_AUTHOR_IDENT"),
            read_identity("GIT_COMMITTER_IDENT"),
        ) {
            (Some(author), Some(committer)) => Ok((author, committer)),
            _ => Err(Error::NoIdentity {
                path: self.root().to_owned(),
            }),
        }
    }

    /// Returns the value of a git setting.
    pub(super) fn config_value(&self, name: &str) -> Option<String> {
        // libgit2 ignores these variables, so the git program must be asked.
        let env = Env::of_this_process();
        let config_variables = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_COUNT"];
        if config_variables
            .iter()
            .any(|name| env.non_empty(name).is_some())
        {
            let call = GitCommand::new(self.root(), ["config", "--get", name]);
            let output = call.run().ok().filter(Output::is_ok)?;
            return Some(output.text());
        }
        let config = self.inner.config().ok()?;
        config.get_string(name).ok()
    }

    /// Whether a boolean git setting is true; false if it is missing or invalid.
    pub(super) fn is_setting_enabled(&self, name: &str) -> bool {
        let value = self.config_value(name);
        value.is_some_and(|value| git2::Config::parse_bool(value).unwrap_or(false))
    }
}

/// Parses `Name <email> seconds offset`, the format of `git var`.
fn identity(text: &str) -> Option<git2::Signature<'static>> {
    let (name, rest) = text.split_once('<')?;
    let (email, _) = rest.split_once('>')?;
    git2::Signature::now(name.trim(), email.trim()).ok()
}

/// Returns the unfinished operation and the commands that end it. The caller adds the outer backquotes.
fn unfinished_operation(state: RepositoryState) -> Option<(&'static str, &'static str)> {
    Some(match state {
        RepositoryState::Clean | RepositoryState::Bisect => return None,
        RepositoryState::Merge => ("a merge", "git merge --continue` or `git merge --abort"),
        RepositoryState::Revert | RepositoryState::RevertSequence => {
            ("a revert", "git revert --continue` or `git revert --abort")
        }
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => (
            "a cherry-pick",
            "git cherry-pick --continue` or `git cherry-pick --abort",
        ),
        RepositoryState::Rebase
        | RepositoryState::RebaseInteractive
        | RepositoryState::RebaseMerge
        | RepositoryState::ApplyMailboxOrRebase => {
            ("a rebase", "git rebase --continue` or `git rebase --abort")
        }
        RepositoryState::ApplyMailbox => ("`git am`", "git am --continue` or `git am --abort"),
    })
}
