//! A new folder that is built under another name, and appears under its own name as a whole or not at all.

use std::path::{Path, PathBuf};

use crate::ops::failure::{Failure, FailureKind};
use crate::skeleton::NewFile;
use crate::system::env;
use crate::system::fs::{self, FILE_MODE, SECRET_MODE, TemporaryDir};

/// The beginning of the names of folders in which new projects are built.
pub(super) const PREFIX: &str = ".unfurl-init.tmp.";

/// The way in which the new folder gets to its place.
#[derive(Debug)]
enum Arrival {
    /// The folder is renamed to the path.
    Rename(PathBuf),
    /// The entries are moved into the empty folder, which stays.
    Fill(PathBuf),
    /// The folder at the first path is renamed to the second one before.
    Replace(PathBuf, PathBuf),
}

/// A new folder that is being built.
#[derive(Debug)]
pub(super) struct Staging {
    temporary: TemporaryDir,
    /// The folder that becomes the target.
    content: PathBuf,
    /// The entry of the temporary folder that is moved.
    top: PathBuf,
    arrival: Arrival,
}

impl Staging {
    /// Begins to build a folder that does not exist, or an empty folder. The path has no symbolic links.
    pub(super) fn begin(target: &Path) -> Result<Self, Failure> {
        if fs::is_dir(target) {
            return Self::for_empty(target);
        }
        let mut first = target;
        while let Some(parent) = first.parent().filter(|parent| !fs::exists(parent)) {
            first = parent;
        }
        let around = fs::parent_of(first);
        let temporary = TemporaryDir::create_in(around, PREFIX)?;
        let top = temporary.path().join(first.file_name().unwrap_or_default());
        let rest = target.strip_prefix(first).unwrap_or(Path::new(""));
        let content = if rest.as_os_str().is_empty() {
            top.clone()
        } else {
            top.join(rest)
        };
        fs::create_dir_all(&content)?;
        Ok(Self {
            temporary,
            content,
            top,
            arrival: Arrival::Rename(first.to_owned()),
        })
    }

    /// Begins to fill an empty folder. The current folder of the user must stay the same folder.
    fn for_empty(target: &Path) -> Result<Self, Failure> {
        let is_current = env::current_dir()
            .is_ok_and(|here| fs::canonicalize(&here).is_ok_and(|here| here.starts_with(target)));
        let beside = target
            .parent()
            .filter(|_| !is_current && !fs::is_mount(target));
        let beside = beside.and_then(|parent| TemporaryDir::create_in(parent, PREFIX).ok());
        let name = target.file_name().unwrap_or_default();
        let (temporary, arrival) = match beside {
            Some(temporary) => (temporary, Arrival::Rename(target.to_owned())),
            None => (
                TemporaryDir::create_in(target, PREFIX)?,
                Arrival::Fill(target.to_owned()),
            ),
        };
        let content = temporary.path().join(name);
        fs::create_dir_all(&content)?;
        Ok(Self {
            temporary,
            top: content.clone(),
            content,
            arrival,
        })
    }

    /// Begins to build a folder that replaces another one, which is kept in `backup`.
    pub(super) fn replacing(target: &Path, backup: &Path) -> Result<Self, Failure> {
        let temporary = TemporaryDir::create_in(fs::parent_of(target), PREFIX)?;
        let content = temporary
            .path()
            .join(target.file_name().unwrap_or_default());
        fs::create_dir_all(&content)?;
        Ok(Self {
            temporary,
            top: content.clone(),
            content,
            arrival: Arrival::Replace(target.to_owned(), backup.to_owned()),
        })
    }

    /// The folder to build.
    pub(super) fn folder(&self) -> &Path {
        &self.content
    }

    /// Puts the folder to its place.
    pub(super) fn publish(self) -> Result<(), Failure> {
        sync_folders(&self.top)?;
        match &self.arrival {
            Arrival::Rename(to) => {
                rename_new(&self.top, to)?;
                fs::sync_parent(to)?;
            }
            Arrival::Fill(to) => self.fill(to)?,
            Arrival::Replace(to, backup) => {
                rename_new(to, backup)?;
                if let Err(error) = rename_new(&self.top, to) {
                    fs::rename(backup, to).ok();
                    return Err(error);
                }
                fs::sync_parent(to)?;
            }
        }
        drop(self.temporary);
        Ok(())
    }

    fn fill(&self, target: &Path) -> Result<(), Failure> {
        let mut moved: Vec<PathBuf> = Vec::new();
        let mut entries = fs::list(&self.content)?;
        // The file that makes the folder a project or an ensemble comes last.
        entries.sort_by_key(|entry| entry.path.extension().is_some_and(|end| end == "yaml"));
        for entry in entries {
            let to = target.join(entry.path.file_name().unwrap_or_default());
            if let Err(error) = rename_new(&entry.path, &to) {
                for path in moved.iter().rev() {
                    fs::rename(
                        path,
                        &self.content.join(path.file_name().unwrap_or_default()),
                    )
                    .ok();
                }
                return Err(error);
            }
            moved.push(to);
        }
        Ok(fs::sync_dir(target)?)
    }
}

/// Renames an entry unless something with content is at the target.
fn rename_new(from: &Path, to: &Path) -> Result<(), Failure> {
    let is_taken =
        fs::is_symlink(to) || (fs::exists(to) && !(fs::is_dir(to) && fs::list(to)?.is_empty()));
    if is_taken {
        let message = format!(
            "`{}` was created by another program in the meantime",
            to.display()
        );
        let hint = "choose another folder, or remove it and try again".to_owned();
        return Err(Failure::new(FailureKind::Refused, message, Some(hint)));
    }
    Ok(fs::rename(from, to)?)
}

/// Writes files into a new folder and makes their content durable.
pub(super) fn write_files(folder: &Path, files: &[NewFile]) -> Result<(), Failure> {
    for file in files {
        let path = folder.join(&file.path);
        let mode = if file.is_secret {
            SECRET_MODE
        } else {
            FILE_MODE
        };
        fs::write_plain(&path, file.text.as_bytes(), file.is_secret.then_some(mode))?;
        fs::sync_file(&path)?;
    }
    // Unfurl takes the newer one of a secret file and its encrypted copy for the changed one.
    for copy in files {
        let secret = copy
            .path
            .strip_prefix(".secrets")
            .map(|name| folder.join("secrets").join(name));
        if let Some(time) = secret.ok().and_then(|secret| fs::modified_time(&secret)) {
            fs::set_modified_time(&folder.join(&copy.path), time)?;
        }
    }
    Ok(())
}

/// Makes the names in a folder and in its subfolders durable, except those that git itself keeps.
fn sync_folders(folder: &Path) -> Result<(), Failure> {
    for entry in fs::list(folder)? {
        if entry.kind == fs::EntryKind::Folder && entry.name != ".git" {
            sync_folders(&entry.path)?;
        }
    }
    Ok(fs::sync_dir(folder)?)
}
