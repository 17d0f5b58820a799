//! Files with passwords that other people can read.

use std::ffi::OsStr;
use std::path::Path;

use super::Repository;
use crate::diagnostic::Diagnostic;
use crate::system::fs;

/// Returns true if the files in a folder of this name stay on this machine.
fn is_private_folder(name: &OsStr) -> bool {
    name == "local" || name == "secrets"
}

/// Returns a warning if other users of this machine can read a file, or if git tracks it.
///
/// `content` is what the file contains, such as "the password of `web`". None if only its owner can
/// read the file.
pub fn exposed_password_warning(path: &Path, content: &str) -> Option<Diagnostic> {
    let mode = fs::mode_of(path).ok()?;
    let is_readable = mode & 0o077 != 0;
    let whole = fs::canonicalize(path).ok()?;
    let is_tracked =
        matches!(Repository::discover(&whole), Ok(Some(found)) if found.is_tracked(&whole));
    let file = path.display();
    let readers = match (is_readable, is_tracked) {
        (false, false) => return None,
        (true, false) => format!("other users can read the file (mode {:o})", mode & 0o777),
        (false, true) => "git tracks the file".to_owned(),
        (true, true) => format!(
            "other users can read the file (mode {:o}), and git tracks it",
            mode & 0o777
        ),
    };
    let mut fixes = Vec::new();
    if is_readable {
        fixes.push(format!("run `chmod 600 {file}`"));
    }
    if is_tracked {
        let is_local = path
            .components()
            .any(|part| is_private_folder(part.as_os_str()));
        let fix = if is_local {
            format!("run `git rm --cached {file}`, so that git ignores the file")
        } else {
            "move it to a file that git ignores, or use a key".to_owned()
        };
        fixes.push(format!(
            "{fix}; then change the password, because the history of `{file}` keeps it"
        ));
    }
    let message = format!("`{file}` contains {content}, and {readers}");
    Some(Diagnostic::warning(message).help(fixes.join("; ")))
}
