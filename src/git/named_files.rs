//! Finds the files that settings in a git folder name, without opening them: libgit2 reads them when it opens
//! the repository.

use std::path::{Path, PathBuf};

use crate::system::env::Env;

/// The names of settings whose value is a file that git reads. Sections are not compared, so that a few values
/// too many are found.
const FILE_SETTINGS: [&str; 5] = [
    "allowedsignersfile",
    "attributesfile",
    "excludesfile",
    "path",
    "signingkey",
];

/// A file that a setting names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamedFile {
    /// The value of the setting, with the user's home folder in place of `~`.
    pub(super) path: PathBuf,
    /// Whether the file has settings itself.
    pub(super) is_included: bool,
}

/// Returns the files that the text of a settings file names.
pub(super) fn named_files(text: &str) -> Vec<NamedFile> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('=') {
        let mut words = before
            .trim_end()
            .rsplit(|c: char| !c.is_ascii_alphanumeric());
        let name = words.next().unwrap_or_default().to_ascii_lowercase();
        if FILE_SETTINGS.contains(&&*name) {
            let (value, after) = read_value(after);
            rest = after;
            found.push(NamedFile {
                path: from_home(&value),
                is_included: name == "path",
            });
        } else {
            rest = after;
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
            .map(|file| format!("{} {}", file.path.display(), file.is_included))
            .collect();
        let found = found.join("\n").replace(&home, "~");
        insta::assert_snapshot!(found, @r#"
        /a b false
        /c # d false
        /e/f true
        x\y"z true
        ~/k false
        /j false
        "#);
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
