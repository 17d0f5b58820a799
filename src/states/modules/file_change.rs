//! Constructors of [`Change`] values for files and folders, and the folder of a path.
//!
//! The state modules use them to list their steps; the engine has the host apply the changes.

use crate::host::change::{Change, FileWrite, ModeAndOwner};

/// Writes a file whose content may be shown.
pub(super) fn write(path: &str, bytes: impl Into<Vec<u8>>, like: ModeAndOwner) -> Change {
    write_hidden(path, bytes, like, false)
}

/// Writes a file. With `secret`, logs and results hide the content.
pub(super) fn write_hidden(
    path: &str,
    bytes: impl Into<Vec<u8>>,
    like: ModeAndOwner,
    secret: bool,
) -> Change {
    Change::Write(FileWrite {
        path: path.to_owned(),
        bytes: bytes.into(),
        like,
        secret,
        present_mode: None,
    })
}

/// Creates a folder whose parent exists.
pub(super) fn folder(path: &str, like: ModeAndOwner) -> Change {
    Change::Folder {
        path: path.to_owned(),
        parents: false,
        like,
    }
}

/// Creates a folder and its missing ancestors.
pub(super) fn folders(path: &str, like: ModeAndOwner) -> Change {
    Change::Folder {
        path: path.to_owned(),
        parents: true,
        like,
    }
}

/// Sets owners and permission bits. With `follow`, the target of a symbolic link is changed.
pub(super) fn set_attributes(path: &str, like: ModeAndOwner, follow: bool) -> Change {
    Change::Set {
        path: path.to_owned(),
        like,
        follow,
    }
}

/// Removes a file, link or folder with its content.
pub(super) fn remove(path: &str) -> Change {
    Change::Remove {
        path: path.to_owned(),
    }
}

pub(super) fn rename(from: &str, to: &str) -> Change {
    Change::Move {
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

/// Creates an empty file, or sets the times of an existing entry to now.
pub(super) fn touch(path: &str) -> Change {
    Change::Touch {
        path: path.to_owned(),
        read: None,
        written: None,
    }
}

/// Returns the folder that contains a path; empty for a relative name without a slash.
pub(super) fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(slash_index) => path[..slash_index].trim_end_matches('/'),
        None => "",
    }
}
