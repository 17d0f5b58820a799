//! Makes clones: working trees of repositories that others have written.
//!
//! A clone appears at its place complete or not at all. No hook and no setting of the cloned repository has an effect,
//! submodules are not followed, and files of git-lfs are not downloaded.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Error;
use super::command::{GitCommand, error_text};
use super::foreign_tree::check_tree;
use super::isolation::Isolation;
use super::mirror::{ALL_TAGS, CHECKED_FETCH};
use super::repository::Repository;
use super::revision::{Revision, resolve, tag_names};
use crate::system::{clock, fs};
use crate::text::without_logins;

/// The time limit of the transfer between two folders of this machine.
const COPY_LIMIT: Duration = Duration::from_mins(10);
/// The start of the names of unfinished clones.
const UNFINISHED: &str = ".unfurl-clone-";
/// The age after which an unfinished clone belongs to a process that was killed.
const STALE_AGE: Duration = Duration::from_hours(1);
/// The references of a clone that follow the branches of its origin.
const TRACKING: &str = "refs/remotes/origin/";
/// The rule by which these references follow the branches.
const TRACKED_BRANCHES: &str = "+refs/heads/*:refs/remotes/origin/*";

/// A request for a clone.
#[derive(Debug, Clone)]
pub struct CloneRequest<'a> {
    /// The repository on this machine whose objects are copied: a mirror or a working tree.
    pub source: &'a Path,
    /// The address that becomes the remote `origin`. It contains no password.
    pub origin: &'a str,
    /// The new folder. It does not exist, or is empty.
    pub target: &'a Path,
    /// A tag, a branch or a commit; the default branch if there is none.
    pub revision: Option<&'a str>,
    /// The commit to check out instead of that of the revision.
    pub commit: Option<&'a str>,
}

/// A clone that was made.
#[derive(Debug, Clone)]
pub struct Cloned {
    pub folder: PathBuf,
    pub revision: Revision,
    /// The paths of submodules, which were not fetched.
    pub submodules: Vec<String>,
    /// True if files are stored with git-lfs; they were not downloaded.
    pub uses_lfs: bool,
}

/// Makes a clone.
pub fn clone_repository(request: &CloneRequest<'_>) -> Result<Cloned, Error> {
    let target = request.target;
    let parent = fs::parent_of(target);
    refuse_filled(target)?;
    let temporary = unfinished_clone(parent)?;
    let folder = temporary.path().join("clone");
    let failed = |error: git2::Error| Error::failed("make a clone", target, &error);
    let mut options = git2::RepositoryInitOptions::new();
    options.external_template(false).no_reinit(true).mkdir(true);
    let inner = git2::Repository::init_opts(&folder, &options).map_err(failed)?;
    let isolation = Isolation::of(&inner, &folder, false)?;
    let clone = NewClone {
        request,
        inner,
        folder,
        isolation,
    };
    let cloned = clone.fill()?;
    place_clone(&clone.folder, target)?;
    Ok(cloned)
}

/// A clone that is not at its place yet.
struct NewClone<'a> {
    request: &'a CloneRequest<'a>,
    inner: git2::Repository,
    folder: PathBuf,
    isolation: Isolation,
}

