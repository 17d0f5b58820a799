//! Checks of the folder that the user names for a new project or ensemble.

use std::path::{Component, Path, PathBuf};

use super::staging::PREFIX;
use crate::ops::failure::{Failure, FailureKind};
use crate::session::current_dir;
use crate::system::fs;

/// The maximum number of entries that a message about a folder names.
const MAX_NAMED: usize = 5;

/// Returns the absolute path of the folder, with the links of its existing part resolved.
pub(in crate::ops) fn absolute(folder: &str) -> Result<PathBuf, Failure> {
    let folder = if folder.is_empty() { "." } else { folder };
    if folder.chars().any(char::is_control) {
        let message = format!(
            "the name `{}` has a control character",
            folder.escape_debug()
        );
        return Err(refused(message, "choose a name without it"));
    }
    let path = fs::absolute(Path::new(folder), &current_dir()?);
    let mut existing = path.as_path();
    while !fs::exists(existing) && !fs::is_symlink(existing) {
        match existing.parent() {
            Some(parent) => existing = parent,
            None => return Ok(path),
        }
    }
    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
    if !fs::exists(existing) {
        let message = format!(
            "`{}` is a symbolic link that leads nowhere",
            existing.display()
        );
        return Err(refused(
            message,
            "remove the link, or choose another folder",
        ));
    }
    let real = fs::canonicalize(existing)?;
    Ok(if rest.as_os_str().is_empty() {
        real
    } else {
        real.join(rest)
    })
}

/// Fails unless the folder does not exist or is empty.
pub(super) fn check_is_free(folder: &Path) -> Result<(), Failure> {
    let mut above = folder;
    while !fs::exists(above) {
        above = fs::parent_of(above);
    }
    let shown = above.display();
    if !fs::is_dir(above) {
        let message = format!("`{shown}` is a file, so no project can be created there");
        return Err(refused(message, "choose another folder"));
    }
    if above != folder {
        return Ok(());
    }
    let names: Vec<String> = fs::list(folder)?
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let mut listed: Vec<String> = names
        .iter()
        .take(MAX_NAMED)
        .map(|name| format!("`{name}`"))
        .collect();
    if names.len() > MAX_NAMED {
        listed.push(format!("{} more", names.len() - MAX_NAMED));
    }
    let message = format!(
        "the folder `{shown}` is not empty: it has {}",
        listed.join(", ")
    );
    if names.iter().any(|name| name.starts_with(PREFIX)) {
        let help = "an `unfurl init` was cut off here: remove the folder's content, and try again";
        return Err(refused(message, help));
    }
    Err(refused(
        message,
        "name a folder that does not exist, such as `unfurl init my-project`",
    ))
}

/// Returns the folder of an ensemble relative to its project. The name must lead to a folder in the project.
pub(super) fn ensemble_folder(name: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(name);
    let is_name = |part: Component<'_>| match part {
        Component::Normal(name) => !name.to_string_lossy().chars().any(char::is_control),
        Component::CurDir => true,
        _ => false,
    };
    let clean: PathBuf = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    let first = clean.components().next();
    let is_reserved = ["local", "secrets", ".secrets", ".git"]
        .iter()
        .any(|reserved| clean.components().any(|part| part.as_os_str() == *reserved));
    if path.components().all(is_name) && first.is_some() && !is_reserved {
        return Ok(clean);
    }
    let message = format!(
        "`{}` cannot be the folder of an ensemble",
        name.escape_debug()
    );
    Err(refused(
        message,
        "give a folder in the project, such as `ensemble2`",
    ))
}

fn refused(message: impl ToString, help: &str) -> Failure {
    Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
}
