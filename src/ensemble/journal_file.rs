//! The file format of journals: an append-only file with one JSON line per batch of entries. Each line has a
//! checksum, so that lines torn by a crash are recognized.
//!
//! [`JournalFile`] writes and reads it for any serializable entry; `job_journal` uses it for job events.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::own_files::open_folder;
use crate::lock;
use crate::system::fs::{self, Beneath, IrregularFile};

/// The buffer size, in bytes, at which entries are written to the file without waiting for `sync`.
const BUFFER_BYTES: usize = 64 << 10;
/// The usual manifest name. The journals of other manifests carry the manifest's name, because several may
/// share a folder.
const DEFAULT_MANIFEST: &str = "ensemble.yaml";
/// The folder of journals, beside the manifest.
const FOLDER: &str = "jobs";
/// The file name extension of journals.
const EXTENSION: &str = "journal";
/// The number of hexadecimal digits of a line's checksum.
const CHECKSUM_DIGITS: usize = 8;

/// An error while writing or reading a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalFileError {
    #[error(transparent)]
    File(#[from] fs::Error),
    /// An entry cannot be serialized as JSON.
    #[error("could not write an entry of the journal: {0}")]
    Entry(#[from] serde_json::Error),
    /// The name of a journal belongs to a folder, link, named pipe, socket or device.
    #[error("the journal of a crashed job cannot be read: {found}")]
    Irregular {
        manifest: PathBuf,
        found: IrregularFile,
    },
}

impl JournalFileError {
    /// Returns a hint on how to fix the problem, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Entry(_) => None,
            Self::Irregular { manifest, found } => Some(lock::removal_hint(found, manifest)),
        }
    }
}

/// A journal that is open for appending, with a buffer for small entries.
#[derive(Debug)]
pub struct JournalFile {
    folder: Beneath,
    file: fs::Appender,
    buffer: Vec<u8>,
    synced: bool,
}

impl JournalFile {
    /// Creates a journal for the ensemble of a manifest. It gets a unique name in the folder `jobs`, which is
    /// created if needed.
    pub fn create(manifest: &Path) -> Result<Self, JournalFileError> {
        let name = format!("{}{}", ulid::Ulid::generate(), name_suffix(manifest));
        let folder = open_folder(manifest)?;
        let path = Path::new(FOLDER).join(name);
        Ok(Self {
            file: folder.appender(&path, Some(fs::SECRET_MODE))?,
            folder,
            buffer: Vec::new(),
            synced: true,
        })
    }

