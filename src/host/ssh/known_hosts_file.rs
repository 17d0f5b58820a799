//! A known hosts file, whose lines are found by the names of hosts.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use hmac::{KeyInit as _, Mac as _};

use crate::host::pattern;
use crate::system::fs;
use crate::text::base64;

/// The maximum size of a known hosts file in bytes.
const MAX_KNOWN_HOSTS_BYTES: u64 = 64 << 20;
/// The start of a hashed name.
const HASHED: &str = "|1|";

/// The text of a known hosts file, with an index of the names in it.
#[derive(Debug)]
pub(super) struct KnownHostsFile {
    pub(super) path: PathBuf,
    text: String,
    /// The places of the lines with names, in order.
    lines: Vec<LinePlace>,
    /// The indexes of the lines that have a name as it is, in lower case.
    by_name: HashMap<String, Vec<usize>>,
    /// The indexes of the lines with patterns or hashed names, each of which may be about any host.
    with_patterns: Vec<usize>,
}

#[derive(Debug)]
struct LinePlace {
    /// The line number, counted from 1.
    number: usize,
    range: Range<usize>,
}

/// A line about a host.
#[derive(Debug)]
pub(super) struct KnownHostsLine<'a> {
    /// The line number, counted from 1.
    pub(super) number: usize,
    /// `@cert-authority`, `@revoked`, or empty.
    pub(super) marker: &'a str,
    hosts: &'a str,
    /// The key in the format of OpenSSH.
    pub(super) key: &'a str,
}

impl KnownHostsLine<'_> {
    /// Returns true if the line has a name that is in lower case.
    pub(super) fn names(&self, name: &str) -> bool {
        match self.hosts.strip_prefix(HASHED) {
            Some(hashed) => is_hash_of(hashed, name),
            None => pattern::matches_list(name, &self.hosts.to_lowercase()),
        }
    }
}

impl KnownHostsFile {
    /// Reads the files that can be read.
    pub(super) fn read_all(paths: &[PathBuf]) -> Vec<Self> {
        let read = |path: &PathBuf| {
            let text = fs::open_regular(path).and_then(|open| read_text(&open));
            Some(Self::new(path, text.ok()?))
        };
        paths.iter().filter_map(read).collect()
    }

    /// Creates the index of a text. `path` is its source in messages.
    pub(super) fn new(path: &Path, text: String) -> Self {
        let mut file = Self {
            path: path.to_owned(),
            text: String::new(),
            lines: Vec::new(),
            by_name: HashMap::new(),
            with_patterns: Vec::new(),
        };
        let mut start = 0;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            file.add_line(index + 1, start, line);
            start += line.len();
        }
        file.text = text;
        file
    }

    fn add_line(&mut self, number: usize, start: usize, line: &str) {
        let Some((_, hosts, _)) = split_fields(line) else {
            return;
        };
        let index = self.lines.len();
        let range = start..start + line.len();
        self.lines.push(LinePlace { number, range });
        if hosts.starts_with(HASHED) || hosts.contains(['*', '?', '!']) {
            return self.with_patterns.push(index);
        }
        for name in hosts.to_lowercase().split(',') {
            self.by_name.entry(name.to_owned()).or_default().push(index);
        }
    }

    /// Returns the lines that may be about one of the names, in order. [`KnownHostsLine::names`] decides.
    pub(super) fn lines_about(&self, names: &[&str]) -> Vec<KnownHostsLine<'_>> {
        let plain = names.iter().filter_map(|name| self.by_name.get(*name));
        let mut found: Vec<usize> = plain.flatten().copied().collect();
        found.extend(&self.with_patterns);
        found.sort_unstable();
        found.dedup();
        let lines = found.iter().filter_map(|index| self.lines.get(*index));
        lines.filter_map(|place| self.line(place)).collect()
    }

    fn line(&self, place: &LinePlace) -> Option<KnownHostsLine<'_>> {
        let (marker, hosts, key) = split_fields(self.text.get(place.range.clone())?)?;
        Some(KnownHostsLine {
            number: place.number,
            marker,
            hosts,
            key,
        })
    }
}

/// Reads an open file, as far as its size is usual.
pub(super) fn read_text(file: &File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_KNOWN_HOSTS_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Splits a line into its marker, its hosts and its key.
fn split_fields(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (first, rest) = line.split_once([' ', '\t'])?;
    let (marker, hosts, key) = if first.starts_with('@') {
        let (hosts, key) = rest.trim_start().split_once([' ', '\t'])?;
        (first, hosts, key)
    } else {
        ("", first, rest)
    };
    Some((marker, hosts, key.trim_start()))
}

/// Returns true if `salt|hash` is the hash of a name.
fn is_hash_of(hashed: &str, name: &str) -> bool {
    let Some((salt, hash)) = hashed.split_once('|') else {
        return false;
    };
    let (Some(salt), Some(hash)) = (base64::decode(salt), base64::decode(hash)) else {
        return false;
    };
    let Ok(mut mac) = hmac::Hmac::<sha1::Sha1>::new_from_slice(&salt) else {
        return false;
    };
    mac.update(name.as_bytes());
    mac.verify_slice(&hash).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str, names: &[&str]) -> Vec<usize> {
        let file = KnownHostsFile::new(Path::new("known"), text.to_owned());
        let is_named = |line: &KnownHostsLine| names.iter().any(|name| line.names(name));
        let lines = file.lines_about(names).into_iter();
        lines.filter(is_named).map(|line| line.number).collect()
    }

    #[test]
    fn a_name_is_found_by_its_hash() {
        let mut mac = hmac::Hmac::<sha1::Sha1>::new_from_slice(b"salt").unwrap();
        mac.update(b"web");
        let hash = mac.finalize().into_bytes();
        assert_eq!(base64::decode("c2FsdA==").unwrap(), b"salt");
        assert_eq!(hash.len(), 20);
        assert!(!is_hash_of("c2FsdA==|AAAA", "web"));
        assert!(!is_hash_of("!|!", "web"));
    }

    #[test]
    fn lines_are_found_by_names_and_patterns_in_their_order() {
        let text = "# mine\nb,WEB k\n\n@revoked w* k\nweb,web k\n*,!web k\n[web]:22 k\nweb";
        assert_eq!(numbers(text, &["web"]), [2, 4, 5]);
        assert_eq!(numbers(text, &["[web]:22", "web"]), [2, 4, 5, 6, 7]);
        assert_eq!(numbers(text, &["db"]), [6]);
    }

    #[test]
    fn a_pattern_with_many_stars_is_quick() {
        let text = format!("{} k\n*.ex?mple.* k\n", "*a".repeat(30));
        assert_eq!(numbers(&text, &[&"b".repeat(200)]), [] as [usize; 0]);
        assert_eq!(numbers(&text, &["a.b.example.org"]), [2]);
    }
}
