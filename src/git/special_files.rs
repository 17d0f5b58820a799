//! Refuses a repository in which files of git are pipes or devices: libgit2 would wait for ever to read them.

use std::path::{Path, PathBuf};

use super::Error;
use crate::system::fs;

/// Files in a `.git` folder that git reads to open a repository and to compare files.
const GIT_FILES: [&str; 13] = [
    "HEAD",
    "ORIG_HEAD",
    "config",
    "config.worktree",
    "index",
    "packed-refs",
    "commondir",
    "gitdir",
    "shallow",
    "info/exclude",
    "info/attributes",
    "objects/info/alternates",
    "objects/info/commit-graph",
];

/// Files at the root of a working tree that git reads to compare files.
const TREE_FILES: [&str; 2] = [".gitignore", ".gitattributes"];

/// The maximum size of a `.git` file or of `HEAD`.
const MAX_POINTER_BYTES: u64 = 64 << 10;

/// Fails if the repository of a folder has a pipe or a device in place of a file that git reads.
pub(super) fn refuse(start: &Path) -> Result<(), Error> {
    for root in start.ancestors() {
        let git = root.join(".git");
        fs::refuse_special(&git)?;
        if !fs::exists(&git) {
            continue;
        }
        if fs::is_file(&git) {
            // libgit2 would read a file of any size.
            fs::read_within(&git, MAX_POINTER_BYTES)?;
        }
        for name in TREE_FILES {
            fs::refuse_special(&root.join(name))?;
        }
        let folder = folder_of(root, &git);
        let shared = pointer(&folder.join("commondir"), "").map(|path| folder.join(path));
        for folder in std::iter::once(folder).chain(shared) {
            for name in GIT_FILES {
                fs::refuse_special(&folder.join(name))?;
            }
            if let Some(branch) = pointer(&folder.join("HEAD"), "ref:") {
                fs::refuse_special(&folder.join(branch))?;
            }
        }
        return Ok(());
    }
    Ok(())
}

/// Returns the folder that a `.git` file names, or `.git` itself.
fn folder_of(root: &Path, git: &Path) -> PathBuf {
    match pointer(git, "gitdir:") {
        Some(folder) if !fs::is_dir(git) => root.join(folder),
        _ => git.to_owned(),
    }
}

/// Returns the path after a word at the start of a file.
pub(super) fn pointer(file: &Path, word: &str) -> Option<PathBuf> {
    let bytes = fs::read_within(file, MAX_POINTER_BYTES).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    Some(PathBuf::from(text.strip_prefix(word)?.trim()))
}
