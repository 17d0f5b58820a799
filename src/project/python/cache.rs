//! A cache of conversions from Python to YAML, in the user's cache folder.
//!
//! Unreadable entries count as missing, and a failure to write an entry is ignored: the cache only saves
//! time. So do entries that another user could have put there: an entry becomes a service template.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::converter_output::FileDigest;
use crate::system::env::Env;
use crate::system::fs;

/// The maximum size of an entry, in bytes.
const MAX_ENTRY_BYTES: u64 = 256 << 20;

/// The cache, by the path of its folder.
#[derive(Debug)]
pub(super) struct ConversionCache(PathBuf);

/// A cached conversion, with the facts that decide whether it is still valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CacheEntry {
    /// The key, to detect an entry that was moved here.
    key: String,
    /// The Python interpreters that were installed.
    pub(super) pythons: Vec<PathBuf>,
    /// The path at which the converting package was installed.
    pub(super) package: PathBuf,
    /// The other files that the result depends on.
    pub(super) files: Vec<FileDigest>,
    /// The warnings that the package printed.
    pub(super) warnings: Vec<String>,
    pub(super) yaml: String,
    /// The digest of `yaml`, to detect a damaged entry.
    digest: String,
}

impl CacheEntry {
    /// Creates an entry and computes its digest.
    pub(super) fn new(
        key: &str,
        pythons: &[PathBuf],
        package: PathBuf,
        files: Vec<FileDigest>,
        warnings: Vec<String>,
        yaml: String,
    ) -> Self {
        Self {
            key: key.to_owned(),
            pythons: pythons.to_vec(),
            package,
            files,
            warnings,
            digest: digest(&[yaml.as_bytes()]),
            yaml,
        }
    }

    /// Whether a new conversion would give the same result.
    ///
    /// Without any interpreter no new conversion is possible, so the entry counts as valid.
    fn is_valid(&self, pythons: &[PathBuf]) -> bool {
        let same_tools =
            pythons.is_empty() || (self.pythons == pythons && fs::exists(&self.package));
        same_tools
            && self.digest == digest(&[self.yaml.as_bytes()])
            && self
                .files
                .iter()
                .all(|FileDigest(path, expected)| file_digest(path) == *expected)
    }
}

impl ConversionCache {
    /// Returns the cache in the user's cache folder. `None` if the environment defines no such folder.
    pub(super) fn open(env: &Env) -> Option<Self> {
        let absolute = |name| {
            env.non_empty(name)
                .map(Path::new)
                .filter(|path| path.is_absolute())
        };
        let user = absolute("XDG_CACHE_HOME")
            .map(Path::to_owned)
            .or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(Self(user.join("unfurl/python")))
    }

    /// Returns the entry for a key, if it is still valid.
    pub(super) fn get(&self, key: &str, pythons: &[PathBuf]) -> Option<CacheEntry> {
        let path = self.path(key);
        if !is_private_file(&path) {
            return None;
        }
        let bytes = fs::read_within(&path, MAX_ENTRY_BYTES).ok()?;
        let entry: CacheEntry = serde_json::from_slice(&bytes).ok()?;
        (entry.key == key && entry.is_valid(pythons)).then_some(entry)
    }

    /// Stores an entry in a file that only the user can read.
    pub(super) fn put(&self, key: &str, entry: &CacheEntry) {
        let Ok(bytes) = serde_json::to_vec(entry) else {
            return;
        };
        let path = self.path(key);
        // A link could lead to any file of this user.
        if fs::create_dir_all(&self.0).is_ok() && fs::is_own(&self.0) && !fs::is_symlink(&path) {
            // Errors are ignored: without the entry, the file is converted again.
            fs::write_atomic(&path, &bytes, Some(0o600)).ok();
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.json"))
    }
}

/// Whether the path is a regular file that belongs to this user, and that nobody else may change.
fn is_private_file(path: &Path) -> bool {
    let is_regular = !fs::is_symlink(path) && fs::is_file(path);
    is_regular && fs::is_own(path) && fs::mode_of(path).is_ok_and(|mode| mode & 0o022 == 0)
}

/// Returns the SHA-256 of several parts in hexadecimal. Several parts are prefixed with their lengths.
pub(super) fn digest(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        if parts.len() > 1 {
            hasher.update(part.len().to_le_bytes());
        }
        hasher.update(part);
    }
    let bytes = hasher.finalize();
    bytes.iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
        digits
    })
}

