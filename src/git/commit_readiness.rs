//! Checks whether a repository is ready for a commit, and reads the git settings that a commit needs.

use std::path::{Path, PathBuf};

use git2::RepositoryState;

use super::Error;
use super::repository::Repository;
use super::settings::is_true;

impl Repository {
    /// Refuses to commit during an unfinished operation, such as a merge or rebase, or if git knows no
    /// author.
    pub fn check_ready_to_commit(&self) -> Result<(), Error> {
        self.check_unfinished()?;
        self.check_git_folder()?;
        self.repair()?;
        self.check_author()
    }

    /// Fails during an unfinished operation of the user, such as a merge or rebase.
    pub fn check_unfinished(&self) -> Result<(), Error> {
        match unfinished_operation(self.inner.state()) {
            Some((subject, resume_commands)) => Err(Error::Unfinished {
                path: self.root().to_owned(),
                subject,
                resume_commands,
            }),
            None => Ok(()),
        }
    }

    /// Fails if git knows no author, or if commits are signed and the program for it must not run.
    pub fn check_author(&self) -> Result<(), Error> {
        self.identities()?;
        if self.is_setting_enabled("commit.gpgsign") {
            self.check_signer()?;
        }
        Ok(())
    }

    /// Refuses a program for signatures that only settings of an untrusted repository name.
    pub(super) fn check_signer(&self) -> Result<(), Error> {
        match self.isolation()?.untrusted_signer() {
            Some(key) => Err(Error::UntrustedSigner {
                path: self.root().to_owned(),
                key,
            }),
            None => Ok(()),
        }
    }

    /// Refuses files whose filter only settings of an untrusted repository define. Paths are relative to the root
    /// of the working tree.
    pub fn check_filters(&self, files: &[PathBuf]) -> Result<(), Error> {
        if files.is_empty() || self.is_trusted || !self.isolation()?.has_untrusted_filters() {
            return Ok(());
        }
        let isolation = self.isolation()?;
        let mut found: Option<(String, Vec<PathBuf>)> = None;
        for file in files {
            let Some(filter) = self.filter_of(file) else {
                continue;
            };
            if isolation.is_untrusted_filter(&filter) {
                let (_, files) = found.get_or_insert_with(|| (filter, Vec::new()));
                files.push(file.clone());
            }
        }
        match found {
            Some((filter, files)) => Err(Error::UntrustedFilter {
                path: self.root().to_owned(),
                filter,
                files,
            }),
            None => Ok(()),
        }
    }

    /// Returns the tracked files below a folder of the working tree, for [`Self::check_filters`]; none if all
    /// filters may be used.
    pub fn files_with_filters(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = self.path_in_repository(folder)?;
        if self.is_trusted || !self.isolation()?.has_untrusted_filters() {
            return Ok(Vec::new());
        }
        let index = self.inner.index().map_err(self.failed("read the index"))?;
        let paths = index
            .iter()
            .map(|entry| PathBuf::from(std::ffi::OsStr::from_bytes(&entry.path)));
        Ok(paths.filter(|path| path.starts_with(&folder)).collect())
    }

    /// Whether `HEAD` is detached, so that new commits would belong to no branch.
    pub fn is_detached(&self) -> bool {
        self.inner.head_detached().unwrap_or(false)
    }

    /// Returns the name of the author of a commit made now. None if git knows none.
    pub fn author_name(&self) -> Option<String> {
        let (author, _) = self.identities().ok()?;
        Some(String::from_utf8_lossy(author.name_bytes()).into_owned())
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
            let output = self.git(words).ok()?.run().ok()?;
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

    /// Whether a boolean git setting is true; false if it is missing or invalid.
    pub(super) fn is_setting_enabled(&self, name: &str) -> bool {
        // libgit2 reads settings from fewer places than git, so it is asked only if there is no git.
        if let Ok(isolation) = self.isolation() {
            return is_true(isolation.value(name));
        }
        let config = self.inner.config();
        config.is_ok_and(|config| config.get_bool(name).unwrap_or(false))
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