    /// Appends entries as lines. They are durable after the next [`Self::sync`]; one call makes all earlier
    /// entries durable.
    pub fn append<E: Serialize>(&mut self, entries: &[E]) -> Result<(), JournalFileError> {
        let previous_len = self.buffer.len();
        for entry in entries {
            if let Err(error) = write_line(&mut self.buffer, entry) {
                self.buffer.truncate(previous_len);
                return Err(error.into());
            }
        }
        self.synced &= entries.is_empty();
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Makes all appended entries durable; does nothing if they are durable already.
    pub fn sync(&mut self) -> Result<(), JournalFileError> {
        if self.synced {
            return Ok(());
        }
        self.flush()?;
        self.file.sync()?;
        self.synced = true;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), JournalFileError> {
        self.file.append(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Removes the file, once its data is in the saved record.
    pub fn remove(self) -> Result<(), JournalFileError> {
        Ok(self.folder.remove_file(self.path())?)
    }

    /// Removes a journal of a crashed job.
    pub fn remove_of(manifest: &Path, journal: &Path) -> Result<(), fs::Error> {
        open_folder(manifest)?.remove_file(journal)
    }

    /// Renames a journal of a crashed job.
    pub fn rename_of(manifest: &Path, journal: &Path, to: &Path) -> Result<(), fs::Error> {
        open_folder(manifest)?.rename(journal, to)
    }

    /// Lists the journals of crashed jobs of a manifest's ensemble, oldest first. Journals of other ensembles
    /// in the same folder are not listed.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or a journal is no regular file, which could hide tasks.
    pub fn list_for(manifest: &Path) -> Result<Vec<PathBuf>, JournalFileError> {
        let paths = list_entries(manifest)?;
        match paths.iter().find_map(|path| IrregularFile::at(path)) {
            Some(found) => Err(JournalFileError::Irregular {
                manifest: manifest.to_owned(),
                found,
            }),
            None => Ok(paths),
        }
    }

    /// Removes entries in place of journals that are no regular files, and returns them.
    pub fn remove_irregular(manifest: &Path) -> Result<Vec<IrregularFile>, JournalFileError> {
        let paths = list_entries(manifest)?;
        let found = paths.iter().filter_map(|path| IrregularFile::at(path));
        let mut removed = Vec::new();
        for found in found {
            if found.is_filled_folder() {
                let manifest = manifest.to_owned();
                return Err(JournalFileError::Irregular { manifest, found });
            }
            found.remove()?;
            removed.push(found);
        }
        Ok(removed)
    }

    /// Reads the entries of a journal.
    pub fn read<E: DeserializeOwned>(path: &Path) -> Result<JournalContents<E>, JournalFileError> {
        let bytes = fs::read(path)?;
        let mut recovered = JournalContents {
            entries: Vec::new(),
            damaged: Vec::new(),
            is_truncated: false,
        };
        for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            match read_line(line) {
                Some(entry) => recovered.entries.push(entry),
                // A line without an end was being written when the process crashed; it was never durable.
                None if !line.ends_with(b"\n") => recovered.is_truncated = true,
                None => recovered.damaged.push(number + 1),
            }
        }
        Ok(recovered)
    }
}

/// Returns the paths of an ensemble's journals, whatever their kind is.
fn list_entries(manifest: &Path) -> Result<Vec<PathBuf>, JournalFileError> {
    let listed = open_folder(manifest).and_then(|folder| folder.list(Path::new(FOLDER)));
    let entries = match listed {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        entries => entries?,
    };
    let ending = name_suffix(manifest);
    let is_ours = |name: &str| {
        let id = name.strip_suffix(&ending);
        id.is_some_and(|id| id.len() == ulid::ULID_LEN)
    };
    let ours = entries.into_iter().filter(|entry| is_ours(&entry.name));
    Ok(ours.map(|entry| entry.path).collect())
}

/// Returns the end of the names of an ensemble's journals. The manifest's name is part of it unless it is the
/// default name.
fn name_suffix(manifest: &Path) -> String {
    match manifest.file_name().map(|name| name.to_string_lossy()) {
        Some(name) if name != DEFAULT_MANIFEST => format!(".{name}.{EXTENSION}"),
        _ => format!(".{EXTENSION}"),
    }
}

/// The contents of a journal as read after a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalContents<E> {
    pub entries: Vec<E>,
    /// The numbers of lines with a wrong checksum, from 1. The user should be told about them.
    pub damaged: Vec<usize>,
    /// Whether the last line is incomplete because of a crash. Such a line was never durable.
    pub is_truncated: bool,
}

fn write_line(buffer: &mut Vec<u8>, entry: &impl Serialize) -> Result<(), serde_json::Error> {
    let start = buffer.len();
    buffer.extend_from_slice(&[b'0'; CHECKSUM_DIGITS]);
    buffer.push(b' ');
    serde_json::to_writer(&mut *buffer, entry)?;
    let checksum = checksum(&buffer[start + CHECKSUM_DIGITS + 1..]);
    buffer[start..start + CHECKSUM_DIGITS].copy_from_slice(&checksum);
    buffer.push(b'\n');
    Ok(())
}

fn read_line<E: DeserializeOwned>(line: &[u8]) -> Option<E> {
    let line = line.strip_suffix(b"\n")?;
    let (written, rest) = line.split_at_checked(CHECKSUM_DIGITS)?;
    let json = rest.strip_prefix(b" ")?;
    if written != checksum(json) {
        return None;
    }
    serde_json::from_slice(json).ok()
}

fn checksum(json: &[u8]) -> [u8; CHECKSUM_DIGITS] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(json);
    std::array::from_fn(|place| {
        let byte = digest[place / 2];
        let half = if place % 2 == 0 { byte >> 4 } else { byte & 15 };
        DIGITS[usize::from(half)]
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    fn journal_of(entries: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = JournalFile::create(&folder.path().join("ensemble.yaml")).unwrap();
        journal.append(entries).unwrap();
        journal.sync().unwrap();
        let path = journal.path().to_owned();
        (folder, path)
    }

    #[test]
    fn what_was_synced_is_read_back_and_goes_on_removal() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("ensemble.yaml");
        assert!(JournalFile::list_for(&manifest).unwrap().is_empty());
        let mut journal = JournalFile::create(&manifest).unwrap();
        journal.append(&[("started", 1)]).unwrap();
        journal.append(&[("ended", 1), ("started", 2)]).unwrap();
        journal.sync().unwrap();
        journal.sync().unwrap();
        let left = JournalFile::list_for(&manifest).unwrap();
        assert_eq!(left, [journal.path()]);
        let recovered = JournalFile::read::<(String, u32)>(&left[0]).unwrap();
        assert_eq!(recovered.entries[2], ("started".into(), 2));
        assert!(recovered.damaged.is_empty() && !recovered.is_truncated);
        journal.remove().unwrap();
        assert!(JournalFile::list_for(&manifest).unwrap().is_empty());
    }

    #[test]
    fn the_journals_of_other_ensembles_in_a_folder_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let usual = folder.path().join("ensemble.yaml");
        let other = folder.path().join("other.yaml");
        let (ours, theirs) = (JournalFile::create(&usual), JournalFile::create(&other));
        let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
        assert_eq!(JournalFile::list_for(&usual).unwrap(), [ours.path()]);
        assert_eq!(JournalFile::list_for(&other).unwrap(), [theirs.path()]);
        let third = folder.path().join("yaml");
        assert!(JournalFile::list_for(&third).unwrap().is_empty());
    }

