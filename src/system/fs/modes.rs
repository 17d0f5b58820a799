//! The permission bits of new files and folders.

/// The mode of a new file. Neither the group nor others may write it, whatever the umask.
pub const FILE_MODE: u32 = 0o644;

/// The mode of a new folder. Neither the group nor others may write it, whatever the umask.
pub const FOLDER_MODE: u32 = 0o755;

/// The mode of a file that may hold a secret.
pub const SECRET_MODE: u32 = 0o600;
