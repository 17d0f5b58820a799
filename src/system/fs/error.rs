//! What went wrong with a file.

use std::fmt::{Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// Reading a file.
    Read,
    /// Writing a file.
    Write,
    /// Making what was written durable.
    Sync,
    /// Creating a folder.
    CreateFolder,
    /// Listing a folder.
    List,
    /// Removing a file or a folder.
    Remove,
    /// Moving a file or a folder.
    Move,
    /// Copying a folder.
    Copy,
    /// Finding out what a path names.
    Inspect,
    /// Locking a file.
    Lock,
}

impl Display for FileAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "make durable",
            Self::CreateFolder => "create folder",
            Self::List => "list",
            Self::Remove => "remove",
            Self::Move => "move",
            Self::Copy => "copy",
            Self::Inspect => "look at",
            Self::Lock => "lock",
        })
    }
}

/// A file operation that failed: what was tried, where and why.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} `{}`: {}", path.display(), os_message_fragment(source))]
pub struct Error {
    /// What was tried.
    pub action: FileAction,
    /// On what.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl Error {
    /// Says that `action` failed on `path`.
    pub fn new(action: FileAction, path: &Path, source: io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Whether there is nothing at the path.
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }

    /// Whether it may not be done: by this user, or on this disk.
    pub fn is_permission_problem(&self) -> bool {
        use io::ErrorKind;
        let kinds = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
        kinds.contains(&self.source.kind())
    }

    /// Says what people can do about it, where something helps.
    pub fn hint(&self) -> Option<String> {
        use io::ErrorKind;
        let path = self.path.display();
        Some(match self.source.kind() {
            ErrorKind::StorageFull => format!("free some space on the disk that holds `{path}`"),
            ErrorKind::QuotaExceeded => {
                "your disk quota is used up: remove files you no longer need".to_owned()
            }
            ErrorKind::PermissionDenied => {
                format!("check who owns `{path}` and the folder it is in")
            }
            ErrorKind::ReadOnlyFilesystem => {
                format!("`{path}` is on a read-only disk: mount it for writing, or work on a copy")
            }
            ErrorKind::InvalidData => "the file must be UTF-8 text".to_owned(),
            _ if self.source.raw_os_error() == Some(nix::libc::EMFILE) => {
                "too many files are open: raise the limit with `ulimit -n`".to_owned()
            }
            _ if self.source.raw_os_error() == Some(nix::libc::EIO) => {
                "the disk reported an error: check its health before you go on".to_owned()
            }
            _ => return None,
        })
    }
}

/// What the system said, without its number.
pub fn os_message(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}

/// What the system said, without its number and as a fragment.
fn os_message_fragment(error: &io::Error) -> String {
    let text = os_message(error);
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// Makes an error of what the system said about `path`.
pub(super) fn error_context(
    action: FileAction,
    path: &Path,
) -> impl FnOnce(io::Error) -> Error + '_ {
    move |source| Error::new(action, path, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_where_and_why() {
        let full = io::Error::from_raw_os_error(nix::libc::ENOSPC);
        let error = Error::new(FileAction::Write, Path::new("/srv/ensemble.yaml"), full);
        insta::assert_snapshot!(error, @"could not write `/srv/ensemble.yaml`: no space left on device");
        insta::assert_snapshot!(error.hint().unwrap(), @"free some space on the disk that holds `/srv/ensemble.yaml`");
    }

    #[test]
    fn known_reasons_come_with_a_hint() {
        for code in [
            nix::libc::EACCES,
            nix::libc::EROFS,
            nix::libc::EDQUOT,
            nix::libc::EMFILE,
            nix::libc::EIO,
        ] {
            let source = io::Error::from_raw_os_error(code);
            let error = Error::new(FileAction::Write, Path::new("x"), source);
            assert!(error.hint().is_some(), "{error}");
        }
    }
}
