//! Opens the mirror of an address in the cache of this user, and brings it up to date.

use super::failure::Failure;
use crate::git::{Error, Mirror};
use crate::package::{HttpLogin, SourceUrl};
use crate::project::{CloneCache, LockedMirror};
use crate::system::env::Env;

/// The mirror of a repository, locked against other processes.
pub(super) struct OpenMirror {
    /// The address of the repository, without a login and without a path inside the repository.
    pub(super) url: SourceUrl,
    login: Option<HttpLogin>,
    locked: LockedMirror,
}

impl OpenMirror {
    /// Opens or creates the mirror of an address.
    pub(super) fn open(source: &SourceUrl) -> Result<Self, Failure> {
        let mut url = SourceUrl {
            path: String::new(),
            ..source.clone()
        };
        let login = url.take_login();
        let locked = CloneCache::of_user(&Env::of_this_process())?.lock(&url)?;
        Ok(Self { url, login, locked })
    }

    pub(super) fn mirror(&self) -> &Mirror {
        &self.locked.mirror
    }

    /// Fetches all branches and tags.
    ///
    /// If the remote cannot be reached and the last fetch has the revision, returns a note that says so.
    pub(super) fn update(&self, revision: Option<&str>) -> Result<Option<String>, Error> {
        let mirror = self.mirror();
        match mirror.update(self.login.as_ref()) {
            Ok(()) => Ok(None),
            Err(error) if self.locked.is_known && mirror.resolve(revision).is_some() => Ok(Some(
                format!("the state is that of the last fetch, because {error}"),
            )),
            Err(error) => Err(error),
        }
    }

    /// Fetches all branches and tags, and a commit that none of them may contain any more.
    pub(super) fn update_with_commit(&self, commit: &str) -> Result<(), Error> {
        self.mirror().update(self.login.as_ref())?;
        self.mirror().fetch_commit(commit, self.login.as_ref())
    }

    /// Returns a note about the password in the address, if there is one.
    pub(super) fn password_note(&self) -> Option<&'static str> {
        let has_password = self
            .login
            .as_ref()
            .is_some_and(|login| login.password.is_some());
        has_password.then_some(
            "the password of its address is not stored in the clone: use a credential helper of git",
        )
    }
}
