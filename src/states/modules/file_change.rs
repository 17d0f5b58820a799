//! Changes of files and folders, as steps of a state.

use crate::host::change::{Change, FileWrite, ModeAndOwner};

/// Writes a file of which nothing is secret.
pub(super) fn write(path: &str, bytes: impl Into<Vec<u8>>, like: ModeAndOwner) -> Change {
    write_hidden(path, bytes, like, false)
}

/// Writes a file whose content may be hidden from people.
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
    })
}

/// Makes a folder whose parent is there.
pub(super) fn folder(path: &str, like: ModeAndOwner) -> Change {
    Change::Folder {
        path: path.to_owned(),
        parents: false,
        like,
    }
}

/// Makes a folder and those above it.
pub(super) fn folders(path: &str, like: ModeAndOwner) -> Change {
    Change::Folder {
        path: path.to_owned(),
        parents: true,
        like,
    }
}

/// Sets owners and permission bits.
pub(super) fn set_attributes(path: &str, like: ModeAndOwner, follow: bool) -> Change {
    Change::Set {
        path: path.to_owned(),
        like,
        follow,
    }
}

/// Removes what is at a path.
pub(super) fn remove(path: &str) -> Change {
    Change::Remove {
        path: path.to_owned(),
    }
}

/// Moves a file to another path.
pub(super) fn rename(from: &str, to: &str) -> Change {
    Change::Move {
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

/// Makes an empty file, or sets the times of what is there to now.
pub(super) fn touch(path: &str) -> Change {
    Change::Touch {
        path: path.to_owned(),
        read: None,
        written: None,
    }
}
