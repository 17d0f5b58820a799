//! File operations whose errors name the action and the path.
//!
//! Files that must survive a crash are written with [`write_atomic`] or [`Appender`], which write, sync and
//! rename in the right order. Changes pass through the fault layer.

mod beneath;
mod compared;
mod entries;
mod error;
mod file_system;
mod irregular;
mod listing;
mod modes;
mod reading;
mod record_lock;
mod regular;
mod resolve;
mod space;
mod stat;
mod tree;
mod unnamed;
mod writing;

pub use beneath::Beneath;
pub use compared::{ExchangeName, Replacement};
pub use error::{Error, FileAction, os_message};
pub use file_system::{is_in_memory, is_on_local_file_system};
pub use irregular::IrregularFile;
pub use listing::{DirEntry, EntryKind, WalkLimits, list, walk};
pub use modes::{FILE_MODE, SECRET_MODE};
pub use reading::{
    DEFAULT_PATH, FileIdentity, MAX_READ_BYTES, absolute, canonicalize, dotted_path, exists,
    find_program, identity_of, is_dir, is_file, is_mount, is_own, is_program, is_symlink,
    is_within, mode_of, modified_time, normalize, read, read_link, read_to_string, read_within,
    refuse_special, refuse_special_or_larger, relative_path,
};
pub use record_lock::lock_holder;
pub(super) use regular::check_regular;
pub use regular::open_regular;
pub use space::{FreeSpace, free_space, is_writable};
pub use stat::{
    FileStat, FileTime, create_dirs_like_parent, set_modified_time, stat_of, sync_file,
};
pub use unnamed::UnnamedFile;
pub(super) use writing::temporary_name;
pub use writing::{
    Appender, TemporaryDir, create_dir_all, create_private_dir, parent_of, remove_dir_all,
    remove_file, remove_file_if_exists, rename, sync_dir, sync_parent, write_atomic, write_plain,
};
