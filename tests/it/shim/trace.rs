//! The trace of the preloaded library: one record for each call that changes files.

use std::fs;
use std::path::{Path, PathBuf};

/// A call that the library has seen.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) kind: String,
    /// The result; a negative number is an error.
    pub(super) result: i64,
    pub(super) inode: u64,
    pub(super) offset: usize,
    pub(super) mode: u32,
    pub(super) path: PathBuf,
    /// The target of a rename or link, or the text of a symbolic link.
    pub(super) other: PathBuf,
    /// The bytes that a write has written.
    pub(super) data: Vec<u8>,
    /// The program that made the call.
    program: String,
}

impl Record {
    /// A call of this process, for tests of the model.
    pub(super) fn new(kind: &str, path: PathBuf, other: PathBuf, data: &str) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            kind: kind.to_owned(),
            result: 0,
            // The file itself does not exist: only the model has it.
            inode: fs::metadata(&path).map_or(u64::MAX, |metadata| metadata.ino()),
            offset: 0,
            mode: 0o100_644,
            path,
            other,
            data: data.as_bytes().to_vec(),
            program: String::new(),
        }
    }

    /// Whether the call touches a `.git` folder.
    pub(super) fn is_in_git(&self) -> bool {
        let in_git = |path: &Path| path.components().any(|part| part.as_os_str() == ".git");
        in_git(&self.path) || in_git(&self.other)
    }

    /// The call for people, without random parts of names.
    pub(super) fn text(&self) -> String {
        let short = |path: &Path| {
            let path = path.display().to_string();
            let random = [
                (r"^.*/a/", ""),
                (r"objects/[0-9a-f]{2}(/[0-9a-f]{38})?", "objects/X"),
                (r"tmp_object_git2_[0-9a-f]+", "tmp_object"),
                (r"[0-9A-Z]{26}", "ULID"),
                (r"job[-0-9]+-[0-9A-Za-z]{8}", "JOB"),
                (r"#\d+", "#N"),
            ];
            random.iter().fold(path, |path, (pattern, name)| {
                let pattern = regex::Regex::new(pattern).unwrap();
                pattern.replace_all(&path, *name).into_owned()
            })
        };
        let mut text = format!("{} {} {}", self.program, self.kind, short(&self.path));
        if !self.other.as_os_str().is_empty() {
            text += &format!(" {}", short(&self.other));
        }
        text
    }
}

/// Reads the trace in the folder of a disturbed call.
pub(super) fn read(folder: &Path) -> Vec<Record> {
    let bytes = fs::read(folder.join("trace")).unwrap();
    let (mut records, mut rest) = (Vec::new(), &bytes[..]);
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let head = std::str::from_utf8(&rest[..end]).unwrap();
        let words: Vec<&str> = head.split('\t').collect();
        let number = |place: usize| words[place].parse::<i64>().unwrap();
        let length = usize::try_from(number(7)).unwrap();
        let data = rest[end + 1..end + 1 + length].to_vec();
        rest = &rest[end + 1 + length..];
        records.push(Record {
            program: words[2].to_owned(),
            kind: words[3].to_owned(),
            result: number(4),
            inode: words[5].parse().unwrap(),
            offset: usize::try_from(number(6).max(0)).unwrap(),
            mode: u32::from_str_radix(words[8], 8).unwrap(),
            path: words[9].into(),
            other: words[10].into(),
            data,
        });
    }
    records
}
