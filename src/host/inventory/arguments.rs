//! The arguments of `ssh` that inventories carry.

use super::ini::words;
use crate::host::book::Via;

/// What the arguments say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) via: Option<Via>,
    pub(super) identity_files: Vec<String>,
    pub(super) user: Option<String>,
    pub(super) port: Option<String>,
    /// What is not understood.
    pub(super) ignored: Vec<String>,
}

/// Reads arguments; none if a quote has no end. The first value of each counts, as for `ssh`.
pub(super) fn read(text: &str) -> Option<Arguments> {
    let mut found = Arguments::default();
    let mut words = words(text)?.into_iter();
    while let Some(word) = words.next() {
        let (flag, value) = match word.char_indices().nth(2) {
            Some((end, _)) if word.starts_with('-') && !word.starts_with("--") => {
                (word[..end].to_owned(), Some(word[end..].to_owned()))
            }
            _ => (word.clone(), None),
        };
        let mut value = || value.clone().or_else(|| words.next());
        match flag.as_str() {
            "-J" => set_jumps(&mut found, value().unwrap_or_default().as_str()),
            "-i" => found.identity_files.extend(value()),
            "-l" => found.user = found.user.take().or_else(value),
            "-p" => found.port = found.port.take().or_else(value),
            "-o" => option(&mut found, &value().unwrap_or_default()),
            // Says nothing that is of use here.
            "-C" | "-q" | "-T" | "-v" => {}
            _ => found.ignored.push(word),
        }
    }
    Some(found)
}

fn option(found: &mut Arguments, text: &str) {
    let (name, value) = text.split_once(['=', ' ']).unwrap_or((text, ""));
    let value = value.trim();
    match name.trim().to_ascii_lowercase().as_str() {
        "proxyjump" => set_jumps(found, value),
        "proxycommand" if found.via.is_none() => {
            let is_none = value.eq_ignore_ascii_case("none");
            found.via = Some(if is_none {
                Via::Jumps(Vec::new())
            } else {
                Via::Command(value.to_owned())
            });
        }
        "identityfile" => found.identity_files.push(value.to_owned()),
        "user" => found.user = found.user.take().or_else(|| Some(value.to_owned())),
        "port" => found.port = found.port.take().or_else(|| Some(value.to_owned())),
        // A second command counts as little as sharing and compression, which are decided here.
        "proxycommand" | "controlmaster" | "controlpersist" | "controlpath" | "compression"
        | "loglevel" => {}
        _ => found.ignored.push(format!("-o {text}")),
    }
}

fn set_jumps(found: &mut Arguments, text: &str) {
    if found.via.is_none() {
        let is_none = text.eq_ignore_ascii_case("none");
        let jumps = text.split(',').filter(|jump| !is_none && !jump.is_empty());
        found.via = Some(Via::Jumps(jumps.map(str::to_owned).collect()));
    }
}
