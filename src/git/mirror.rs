//! Mirrors: bare copies of remote repositories, from which clones are made without the network.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Error;
use super::command::{GitCommand, error_text};
use super::isolation::Isolation;
use super::local_remote::is_safe;
use super::revision::{Revision, resolve, tag_names};
use crate::package::HttpLogin;
use crate::system::{fs, user};
use crate::text::without_logins;

/// The time limit of a transfer from another machine.
const FETCH_LIMIT: Duration = Duration::from_mins(10);
/// The setting of a mirror that holds its address.
const ADDRESS_KEY: &str = "unfurl.address";
/// The references that keep commits which no branch or tag of the remote contains any more.
const KEPT: &str = "refs/unfurl/kept";
/// The credential helper that hands on the login that the user has put into an address. It reaches git through
/// variables, never through words of a command.
const LOGIN_HELPER: &str = "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' \
                            \"$UNFURL_GIT_USER\" \"$UNFURL_GIT_PASSWORD\"; }; f";

/// The rule by which tags are copied.
pub(super) const ALL_TAGS: &str = "+refs/tags/*:refs/tags/*";

/// A fetch of objects that others have made: git checks each object. Flaws of old programs are accepted.
///
/// Only the named references are fetched, and replaced.
pub(super) const CHECKED_FETCH: [&str; 24] = [
    "-c",
    "fetch.unpackLimit=1",
    "-c",
    "fetch.writeCommitGraph=false",
    "-c",
    "fetch.fsckObjects=true",
    "-c",
    "fetch.fsck.zeroPaddedFilemode=ignore",
    "-c",
    "fetch.fsck.missingSpaceBeforeDate=ignore",
    "-c",
    "fetch.fsck.badTimezone=ignore",
    "-c",
    "fetch.fsck.badDate=ignore",
    "-c",
    "fetch.fsck.missingEmail=ignore",
    "-c",
    "fetch.fsck.missingSpaceBeforeEmail=ignore",
    "fetch",
    "--quiet",
    "--force",
    "--no-tags",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
];

/// A bare copy of a remote repository.
pub struct Mirror {
    inner: git2::Repository,
    folder: PathBuf,
    address: String,
    isolation: Isolation,
}

impl std::fmt::Debug for Mirror {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mirror")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Mirror {
    /// Opens the mirror of an address in a folder; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Somebody else could have written it, or it belongs to another address.
    pub fn open(folder: &Path, address: &str) -> Result<Option<Self>, Error> {
        if !fs::exists(folder) && !fs::is_symlink(folder) {
            return Ok(None);
        }
        refuse_foreign(folder)?;
        let inner = git2::Repository::open_bare(folder)
            .map_err(|error| Error::open_failed(folder, &error))?;
        let isolation = Isolation::of(&inner, folder, false)?;
        let mirror = Self {
            inner,
            folder: folder.to_owned(),
            address: address.to_owned(),
            isolation,
        };
        let settings = &mirror.isolation.settings;
        if settings.local(ADDRESS_KEY).map(|setting| &*setting.value) != Some(address) {
            return Err(mirror.poisoned("it is a copy of another repository"));
        }
        if let Some(setting) = settings.ignored().next() {
            let reason = format!(
                "this program does not set `{}` there",
                setting.key.escape_debug()
            );
            return Err(mirror.poisoned(&reason));
        }
        Ok(Some(mirror))
    }

    /// Creates an empty mirror of an address in a new folder.
    pub fn create(folder: &Path, address: &str) -> Result<Self, Error> {
        let failed = |error: git2::Error| Error::failed("create a mirror", folder, &error);
        let parent = fs::parent_of(folder);
        let temporary = fs::TemporaryDir::create_in(parent, ".new-")?;
        let mut options = git2::RepositoryInitOptions::new();
        let path = temporary.path().join("git");
        // Git would let the group of the user write it, if the umask permits that.
        fs::create_dir_all(&path)?;
        options
            .bare(true)
            .external_template(false)
            .no_reinit(true)
            .mkdir(false);
        let new = git2::Repository::init_opts(&path, &options).map_err(failed)?;
        let mut config = new.config().map_err(failed)?;
        config.set_str(ADDRESS_KEY, address).map_err(failed)?;
        drop((config, new));
        fs::rename(&path, folder)?;
        Self::open(folder, address)?.ok_or_else(|| Error::PoisonedCache {
            folder: folder.to_owned(),
            reason: "it was removed meanwhile".to_owned(),
        })
    }

    fn poisoned(&self, reason: &str) -> Error {
        Error::PoisonedCache {
            folder: self.folder.clone(),
            reason: reason.to_owned(),
        }
    }

