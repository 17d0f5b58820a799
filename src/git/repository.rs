//! A git repository with a working tree: discovery, status, history and committed content.

use std::cell::OnceCell;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, StatusOptions};

use super::command::REPOSITORY_VARIABLES;
use super::isolation::Isolation;
use super::{Error, special_files};
use crate::system::env::Env;
use crate::system::fs;
use crate::system::user;

/// The maximum size of a committed file that is read.
const MAX_FILE_BYTES: usize = 256 << 20;

/// A git repository that has a working tree.
pub struct Repository {
    pub(super) inner: git2::Repository,
    root: PathBuf,
    /// Whether the user lets the repository's own settings and hooks run programs.
    pub(super) is_trusted: bool,
    pub(super) isolation: OnceCell<Isolation>,
    /// The same repository for objects on disk: `inner` also has those that are only in memory yet.
    pub(super) on_disk: OnceCell<git2::Repository>,
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repository")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl Repository {
    /// Finds the repository that contains a path; `None` if there is none. The path need not exist.
    ///
    /// The repository is not trusted: see [`Self::trusted_if`].
    ///
    /// # Errors
    ///
    /// The repository belongs to another user, or claims the working tree of another folder.
    pub fn discover(path: &Path) -> Result<Option<Self>, Error> {
        let Some(start) = path.ancestors().find(|folder| fs::is_dir(folder)) else {
            return Ok(None);
        };
        special_files::refuse(start)?;
        let inner = match open_above(start) {
            Ok(inner) => inner,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
            Err(error) if error.code() == ErrorCode::Owner => return Err(foreign_owner(start)),
            Err(error) => return Err(Error::open_failed(start, &error)),
        };
        // A path inside `.git` or in a bare repository has no working tree.
        let Some(root) = inner.workdir().map(Path::to_owned) else {
            return Ok(None);
        };
        let start = fs::canonicalize(start)?;
        let git_folder = inner.path().to_owned();
        let found = Self {
            root: fs::canonicalize(&root)?,
            inner,
            is_trusted: false,
            isolation: OnceCell::new(),
            on_disk: OnceCell::new(),
        };
        if start.starts_with(fs::canonicalize(&git_folder)?) || !start.starts_with(&found.root) {
            return Ok(None);
        }
        match folder_with_git(&start) {
            Some(folder) if folder != found.root => Err(Error::ForeignWorkTree {
                path: folder.to_owned(),
                worktree: found.root,
            }),
            _ => Ok(Some(found)),
        }
    }

    /// Lets the settings and hooks of the repository run programs if `trusts` returns true for its root.
    #[must_use]
    pub fn trusted_if(mut self, trusts: impl FnOnce(&Path) -> bool) -> Self {
        self.is_trusted = trusts(&self.root);
        self.isolation = OnceCell::new();
        self
    }

    /// Returns the root of the working tree, without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path relative to the root of the working tree, empty for the root itself; `None` if it is
    /// outside.
    pub fn relative(&self, path: &Path) -> Option<PathBuf> {
        if path.is_relative() {
            let clean = fs::normalize(path);
            let inside = !clean.starts_with("..");
            return inside.then(|| {
                clean
                    .strip_prefix(".")
                    .map_or(clean.clone(), Path::to_owned)
            });
        }
        // The path itself may be a tracked symbolic link, or may not exist, so only its parent is resolved.
        let name = path.file_name();
        let resolved = match (path.parent(), name) {
            (Some(parent), Some(name)) => match fs::canonicalize(parent) {
                Ok(parent) => parent.join(name),
                Err(_) => fs::normalize(path),
            },
            _ => fs::normalize(path),
        };
        if let Ok(relative) = resolved.strip_prefix(&self.root) {
            return Some(relative.to_owned());
        }
        let resolved = fs::canonicalize(path).ok()?;
        resolved.strip_prefix(&self.root).ok().map(Path::to_owned)
    }

    pub(super) fn path_in_repository(&self, path: &Path) -> Result<PathBuf, Error> {
        self.relative(path).ok_or_else(|| Error::OutsideRepository {
            path: path.to_owned(),
            root: self.root.clone(),
        })
    }

