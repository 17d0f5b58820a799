//! Fetches the packages that an ensemble uses: clones missing ones into the project, and checks out the selected
//! revisions.

use std::path::{Path, PathBuf};

use super::failure::{Failure, FailureKind};
use super::init::exclude_pattern;
use super::open_mirror::OpenMirror;
use crate::git::{self, CloneRequest, Mirror, Repository, clone_repository};
use crate::package::SourceUrl;
use crate::project::{
    CacheError, NETWORK_PERMISSION, base_name, home_project_folder, record_cloned,
};
use crate::session::{self, EnsembleLocation, PackageTarget, Session, SessionOptions, current_dir};
use crate::system::fs::{self, Beneath};

/// The maximum number of times that an ensemble is loaded, because packages use further packages.
const MAX_ROUNDS: usize = 32;
/// The folder with links to the repositories of a project, by their names.
const LINKS: &str = "tosca_repositories";

/// The permission that a command needs to fetch packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FetchPermission {
    /// `--allow network`, or a trusted project.
    Trust,
    /// `--allow network`.
    Name,
}

/// A repository that was fetched, or that changed its revision.
struct Fetched {
    notice: String,
    folder: PathBuf,
    is_new: bool,
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        let hint = match error {
            CacheError::Git(error) => return error.into(),
            CacheError::File(ref error) => error.hint(),
            CacheError::NoFolder => Some("set `UNFURL_CLONE_ROOT` to a folder of yours".to_owned()),
            CacheError::Locked { .. } => Some("try again".to_owned()),
        };
        Self::new(FailureKind::Refused, error, hint)
    }
}

/// Loads an ensemble. If packages are missing and the user permits it, fetches them first.
pub(super) fn load(
    found: &EnsembleLocation,
    options: &SessionOptions,
    permission: FetchPermission,
    notice: &mut dyn FnMut(&str),
) -> Result<Session, Failure> {
    let trust = &found.located.trust;
    let may_fetch = match permission {
        FetchPermission::Trust => trust.permits(NETWORK_PERMISSION),
        FetchPermission::Name => trust.permits_by_name(NETWORK_PERMISSION),
    };
    for _ in 0..MAX_ROUNDS {
        let error = match session::load(found.clone(), options) {
            Ok(session) => return Ok(session),
            Err(error) => error,
        };
        if !may_fetch {
            return Err(error.into());
        }
        let targets = session::package_targets(found, options)?;
        if !fetch_all(targets, found, options, notice)? {
            return Err(error.into());
        }
    }
    Ok(session::load(found.clone(), options)?)
}

/// Fetches the packages of an ensemble before `validate`, which reports everything that is wrong.
pub fn fetch_if_named(
    options: &SessionOptions,
    notice: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    if !options
        .allowed
        .iter()
        .any(|name| name.trim() == NETWORK_PERMISSION)
    {
        return Ok(());
    }
    let Ok(found) = session::find(options) else {
        return Ok(());
    };
    for _ in 0..MAX_ROUNDS {
        // `validate` reports what is wrong with the files themselves.
        let Ok(targets) = session::package_targets(&found, options) else {
            break;
        };
        if !fetch_all(targets, &found, options, notice)? {
            break;
        }
    }
    Ok(())
}

/// Fetches the packages that the files use which can be loaded so far. Returns whether anything has changed.
fn fetch_all(
    targets: Vec<PackageTarget>,
    found: &EnsembleLocation,
    options: &SessionOptions,
    notice: &mut dyn FnMut(&str),
) -> Result<bool, Failure> {
    let root = found
        .located
        .root()
        .unwrap_or_else(|| found.located.folder());
    let mut has_changed = false;
    for target in targets {
        if options.locked && target.locked.is_none() {
            continue;
        }
        let Some(fetched) = fetch(&target, root)? else {
            continue;
        };
        has_changed = true;
        notice(&fetched.notice);
        if fetched.is_new {
            exclude(root, &fetched.folder)?;
            link(root, &target, &fetched.folder)?;
            record_clone(options, &fetched.folder);
        }
    }
    Ok(has_changed)
}

