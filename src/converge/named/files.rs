//! Facts of files and folders.

use super::fact::{NamedFact, Words, lines, printed, shell};
use crate::host::fact::{Domain, Entry, EntryKind, Fact, Reading};
use crate::system::clock;
use crate::value::{Map, Value};

const PATH: &[(&str, Option<&str>)] = &[("path", None)];

pub(super) static FACTS: &[NamedFact] = &[
    NamedFact {
        name: "files.File",
        about: "a file: owners, permission bits, size and times; null if there is none",
        arguments: PATH,
        ask: at,
        parse: |_, reading| of_kind(reading, |kind| *kind == EntryKind::File),
    },
    NamedFact {
        name: "files.Directory",
        about: "a folder, as files.File; false if it is something else",
        arguments: PATH,
        ask: at,
        parse: |_, reading| of_kind(reading, |kind| *kind == EntryKind::Folder),
    },
    NamedFact {
        name: "files.Link",
        about: "a link, as files.File, and what it says",
        arguments: PATH,
        ask: at,
        parse: |_, reading| of_kind(reading, |kind| matches!(kind, EntryKind::Link(_))),
    },
    NamedFact {
        name: "files.Sha256File",
        about: "the SHA-256 of a file; null if there is none",
        arguments: PATH,
        ask: |words| Fact::Digest(words.get("path").to_owned()),
        parse: |_, reading| match reading {
            Reading::Digest(digest) => digest.as_str().into(),
            _ => Value::Null,
        },
    },
    NamedFact {
        name: "files.Sha1File",
        about: "the SHA-1 of a file; null if there is none",
        arguments: PATH,
        ask: |words| digest(words, "sha1sum"),
        parse: first_word,
    },
    NamedFact {
        name: "files.Sha384File",
        about: "the SHA-384 of a file; null if there is none",
        arguments: PATH,
        ask: |words| digest(words, "sha384sum"),
        parse: first_word,
    },
    NamedFact {
        name: "files.Md5File",
        about: "the MD5 of a file; null if there is none",
        arguments: PATH,
        ask: |words| digest(words, "md5sum"),
        parse: first_word,
    },
    NamedFact {
        name: "files.FileContents",
        about: "the lines of a file; null if there is none",
        arguments: PATH,
        ask: |words| Fact::Content(words.get("path").to_owned()),
        parse: |_, reading| match reading {
            Reading::Content(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                Value::list(text.lines().map(Value::from))
            }
            _ => Value::Null,
        },
    },
    NamedFact {
        name: "files.FindInFile",
        about: "the lines of a file that a regular expression matches",
        arguments: &[("path", None), ("pattern", None)],
        ask: |words| {
            let (path, pattern) = (words.quoted("path"), words.quoted("pattern"));
            let text = format!("[ -e {path} ] || exit 9; grep -e {pattern} -- {path} || exit 0");
            reading(words, text)
        },
        parse: |words, reading| match printed(reading) {
            Some(_) => lines(words, reading),
            None => Value::Null,
        },
    },
    NamedFact {
        name: "files.FindFiles",
        about: "the files below a folder, at any depth",
        arguments: PATH,
        ask: tree,
        parse: |words, reading| below(words, reading, |kind| *kind == EntryKind::File),
    },
    NamedFact {
        name: "files.FindDirectories",
        about: "the folders below a folder, at any depth",
        arguments: PATH,
        ask: tree,
        parse: |words, reading| below(words, reading, |kind| *kind == EntryKind::Folder),
    },
    NamedFact {
        name: "files.FindLinks",
        about: "the links below a folder, at any depth",
        arguments: PATH,
        ask: tree,
        parse: |words, reading| below(words, reading, |kind| matches!(kind, EntryKind::Link(_))),
    },
];

fn at(words: &Words) -> Fact {
    Fact::Path(words.get("path").to_owned())
}

fn tree(words: &Words) -> Fact {
    Fact::Tree(words.get("path").to_owned())
}

fn reading(words: &Words, text: String) -> Fact {
    shell(text, Domain::Path(words.get("path").to_owned()))
}

fn digest(words: &Words, program: &str) -> Fact {
    reading(words, format!("{program} < {}", words.quoted("path")))
}

fn first_word(_: &Words, reading: &Reading) -> Value {
    let text = printed(reading).unwrap_or_default();
    text.split_whitespace().next().into()
}

fn of_kind(reading: &Reading, is: fn(&EntryKind) -> bool) -> Value {
    match reading {
        Reading::Entry(entry) if is(&entry.kind) => described(entry),
        Reading::Entry(_) => false.into(),
        _ => Value::Null,
    }
}

fn described(entry: &Entry) -> Value {
    let mut map = Map::new();
    map.insert("user".into(), entry.user.as_str().into());
    map.insert("group".into(), entry.group.as_str().into());
    // The digits as people write them.
    let digits = format!("{:o}", entry.mode);
    map.insert(
        "mode".into(),
        digits.parse::<i64>().unwrap_or_default().into(),
    );
    let time = clock::shown_with_offset(entry.modified, 0).unwrap_or_default();
    let time = time.split('+').next().unwrap_or_default().replace(' ', "T");
    map.insert("mtime".into(), time.into());
    map.insert(
        "size".into(),
        i64::try_from(entry.size).unwrap_or(i64::MAX).into(),
    );
    if let EntryKind::Link(says) = &entry.kind {
        map.insert("link_target".into(), says.as_str().into());
    }
    map.into()
}

fn below(words: &Words, reading: &Reading, is: fn(&EntryKind) -> bool) -> Value {
    let Reading::Tree(entries) = reading else {
        return Value::list([]);
    };
    let root = words.get("path").trim_end_matches('/');
    let found = entries.iter().filter(|(_, entry)| is(&entry.kind));
    Value::list(found.map(|(path, _)| format!("{root}/{path}").into()))
}