fn file_digest(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| digest(&[&bytes]))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct CacheFixture {
        folder: tempfile::TempDir,
        cache: ConversionCache,
        entry: CacheEntry,
    }

    fn place() -> CacheFixture {
        let folder = tempfile::tempdir().unwrap();
        let mut env = Env::default();
        env.set("HOME", folder.path().display().to_string());
        let beside = folder.path().join("beside.py");
        let package = folder.path().join("package");
        fs::write_plain(&beside, b"1", None).unwrap();
        fs::write_plain(&package, b"", None).unwrap();
        let files = vec![
            FileDigest(beside.clone(), file_digest(&beside)),
            FileDigest(folder.path().join("none.yaml"), None),
        ];
        let pythons = [PathBuf::from("/p")];
        CacheFixture {
            cache: ConversionCache::open(&env).unwrap(),
            entry: CacheEntry::new(
                "key",
                &pythons,
                package,
                files,
                vec!["w".into()],
                "a: 1\n".into(),
            ),
            folder,
        }
    }

    impl CacheFixture {
        fn path(&self) -> PathBuf {
            self.folder.path().join(".cache/unfurl/python/key.json")
        }

        fn holds(&self, python: &str) -> bool {
            self.cache.get("key", &[python.into()]).is_some()
        }
    }

    #[test]
    fn an_entry_holds_until_something_that_it_depends_on_changes() {
        let place = place();
        assert!(!place.holds("/p"));
        place.cache.put("key", &place.entry);
        let found = place.cache.get("key", &["/p".into()]);
        assert_eq!(found.as_ref(), Some(&place.entry));
        assert_eq!(place.cache.get("key", &[]).as_ref(), Some(&place.entry));
        assert_eq!(fs::mode_of(&place.path()).unwrap(), 0o600);
        assert!(!place.holds("/other"));
        let folder = place.folder.path();
        fs::write_plain(&folder.join("none.yaml"), b"", None).unwrap();
        assert!(!place.holds("/p"));
        fs::remove_file(&folder.join("none.yaml")).unwrap();
        assert!(place.holds("/p"));
        fs::write_plain(&folder.join("beside.py"), b"2", None).unwrap();
        assert!(!place.holds("/p"));
        fs::write_plain(&folder.join("beside.py"), b"1", None).unwrap();
        fs::remove_file(&folder.join("package")).unwrap();
        assert!(!place.holds("/p"));
    }

    #[test]
    fn an_entry_that_is_torn_or_changed_counts_as_missing() {
        let place = place();
        place.cache.put("key", &place.entry);
        let bytes = fs::read(&place.path()).unwrap();
        fs::write_plain(&place.path(), &bytes[..bytes.len() / 2], None).unwrap();
        assert!(!place.holds("/p"));
        let other = String::from_utf8(bytes).unwrap().replace("a: 1", "a: 2");
        fs::write_plain(&place.path(), other.as_bytes(), None).unwrap();
        assert!(!place.holds("/p"));
        place.cache.put("key", &place.entry);
        assert!(place.holds("/p"));
    }

    #[test]
    fn an_entry_that_somebody_else_could_have_put_there_counts_as_missing() {
        use std::os::unix::fs::symlink;
        let place = place();
        place.cache.put("key", &place.entry);
        let moved = place.path().with_file_name("other.json");
        fs::rename(&place.path(), &moved).unwrap();
        assert!(place.cache.get("other", &["/p".into()]).is_none(), "moved");
        symlink(&moved, place.path()).unwrap();
        assert!(!place.holds("/p"), "a link");
        place.cache.put("key", &place.entry);
        assert!(fs::is_symlink(&place.path()), "no write through a link");
        fs::remove_file(&place.path()).unwrap();
        let bytes = fs::read(&moved).unwrap();
        fs::write_plain(&place.path(), &bytes, Some(0o666)).unwrap();
        assert!(!place.holds("/p"), "writable for others");
        fs::write_plain(&place.path(), &bytes, Some(0o644)).unwrap();
        assert!(place.holds("/p"));
    }

    #[test]
    fn the_folder_is_the_one_that_the_environment_names() {
        let folder = |variables: &[(&str, &str)]| {
            let mut env = Env::default();
            for (name, value) in variables {
                env.set(*name, *value);
            }
            ConversionCache::open(&env).map(|cache| cache.0.display().to_string())
        };
        let home = ("HOME", "/h");
        let of_home = Some("/h/.cache/unfurl/python".to_owned());
        assert_eq!(folder(&[home]), of_home);
        assert_eq!(folder(&[home, ("XDG_CACHE_HOME", "relative")]), of_home);
        let named = folder(&[home, ("XDG_CACHE_HOME", "/c")]);
        assert_eq!(named.as_deref(), Some("/c/unfurl/python"));
        assert_eq!(folder(&[]), None);
    }

    #[test]
    fn the_digest_of_one_part_is_that_of_its_bytes_and_parts_do_not_run_together() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest(&[b""]), empty);
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
    }
}
