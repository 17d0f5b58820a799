//! Probe output in named sections: one command prints several parts, each introduced by a marker line.

use std::collections::HashMap;

use crate::host::fact::{CommandSetting, Domain, Probe};

/// The shell function that starts a section. The marker byte does not occur in normal output.
const SECTION_HELPER: &str = "_s() { printf '\\001%s\\n' \"$1\"; }\n";

/// A probe whose script starts its sections by `_s NAME`.
pub(super) fn sectioned_probe(text: &str, reads: Domain) -> Probe {
    Probe {
        text: format!("{SECTION_HELPER}{{\n{text}\n}} 2>/dev/null\nexit 0"),
        setting: CommandSetting::default(),
        reads,
    }
}

/// The sections of a probe's output, by name.
#[derive(Debug, Default)]
pub(super) struct ProbeSections<'a>(HashMap<&'a str, &'a str>);

impl<'a> ProbeSections<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let parts = text.split('\u{1}').skip(1);
        Self(parts.filter_map(|part| part.split_once('\n')).collect())
    }

    /// The text of a section, empty if the section is missing.
    pub(super) fn get(&self, name: &str) -> &'a str {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// The first line of a section, trimmed.
    pub(super) fn line(&self, name: &str) -> &'a str {
        self.get(name).lines().next().unwrap_or_default().trim()
    }
}

/// Parses `NAME=value` assignments, as in `os-release` files.
pub(super) fn assignments(text: &str) -> impl Iterator<Item = (&str, String)> {
    text.lines().filter_map(|line| {
        let (name, value) = line.trim().split_once('=')?;
        let value = value.trim();
        let quote = value.chars().next().filter(|it| "\"'".contains(*it));
        let bare = quote.and_then(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
        let value = bare.map_or_else(|| value.to_owned(), |bare| bare.replace('\\', ""));
        (!name.starts_with('#')).then_some((name, value))
    })
}
