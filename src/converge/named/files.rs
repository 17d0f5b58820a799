//! Facts of files and folders.

use super::fact::{NamedFact, Words, lines, printed, shell};
use crate::host::fact::{Domain, Entry, EntryKind, Fact, Reading};
use crate::system::clock;
use crate::value::{Map, Value};

const PATH: &[(&str, Option<&str>)] = &[("path", None)];

pub(super) static FACTS: &[NamedFact] = &[
    NamedFact::new("files.File", at)
        .about("a file: owners, permission bits, size and times; null if there is none")
        .arguments(PATH)
        .parsed(|_, reading| of_kind(reading, |kind| *kind == EntryKind::File)),
    NamedFact::new("files.Directory", at)
        .about("a folder, as files.File; false if it is something else")
        .arguments(PATH)
        .parsed(|_, reading| of_kind(reading, |kind| *kind == EntryKind::Folder)),
    NamedFact::new("files.Link", at)
        .about("a link, as files.File, and what it says")
        .arguments(PATH)
        .parsed(|_, reading| of_kind(reading, |kind| matches!(kind, EntryKind::Link(_)))),
    NamedFact::new("files.Sha256File", |words| {
        Fact::Digest(words.get("path").to_owned())
    })
    .about("the SHA-256 of a file; null if there is none")
    .arguments(PATH)
    .parsed(|_, reading| match reading {
        Reading::Digest(digest) => digest.as_str().into(),
        _ => Value::Null,
    }),
    NamedFact::new("files.Sha1File", |words| digest(words, "sha1sum"))
        .about("the SHA-1 of a file; null if there is none")
        .arguments(PATH)
        .parsed(first_word),
    NamedFact::new("files.Sha384File", |words| digest(words, "sha384sum"))
        .about("the SHA-384 of a file; null if there is none")
        .arguments(PATH)
        .parsed(first_word),
    NamedFact::new("files.Md5File", |words| digest(words, "md5sum"))
        .about("the MD5 of a file; null if there is none")
        .arguments(PATH)
        .parsed(first_word),
    NamedFact::new("files.FileContents", |words| {
        Fact::Content(words.get("path").to_owned())
    })
    .about("the lines of a file; null if there is none")
    .arguments(PATH)
    .parsed(|_, reading| match reading {
        Reading::Content(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            Value::list(text.lines().map(Value::from))
        }
        _ => Value::Null,
    }),
    NamedFact::new("files.FindInFile", |words| {
        let (path, pattern) = (words.quoted("path"), words.quoted("pattern"));
        let text = format!("[ -e {path} ] || exit 9; grep -e {pattern} -- {path} || exit 0");
        reading(words, text)
    })
    .about("the lines of a file that a regular expression matches")
    .arguments(&[("path", None), ("pattern", None)])
    .parsed(|words, reading| match printed(reading) {
        Some(_) => lines(words, reading),
        None => Value::Null,
    }),
    NamedFact::new("files.FindFiles", tree)
        .about("the files below a folder, at any depth")
        .arguments(PATH)
        .parsed(|words, reading| below(words, reading, |kind| *kind == EntryKind::File)),
    NamedFact::new("files.FindDirectories", tree)
        .about("the folders below a folder, at any depth")
        .arguments(PATH)
        .parsed(|words, reading| below(words, reading, |kind| *kind == EntryKind::Folder)),
    NamedFact::new("files.FindLinks", tree)
        .about("the links below a folder, at any depth")
        .arguments(PATH)
        .parsed(|words, reading| below(words, reading, |kind| matches!(kind, EntryKind::Link(_)))),
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
