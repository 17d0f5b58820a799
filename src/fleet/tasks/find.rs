//! Finds `tasks.yaml` and reads it.

use std::path::{Path, PathBuf};

use crate::diagnostic::Sources;
use crate::fleet::{Error, ErrorKind};
use crate::system::env::Env;
use crate::system::fs;
use crate::tasks::{Tasks, read_tasks};

/// The names of the file, in the order in which they are looked for.
const NAMES: [&str; 2] = ["tasks.yaml", "tasks.yml"];

/// Tasks, and where they were read.
#[derive(Debug)]
pub struct LoadedTasks {
    /// The file; none if there is none, which has no tasks.
    pub file: Option<PathBuf>,
    /// The tasks.
    pub tasks: Tasks,
    /// The texts that were read.
    pub sources: Sources,
}

/// Reads the tasks of a file, or of the `tasks.yaml` of a folder or the nearest one above it.
///
/// # Errors
///
/// There is no such file, or it has errors.
pub fn find_tasks(file: Option<&Path>, here: &Path) -> Result<LoadedTasks, Error> {
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
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| error.to_string());
    match read_tasks(&file, &mut sources, &read) {
        Ok(tasks) => Ok(LoadedTasks {
            file: Some(file),
            tasks,
            sources,
        }),
        Err(problems) => Err(Error::with_sources(ErrorKind::Invalid, problems, sources)),
    }
}

/// The file that was named; a folder means the one in it.
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

/// Whether the highest folder to search has anything to do with this one.
fn is_within_search_root(root: &Path, folder: &Path) -> bool {
    folder.starts_with(root) || root.starts_with(folder)
}