    #[test]
    fn a_corrupt_line_is_reported_and_the_others_are_read() {
        let (_folder, path) = journal_of(&["one", "two", "three"]);
        let text = std::fs::read_to_string(&path)
            .unwrap()
            .replace("two", "tow");
        std::fs::write(&path, text).unwrap();
        let recovered = JournalFile::read::<String>(&path).unwrap();
        assert_eq!(recovered.entries, ["one", "three"]);
        assert_eq!(
            (recovered.damaged.as_slice(), recovered.is_truncated),
            ([2].as_slice(), false)
        );
    }

    #[test]
    fn an_entry_that_has_no_form_leaves_no_half_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = JournalFile::create(&folder.path().join("x.yaml")).unwrap();
        let bad = std::collections::BTreeMap::from([(vec![1], 1)]);
        assert!(journal.append(&[bad]).is_err());
        journal.append(&["good"]).unwrap();
        journal.sync().unwrap();
        let recovered = JournalFile::read::<String>(journal.path()).unwrap();
        assert_eq!(recovered.entries, ["good"]);
    }

    #[test]
    fn many_entries_need_few_writes() {
        let (_folder, path) = journal_of(&vec!["x"; 10_000]);
        assert_eq!(
            JournalFile::read::<String>(&path).unwrap().entries.len(),
            10_000
        );
    }

    proptest! {
        /// A journal truncated anywhere yields a prefix of the written entries, and never a wrong entry.
        #[test]
        fn a_journal_cut_off_anywhere_gives_what_came_before(cut in any::<proptest::sample::Index>()) {
            let all = ["one", "two\nlines", "", "ünïcode"];
            let (_folder, path) = journal_of(&all);
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, &bytes[..cut.index(bytes.len())]).unwrap();
            let recovered = JournalFile::read::<String>(&path).unwrap();
            prop_assert!(recovered.damaged.is_empty());
            prop_assert_eq!(&recovered.entries[..], &all[..recovered.entries.len()]);
        }
    }
}
