//! Replaces a file only if its content is still the one that the caller has compared.
//!
//! The new file and the old one are exchanged atomically, and then the file that came out is checked. If another
//! program saved its own version in the meantime, the exchange is undone. Until the check is done, the other file
//! has a name that tells which two contents are known ([`ExchangeName`]). Any other content is the version of
//! another program, which is never removed.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::beneath::Beneath;
use super::entries::{
    Entry, exchange, is_exchange_unsupported, rename_entry, rename_without_replacing, sync, unlink,
    write_and_rename,
};
use super::{Error, FileAction, MAX_READ_BYTES};
use crate::value::hex;

/// The number of digits of a digest in a name.
const DIGEST_DIGITS: usize = 16;
/// The number of exchanges after which another program that saves again and again is no longer waited for.
const MAX_EXCHANGES: usize = 100;

/// The result of [`Beneath::replace_if_unchanged`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Replacement {
    Done,
    /// Another program saved the file in the meantime. Its version is in place.
    Overtaken,
}

/// The name of a file during an exchange: `.OLD-NEW.TARGET.tmp.ID`, with the digests of the two known contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeName<'a> {
    old: &'a str,
    new: &'a str,
    target: &'a str,
}

impl<'a> ExchangeName<'a> {
    /// Parses a file name. None if it is another one.
    pub fn parse(name: &'a str) -> Option<Self> {
        let (known, id) = name.strip_prefix('.')?.rsplit_once(".tmp.")?;
        let (digests, target) = known.split_at_checked(2 * DIGEST_DIGITS + 1)?;
        let (old, new) = digests.split_once('-')?;
        let is_digest = |text: &str| {
            text.len() == DIGEST_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let is_valid = is_digest(old) && is_digest(new) && id.parse::<ulid::Ulid>().is_ok();
        let target = target.strip_prefix('.').filter(|_| is_valid)?;
        Some(Self { old, new, target })
    }

    /// Returns the name of the file that is to be replaced.
    pub fn target(&self) -> &'a str {
        self.target
    }
}

fn digest(bytes: &[u8]) -> String {
    let mut digits = hex(&Sha256::digest(bytes));
    digits.truncate(DIGEST_DIGITS);
    digits
}

/// Returns a new path beside `path` for the exchange of these contents.
fn exchange_path(path: &Path, old: &[u8], new: &[u8]) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let id = ulid::Ulid::generate();
    path.with_file_name(format!(".{}-{}.{name}.tmp.{id}", digest(old), digest(new)))
}

impl Beneath {
    /// Replaces a file, unless its content is no longer `compared`. At every moment a complete file is there. The
    /// new one keeps the permission bits.
    ///
    /// If the file system cannot exchange files, a version that another program saves just now is replaced.
    pub fn replace_if_unchanged(
        &self,
        path: &Path,
        bytes: &[u8],
        compared: &[u8],
    ) -> Result<Replacement, Error> {
        let replaced = self.try_replace(path, bytes, compared);
        replaced.map_err(self.failed(FileAction::Write, path))
    }

    fn try_replace(&self, path: &Path, bytes: &[u8], compared: &[u8]) -> io::Result<Replacement> {
        let place = self.entry(path)?;
        place.refuse_link()?;
        let mode = self.info(path).ok().flatten().map(|old| old.mode);
        let aside = exchange_path(&place.path, compared, bytes);
        let aside = self.entry(&aside)?;
        write_and_rename(&place, bytes, mode, &aside)?;
        match exchange(&aside, &place) {
            Ok(()) => {}
            Err(error) if is_exchange_unsupported(&error) => {
                rename_entry(&aside, &place).inspect_err(|_| remove(&aside))?;
                sync(place.folder.as_fd(), place.folder_path())?;
                return Ok(Replacement::Done);
            }
            Err(error) => {
                remove(&aside);
                return Err(error);
            }
        }
        if self.content(&aside).is_some_and(|old| old == compared) {
            sync(place.folder.as_fd(), place.folder_path())?;
            remove(&aside);
            return Ok(Replacement::Done);
        }
        self.give_back(&aside, &place, bytes)?;
        Ok(Replacement::Overtaken)
    }