impl NewClone<'_> {
    fn fill(&self) -> Result<Cloned, Error> {
        let request = self.request;
        let failed = |error: git2::Error| Error::failed("make a clone", request.target, &error);
        let mut remote = self
            .inner
            .remote_with_fetch("origin", request.origin, TRACKED_BRANCHES)
            .map_err(failed)?;
        drop(remote.disconnect());
        copy_objects(
            &self.folder,
            &self.isolation,
            request.source,
            request.commit,
        )?;
        self.follow_head()?;
        let wanted = request.commit.or(request.revision);
        let found = resolve(&self.inner, TRACKING, wanted);
        let named = request
            .revision
            .and_then(|name| resolve(&self.inner, TRACKING, Some(name)));
        let mut revision = found.ok_or_else(|| self.no_revision(wanted))?;
        if let Some(named) = named.filter(|named| named.commit == revision.commit) {
            revision = named;
        }
        let findings = check_commit(&self.inner, &revision, request.origin)?;
        self.set_head(&revision).map_err(failed)?;
        let words = ["reset", "--hard", "--quiet", "HEAD"];
        checkout_call(&self.folder, &self.isolation, &words).run_checked("check out the files")?;
        Ok(Cloned {
            folder: request.target.to_owned(),
            revision,
            submodules: findings.submodules,
            uses_lfs: findings.uses_lfs,
        })
    }

    /// Makes the branch of the source the one that is checked out without a revision.
    fn follow_head(&self) -> Result<(), Error> {
        let source = self.request.source;
        let failed = |error: git2::Error| Error::failed("read the branch", source, &error);
        let there =
            git2::Repository::open(source).map_err(|error| Error::open_failed(source, &error))?;
        let head = there.find_reference("HEAD").map_err(failed)?;
        match head.symbolic_target().ok().flatten() {
            Some(name) if git2::Reference::is_valid_name(name) => {
                self.inner.set_head(name).map_err(failed)
            }
            _ => match head.target() {
                Some(id) if self.inner.find_commit(id).is_ok() => {
                    self.inner.set_head_detached(id).map_err(failed)
                }
                _ => Ok(()),
            },
        }
    }

    fn set_head(&self, revision: &Revision) -> Result<(), git2::Error> {
        let id = git2::Oid::from_str(&revision.commit)?;
        let Some(branch) = &revision.branch else {
            return self.inner.set_head_detached(id);
        };
        let name = format!("refs/heads/{branch}");
        self.inner.reference(&name, id, true, "clone")?;
        self.inner.set_head(&name)?;
        let mut config = self.inner.config()?;
        config.set_str(&format!("branch.{branch}.remote"), "origin")?;
        config.set_str(&format!("branch.{branch}.merge"), &name)
    }

    fn no_revision(&self, wanted: Option<&str>) -> Error {
        no_revision(&self.inner, self.request.origin, wanted)
    }
}

/// Copies all branches and tags of a repository on this machine into a clone, and a commit that none of them contains.
fn copy_objects(
    folder: &Path,
    isolation: &Isolation,
    source: &Path,
    commit: Option<&str>,
) -> Result<(), Error> {
    let source = fs::canonicalize(source)?;
    let source = source.display().to_string();
    let allow = (
        "uploadpack.allowAnySHA1InWant".to_owned(),
        "true".to_owned(),
    );
    let mut words = CHECKED_FETCH.to_vec();
    words.extend(["--", &source, TRACKED_BRANCHES, ALL_TAGS]);
    let kept = commit.map(|commit| format!("+{commit}:refs/unfurl/commit"));
    words.extend(kept.as_deref());
    let call = GitCommand::new(folder, words).variables(&isolation.with_settings(&[allow]));
    let output = call
        .set_env("GIT_ALLOW_PROTOCOL", "file")
        .time_limit(COPY_LIMIT)
        .run()?;
    if output.is_ok() {
        return Ok(());
    }
    Err(Error::NotFetched {
        url: without_logins(&source),
        message: error_text(&output),
    })
}

fn checkout_call(folder: &Path, isolation: &Isolation, words: &[&str]) -> GitCommand {
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let settings = [
        set("core.hookspath", "/dev/null"),
        set("submodule.recurse", "false"),
        set("core.protectHFS", "true"),
        set("core.protectNTFS", "true"),
        set("advice.detachedHead", "false"),
    ];
    let call = GitCommand::new(folder, words.iter().copied())
        .variables(&isolation.with_settings(&settings));
    call.set_env("GIT_LFS_SKIP_SMUDGE", "1")
        .time_limit(COPY_LIMIT)
}

fn check_commit(
    inner: &git2::Repository,
    revision: &Revision,
    origin: &str,
) -> Result<super::foreign_tree::TreeFindings, Error> {
    let tree = git2::Oid::from_str(&revision.tree)
        .map_err(|error| Error::failed("read a tree", inner.path(), &error))?;
    check_tree(inner, tree).map_err(|(path, reason)| Error::DangerousTree {
        url: without_logins(origin),
        commit: revision.commit.chars().take(10).collect(),
        path: path.escape_debug().to_string(),
        reason,
    })
}

fn no_revision(inner: &git2::Repository, origin: &str, wanted: Option<&str>) -> Error {
    let mut tags = tag_names(inner);
    tags.reverse();
    Error::NoRevision {
        url: without_logins(origin),
        revision: wanted.map(|name| name.escape_debug().to_string()),
        tags,
    }
}

