//! Entries of apt's sources lists, in the one-line and in the deb822 format.
//!
//! [`RepoEntry`] is one entry; a [`SourcesFile`] is one file, split so that single entries can be
//! replaced.

use std::collections::BTreeSet;

/// An entry of apt's sources, in either format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RepoEntry {
    /// The package types: `deb` for binary packages, `deb-src` for sources.
    pub(super) kinds: BTreeSet<String>,
    pub(super) uris: BTreeSet<String>,
    pub(super) suites: BTreeSet<String>,
    pub(super) components: Components,
    /// Options such as `arch` and `signed-by`, with the key names of the one-line format.
    pub(super) options: BTreeSet<(String, String)>,
    pub(super) is_disabled: bool,
}

/// The components of an entry as they are written. Their order does not matter in comparisons.
#[derive(Debug, Clone, Default, Eq)]
pub(super) struct Components(pub(super) Vec<String>);

impl Components {
    fn names(&self) -> BTreeSet<&String> {
        self.0.iter().collect()
    }
}

impl PartialEq for Components {
    fn eq(&self, other: &Self) -> bool {
        self.names() == other.names()
    }
}

impl FromIterator<String> for Components {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

impl RepoEntry {
    /// Parses `deb [option=value] uri suite component…`. A leading `#` marks a disabled entry.
    pub(super) fn parse_line(text: &str) -> Option<Self> {
        let text = text.trim();
        let (is_disabled, text) = match text.strip_prefix('#') {
            Some(rest) => (true, rest.trim_start_matches(['#', ' '])),
            None => (false, text),
        };
        let text = text.split(" #").next().unwrap_or_default();
        let (kind, rest) = text.split_once(char::is_whitespace)?;
        if kind != "deb" && kind != "deb-src" {
            return None;
        }
        let rest = rest.trim_start();
        let (options, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        let mut words = rest.split_whitespace();
        let (uri, suite) = (words.next()?, words.next()?);
        let option = |word: &str| {
            let (key, value) = word.split_once('=')?;
            Some((key.to_lowercase(), sorted(value)))
        };
        Some(Self {
            kinds: word_set([kind]),
            uris: word_set([uri.trim_end_matches('/')]),
            suites: word_set([suite]),
            components: words.map(str::to_owned).collect(),
            options: options.split_whitespace().filter_map(option).collect(),
            is_disabled,
        })
    }

    /// Parses a paragraph of a `.sources` file in deb822 format.
    pub(super) fn parse_paragraph(text: &str) -> Option<Self> {
        let mut entry = Self::default();
        for (key, value) in parse_fields(text) {
            let words = || value.split_whitespace();
            let trimmed = || {
                words()
                    .map(|word| word.trim_end_matches('/').to_owned())
                    .collect()
            };
            let all = || words().map(str::to_owned).collect();
            match key.as_str() {
                "types" => entry.kinds = all(),
                "uris" => entry.uris = trimmed(),
                "suites" => entry.suites = all(),
                "components" => entry.components = words().map(str::to_owned).collect(),
                "enabled" => entry.is_disabled = value.trim().eq_ignore_ascii_case("no"),
                other => {
                    let name = match other {
                        "architectures" => "arch",
                        "languages" => "lang",
                        "targets" => "target",
                        other => other,
                    };
                    let value: Vec<&str> = words().collect();
                    entry
                        .options
                        .insert((name.to_owned(), sorted(&value.join(","))));
                }
            }
        }
        (!entry.uris.is_empty()).then_some(entry)
    }

    /// Formats the entry as a deb822 paragraph.
    pub(super) fn to_paragraph(&self) -> String {
        let join = |words: &BTreeSet<String>| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            words.join(" ")
        };
        let mut text = String::new();
        if self.is_disabled {
            text.push_str("Enabled: no\n");
        }
        for (key, value) in [
            ("Types", join(&self.kinds)),
            ("URIs", join(&self.uris)),
            ("Suites", join(&self.suites)),
            ("Components", self.components.0.join(" ")),
        ] {
            if !value.is_empty() {
                text.extend([key, ": ", &value, "\n"]);
            }
        }
        for (key, value) in &self.options {
            let name = match key.as_str() {
                "arch" => "Architectures",
                "lang" => "Languages",
                "target" => "Targets",
                "signed-by" => "Signed-By",
                "trusted" => "Trusted",
                other => other,
            };
            text.extend([name, ": ", &value.replace(',', " "), "\n"]);
        }
        text
    }