/// Fetches a package if its clone is missing or has another revision.
fn fetch(target: &PackageTarget, root: &Path) -> Result<Option<Fetched>, Failure> {
    let clone = target
        .clone
        .as_ref()
        .map(|clone| Repository::discover(clone))
        .transpose()?
        .flatten();
    if let Some(repository) = &clone
        && !needs_other_revision(target, repository)?
    {
        return Ok(None);
    }
    let opened = OpenMirror::open(&target.request.source())?;
    let mirror = opened.mirror();
    let outdated = update(target, &opened)?;
    let password = opened.password_note().map(str::to_owned);
    let wanted = WantedRevision {
        name: wanted_name(target, mirror),
        commit: target.locked.as_ref().map(|locked| locked.commit.clone()),
        url: opened.url.clone(),
    };
    let mut fetched = match clone {
        Some(repository) => switch(&repository, mirror, wanted)?,
        None => make_clone(root, mirror, wanted)?,
    };
    for note in outdated.into_iter().chain(password) {
        fetched.notice.push_str("; ");
        fetched.notice.push_str(&note);
    }
    Ok(Some(fetched))
}

/// The revision that a clone gets.
struct WantedRevision {
    /// The address, without a login.
    url: SourceUrl,
    /// The tag or branch; `None` for the default branch.
    name: Option<String>,
    /// The locked commit.
    commit: Option<String>,
}

/// Checks out another revision in a clone.
fn switch(
    repository: &Repository,
    mirror: &Mirror,
    wanted: WantedRevision,
) -> Result<Fetched, Failure> {
    let WantedRevision { url, name, commit } = wanted;
    let named = || Some(mirror.resolve(name.as_deref())?.commit);
    let Some(commit) = commit.or_else(named) else {
        return Err(no_revision(&url, name, mirror));
    };
    repository.switch_to(mirror.folder(), &commit)?;
    mirror.keep(&commit)?;
    let shown = name.unwrap_or(commit);
    let folder = repository.root().to_owned();
    Ok(Fetched {
        notice: format!("`{}` has {shown} of `{url}` now", folder.display()),
        folder,
        is_new: false,
    })
}

/// Makes a clone in the folder of a project.
fn make_clone(root: &Path, mirror: &Mirror, wanted: WantedRevision) -> Result<Fetched, Failure> {
    let WantedRevision { url, name, commit } = wanted;
    let folder = unique_folder(root, &base_name(&url.address));
    let cloned = clone_repository(&CloneRequest {
        source: mirror.folder(),
        origin: &url.address,
        target: &folder,
        revision: name.as_deref(),
        commit: commit.as_deref(),
    })?;
    let revision = cloned.revision;
    mirror.keep(&revision.commit)?;
    let shown = name.or(revision.branch).unwrap_or(revision.commit);
    let place = folder.display();
    let mut notice = format!("`{url}` was cloned to `{place}` at {shown}");
    if !cloned.submodules.is_empty() {
        let submodules = cloned.submodules.join(", ");
        notice += &format!("; its submodules were not fetched: {submodules}");
    }
    if cloned.uses_lfs {
        notice += "; its files of git-lfs were not downloaded";
    }
    Ok(Fetched {
        notice,
        folder,
        is_new: true,
    })
}

fn no_revision(url: &SourceUrl, name: Option<String>, mirror: &Mirror) -> Failure {
    let error = git::Error::NoRevision {
        url: url.to_string(),
        revision: name,
        tags: mirror.tags(),
    };
    error.into()
}

/// Whether a clone has another revision than the selected one, and may get it.
fn needs_other_revision(target: &PackageTarget, repository: &Repository) -> Result<bool, Failure> {
    if target.selection.is_current || !repository.uncommitted()?.is_empty() {
        return Ok(false);
    }
    let here = repository.head()?;
    if let Some(locked) = &target.locked {
        return Ok(here.as_ref() != Some(&locked.commit));
    }
    let Some(revision) = &target.selection.revision else {
        return Ok(false);
    };
    let tag = target.request.tag_of(revision);
    let is_on_branch =
        target.request.version().is_none() && repository.branch().as_ref() == Some(&tag);
    let there = repository.resolve(&tag).map(|found| found.commit);
    Ok(!is_on_branch && (there.is_none() || there != here))
}

