//! Named facts about files and directories.

use super::named_fact::{FactArguments, NamedFact, lines, printed, shell};
use crate::host::fact::{Domain, Fact, FactReading, FileKind, FileStat};
use crate::system::clock;
use crate::value::{Map, Value};

const PATH: &[(&str, Option<&str>)] = &[("path", None)];

pub(super) static FACTS: &[NamedFact] = &[
    NamedFact::new("files.File", path_fact)
        .about("a file: owners, permission bits, size and times; null if it does not exist")
        .arguments(PATH)
        .parse_with(|_, reading| describe_kind(reading, |kind| *kind == FileKind::File)),
    NamedFact::new("files.Directory", path_fact)
        .about("a folder, as files.File; false if the path is something else")
        .arguments(PATH)
        .parse_with(|_, reading| describe_kind(reading, |kind| *kind == FileKind::Folder)),
    NamedFact::new("files.Link", path_fact)
        .about("a symbolic link, as files.File, with its target")
        .arguments(PATH)
        .parse_with(|_, reading| describe_kind(reading, |kind| matches!(kind, FileKind::Link(_)))),
    NamedFact::new("files.Sha256File", |words| {
        Fact::Digest(words.get("path").to_owned())
    })
    .about("the SHA-256 of a file; null if it does not exist")
    .arguments(PATH)
    .parse_with(|_, reading| match reading {
        FactReading::Digest(digest) => digest.as_str().into(),
        _ => Value::Null,
    }),
    NamedFact::new("files.Sha1File", |words| digest_fact(words, "sha1sum"))
        .about("the SHA-1 of a file; null if it does not exist")
        .arguments(PATH)
        .parse_with(first_word),
    NamedFact::new("files.Sha384File", |words| digest_fact(words, "sha384sum"))
        .about("the SHA-384 of a file; null if it does not exist")
        .arguments(PATH)
        .parse_with(first_word),
    NamedFact::new("files.Md5File", |words| digest_fact(words, "md5sum"))
        .about("the MD5 of a file; null if it does not exist")
        .arguments(PATH)
        .parse_with(first_word),
    NamedFact::new("files.FileContents", |words| {
        Fact::Content(words.get("path").to_owned())
    })
    .about("the lines of a file; null if it does not exist")
    .arguments(PATH)
    .parse_with(|_, reading| match reading {
        FactReading::Content(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            Value::list(text.lines().map(Value::from))
        }
        _ => Value::Null,
    }),
    NamedFact::new("files.FindInFile", |words| {
        let (path, pattern) = (words.quoted("path"), words.quoted("pattern"));
        let text = format!("[ -e {path} ] || exit 9; grep -e {pattern} -- {path} || exit 0");
        probe_path(words, text)
    })
    .about("the lines of a file that a regular expression matches")
    .arguments(&[("path", None), ("pattern", None)])
    .parse_with(|words, reading| match printed(reading) {
        Some(_) => lines(words, reading),
        None => Value::Null,
    }),
    NamedFact::new("files.FindFiles", tree_fact)
        .about("the files below a folder, at any depth")
        .arguments(PATH)
        .parse_with(|words, reading| list_below(words, reading, |kind| *kind == FileKind::File)),
    NamedFact::new("files.FindDirectories", tree_fact)
        .about("the folders below a folder, at any depth")
        .arguments(PATH)
        .parse_with(|words, reading| list_below(words, reading, |kind| *kind == FileKind::Folder)),
    NamedFact::new("files.FindLinks", tree_fact)
        .about("the symbolic links below a folder, at any depth")
        .arguments(PATH)
        .parse_with(|words, reading| {
            list_below(words, reading, |kind| matches!(kind, FileKind::Link(_)))
        }),
];

fn path_fact(arguments: &FactArguments) -> Fact {
    Fact::Path(arguments.get("path").to_owned())
}

fn tree_fact(words: &FactArguments) -> Fact {
    Fact::Tree(words.get("path").to_owned())
}

fn probe_path(words: &FactArguments, text: String) -> Fact {
    shell(text, Domain::Path(words.get("path").to_owned()))
}

fn digest_fact(words: &FactArguments, program: &str) -> Fact {
    probe_path(words, format!("{program} < {}", words.quoted("path")))
}

fn first_word(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    text.split_whitespace().next().into()
}

fn describe_kind(reading: &FactReading, is: fn(&FileKind) -> bool) -> Value {
    match reading {
        FactReading::Entry(entry) if is(&entry.kind) => describe_entry(entry),
        FactReading::Entry(_) => false.into(),
        _ => Value::Null,
    }
}

fn describe_entry(entry: &FileStat) -> Value {
    let mut map = Map::new();
    map.insert("user".into(), entry.user.as_str().into());
    map.insert("group".into(), entry.group.as_str().into());
    // The octal digits are returned as a decimal number, as pyinfra does: mode 0o644 is 644.
    let digits = format!("{:o}", entry.mode);
    map.insert(
        "mode".into(),
        digits.parse::<i64>().unwrap_or_default().into(),
    );
    let time = clock::format_with_offset(entry.modified, 0).unwrap_or_default();
    let time = time.split('+').next().unwrap_or_default().replace(' ', "T");
    map.insert("mtime".into(), time.into());
    map.insert(
        "size".into(),
        i64::try_from(entry.size).unwrap_or(i64::MAX).into(),
    );
    if let FileKind::Link(target) = &entry.kind {
        map.insert("link_target".into(), target.as_str().into());
    }
    map.into()
}

fn list_below(words: &FactArguments, reading: &FactReading, is: fn(&FileKind) -> bool) -> Value {
    let FactReading::Tree(entries) = reading else {
        return Value::list([]);
    };
    let root = words.get("path").trim_end_matches('/');
    let found = entries.iter().filter(|(_, entry)| is(&entry.kind));
    Value::list(found.map(|(path, _)| format!("{root}/{path}").into()))
}