    /// The value of an option such as `arch`, or an empty text.
    pub(super) fn option(&self, name: &str) -> &str {
        let mut options = self.options.iter();
        let found = options.find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Whether this entry covers all types, URIs and suites of the other.
    pub(super) fn is_same_repo(&self, other: &Self) -> bool {
        let same_kinds = other.kinds.is_subset(&self.kinds);
        same_kinds && other.uris.is_subset(&self.uris) && other.suites.is_subset(&self.suites)
    }
}

fn word_set<const N: usize>(words: [&str; N]) -> BTreeSet<String> {
    words.map(str::to_owned).into()
}

/// Sorts the comma-separated parts of a value, so that their order does not matter in comparisons.
fn sorted(value: &str) -> String {
    let mut parts: Vec<&str> = value.split(',').collect();
    parts.sort_unstable();
    parts.join(",")
}

/// Parses the fields of a paragraph with lower-case names. A line that starts with white space
/// continues a field.
fn parse_fields(text: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push('\n');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':') {
            fields.push((key.trim().to_lowercase(), value.trim().to_owned()));
        }
    }
    fields
}

/// A sources file, split into parts that can be replaced one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SourcesFile {
    pub(super) path: String,
    parts: Vec<String>,
}

impl SourcesFile {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let parts = if path.ends_with(".sources") {
            text.split("\n\n")
                .map(|part| part.trim_matches('\n'))
                .filter(|part| !part.is_empty())
                .map(|part| format!("{part}\n"))
                .collect()
        } else {
            text.split_inclusive('\n').map(str::to_owned).collect()
        };
        let path = path.to_owned();
        Self { path, parts }
    }

    /// Whether the file is in deb822 format.
    pub(super) fn has_paragraphs(&self) -> bool {
        self.path.ends_with(".sources")
    }

    /// Returns the entries with the indexes of their parts.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, RepoEntry)> {
        let read = |text: &str| {
            if self.has_paragraphs() {
                RepoEntry::parse_paragraph(text)
            } else {
                RepoEntry::parse_line(text)
            }
        };
        let read = self.parts.iter().map(move |part| read(part)).enumerate();
        read.filter_map(|(index, entry)| Some((index, entry?)))
    }

    /// Replaces the part at an index, or appends the text.
    pub(super) fn put_text(&mut self, index: Option<usize>, text: String) {
        if let Some(part) = index.and_then(|index| self.parts.get_mut(index)) {
            *part = text;
            return;
        }
        if let Some(last) = self.parts.last_mut().filter(|last| !last.ends_with('\n')) {
            last.push('\n');
        }
        self.parts.push(text);
    }

    /// The text of the part at an index, without white space at both ends.
    pub(super) fn part(&self, index: usize) -> &str {
        self.parts.get(index).map_or("", |part| part.trim())
    }

    pub(super) fn remove(&mut self, index: usize) {
        if index < self.parts.len() {
            self.parts.remove(index);
        }
    }

    pub(super) fn clear(&mut self) {
        self.parts.clear();
    }

    /// Counts the entries that are not disabled.
    pub(super) fn count(&self) -> usize {
        self.entries()
            .filter(|(_, entry)| !entry.is_disabled)
            .count()
    }

    pub(super) fn text(&self) -> String {
        let between = if self.has_paragraphs() { "\n" } else { "" };
        self.parts.join(between)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_the_same_in_a_line_and_in_a_paragraph() {
        let line = RepoEntry::parse_line(
            "deb [signed-by=/k.asc arch=arm64,amd64] http://deb.example/debian/ bookworm main contrib",
        )
        .unwrap();
        let text = "Types: deb\nURIs: http://deb.example/debian\nSuites: bookworm\nComponents: main contrib\nArchitectures: amd64 arm64\nSigned-By: /k.asc\n";
        assert_eq!(line.to_paragraph(), text);
        assert_eq!(RepoEntry::parse_paragraph(text), Some(line));
        assert_eq!(RepoEntry::parse_line("# a remark"), None);
        assert!(
            RepoEntry::parse_line("#deb http://x y z")
                .unwrap()
                .is_disabled
        );
    }

    #[test]
    fn a_file_keeps_what_is_not_replaced() {
        let mut file = SourcesFile::new(
            "/etc/apt/sources.list",
            "# mine\ndeb http://a b c\ndeb http://d e f",
        );
        assert_eq!(file.entries().count(), 2);
        file.put_text(None, "deb http://g h i\n".into());
        file.put_text(Some(1), "deb http://a b x\n".into());
        assert_eq!(
            file.text(),
            "# mine\ndeb http://a b x\ndeb http://d e f\ndeb http://g h i\n"
        );
        let mut file = SourcesFile::new(
            "/x.sources",
            "Types: deb\nURIs: a\n\n\nTypes: deb\nURIs: b\n",
        );
        assert_eq!(file.entries().count(), 2);
        file.remove(0);
        assert_eq!(file.text(), "Types: deb\nURIs: b\n");
    }
}