    /// Returns the folder of the mirror.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Fetches all branches and tags, and the default branch of the remote.
    pub fn update(&self, login: Option<&HttpLogin>) -> Result<(), Error> {
        if !is_safe(&self.address) || self.address.starts_with('-') {
            return Err(
                self.unreachable("its address has characters that no host or user name has")
            );
        }
        let listed = self.call(
            &["ls-remote", "--symref", "--", &self.address, "HEAD"],
            login,
        )?;
        let branch = listed.lines().find_map(|line| {
            let (name, of) = line.strip_prefix("ref: ")?.split_once('\t')?;
            (of == "HEAD").then_some(name)
        });
        self.fetch(&["+refs/heads/*:refs/heads/*", ALL_TAGS], login)?;
        if let Some(branch) = branch.filter(|name| git2::Reference::is_valid_name(name)) {
            let head = self.inner.set_head(branch);
            head.map_err(|error| Error::failed("set the branch", &self.folder, &error))?;
        }
        Ok(())
    }

    /// Fetches a commit that no branch and no tag may contain any more, as far as the remote still has it.
    pub fn fetch_commit(&self, commit: &str, login: Option<&HttpLogin>) -> Result<(), Error> {
        if !self.has(commit) && git2::Oid::from_str(commit).is_ok() {
            self.fetch(&[&format!("+{commit}:{KEPT}/{commit}")], login)?;
        }
        Ok(())
    }

    /// Keeps a commit, also if its branch or tag moves.
    pub fn keep(&self, commit: &str) -> Result<(), Error> {
        let failed = |error: git2::Error| Error::failed("keep a commit", &self.folder, &error);
        let id = git2::Oid::from_str(commit).map_err(failed)?;
        let name = format!("{KEPT}/{commit}");
        self.inner
            .reference(&name, id, true, "")
            .map(drop)
            .map_err(failed)
    }

    fn fetch(&self, refs: &[&str], login: Option<&HttpLogin>) -> Result<(), Error> {
        let mut words = CHECKED_FETCH.to_vec();
        words.extend(["--prune", "--", &self.address]);
        words.extend(refs);
        self.call(&words, login).map(drop)
    }

    /// Runs git in the mirror and returns its output.
    fn call(&self, words: &[&str], login: Option<&HttpLogin>) -> Result<String, Error> {
        let place = format!("--git-dir={}", self.folder.display());
        let mut settings = Vec::new();
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        if let Some(HttpLogin { user, password }) = login {
            match password {
                // The login of the address comes before those of the user's helpers, as in git.
                Some(_) => settings.extend([
                    set("credential.helper", ""),
                    set("credential.helper", LOGIN_HELPER),
                ]),
                None => settings.push(set("credential.username", user)),
            }
        }
        let all = std::iter::once(place).chain(words.iter().map(|word| (*word).to_owned()));
        let mut call =
            GitCommand::new(&self.folder, all).variables(&self.isolation.with_settings(&settings));
        if let Some(HttpLogin { user, password }) = login {
            let password = password.clone().unwrap_or_default();
            call = call
                .set_env("UNFURL_GIT_USER", user)
                .set_env("UNFURL_GIT_PASSWORD", password);
        }
        let output = call.over_network(FETCH_LIMIT).run()?;
        if output.is_ok() {
            return Ok(output.text());
        }
        Err(self.unreachable(&error_text(&output)))
    }

    fn unreachable(&self, message: &str) -> Error {
        Error::NotFetched {
            url: without_logins(&self.address),
            message: message.to_owned(),
        }
    }

    /// Whether the mirror has a commit.
    pub fn has(&self, commit: &str) -> bool {
        let id = git2::Oid::from_str(commit);
        id.is_ok_and(|id| self.inner.find_commit(id).is_ok())
    }

    /// Returns the names of the tags.
    pub fn tags(&self) -> Vec<String> {
        tag_names(&self.inner)
    }

    /// Returns the commit that a tag, a branch or a commit id means; without one, that of the default branch.
    pub fn resolve(&self, revision: Option<&str>) -> Option<Revision> {
        resolve(&self.inner, "refs/heads/", revision)
    }
}

/// Refuses a folder that belongs to another user, or that other users can write.
pub fn refuse_foreign(folder: &Path) -> Result<(), Error> {
    let refused = |reason: String| {
        Err(Error::PoisonedCache {
            folder: folder.to_owned(),
            reason,
        })
    };
    if fs::is_symlink(folder) {
        return refused("it is a symbolic link".to_owned());
    }
    let owner = fs::identity_of(folder)?.owner;
    if owner != user::effective_id() {
        return refused(format!("it belongs to {}", user::name_of(owner)));
    }
    if fs::mode_of(folder)? & 0o022 != 0 {
        return refused("other users can write it".to_owned());
    }
    Ok(())
}
