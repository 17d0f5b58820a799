//! Refuses trees of commits that would write outside of their clone: entries named `.git`, links that lead out, and
//! names that a file system may take for each other.

use std::collections::HashMap;

use git2::{ObjectType, Oid};

/// The mode of a symbolic link in a tree.
const LINK_MODE: i32 = 0o120_000;
/// The maximum depth of folders.
const MAX_DEPTH: usize = 256;
/// The maximum number of entries.
const MAX_ENTRIES: usize = 2_000_000;

/// The parts of a tree that need attention after a checkout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TreeFindings {
    /// The paths of submodules, which a clone does not fetch.
    pub(super) submodules: Vec<String>,
    /// True if files are stored with git-lfs.
    pub(super) uses_lfs: bool,
}

/// Checks a tree before its checkout. The error is a path with what is wrong.
pub(super) fn check_tree(
    inner: &git2::Repository,
    tree: Oid,
) -> Result<TreeFindings, (String, &'static str)> {
    let mut findings = TreeFindings::default();
    let mut pending = vec![(String::new(), tree, 0)];
    let mut count = 0;
    while let Some((folder, id, depth)) = pending.pop() {
        let unreadable = |_| (folder.clone(), "cannot be read");
        let tree = inner.find_tree(id).map_err(unreadable)?;
        if depth > MAX_DEPTH {
            return Err((folder, "is too deep"));
        }
        // Which entry has a name, regardless of case, and whether one of them is a link.
        let mut seen: HashMap<String, bool> = HashMap::new();
        for entry in &tree {
            count += 1;
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            let path = if folder.is_empty() {
                name.clone()
            } else {
                format!("{folder}/{name}")
            };
            if count > MAX_ENTRIES {
                return Err((path, "is one file too many"));
            }
            if is_git_folder(&name) {
                return Err((path, "could be taken for the folder of git"));
            }
            let is_link = entry.filemode() == LINK_MODE;
            let before = seen.insert(name.to_lowercase(), is_link);
            if before.is_some_and(|before| before || is_link) {
                return Err((
                    path,
                    "differs only in case from another name, and one of them is a symbolic link",
                ));
            }
            match entry.kind() {
                Some(ObjectType::Tree) => pending.push((path, entry.id(), depth + 1)),
                Some(ObjectType::Commit) => findings.submodules.push(path),
                _ if is_link => {
                    let blob = inner
                        .find_blob(entry.id())
                        .map_err(|_| (path.clone(), "cannot be read"))?;
                    if leads_out(blob.content(), depth) {
                        return Err((path, "is a symbolic link that leads out of the repository"));
                    }
                }
                _ if name == ".gitattributes" => findings.uses_lfs |= names_lfs(inner, entry.id()),
                _ => {}
            }
        }
    }
    findings.submodules.sort();
    Ok(findings)
}

/// Whether a file system may take the name for `.git`, `.` or `..`, or the name contains a separator.
fn is_git_folder(name: &str) -> bool {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return true;
    }
    // macOS ignores some characters; Windows ignores dots and spaces at the end, and what follows a colon.
    let is_ignored = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name: String = name.chars().filter(|c| !is_ignored(c)).collect();
    let name = name
        .split([':', '\\'])
        .next()
        .unwrap_or_default()
        .trim_end_matches([' ', '.']);
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}

/// Whether a link in a folder of the given depth leads out of the repository, or into its folder `.git`.
///
/// A `..` behind a name is refused as well, because the name may be that of another link.
fn leads_out(target: &[u8], depth: usize) -> bool {
    let target = String::from_utf8_lossy(target);
    let parts = target
        .split(['/', '\\'])
        .filter(|part| !part.is_empty() && *part != ".");
    let mut upwards = 0;
    let mut is_below = false;
    for part in parts {
        match part {
            ".." if is_below => return true,
            ".." => upwards += 1,
            name if is_git_folder(name) => return true,
            _ => is_below = true,
        }
    }
    target.starts_with('/') || target.is_empty() || upwards > depth
}

fn names_lfs(inner: &git2::Repository, id: Oid) -> bool {
    let blob = inner.find_blob(id).ok();
    blob.is_some_and(|blob| String::from_utf8_lossy(blob.content()).contains("filter=lfs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_in_the_repository() {
        for (target, depth) in [
            ("a", 0),
            ("a/b", 0),
            ("../a", 1),
            ("../../x/y", 2),
            ("./a", 0),
            ("..", 1),
        ] {
            assert!(!leads_out(target.as_bytes(), depth), "{target}");
        }
        for (target, depth) in [
            ("/etc/passwd", 5),
            ("..", 0),
            ("../../a", 1),
            ("a/../../b", 1),
            ("deep/l/..", 0),
            (".git/config", 0),
            ("../.GIT/hooks", 1),
            ("", 0),
            ("..\\..\\x", 1),
        ] {
            assert!(leads_out(target.as_bytes(), depth), "{target}");
        }
    }

    #[test]
    fn names_like_that_of_the_git_folder_are_found() {
        for name in [
            ".git",
            ".GIT",
            ".git ",
            ".git.",
            ".g\u{200c}it",
            "GIT~1",
            ".git::$INDEX_ALLOCATION",
            ".",
            "..",
            "",
        ] {
            assert!(is_git_folder(name), "{name}");
        }
        for name in [
            ".gitignore",
            ".gitattributes",
            "git",
            "a.git",
            ".github",
            "...",
        ] {
            assert!(!is_git_folder(name), "{name}");
        }
    }
}