/// Brings a mirror up to date, unless it has what is needed. Returns a note about an outdated one.
fn update(target: &PackageTarget, opened: &OpenMirror) -> Result<Option<String>, git::Error> {
    let mirror = opened.mirror();
    let tag = target
        .selection
        .revision
        .as_deref()
        .map(|revision| target.request.tag_of(revision));
    let has_version =
        target.request.version().is_some() && mirror.resolve(tag.as_deref()).is_some();
    let has_all = match &target.locked {
        Some(locked) => mirror.has(&locked.commit),
        None => has_version,
    };
    if has_all {
        return Ok(None);
    }
    if let Some(locked) = &target.locked {
        return opened.update_with_commit(&locked.commit).map(|()| None);
    }
    opened.update(tag.as_deref())
}

/// Returns the tag or branch to check out; `None` for the default branch.
fn wanted_name(target: &PackageTarget, mirror: &Mirror) -> Option<String> {
    let request = &target.request;
    if let Some(locked) = &target.locked
        && let Some(tag) = &locked.tag
    {
        return Some(tag.clone());
    }
    if let Some(revision) = &target.selection.revision {
        return Some(request.tag_of(revision));
    }
    let tags = mirror.tags();
    let latest = request.latest(tags.iter().map(String::as_str))?;
    Some(request.tag_of(&latest)).filter(|_| !target.selection.is_current)
}

/// Returns a path in the project that does not exist yet.
pub(super) fn unique_folder(root: &Path, name: &str) -> PathBuf {
    let mut folder = root.join(name);
    let mut number = 1;
    while fs::exists(&folder) || fs::is_symlink(&folder) {
        folder = root.join(format!("{name}{number}"));
        number += 1;
    }
    folder
}

/// Keeps a clone out of the repository of the project.
pub(super) fn exclude(root: &Path, folder: &Path) -> Result<(), Failure> {
    let Some(repository) = Repository::discover(root)? else {
        return Ok(());
    };
    let relative = fs::canonicalize(fs::parent_of(folder)).ok();
    let relative =
        relative.and_then(|parent| repository.relative(&parent.join(folder.file_name()?)));
    if let Some(path) = relative {
        repository.ensure_excluded(&[(&exclude_pattern(&path), folder)])?;
    }
    Ok(())
}

/// Links a package into the folder from which files in Python import it.
fn link(root: &Path, target: &PackageTarget, clone: &Path) -> Result<(), git::Error> {
    let Some(name) = &target.name else {
        return Ok(());
    };
    let name: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect();
    let base = clone.file_name().unwrap_or_default();
    let path = target.request.source().path;
    let folder = Beneath::open(root)?;
    let links = Path::new(LINKS);
    folder.create_dir_all(links)?;
    if folder.info(&links.join(".gitignore"))?.is_none() {
        folder.write_atomic(&links.join(".gitignore"), b"*\n", None)?;
    }
    let to = Path::new("..").join(base).join(path);
    let link = links.join(name);
    match folder.info(&link)? {
        Some(info) if info.kind != fs::EntryKind::Link => Ok(()),
        _ => Ok(folder.replace_with_link(&link, &to)?),
    }
}

/// Records a clone in the home project, if there is one. The record alone grants no trust.
pub(super) fn record_clone(options: &SessionOptions, folder: &Path) {
    let Some(home) = options
        .home
        .as_deref()
        .filter(|home| !home.as_os_str().is_empty())
    else {
        return;
    };
    let (home, file) = home_project_folder(home, &current_dir().unwrap_or_default());
    if fs::is_file(&file) {
        // Without the record, `trusted: URL` does not cover the clone; `unfurl trust` does.
        record_cloned(&home, folder).ok();
    }
}
