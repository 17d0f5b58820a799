//! Expands the pattern of an `Include` line into paths.

use std::path::{Path, PathBuf};

use crate::system::fs;
use crate::text::Glob;

/// Returns the existing paths that match a pattern, sorted.
///
/// `*`, `?` and `[…]` match characters within one name, but not a dot at its start. A backslash
/// escapes the next character.
pub(super) fn paths(pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from(if pattern.starts_with('/') {
        "/"
    } else {
        ""
    })];
    let mut parts = pattern
        .split('/')
        .filter(|part| !part.is_empty())
        .peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        found = match literal(part) {
            Some(name) => found.iter().map(|folder| folder.join(&name)).collect(),
            None => found
                .iter()
                .flat_map(|folder| within(folder, part))
                .collect(),
        };
        let is_there = |path: &PathBuf| {
            if is_last {
                fs::exists(path)
            } else {
                fs::is_dir(path)
            }
        };
        found.retain(is_there);
    }
    found.sort();
    found
}

fn within(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let listed = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let glob = Glob::for_file_name(pattern);
    // An unreadable folder contains no matches.
    let entries = fs::list(listed).unwrap_or_default();
    let names = entries.into_iter().map(|entry| entry.name);
    names
        .filter(|name| (!name.starts_with('.') || pattern.starts_with('.')) && glob.matches(name))
        .map(|name| folder.join(name))
        .collect()
}

/// Returns the name for a part without wildcards; none if it has some.
fn literal(part: &str) -> Option<String> {
    if part.contains(['*', '?', '[']) {
        return None;
    }
    let mut name = String::new();
    let mut characters = part.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => name.push(characters.next().unwrap_or('\\')),
            c => name.push(c),
        }
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_sorted_and_hidden_ones_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b/x.conf", "a/x.conf", "a/.y.conf", "c.conf"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write_plain(&path, b"", None).unwrap();
        }
        let root = folder.path().display().to_string();
        let found = |pattern: &str| -> Vec<String> {
            let strip = |path: PathBuf| {
                let rest = path.strip_prefix(folder.path()).unwrap();
                rest.display().to_string()
            };
            paths(&format!("{root}/{pattern}"))
                .into_iter()
                .map(strip)
                .collect()
        };
        assert_eq!(found("*/*.conf"), ["a/x.conf", "b/x.conf"]);
        assert_eq!(found("a/.*"), ["a/.y.conf"]);
        assert_eq!(found("c.conf"), ["c.conf"]);
        assert!(found("c.conf/x").is_empty() && found("no*").is_empty());
    }
}