    pub(super) fn failed(&self, action: &'static str) -> impl FnOnce(git2::Error) -> Error + '_ {
        move |error| Error::failed(action, &self.root, &error)
    }

    /// Returns the id of the checked-out commit; `None` before the first commit.
    pub fn head(&self) -> Result<Option<String>, Error> {
        match self.inner.head() {
            Ok(head) => {
                let commit = head.peel_to_commit();
                Ok(Some(
                    commit
                        .map_err(self.failed("find the commit"))?
                        .id()
                        .to_string(),
                ))
            }
            Err(error) if is_unborn(&error) => Ok(None),
            Err(error) => Err(self.failed("find the commit")(error)),
        }
    }

    /// Returns the checked-out branch; `None` if `HEAD` is detached.
    pub fn branch(&self) -> Option<String> {
        let head = self.inner.find_reference("HEAD").ok()?;
        let target = head.symbolic_target().ok()??;
        target.strip_prefix("refs/heads/").map(str::to_owned)
    }

    /// Returns the URL of the remote `origin`.
    pub fn origin(&self) -> Option<String> {
        let remote = self.inner.find_remote("origin").ok()?;
        let url = remote.url().ok()?;
        (!url.is_empty()).then(|| url.to_owned())
    }

    /// Returns the id of the first commit of the checked-out history. If there are several, returns the
    /// newest.
    pub fn first_commit(&self) -> Option<String> {
        self.history()?
            .find(|commit| commit.parent_count() == 0)
            .map(|commit| commit.id().to_string())
    }

    /// Whether the commit with this id exists and has no parent.
    pub fn has_root_commit(&self, id: &str) -> bool {
        let commit = git2::Oid::from_str(id).and_then(|id| self.inner.find_commit(id));
        commit.is_ok_and(|commit| commit.parent_count() == 0)
    }

    /// Returns the time of the last commit that changed a path: seconds since 1970 and the committer's offset
    /// from UTC in minutes.
    pub fn last_commit_time(&self, path: &Path) -> Option<(i64, i32)> {
        let relative = self.relative(path)?;
        let id_in = |commit: &git2::Commit<'_>| {
            let tree = commit.tree().ok()?;
            tree.get_path(&relative).ok().map(|entry| entry.id())
        };
        let found = self.history()?.find(|commit| {
            let own = id_in(commit);
            own.is_some() && commit.parents().all(|parent| id_in(&parent) != own)
        })?;
        let time = found.time();
        Some((time.seconds(), time.offset_minutes()))
    }