/// Creates a folder in which a clone is made. Folders of clones that were not finished are removed first.
pub fn unfinished_clone(parent: &Path) -> Result<fs::TemporaryDir, Error> {
    remove_stale(parent);
    Ok(fs::TemporaryDir::create_in(parent, UNFINISHED)?)
}

/// Removes clones that were not finished, because their process was killed.
fn remove_stale(parent: &Path) {
    let now = SystemTime::from(clock::now());
    for entry in fs::list(parent).unwrap_or_default() {
        let age = fs::modified_time(&entry.path).and_then(|time| now.duration_since(time).ok());
        if entry.name.starts_with(UNFINISHED) && age.is_some_and(|age| age > STALE_AGE) {
            // Another process may remove it at the same time.
            fs::remove_dir_all(&entry.path).ok();
        }
    }
}

/// Fails if a file is at the path, or a folder that is not empty.
pub fn refuse_filled(target: &Path) -> Result<(), Error> {
    let is_empty = fs::is_dir(target) && fs::list(target)?.is_empty();
    if is_empty || !(fs::exists(target) || fs::is_symlink(target)) {
        return Ok(());
    }
    Err(Error::TargetExists {
        path: target.to_owned(),
        is_folder: fs::is_dir(target),
    })
}

/// Moves a finished clone to its place. An empty folder there is replaced; if somebody works in it, it is filled.
pub fn place_clone(from: &Path, target: &Path) -> Result<(), Error> {
    let here = crate::system::env::current_dir().ok();
    let is_used = here.is_some_and(|here| here == target) || fs::is_mount(target);
    if !(is_used && fs::is_dir(target)) {
        return Ok(fs::rename(from, target)?);
    }
    for entry in fs::list(from)? {
        let name = entry.path.file_name().unwrap_or_default().to_owned();
        fs::rename(&entry.path, &target.join(name))?;
    }
    Ok(())
}

impl Repository {
    /// Returns the commit that a tag, a branch of the remote `origin` or a commit id means.
    pub fn resolve(&self, name: &str) -> Option<Revision> {
        resolve(&self.inner, TRACKING, Some(name))
    }

    /// Returns the checked-out commit with its branch, or with the first tag that names it.
    pub fn checked_out(&self) -> Option<Revision> {
        let commit = self.head().ok().flatten()?;
        let mut revision = resolve(&self.inner, TRACKING, Some(&commit))?;
        revision.branch = self.branch();
        let mut tags = tag_names(&self.inner).into_iter();
        revision.tag = tags.find(|tag| {
            self.resolve(tag)
                .is_some_and(|found| found.commit == commit)
        });
        Some(revision)
    }

    /// Returns true if the working tree has exactly the files of the checked-out commit. Files that git ignores do not
    /// count.
    ///
    /// The content is compared, because an index that came with the files can hide changes.
    pub fn has_files_of_head(&self) -> Result<bool, Error> {
        let failed = || self.failed("compare the files with the commit");
        let tree = self.inner.head().and_then(|head| head.peel_to_tree());
        let tree = tree.map_err(failed())?;
        let mut options = git2::DiffOptions::new();
        options
            .include_untracked(true)
            .ignore_submodules(true)
            .update_index(false);
        let diff = self
            .inner
            .diff_tree_to_workdir(Some(&tree), Some(&mut options));
        Ok(diff.map_err(failed())?.deltas().len() == 0)
    }

    /// Copies the objects of a mirror into this clone, and checks out a commit without a branch.
    ///
    /// # Errors
    ///
    /// There are uncommitted changes, or the commit does not exist.
    pub fn switch_to(&self, mirror: &Path, commit: &str) -> Result<Revision, Error> {
        let files = self.uncommitted()?;
        if !files.is_empty() {
            return Err(Error::WouldOverwrite {
                path: self.root().to_owned(),
                files,
            });
        }
        self.check_git_folder()?;
        copy_objects(self.root(), self.isolation()?, mirror, Some(commit))?;
        let origin = self.origin().unwrap_or_default();
        let found = resolve(&self.inner, TRACKING, Some(commit));
        let revision = found.ok_or_else(|| no_revision(&self.inner, &origin, Some(commit)))?;
        check_commit(&self.inner, &revision, &origin)?;
        let words = [
            "checkout",
            "--quiet",
            "--detach",
            "--no-recurse-submodules",
            &revision.commit,
            "--",
        ];
        checkout_call(self.root(), self.isolation()?, &words).run_checked("check out a commit")?;
        Ok(revision)
    }
}