    /// Settles an exchange that a crash interrupted, given the path of the file beside the target.
    ///
    /// A known content is removed. The version of another program is put back, unless a newer one is in place: then
    /// it stays under another name.
    pub fn settle_exchange(&self, path: &Path) -> Result<(), Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(exchanged) = ExchangeName::parse(&name) else {
            return Ok(());
        };
        let settle = || {
            let aside = self.entry(path)?;
            let target = path.with_file_name(exchanged.target);
            let place = self.entry(&target)?;
            let known = self.content(&aside).map(|bytes| digest(&bytes));
            if known.is_some_and(|it| it == exchanged.old || it == exchanged.new) {
                remove(&aside);
                return Ok(());
            }
            match self.content(&place) {
                Some(bytes) if digest(&bytes) == exchanged.new => {
                    self.give_back(&aside, &place, &bytes)
                }
                Some(_) => self.keep(&aside, &place),
                // Nothing was in place, or something that is no file.
                None => match rename_without_replacing(&aside, &place) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                    other => other,
                },
            }
        };
        settle().map_err(self.failed(FileAction::Write, path))
    }

    /// Puts the version of another program back in place. `ours` is what the first exchange put there.
    ///
    /// If the other program saves again, its newest version stays in place.
    fn give_back(&self, aside: &Entry<'_>, place: &Entry<'_>, ours: &[u8]) -> io::Result<()> {
        let mut placed = Some(ours.to_vec());
        for _ in 0..MAX_EXCHANGES {
            let theirs = self.content(aside);
            match exchange(aside, place) {
                Ok(()) => {}
                // The other program removed the file to write it anew.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    match rename_without_replacing(aside, place) {
                        Ok(()) => return sync(place.folder.as_fd(), place.folder_path()),
                        Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                        Err(error) => return Err(not_put_back(&error, aside)),
                    }
                }
                Err(error) => return Err(not_put_back(&error, aside)),
            }
            let out = self.content(aside);
            if out.is_some() && out == placed {
                sync(place.folder.as_fd(), place.folder_path())?;
                return if out.as_deref() == Some(ours) {
                    remove(aside);
                    Ok(())
                } else {
                    self.keep(aside, place)
                };
            }
            placed = theirs;
        }
        self.keep(aside, place)
    }

    /// Gives a version of another program that is no longer in place a name that nothing removes.
    fn keep(&self, aside: &Entry<'_>, place: &Entry<'_>) -> io::Result<()> {
        let name = place.name.to_string_lossy();
        let kept = format!("{name}.overtaken-{}", ulid::Ulid::generate());
        let kept = place.path.with_file_name(kept);
        rename_entry(aside, &self.entry(&kept)?)?;
        sync(place.folder.as_fd(), place.folder_path())
    }

    /// Returns the content of a regular file; `None` for anything else and for a file that cannot be read.
    fn content(&self, entry: &Entry<'_>) -> Option<Vec<u8>> {
        entry.refuse_link().ok()?;
        self.read(&entry.path, MAX_READ_BYTES).ok()
    }
}

/// Removes the file of a finished exchange. A file that cannot be removed does no harm: the next job removes it.
fn remove(aside: &Entry<'_>) {
    unlink(aside).ok();
}

fn not_put_back(error: &io::Error, aside: &Entry<'_>) -> io::Error {
    let message = format!(
        "another program saved the file at the same moment, and its version could not be put back ({error}); it is \
         in `{}`, and the next job puts it back",
        aside.path.display()
    );
    io::Error::new(error.kind(), message)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use std::fs;

    use super::*;

    /// A folder with a file and with the state that a crash during its exchange left.
    struct Stage {
        folder: tempfile::TempDir,
        aside: PathBuf,
    }

    impl Stage {
        fn new(in_place: Option<&str>, aside: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("e.yaml");
            if let Some(text) = in_place {
                fs::write(&target, text).unwrap();
            }
            let path = exchange_path(&target, b"old", b"new");
            fs::write(&path, aside).unwrap();
            let aside = path.file_name().unwrap().into();
            Self { folder, aside }
        }

        /// Settles the exchange. Returns all files with their contents, without the random part of names.
        fn settled(&self) -> Vec<(String, String)> {
            let beneath = Beneath::open(self.folder.path()).unwrap();
            beneath.settle_exchange(&self.aside).unwrap();
            let entries = fs::read_dir(self.folder.path()).unwrap().flatten();
            let mut files: Vec<_> = entries
                .map(|entry| {
                    let name = entry.file_name().into_string().unwrap();
                    let name = name.split_once('-').map_or(&*name, |(name, _)| name);
                    (name.to_owned(), fs::read_to_string(entry.path()).unwrap())
                })
                .collect();
            files.sort();
            files
        }
    }

    fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = files.iter();
        owned
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn an_interrupted_exchange_loses_no_version_of_another_program() {
        for (in_place, aside, left) in [
            // Before the exchange, and after it.
            (Some("old"), "new", files(&[("e.yaml", "old")])),
            (Some("new"), "old", files(&[("e.yaml", "new")])),
            // The version of another program came out.
            (Some("new"), "theirs", files(&[("e.yaml", "theirs")])),
            (None, "theirs", files(&[("e.yaml", "theirs")])),
            // A newer version is in place.
            (
                Some("newer"),
                "theirs",
                files(&[("e.yaml", "newer"), ("e.yaml.overtaken", "theirs")]),
            ),
        ] {
            assert_eq!(
                Stage::new(in_place, aside).settled(),
                left,
                "{in_place:?} {aside}"
            );
        }
    }

    #[test]
    fn a_file_is_replaced_only_if_it_is_the_one_that_was_compared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("e.yaml");
        fs::write(&path, "old").unwrap();
        let beneath = Beneath::open(folder.path()).unwrap();
        let replace = |compared: &[u8]| {
            beneath
                .replace_if_unchanged(Path::new("e.yaml"), b"new", compared)
                .unwrap()
        };
        assert_eq!(replace(b"other"), Replacement::Overtaken);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(replace(b"old"), Replacement::Done);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_names_of_exchanges_are_taken_for_such() {
        let path = exchange_path(Path::new("/a/e.yaml"), b"old", b"new");
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(ExchangeName::parse(name).unwrap().target(), "e.yaml");
        for other in [
            "e.yaml",
            "e.yaml.tmp.01ARZ3NDEKTSV4RRFFQ69G5FAV",
            ".e.yaml.tmp.01ARZ3NDEKTSV4RRFFQ69G5FAV",
            &name.replace('-', "+"),
            &name[..name.len() - 1],
            ".é",
        ] {
            assert_eq!(ExchangeName::parse(other), None, "{other}");
        }
    }
}