    /// Returns the commits of the checked-out history, newest first.
    pub(super) fn history(&self) -> Option<impl Iterator<Item = git2::Commit<'_>>> {
        let mut walk = self.inner.revwalk().ok()?;
        walk.set_sorting(git2::Sort::TIME).ok()?;
        walk.push_head().ok()?;
        Some(walk.filter_map(|id| self.inner.find_commit(id.ok()?).ok()))
    }

    /// Returns the changed, removed and new paths among `paths`, which may be folders; among all if `paths`
    /// is empty. Ignored files are not included.
    pub fn changes(&self, paths: &[&Path]) -> Result<Vec<PathBuf>, Error> {
        let mut options = StatusOptions::new();
        options
            .include_untracked(true)
            .recurse_untracked_dirs(true)
            .include_ignored(false)
            .disable_pathspec_match(true);
        for path in paths {
            let relative = self.path_in_repository(path)?;
            if relative.as_os_str().is_empty() {
                return self.changes(&[]);
            }
            options.pathspec(&relative);
        }
        match self.diff_paths(&mut options) {
            // libgit2 does not support all formats of the index.
            Err(error) if !self.is_index_readable() => self.changes_with_git(paths).or(Err(error)),
            changes => changes,
        }
    }

    /// Like [`Self::changes`], but without nested repositories, which do not belong to this one.
    pub fn file_changes(&self, paths: &[&Path]) -> Result<Vec<PathBuf>, Error> {
        let mut changes = self.changes(paths)?;
        changes.retain(|path| !path.as_os_str().as_bytes().ends_with(b"/"));
        Ok(changes)
    }

    /// Returns the tracked or staged paths with uncommitted changes.
    pub fn uncommitted(&self) -> Result<Vec<PathBuf>, Error> {
        let mut options = StatusOptions::new();
        options.include_untracked(false).include_ignored(false);
        match self.diff_paths(&mut options) {
            Err(error) if !self.is_index_readable() => self.uncommitted_with_git().or(Err(error)),
            changes => changes,
        }
    }

    /// Returns the paths that differ from the last commit, according to `options`.
    fn diff_paths(&self, options: &mut StatusOptions) -> Result<Vec<PathBuf>, Error> {
        let statuses = self.inner.statuses(Some(options));
        let statuses = statuses.map_err(self.failed("compare"))?;
        let paths = statuses
            .iter()
            .map(|entry| PathBuf::from(std::ffi::OsStr::from_bytes(entry.path_bytes())));
        Ok(paths.collect())
    }

    /// Whether any of `paths` is changed, removed or new; any path at all if `paths` is empty.
    pub fn is_dirty(&self, paths: &[&Path]) -> Result<bool, Error> {
        Ok(!self.changes(paths)?.is_empty())
    }

    /// Whether git tracks the file at a path.
    pub fn is_tracked(&self, path: &Path) -> bool {
        let relative = self.path_in_repository(path);
        let index = self.inner.index();
        matches!((relative, index), (Ok(path), Ok(index)) if index.get_path(&path, 0).is_some())
    }

    /// Whether a path matches git's ignore rules.
    pub fn is_ignored(&self, path: &Path) -> Result<bool, Error> {
        let relative = self.path_in_repository(path)?;
        if relative.as_os_str().is_empty() {
            return Ok(false);
        }
        self.inner
            .is_path_ignored(&relative)
            .map_err(self.failed("check for ignored files"))
    }

    /// Returns the id of the committed file or tree at a path, if nothing there has changed since; the
    /// commit's own id for the root.
    pub fn id_if_clean(&self, path: &Path) -> Result<Option<String>, Error> {
        let Some(relative) = self.relative(path) else {
            return Ok(None);
        };
        if self.is_dirty(&[&relative])? {
            return Ok(None);
        }
        self.committed_id(&relative)
    }

    fn committed_id(&self, relative: &Path) -> Result<Option<String>, Error> {
        let head = match self.inner.head() {
            Ok(head) => head,
            Err(error) if is_unborn(&error) => return Ok(None),
            Err(error) => return Err(self.failed("find the commit")(error)),
        };
        if relative.as_os_str().is_empty() {
            return self.head();
        }
        let tree = head
            .peel_to_tree()
            .map_err(self.failed("read the commit"))?;
        match tree.get_path(relative) {
            Ok(entry) => Ok(Some(entry.id().to_string())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(self.failed("read the commit")(error)),
        }
    }

    /// Returns the ids of the latest commits of the checked-out history, newest first.
    pub fn commits(&self, max_count: usize) -> Vec<String> {
        let commits = self.history().into_iter().flatten().take(max_count);
        commits.map(|commit| commit.id().to_string()).collect()
    }

    /// Returns the id of the file that a commit contains at a path of the working tree.
    pub fn blob_id_at(&self, commit: &str, path: &Path) -> Option<String> {
        self.entry_at(commit, path).map(|id| id.to_string())
    }

    /// Returns the text of the file that a commit contains at a path of the working tree. Files larger than
    /// [`MAX_FILE_BYTES`] are not read.
    pub fn text_at(&self, commit: &str, path: &Path) -> Option<String> {
        let blob = self.inner.find_blob(self.entry_at(commit, path)?).ok()?;
        let bytes = blob.content();
        (bytes.len() <= MAX_FILE_BYTES).then(|| String::from_utf8_lossy(bytes).into_owned())
    }

    /// Whether a folder is the root of the working tree, or is in the last commit.
    pub fn has_folder(&self, folder: &Path) -> bool {
        let Some(path) = self.relative(folder) else {
            return false;
        };
        let tree = self.tip().ok().flatten().and_then(|tip| tip.tree().ok());
        path.as_os_str().is_empty() || tree.is_some_and(|tree| tree.get_path(&path).is_ok())
    }

    fn entry_at(&self, commit: &str, path: &Path) -> Option<git2::Oid> {
        let id = git2::Oid::from_str(commit).ok()?;
        let tree = self.inner.find_commit(id).ok()?.tree().ok()?;
        let entry = tree.get_path(&self.relative(path)?).ok()?;
        (entry.kind() == Some(git2::ObjectType::Blob)).then(|| entry.id())
    }
}

