//! Clones the repository of a source, and the repositories inside a project of this machine.

use std::path::{Path, PathBuf};

use super::report::CloneReport;
use crate::git::{self, CloneRequest, Cloned, Repository, clone_repository};
use crate::ops::address_clone::clone_from_address;
use crate::ops::failure::Failure;
use crate::ops::packages::exclude;
use crate::package::SourceUrl;
use crate::system::fs;
use crate::text::without_logins;

/// The maximum depth below a project at which repositories are searched.
const MAX_DEPTH: usize = 2;

/// Clones a repository from its address into a new folder.
pub(super) fn clone_address(
    url: &SourceUrl,
    folder: &Path,
    report: &mut CloneReport,
) -> Result<(), Failure> {
    let cloned = clone_from_address(url, folder, &mut report.notes)?;
    note_missing_parts(&cloned, report);
    report.revision = Some(cloned.revision);
    Ok(())
}

/// Clones a repository of this machine into a new folder, with the repositories inside of it.
pub(super) fn clone_local(
    repository: &Repository,
    folder: &Path,
    report: &mut CloneReport,
) -> Result<(), Failure> {
    let root = repository.root();
    let origin = root.display().to_string();
    let cloned = clone_repository(&CloneRequest {
        source: root,
        origin: &origin,
        target: folder,
        revision: None,
        commit: None,
    })?;
    note_missing_parts(&cloned, report);
    report.revision = Some(cloned.revision);
    if !repository.uncommitted()?.is_empty() {
        let note = format!(
            "`{}` has uncommitted changes, which the clone does not have",
            root.display()
        );
        report.notes.push(note);
    }
    let mut inside = Vec::new();
    find_inside(root, MAX_DEPTH, &mut inside);
    for nested in inside {
        clone_nested(&nested, root, folder, report)?;
    }
    Ok(())
}

/// Clones a repository inside another one to the same place in a clone of that.
fn clone_nested(
    nested: &Repository,
    root: &Path,
    clone: &Path,
    report: &mut CloneReport,
) -> Result<(), Failure> {
    let Ok(inside) = nested.root().strip_prefix(root) else {
        return Ok(());
    };
    let Some(head) = nested.head()? else {
        let note = format!(
            "`{}` has no commits, so it was not cloned",
            inside.display()
        );
        report.notes.push(note);
        return Ok(());
    };
    let target = clone.join(inside);
    // The parent may be missing, or the place may be taken by a submodule's empty folder.
    fs::create_dir_all(fs::parent_of(&target))?;
    let origin = nested.origin().map(|url| without_logins(&url));
    let origin = origin.unwrap_or_else(|| nested.root().display().to_string());
    let branch = nested.branch();
    let cloned = clone_repository(&CloneRequest {
        source: nested.root(),
        origin: &origin,
        target: &target,
        revision: branch.as_deref(),
        commit: Some(&head).filter(|_| branch.is_none()).map(String::as_str),
    })?;
    exclude(fs::parent_of(&target), &target)?;
    if !nested.uncommitted()?.is_empty() {
        let note = format!(
            "`{}` has uncommitted changes, which the clone does not have",
            nested.root().display()
        );
        report.notes.push(note);
    }
    note_missing_parts(&cloned, report);
    report.nested.push(inside.to_owned());
    Ok(())
}

/// Finds the repositories below a folder.
fn find_inside(folder: &Path, depth: usize, found: &mut Vec<Repository>) {
    for entry in fs::list(folder).unwrap_or_default() {
        let is_open = entry.kind == fs::EntryKind::Folder
            && (!entry.name.starts_with('.') || entry.name == ".unfurl");
        if !is_open {
            continue;
        }
        if fs::exists(&entry.path.join(".git")) {
            let repository = Repository::discover(&entry.path).ok().flatten();
            found.extend(repository.filter(|repository| repository.root().ends_with(&entry.name)));
        } else if depth > 1 {
            find_inside(&entry.path, depth - 1, found);
        }
    }
}

fn note_missing_parts(cloned: &Cloned, report: &mut CloneReport) {
    let folder = cloned
        .folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    if !cloned.submodules.is_empty() {
        report.notes.push(format!(
            "submodules were not fetched: {}; `git submodule update --init` fetches them",
            cloned.submodules.join(", ")
        ));
    }
    if cloned.uses_lfs {
        report.notes.push(format!(
            "files of git-lfs in `{folder}` were not downloaded; `git lfs pull` does so"
        ));
    }
}

/// Returns the repository of a project on this machine.
pub(super) fn repository_of(path: &Path) -> Result<Option<Repository>, git::Error> {
    let folder: PathBuf = if fs::is_dir(path) {
        path.to_owned()
    } else {
        fs::parent_of(path).to_owned()
    };
    Repository::discover(&folder)
}
