//! Finds `tasks.yaml` in the current folder or above, and reads it.

use std::path::{Path, PathBuf};

use crate::diagnostic::Sources;
use crate::fleet::{Error, ErrorKind};
use crate::project::{FolderKeys, OutsideError, ReadScope, Trust, enclosing_project};
use crate::system::env::Env;
use crate::system::fs;
use crate::tasks::{Tasks, read_tasks};

/// The accepted file names, in the order of preference.
const NAMES: [&str; 2] = ["tasks.yaml", "tasks.yml"];

/// Loaded tasks with the file that they come from.
#[derive(Debug)]
pub struct LoadedTasks {
    /// The file. None if no file was found, in which case no tasks exist.
    pub file: Option<PathBuf>,
    pub tasks: Tasks,
    /// The texts that were read, for diagnostics.
    pub sources: Sources,
}

/// Reads the tasks of a file, of the `tasks.yaml` in a folder, or of the nearest one above `here`.
///
/// # Errors
///
/// The named file does not exist, or a file has errors.
pub fn find_tasks(
    file: Option<&Path>,
    here: &Path,
    allowed: &[String],
) -> Result<LoadedTasks, Error> {
    let file = match file {
        Some(file) => Some(explicit_file(&fs::absolute(file, here))?),
        None => nearest_file(here),
    };
    let mut sources = Sources::default();
    let Some(file) = file else {
        return Ok(LoadedTasks {
            file: None,
            tasks: Tasks::default(),
            sources,
        });
    };
    let scope = scope_of(&file, allowed);
    let read = |path: &Path| {
        let outside = |error| format!("{error}; {}", OutsideError::help());
        let real = scope.resolve(path).map_err(outside)?;
        fs::read_to_string(&real).map_err(|error| error.to_string())
    };
    let keys = FolderKeys::new(file.parent().unwrap_or(here), None);
    match read_tasks(&file, &mut sources, &read, &keys) {
        Ok(tasks) => Ok(LoadedTasks {
            file: Some(file),
            tasks,
            sources,
        }),
        Err(problems) => Err(Error::with_sources(ErrorKind::Invalid, problems, sources)),
    }
}

/// Returns the files that a tasks file may include: those of its folder, its project and its repository.
fn scope_of(file: &Path, allowed: &[String]) -> ReadScope {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut scope = ReadScope::of_folder(folder);
    scope.set_trust(&Trust::new(allowed.iter().cloned(), false));
    scope.add_file(file);
    scope.add_repository_of(file);
    if let Some(project) = enclosing_project(folder, None) {
        scope.add_folder(&project);
    }
    scope
}

/// Returns the named file, or the tasks file in the named folder.
fn explicit_file(path: &Path) -> Result<PathBuf, Error> {
    if fs::is_dir(path)
        && let Some(file) = file_in_folder(path)
    {
        return Ok(file);
    }
    if fs::is_file(path) {
        return Ok(path.to_owned());
    }
    let message = format!("there is no file `{}`", path.display());
    Err(Error::new(ErrorKind::Refused, message, None))
}

fn file_in_folder(folder: &Path) -> Option<PathBuf> {
    let mut files = NAMES.iter().map(|name| folder.join(name));
    files.find(|file| fs::is_file(file))
}

fn nearest_file(folder: &Path) -> Option<PathBuf> {
    let env = Env::of_this_process();
    let root = env.non_empty("UNFURL_SEARCH_ROOT").map(PathBuf::from);
    let inside = |folder: &&Path| {
        let root = root
            .as_deref()
            .filter(|root| is_within_search_root(root, folder));
        root.is_none_or(|root| folder.starts_with(root))
    };
    folder
        .ancestors()
        .take_while(inside)
        .find_map(file_in_folder)
}

/// Whether the search root is above or below the folder. Otherwise it does not limit the search.
fn is_within_search_root(root: &Path, folder: &Path) -> bool {
    folder.starts_with(root) || root.starts_with(folder)
}
