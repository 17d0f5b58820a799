//! Refuses a repository in which files of git are pipes, devices or huge: libgit2 would wait for ever to read
//! them.

use std::path::{Path, PathBuf};

use super::Error;
use super::named_files::{NamedFileKind, named_files};
use crate::system::env::Env;
use crate::system::fs;

/// Files in a `.git` folder that git reads to open a repository and to compare files, with their largest size.
const GIT_FILES: [(&str, u64); 13] = [
    ("HEAD", MAX_POINTER_BYTES),
    ("ORIG_HEAD", MAX_POINTER_BYTES),
    ("config", MAX_TEXT_BYTES),
    ("config.worktree", MAX_TEXT_BYTES),
    ("index", u64::MAX),
    ("packed-refs", u64::MAX),
    ("commondir", MAX_POINTER_BYTES),
    ("gitdir", MAX_POINTER_BYTES),
    ("shallow", u64::MAX),
    ("info/exclude", MAX_TEXT_BYTES),
    ("info/attributes", MAX_TEXT_BYTES),
    ("objects/info/alternates", MAX_TEXT_BYTES),
    ("objects/info/commit-graph", u64::MAX),
];

/// Files at the root of a working tree that git reads to compare files.
const TREE_FILES: [&str; 2] = [".gitignore", ".gitattributes"];

/// The maximum size of a `.git` file or of `HEAD`.
const MAX_POINTER_BYTES: u64 = 64 << 10;

/// The maximum number of settings files that include each other. Git's limit is the same.
const MAX_INCLUDES: u32 = 10;

/// The maximum size of a file with settings or patterns.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Fails if the repository of a folder has a pipe, a device or a huge file in place of a file that git reads.
pub(super) fn refuse(start: &Path) -> Result<(), Error> {
    for root in start.ancestors() {
        let git = root.join(".git");
        fs::refuse_special_or_larger(&git, MAX_POINTER_BYTES)?;
        if !fs::exists(&git) {
            continue;
        }
        for name in TREE_FILES {
            fs::refuse_special_or_larger(&root.join(name), MAX_TEXT_BYTES)?;
        }
        let folder = folder_of(root, &git);
        let shared = pointer(&folder.join("commondir"), "").map(|path| folder.join(path));
        for folder in std::iter::once(folder).chain(shared) {
            for (name, max_bytes) in GIT_FILES {
                fs::refuse_special_or_larger(&folder.join(name), max_bytes)?;
            }
            if let Some(branch) = pointer(&folder.join("HEAD"), "ref:") {
                fs::refuse_special(&folder.join(branch))?;
            }
            for name in ["config", "config.worktree"] {
                refuse_named(&folder.join(name), root, MAX_INCLUDES)?;
            }
        }
        return Ok(());
    }
    Ok(())
}

/// Fails if a setting names a pipe, a device or a huge file, or a file outside of the repository, or if a file
/// that a setting includes does.
fn refuse_named(settings: &Path, root: &Path, includes: u32) -> Result<(), Error> {
    // A file that cannot be read has no settings.
    let bytes = fs::read_within(settings, MAX_TEXT_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let folder = settings.parent().unwrap_or(root);
    for file in named_files(&text) {
        if file.path == Path::new("/dev/null") {
            continue;
        }
        let paths = match file.kind {
            NamedFileKind::Settings => vec![folder.join(&file.path)],
            // git reads the path from the root of the working tree, libgit2 from the current folder.
            NamedFileKind::Patterns | NamedFileKind::Key => vec![root.join(&file.path), file.path],
        };
        for path in paths {
            fs::refuse_special_or_larger(&path, MAX_TEXT_BYTES)?;
            if file.kind != NamedFileKind::Key {
                refuse_outside(&path, root, folder)?;
            }
            if file.kind == NamedFileKind::Settings && includes > 0 && fs::is_file(&path) {
                refuse_named(&path, root, includes - 1)?;
            }
        }
    }
    Ok(())
}

/// Fails if a file lies neither in the repository nor among the settings of the user.
fn refuse_outside(path: &Path, root: &Path, folder: &Path) -> Result<(), Error> {
    // A file that does not exist is not read.
    let Ok(real) = fs::canonicalize(path) else {
        return Ok(());
    };
    let env = Env::of_this_process();
    let home = env.get("HOME").map(PathBuf::from);
    let of_user = home.into_iter().flat_map(|home| {
        [".gitconfig", ".gitignore", ".gitattributes", ".config/git"].map(|name| home.join(name))
    });
    let mut allowed = [root, folder]
        .map(Path::to_path_buf)
        .into_iter()
        .chain(of_user);
    let lies_in = |allowed: PathBuf| {
        fs::canonicalize(&allowed).is_ok_and(|allowed| real.starts_with(allowed))
    };
    if allowed.any(lies_in) {
        return Ok(());
    }
    Err(Error::ForeignSettingsFile {
        path: root.to_owned(),
        file: path.to_owned(),
    })
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