/// Opens the repository that contains a folder.
pub(super) fn open_above(folder: &Path) -> Result<git2::Repository, git2::Error> {
    let opened = git2::Repository::discover(folder);
    let is_foreign = |error: &git2::Error| error.code() == ErrorCode::Owner;
    let env = Env::of_this_process();
    let has = |name: &&str| env.non_empty(name).is_some();
    let other_settings = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].iter().any(has);
    let other_repository = env.all().keys().any(|name| {
        let is_setting = name.starts_with("GIT_CONFIG");
        name.starts_with("GIT_") && !is_setting && REPOSITORY_VARIABLES.contains(&name.as_str())
    });
    if opened.as_ref().err().is_some_and(is_foreign) && other_settings && !other_repository {
        // The user's `safe.directory` may stand in a file that only this flag makes libgit2 read.
        let path = git2::Repository::discover_path(folder, [] as [&Path; 0])?;
        let flags = git2::RepositoryOpenFlags::FROM_ENV | git2::RepositoryOpenFlags::NO_SEARCH;
        return git2::Repository::open_ext(path, flags, [] as [&Path; 0]);
    }
    opened
}

/// Returns the innermost folder around a path that has an entry `.git`.
fn folder_with_git(path: &Path) -> Option<&Path> {
    let mut folders = path.ancestors();
    folders.find(|folder| fs::exists(&folder.join(".git")))
}

/// Returns the error for a repository around a folder that belongs to another user.
fn foreign_owner(folder: &Path) -> Error {
    let start = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let root = folder_with_git(&start).unwrap_or(&start).to_owned();
    let paths = [root.clone(), root.join(".git")];
    let foreign = |path: &PathBuf| {
        let owner = fs::identity_of(path).ok()?.owner;
        (owner != user::effective_id()).then(|| user::name_of(owner))
    };
    let owner = paths.iter().find_map(foreign);
    Error::ForeignOwner {
        path: root,
        owner: owner.unwrap_or_else(|| "another user".to_owned()),
    }
}

