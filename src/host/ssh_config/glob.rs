//! The files that an `Include` pattern names, in the order of their names.

use std::path::{Path, PathBuf};

use crate::system::fs;

/// The paths that are there and like the pattern, sorted. `*`, `?` and `[…]` stand for characters
/// of one name, but not for a dot at its start; a backslash takes a sign's meaning away.
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
    let pattern: Vec<char> = pattern.chars().collect();
    // A folder that cannot be listed has nothing for us.
    let entries = fs::list(listed).unwrap_or_default();
    let names = entries.into_iter().map(|entry| entry.name);
    names
        .filter(|name| {
            let name: Vec<char> = name.chars().collect();
            (name.first() != Some(&'.') || pattern.first() == Some(&'.'))
                && is_like(&name, &pattern)
        })
        .map(|name| folder.join(name))
        .collect()
}

/// The name that a part without signs means.
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

/// What the first sign of a pattern means for a character: how long the sign is, if it fits.
fn sign(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['\\', escaped, ..] => (*escaped == c).then_some(2),
        ['[', rest @ ..] => match set(rest, c) {
            Some((true, length)) => Some(length + 1),
            Some((false, _)) => None,
            None => (c == '[').then_some(1),
        },
        [first, ..] => (*first == c).then_some(1),
        [] => None,
    }
}

/// Whether a character is in the set that begins here, and how long that is with its end; none if
/// it has no end.
fn set(pattern: &[char], c: char) -> Option<(bool, usize)> {
    let negated = matches!(pattern.first(), Some('!' | '^'));
    let mut at = usize::from(negated);
    let begin = at;
    let mut is_in = false;
    loop {
        match (pattern.get(at)?, pattern.get(at + 1), pattern.get(at + 2)) {
            (']', _, _) if at > begin => return Some((is_in != negated, at + 1)),
            (first, Some('-'), Some(last)) if *last != ']' => {
                is_in |= (*first..=*last).contains(&c);
                at += 3;
            }
            (one, _, _) => {
                is_in |= *one == c;
                at += 1;
            }
        }
    }
}

fn is_like(name: &[char], pattern: &[char]) -> bool {
    let (mut at, mut on) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(on) == Some(&'*') {
            star = Some((on, at));
            on += 1;
            continue;
        }
        let Some(c) = name.get(at) else {
            return on == pattern.len();
        };
        if let Some(length) = sign(&pattern[on..], *c) {
            (at, on) = (at + 1, on + length);
            continue;
        }
        let Some((place, taken)) = star else {
            return false;
        };
        star = Some((place, taken + 1));
        (at, on) = (taken + 1, place + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(name: &str, pattern: &str) -> bool {
        let characters = |text: &str| text.chars().collect::<Vec<_>>();
        is_like(&characters(name), &characters(pattern))
    }

    #[test]
    fn signs_stand_for_characters_of_a_name() {
        assert!(like("a.conf", "*.conf") && !like("a.conf~", "*.conf"));
        assert!(like("b1", "[a-c]?") && !like("d1", "[a-c]?") && like("d1", "[!a-c]?"));
        assert!(like("]", "[]]") && like("[", "[") && like("*", "\\*") && !like("a", "\\*"));
        assert!(like("", "*") && !like("", "?"));
    }

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
