//! File operations whose errors name the action and the path.
//!
//! Files that must survive a crash are written with [`write_atomic`] or [`Appender`], which write, sync and
//! rename in the right order. Changes pass through the fault layer.

mod error;
mod listing;
mod reading;
mod writing;

pub use error::{Error, FileAction, os_message};
pub use listing::{EntryKind, WalkLimits, list, walk};
pub use reading::{
    absolute, canonicalize, exists, is_dir, is_file, is_mount, is_own, is_program, is_symlink,
    is_within, mode_of, modified_time, normalize, read, read_link, read_start, read_to_string,
    read_within,
};
pub(super) use writing::temporary_name;
pub use writing::{
    Appender, TemporaryDir, append_durable, copy_dir, create_dir_all, move_dir, remove_dir_all,
    remove_dir_if_exists, remove_file, remove_file_if_exists, rename, sync_dir, write_atomic,
    write_plain,
};