fn is_unborn(error: &git2::Error) -> bool {
    matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::process::{Helper, run};

    struct TestRepository {
        folder: tempfile::TempDir,
    }

    impl TestRepository {
        fn new() -> Self {
            let place = Self {
                folder: tempfile::tempdir().unwrap(),
            };
            place.git(&["init", "-q", "-b", "main", "."]);
            place
        }

        fn git(&self, words: &[&str]) -> String {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
            let mut helper = Helper::new([&["git"], &identity[..], words].concat());
            helper.cwd = Some(self.folder.path().to_owned());
            let output = run(&helper).unwrap();
            assert!(output.is_ok(), "{output:?}");
            output.text()
        }

        fn write(&self, path: &str, text: &str) -> PathBuf {
            let path = self.folder.path().join(path);
            fs::write_plain(&path, text.as_bytes(), None).unwrap();
            path
        }

        fn commit(&self) -> String {
            self.git(&["add", "-A"]);
            self.git(&["commit", "-q", "-m", "x", "--allow-empty"]);
            self.git(&["rev-parse", "HEAD"])
        }

        fn open(&self) -> Repository {
            Repository::discover(self.folder.path()).unwrap().unwrap()
        }
    }

    #[test]
    fn a_folder_may_be_in_no_repository() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Repository::discover(folder.path()).unwrap().is_none());
        assert!(
            Repository::discover(Path::new("/no/such/folder"))
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_repository_without_commits_has_no_head() {
        let place = TestRepository::new();
        let repository = place.open();
        assert_eq!(repository.head().unwrap(), None);
        assert_eq!(repository.branch().as_deref(), Some("main"));
        let file = place.write("a", "x");
        assert!(repository.is_dirty(&[]).unwrap());
        assert_eq!(repository.id_if_clean(&file).unwrap(), None);
    }

    #[test]
    fn a_repository_is_found_from_deep_inside_and_for_what_is_not_there_yet() {
        let place = TestRepository::new();
        let file = place.write("a/b/c", "x");
        let commit = place.commit();
        for path in [file.clone(), file.with_file_name("new/er")] {
            let repository = Repository::discover(&path).unwrap().unwrap();
            assert_eq!(repository.head().unwrap().as_deref(), Some(commit.as_str()));
        }
        let inside = place.folder.path().join(".git/refs");
        assert!(Repository::discover(&inside).unwrap().is_none());
    }

    #[test]
    fn ids_are_those_that_git_gives() {
        let place = TestRepository::new();
        let file = place.write("a/f[1].txt", "x");
        let commit = place.commit();
        let repository = place.open();
        let id = |path: &Path| repository.id_if_clean(path).unwrap();
        assert_eq!(
            id(&file).unwrap(),
            place.git(&["rev-parse", "HEAD:a/f[1].txt"])
        );
        let folder = file.parent().unwrap();
        assert_eq!(id(folder).unwrap(), place.git(&["rev-parse", "HEAD:a"]));
        assert_eq!(id(place.folder.path()).unwrap(), commit);
        place.write("a/new", "");
        assert_eq!(id(folder), None);
        assert!(id(&file).is_some());
        place.write("a/f[1].txt", "y");
        assert_eq!(id(&file), None);
        assert_eq!(id(Path::new("/")), None);
    }

    #[test]
    fn changes_are_found_among_the_paths_asked_for() {
        let place = TestRepository::new();
        let (a, b) = (place.write("a/x", "1"), place.write("b/x", "1"));
        place.commit();
        place.write("b/x", "2");
        place.write("b/y", "2");
        let repository = place.open();
        assert!(!repository.is_dirty(&[a.parent().unwrap()]).unwrap());
        let changes = repository.changes(&[b.parent().unwrap()]).unwrap();
        assert_eq!(changes, [Path::new("b/x"), Path::new("b/y")]);
        assert!(matches!(
            repository.changes(&[Path::new("/etc")]),
            Err(Error::OutsideRepository { .. })
        ));
    }

    #[test]
    fn a_path_is_ignored_dirty_or_neither() {
        let place = TestRepository::new();
        let clean = place.write("clean", "");
        place.write(".gitignore", "*.log\n");
        place.commit();
        let ignored = place.write("x.log", "");
        let untracked = place.write("new", "");
        let added = place.write("added", "");
        place.git(&["add", "added"]);
        let repository = place.open();
        for (path, is_ignored, is_dirty) in [
            (clean, false, false),
            (ignored, true, false),
            (untracked, false, true),
            (added, false, true),
        ] {
            assert_eq!(repository.is_ignored(&path).unwrap(), is_ignored);
            assert_eq!(repository.is_dirty(&[&path]).unwrap(), is_dirty);
        }
    }

    #[test]
    fn a_pattern_is_excluded_once_and_only_if_the_project_does_not() {
        let place = TestRepository::new();
        place.write(".gitignore", "**/jobs\n");
        let repository = place.open();
        let root = place.folder.path();
        let (jobs, failed) = (root.join("e/jobs/x"), root.join("e/failed/x"));
        let jobs = [("**/jobs", jobs.as_path())];
        assert!(!repository.ensure_excluded(&jobs).unwrap());
        let patterns = [jobs[0], ("**/failed/", failed.as_path())];
        assert!(repository.ensure_excluded(&patterns).unwrap());
        assert!(!repository.ensure_excluded(&patterns).unwrap());
        assert!(repository.is_ignored(&failed).unwrap());
        place.write("e/failed/x", "");
        assert_eq!(place.git(&["status", "--porcelain", "e"]), "");
    }

    #[test]
    fn the_url_of_the_origin_is_returned() {
        let place = TestRepository::new();
        assert_eq!(place.open().origin(), None);
        place.git(&["remote", "add", "origin", "https://example.com/a.git"]);
        assert_eq!(
            place.open().origin().as_deref(),
            Some("https://example.com/a.git")
        );
    }
}
