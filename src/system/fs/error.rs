//! The error of a file operation, with a hint for the user.

use std::fmt::{Display, Formatter};
use std::io;
use std::path::{Path, PathBuf};

use super::regular::NotRegular;
use super::resolve::RefusedLink;
use crate::system::limit_hints::limit_hint;

/// The kind of a failed file operation, for its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    Read,
    Write,
    Sync,
    CreateFolder,
    List,
    Remove,
    Move,
    Copy,
    /// Reading metadata or resolving a path.
    Inspect,
    Lock,
}

impl Display for FileAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::CreateFolder => "create folder",
            Self::List => "list",
            Self::Remove => "remove",
            Self::Move => "move",
            Self::Copy => "copy",
            Self::Inspect => "inspect",
            Self::Lock => "lock",
        })
    }
}

/// An error of a file operation: the action, the path and the cause.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} `{}`: {}", path.display(), os_message_fragment(source))]
pub struct Error {
    pub action: FileAction,
    pub path: PathBuf,
    /// The error of the operating system.
    pub source: io::Error,
}

impl Error {
    pub fn new(action: FileAction, path: &Path, source: io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Whether the path does not exist.
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }

    /// Whether the file is larger than the caller allows.
    pub fn is_too_large(&self) -> bool {
        self.source.kind() == io::ErrorKind::FileTooLarge
    }

    /// Whether the user lacks permission or the file system is read-only.
    pub fn is_permission_problem(&self) -> bool {
        use io::ErrorKind;
        let kinds = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
        kinds.contains(&self.source.kind())
    }

    /// Returns the symbolic link because of which the operation was refused.
    pub fn refused_link(&self) -> Option<&RefusedLink> {
        self.source.get_ref()?.downcast_ref()
    }

    /// Whether the path is a pipe, a device or a socket instead of a regular file.
    pub fn is_not_regular(&self) -> bool {
        let source = self.source.get_ref();
        source
            .and_then(|source| source.downcast_ref::<NotRegular>())
            .is_some()
    }

    /// Returns a hint on how to fix the problem, if there is one.
    pub fn hint(&self) -> Option<String> {
        use io::ErrorKind;
        let path = self.path.display();
        if let Some(refused) = self.refused_link() {
            return Some(format!(
                "remove the link `{}`; to keep the files elsewhere, move the whole folder that holds it",
                refused.link.display()
            ));
        }
        if self.is_not_regular() {
            return Some(format!(
                "write the content to a file and name it instead of `{path}`"
            ));
        }
        Some(match self.source.kind() {
            ErrorKind::StorageFull => format!("free some space on the disk that holds `{path}`"),
            ErrorKind::QuotaExceeded => {
                "your disk quota is used up: remove files you no longer need".to_owned()
            }
            ErrorKind::PermissionDenied => {
                format!("check the owner and the permissions of `{path}` and of its folder")
            }
            ErrorKind::ReadOnlyFilesystem => {
                format!("`{path}` is on a read-only disk: mount it for writing, or work on a copy")
            }
            ErrorKind::InvalidData => "the file must be UTF-8 text".to_owned(),
            _ if self.source.raw_os_error() == Some(nix::libc::EIO) => {
                "the disk reported an error: check the disk before you continue".to_owned()
            }
            ErrorKind::WouldBlock => return None,
            _ => limit_hint(&self.source)?.to_owned(),
        })
    }
}

/// Returns the operating system's message without the error number.
pub fn os_message(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}

/// Returns the operating system's message without the error number, starting in lower case.
fn os_message_fragment(error: &io::Error) -> String {
    let text = os_message(error);
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// Returns a function that adds the action and the path to an `io::Error`.
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
            nix::libc::EFBIG,
            nix::libc::EIO,
        ] {
            let source = io::Error::from_raw_os_error(code);
            let error = Error::new(FileAction::Write, Path::new("x"), source);
            assert!(error.hint().is_some(), "{error}");
        }
    }
}
