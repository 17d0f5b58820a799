//! The folder on a file system in memory that only this user can access.
//!
//! Files that hold secrets in clear text, such as the state of a tool while it runs, lie in folders there.

use std::path::{Path, PathBuf};

use super::env::Env;
use super::fs::{self, EntryKind};
use super::user;

/// The variable with the folder that is used instead of one in memory.
pub const FOLDER_VARIABLE: &str = "UNFURL_PRIVATE_FOLDER";
/// The variable with the user's folder in memory.
const RUNTIME_VARIABLE: &str = "XDG_RUNTIME_DIR";
/// The folder of the system in memory, in which each user may make folders.
const SHARED_MEMORY: &str = "/dev/shm";
/// The permission bits of group and others.
const OTHERS: u32 = 0o077;

/// The reason why there is no private folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrivateRootError {
    /// The system has no file system in memory that this user can use.
    #[error(
        "no file system in memory is available for clear-text secrets: neither `{RUNTIME_VARIABLE}` names one, nor is \
         there one at `{SHARED_MEMORY}`; mount a tmpfs there, or set `{FOLDER_VARIABLE}` to a folder of mode 0700 whose \
         disk may hold them"
    )]
    NoMemory,
    /// Other users can access the folder.
    #[error("`{}` is refused as a folder for secrets, because {reason}", path.display())]
    Unsafe { path: PathBuf, reason: String },
    #[error("{0}")]
    System(String),
}

/// Returns the private folder of this user, and creates it if it is missing.
///
/// # Errors
///
/// No folder is in memory, another user may access it, or it cannot be created.
pub fn find(env: &Env) -> Result<PathBuf, PrivateRootError> {
    if let Some(named) = env.non_empty(FOLDER_VARIABLE) {
        let path = PathBuf::from(named);
        check(&path)?;
        return Ok(path);
    }
    let runtime = env.non_empty(RUNTIME_VARIABLE).map(Path::new);
    let runtime = runtime.filter(|path| fs::is_in_memory(path) && check(path).is_ok());
    let root = runtime.map(|runtime| runtime.join("unfurl"));
    let root = root
        .or_else(shared_memory)
        .ok_or(PrivateRootError::NoMemory)?;
    if let Err(error) = fs::create_private_dir(&root)
        && !fs::is_dir(&root)
    {
        return Err(PrivateRootError::System(error.to_string()));
    }
    check(&root)?;
    Ok(root)
}

/// Returns the private folders of this user that exist: those in memory, and the one that the variable names.
pub fn existing(env: &Env) -> Vec<PathBuf> {
    let named = env.non_empty(FOLDER_VARIABLE).map(PathBuf::from);
    let runtime = env.non_empty(RUNTIME_VARIABLE).map(Path::new);
    let runtime = runtime.map(|runtime| runtime.join("unfurl"));
    let all = named.into_iter().chain(runtime).chain(shared_memory());
    all.filter(|root| fs::is_dir(root) && check(root).is_ok())
        .collect()
}

fn shared_memory() -> Option<PathBuf> {
    let memory = Path::new(SHARED_MEMORY);
    let own = memory.join(format!("unfurl-{}", user::effective_id()));
    fs::is_in_memory(memory).then_some(own)
}

/// Returns an error unless a path is a folder, no link, that only this user can access.
fn check(path: &Path) -> Result<(), PrivateRootError> {
    let refuse = |reason: String| PrivateRootError::Unsafe {
        path: path.to_owned(),
        reason,
    };
    if fs::is_symlink(path) {
        return Err(refuse("it is a symbolic link".to_owned()));
    }
    let found = fs::Beneath::open(fs::parent_of(path))
        .and_then(|parent| parent.info(Path::new(path.file_name().unwrap_or_default())))
        .map_err(|error| PrivateRootError::System(error.to_string()))?;
    let Some(found) = found.filter(|found| found.kind == EntryKind::Folder) else {
        return Err(refuse("it is no folder".to_owned()));
    };
    if found.owner != user::effective_id() {
        let owner = user::name_of(found.owner);
        return Err(refuse(format!("the user `{owner}` owns it")));
    }
    if found.mode & OTHERS != 0 {
        return Err(refuse(format!(
            "other users can access it (mode {:04o}); run `chmod 700 {}`",
            found.mode,
            path.display()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn env(name: &str, value: &Path) -> Env {
        let value = value.to_str().unwrap().to_owned();
        [(name.to_owned(), value)].into_iter().collect()
    }

    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_on_disk_is_used_only_if_the_variable_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        set_mode(path, 0o700);
        assert_eq!(find(&env(FOLDER_VARIABLE, path)).unwrap(), path);
        let other = find(&env(RUNTIME_VARIABLE, path));
        assert!(other.is_ok_and(|found| fs::is_in_memory(path) || !found.starts_with(path)));
    }

    #[test]
    fn a_folder_that_others_can_access_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        fs::create_private_dir(&open).unwrap();
        set_mode(&open, 0o750);
        let error = find(&env(FOLDER_VARIABLE, &open)).unwrap_err();
        assert!(error.to_string().contains("chmod 700"), "{error}");
        let link = folder.path().join("link");
        symlink(folder.path(), &link).unwrap();
        let error = find(&env(FOLDER_VARIABLE, &link)).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
        let missing = folder.path().join("missing");
        let error = find(&env(FOLDER_VARIABLE, &missing)).unwrap_err();
        assert!(error.to_string().contains("no folder"), "{error}");
    }
}
