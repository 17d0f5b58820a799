//! Finds the files that settings in a git folder name, without opening them: libgit2 reads them when it opens
//! the repository.

use std::path::{Path, PathBuf};

use crate::system::env::Env;

/// The start of the sections that include files, in lower case.
const INCLUDE_SECTION: &str = "[include";

/// The names of settings whose value is a file that git reads.
const FILE_SETTINGS: [(&str, NamedFileKind); 5] = [
    ("allowedsignersfile", NamedFileKind::Key),
    ("attributesfile", NamedFileKind::Patterns),
    ("excludesfile", NamedFileKind::Patterns),
    ("path", NamedFileKind::Settings),
    ("signingkey", NamedFileKind::Key),
];

/// The content of a file that a setting names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedFileKind {
    /// Settings, with paths relative to the folder of the file that includes them.
    Settings,
    /// Patterns of paths, named relative to the working tree.
    Patterns,
    /// A key of the user.
    Key,
}

/// A file that a setting names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamedFile {
    /// The value of the setting, with the user's home folder in place of `~`.
    pub(super) path: PathBuf,
    pub(super) kind: NamedFileKind,
}

/// Returns the files that the text of a settings file names. If the text includes files at all, each `path`
/// counts, whatever its section.
pub(super) fn named_files(text: &str) -> Vec<NamedFile> {
    let has_includes = text.to_ascii_lowercase().contains(INCLUDE_SECTION);
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('=') {
        let mut words = before
            .trim_end()
            .rsplit(|c: char| !c.is_ascii_alphanumeric());
        let name = words.next().unwrap_or_default().to_ascii_lowercase();
        rest = after;
        let known = FILE_SETTINGS.iter().find(|(known, _)| *known == name);
        if let Some((_, kind)) = known
            && (*kind != NamedFileKind::Settings || has_includes)
        {
            let (value, after) = read_value(after);
            rest = after;
            found.push(NamedFile {
                path: from_home(&value),
                kind: *kind,
            });
        }
    }
    found
}

/// Reads a value with git's quotes, escapes, comments and continued lines. Returns it with the text after it.
fn read_value(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut is_quoted = false;
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\n' => return (value.trim().to_owned(), &text[at..]),
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => {
                let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
                return (value.trim().to_owned(), &text[end..]);
            }
            '\\' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, '\n')) | None => {}
                Some((_, other)) => value.push(other),
            },
            '\r' => {}
            other => value.push(other),
        }
    }
    (value.trim().to_owned(), "")
}

fn from_home(value: &str) -> PathBuf {
    let env = Env::of_this_process();
    match (value.strip_prefix("~/"), env.get("HOME")) {
        (Some(below), Some(home)) => Path::new(home).join(below),
        _ => PathBuf::from(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_a_value_are_read() {
        let text = "[core]\n\texcludesFile = /a b # no\n attributesfile=\"/c # d\" ; no\n\
            [include] path = /e\\\n/f\n[includeIf \"gitdir:**\"]\n\tPath = x\\\\y\\\"z\n\
            [user] signingkey = ~/k\r\n[other] hooksPath = /h\n pathx = /i\n[core]excludesfile=/j";
        let home = Env::of_this_process().get("HOME").unwrap_or("~").to_owned();
        let found: Vec<String> = named_files(text)
            .into_iter()
            .map(|file| format!("{} {:?}", file.path.display(), file.kind))
            .collect();
        let found = found.join("\n").replace(&home, "~");
        insta::assert_snapshot!(found, @r#"
        /a b Patterns
        /c # d Patterns
        /e/f Settings
        x\y"z Settings
        ~/k Key
        /j Patterns
        "#);
    }

    #[test]
    fn a_path_of_another_section_is_no_included_file() {
        assert!(named_files("[lfs \"customtransfer.x\"]\n path = /a").is_empty());
    }

    #[test]
    fn any_text_is_read() {
        for text in [
            "",
            "=",
            "path",
            "path=",
            "path = \\",
            "path = \"",
            "é=path=é",
            "path=a=b",
        ] {
            named_files(text);
        }
    }
}
