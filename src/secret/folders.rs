//! The folders `secrets`, which git ignores, and `.secrets` beside them with the encrypted copies.
//!
//! [`restore`] decrypts copies into `secrets`, and [`save`] encrypts changed files into `.secrets`. The newer file
//! of both counts, as for Unfurl. [`newer_copy`] serves commands that must not write.

use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use zeroize::Zeroizing;

use super::age::{AgeError, is_age_text};
use super::keys::{Keys, OpenError, is_encrypted};
use super::vault;
use crate::system::fs::{self, Beneath, EntryKind};
use crate::yaml::{Schema, parse_text};

/// The name of folders with files in clear text.
const CLEAR: &str = "secrets";
/// The name of folders with encrypted copies.
const SEALED: &str = ".secrets";
/// The name of files with the state of a tool. They are encrypted themselves, unlike others in folders `secrets`.
const STATE_FILE: &str = "terraform.tfstate.yaml";
/// The maximum size of a file, in bytes.
const MAX_BYTES: u64 = 64 << 20;
/// The limits of a folder with secrets.
const LIMITS: fs::WalkLimits = fs::WalkLimits {
    entries: 100_000,
    depth: 32,
};

/// The reason why a file cannot be restored or saved.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// A copy that cannot be decrypted.
    #[error("`{}` cannot be decrypted: {error}", path.display())]
    Closed { path: PathBuf, error: OpenError },
    /// A file that has to be encrypted, and no password.
    #[error("`{}` cannot be encrypted, because no vault password is known", path.display())]
    NoPassword { path: PathBuf },
    #[error("{0}")]
    System(#[from] fs::Error),
    /// A project whose readers cannot get the file.
    #[error(transparent)]
    Age(#[from] AgeError),
    /// No random bytes for the encryption.
    #[error("random bytes are not available: {0}")]
    Random(std::io::Error),
}

impl SecretFileError {
    /// Returns a hint about what to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Closed { error, .. } => Some(error.help()),
            Self::NoPassword { .. } => Some(
                "set the variable `UNFURL_VAULT_DEFAULT_PASSWORD`, or a password under \
                 `environments: {defaults: {secrets: {vault_secrets: }}}` in `local/unfurl.yaml`"
                    .to_owned(),
            ),
            Self::System(error) => error.hint(),
            Self::Age(error) => error.help(),
            Self::Random(_) => None,
        }
    }
}

/// Returns a path with each folder of one name replaced. None if the path has no such folder.
fn replaced(path: &Path, from: &str, to: &str) -> Option<PathBuf> {
    let mut found = false;
    let parts = path.components().map(|part| match part {
        Component::Normal(name) if name == from => {
            found = true;
            Component::Normal(to.as_ref())
        }
        other => other,
    });
    let replaced = parts.collect();
    found.then_some(replaced)
}

/// Returns the encrypted copy of a file, if the file is missing or older.
pub fn newer_copy(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let mut folders = path.parent()?.ancestors();
    let secrets = folders.find(|folder| folder.file_name().is_some_and(|name| name == CLEAR))?;
    let inner = path.parent()?.strip_prefix(secrets).ok()?;
    let copy = secrets.with_file_name(SEALED).join(inner).join(name);
    let sealed = modified(&copy)?;
    let is_newer = modified(path).is_none_or(|clear| sealed > clear);
    is_newer.then_some(copy)
}

/// Returns the time of the last change of a plain file.
fn modified(path: &Path) -> Option<SystemTime> {
    let is_file = fs::is_file(path);
    let stat = is_file.then(|| fs::stat_of(path).ok())??;
    Some(stat.modified.into())
}

/// Returns the content of a copy before its encryption.
///
/// Unfurl reads each copy as YAML: a text that YAML would change is written as a quoted text, and so is the
/// text of a YAML or JSON file. Bytes that are no text stay as they are.
pub fn payload_of(path: &Path, clear: &[u8]) -> Zeroizing<Vec<u8>> {
    let quoted = std::str::from_utf8(clear).ok().and_then(|text| {
        let stays = parse_text(Schema::Core, text).is_ok_and(|node| node.as_str() == Some(text));
        let is_plain = stays && !text.starts_with(['"', '\'']) && !is_document(path);
        if is_plain {
            return None;
        }
        let mut quoted = serde_json::to_string(text).ok()?;
        for special in ['\u{7f}', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'] {
            // YAML takes some of these for line breaks.
            quoted = quoted.replace(special, &format!("\\u{:04x}", u32::from(special)));
        }
        Some(quoted.into_bytes())
    });
    Zeroizing::new(quoted.unwrap_or_else(|| clear.to_vec()))
}

/// Returns the content of a file from that of its decrypted copy: the reverse of [`payload_of`].
///
/// `sealed` is the encrypted copy. One of age has the content as it is.
pub fn clear_of(path: &Path, sealed: &[u8], payload: &[u8]) -> Zeroizing<Vec<u8>> {
    if is_age_text(sealed) {
        return Zeroizing::new(payload.to_vec());
    }
    let text = std::str::from_utf8(payload).ok();
    let text = text.filter(|text| is_document(path) || text.starts_with('"'));
    let quoted = text.and_then(|text| match serde_json::from_str::<String>(text) {
        Ok(quoted) => Some(quoted),
        Err(_) => {
            let node = parse_text(Schema::Core, text).ok()?;
            node.as_str().map(str::to_owned)
        }
    });
    Zeroizing::new(quoted.map_or_else(|| payload.to_vec(), String::into_bytes))
}

/// Returns true if Unfurl writes the text of a file as a quoted text before it encrypts the text.
fn is_document(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("yaml" | "yml" | "json"))
}

/// Returns the files below the folder `name` of `root`, with paths relative to `root`.
fn files_below(root: &Path, name: &str) -> Result<Vec<PathBuf>, fs::Error> {
    let folder = root.join(name);
    if fs::is_symlink(&folder) || !fs::is_dir(&folder) {
        return Ok(Vec::new());
    }
    let entries = fs::walk(&folder, LIMITS)?.into_iter();
    let files = entries.filter(|entry| entry.kind == EntryKind::File);
    let relative = files.filter_map(|entry| Some(entry.path.strip_prefix(root).ok()?.to_owned()));
    Ok(relative.collect())
}

/// Decrypts the copies in `.secrets` of a folder whose files in `secrets` are missing or older.
///
/// Returns the restored files. `report` gets the files that cannot be restored; they are left as they are.
pub fn restore(root: &Path, keys: &Keys, report: &mut dyn FnMut(SecretFileError)) -> Vec<PathBuf> {
    let mut restored = Vec::new();
    if keys.skips() {
        return restored;
    }
    let files = files_below(root, SEALED).unwrap_or_else(|error| {
        report(error.into());
        Vec::new()
    });
    for sealed in files {
        let Some(clear) = replaced(&sealed, SEALED, CLEAR) else {
            continue;
        };
        match restore_file(root, &sealed, &clear, keys) {
            Ok(true) => restored.push(root.join(clear)),
            Ok(false) => {}
            Err(error) => report(error),
        }
    }
    restored
}

/// Returns whether the file in clear text was written.
fn restore_file(
    root: &Path,
    sealed: &Path,
    clear: &Path,
    keys: &Keys,
) -> Result<bool, SecretFileError> {
    let path = root.join(sealed);
    let time = modified(&path);
    if modified(&root.join(clear)).is_some_and(|clear| time.is_none_or(|sealed| sealed <= clear)) {
        return Ok(false);
    }
    let folder = Beneath::open(root)?;
    let bytes = folder.read(sealed, MAX_BYTES)?;
    let content = if is_age_text(&bytes) && clear.ends_with(STATE_FILE) {
        // The copy is the file itself.
        Zeroizing::new(bytes)
    } else {
        open_content(&path, bytes, keys)?
    };
    let is_known = matches!(folder.read(clear, MAX_BYTES), Ok(known) if known == *content);
    if !is_known {
        folder.create_dir_all(clear.parent().unwrap_or(clear))?;
        folder.write_atomic(clear, &content, Some(fs::SECRET_MODE))?;
    }
    if let Some(time) = time {
        fs::set_modified_time(&root.join(clear), time)?;
    }
    Ok(!is_known)
}

/// Returns the decrypted content of a copy. A copy that is not encrypted has its content as it is.
fn open_content(
    path: &Path,
    content: Vec<u8>,
    keys: &Keys,
) -> Result<Zeroizing<Vec<u8>>, SecretFileError> {
    if !is_encrypted(&content) {
        return Ok(Zeroizing::new(content));
    }
    let text = String::from_utf8_lossy(&content);
    let subject = format!("`{}`", path.display());
    let opened = keys
        .for_folder(fs::parent_of(path))
        .open(&text, &subject)
        .map_err(|error| SecretFileError::Closed {
            path: path.to_owned(),
            error,
        })?;
    Ok(clear_of(path, text.as_bytes(), &opened))
}

/// Encrypts the files in `secrets` of a folder whose copies in `.secrets` are missing or older.
///
/// A copy that has the same content stays as it is. `is_ignored` tells which copies git ignores: they are not
/// written. Returns the written copies.
pub fn save(
    root: &Path,
    keys: &Keys,
    is_ignored: &dyn Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, SecretFileError> {
    let mut saved = Vec::new();
    if keys.skips() {
        return Ok(saved);
    }
    for clear in files_below(root, CLEAR)? {
        let Some(sealed) = replaced(&clear, CLEAR, SEALED) else {
            continue;
        };
        if !is_ignored(&root.join(&sealed)) && save_file(root, &clear, &sealed, keys)? {
            saved.push(root.join(sealed));
        }
    }
    Ok(saved)
}

/// Returns whether the copy was written.
fn save_file(
    root: &Path,
    clear: &Path,
    sealed: &Path,
    keys: &Keys,
) -> Result<bool, SecretFileError> {
    let path = root.join(clear);
    let (time, known) = (modified(&path), modified(&root.join(sealed)));
    if known.is_some_and(|sealed| time.is_none_or(|clear| clear <= sealed)) {
        return Ok(false);
    }
    let folder = Beneath::open(root)?;
    let content = Zeroizing::new(folder.read(clear, MAX_BYTES)?);
    let is_same = known.is_some() && {
        let old = folder.read(sealed, MAX_BYTES)?;
        let is_open = is_encrypted(&old);
        is_open && open_content(&path, old, keys).is_ok_and(|old| old == content)
    };
    if !is_same {
        let text = match keys.passwords().first() {
            _ if is_encrypted(&content) => content,
            Some(secret) => {
                let sealed =
                    vault::seal(&payload_of(&path, &content), &secret.id, &secret.password);
                Zeroizing::new(sealed.map_err(SecretFileError::Random)?.into_bytes())
            }
            None => {
                let sealed = keys.age().seal_file(&content, root)?;
                let sealed = sealed.ok_or(SecretFileError::NoPassword { path })?;
                Zeroizing::new(sealed.into_bytes())
            }
        };
        folder.create_dir_all(sealed.parent().unwrap_or(sealed))?;
        folder.write_atomic(sealed, &text, None)?;
    }
    if let Some(time) = time {
        fs::set_modified_time(&root.join(sealed), time)?;
    }
    Ok(!is_same)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::secret::VaultSecret;

    /// The start of a copy of Ansible Vault.
    const VAULT: &[u8] = b"$ANSIBLE_VAULT;1.1;AES256\n";

    fn keys() -> Keys {
        Keys::default().with_passwords(vec![VaultSecret::new("web", "pass")])
    }

    fn write(folder: &Path, path: &str, content: &[u8]) {
        fs::write_plain(&folder.join(path), content, None).unwrap();
    }

    fn read(folder: &Path, path: &str) -> String {
        fs::read_to_string(&folder.join(path)).unwrap()
    }

    fn make_older(folder: &Path, path: &str) {
        let path = folder.join(path);
        let time = modified(&path).unwrap() - Duration::from_secs(10);
        fs::set_modified_time(&path, time).unwrap();
    }

    fn restored(folder: &Path, keys: &Keys) -> (Vec<PathBuf>, Vec<String>) {
        let mut problems = Vec::new();
        let files = restore(folder, keys, &mut |error| problems.push(error.to_string()));
        (files, problems)
    }

    #[test]
    fn files_are_encrypted_once_and_restored_for_the_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "secrets/a/key", b"\xff\0clear");
        write(root, "secrets/ignored", b"x");
        let ignored = |path: &Path| path.ends_with("ignored");
        let saved = save(root, &keys(), &ignored).unwrap();
        assert_eq!(saved, [root.join(".secrets/a/key")]);
        let sealed = read(root, ".secrets/a/key");
        assert!(sealed.starts_with("$ANSIBLE_VAULT;1.2;AES256;web\n"));
        assert_eq!(
            save(root, &keys(), &ignored).unwrap(),
            Vec::<PathBuf>::new()
        );
        assert_eq!(restored(root, &keys()), (vec![], vec![]));

        fs::remove_file(&root.join("secrets/a/key")).unwrap();
        let clear = root.join("secrets/a/key");
        assert_eq!(newer_copy(&clear), Some(root.join(".secrets/a/key")));
        assert_eq!(restored(root, &keys()), (vec![clear.clone()], vec![]));
        assert_eq!(newer_copy(&clear), None);
        assert_eq!(fs::read_within(&clear, 99).unwrap(), b"\xff\0clear");
        assert_eq!(fs::mode_of(&clear).unwrap() & 0o777, 0o600);
    }

    #[test]
    fn the_newer_file_counts_and_equal_content_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "secrets/key", b"one");
        save(root, &keys(), &|_| false).unwrap();
        let first = read(root, ".secrets/key");
        make_older(root, ".secrets/key");
        assert!(save(root, &keys(), &|_| false).unwrap().is_empty());
        assert_eq!(read(root, ".secrets/key"), first);
        // A newer copy replaces the file.
        let other = vault::seal(b"two", "web", "pass").unwrap();
        write(root, ".secrets/key", other.as_bytes());
        make_older(root, "secrets/key");
        assert_eq!(restored(root, &keys()).0.len(), 1);
        assert_eq!(read(root, "secrets/key"), "two");
        // A file that is encrypted already is copied.
        write(root, "secrets/key", first.as_bytes());
        make_older(root, ".secrets/key");
        save(root, &keys(), &|_| false).unwrap();
        assert_eq!(read(root, ".secrets/key"), first);
    }

    #[test]
    fn without_the_password_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "secrets/key", b"one");
        let error = save(root, &Keys::default(), &|_| false).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("secrets/key` cannot be encrypted")
        );
        save(root, &keys(), &|_| false).unwrap();
        fs::remove_file(&root.join("secrets/key")).unwrap();
        let (files, problems) = restored(root, &Keys::default());
        assert!(files.is_empty() && problems[0].contains(".secrets/key` cannot be decrypted"));
    }

    #[test]
    fn texts_are_quoted_where_unfurl_would_change_them() {
        for (name, clear, payload) in [
            ("key", "plain", "plain"),
            ("key", "two words", "two words"),
            ("key", "line\n", r#""line\n""#),
            ("key", "12", r#""12""#),
            ("key", "a: 1", r#""a: 1""#),
            ("key", r#""x""#, r#""\"x\"""#),
            ("a.yaml", "x", r#""x""#),
            ("a.yml", "a: \u{2028}é\n", r#""a: \u2028é\n""#),
            ("a.json", "{}", r#""{}""#),
        ] {
            let path = Path::new(name);
            let written = payload_of(path, clear.as_bytes());
            assert_eq!(std::str::from_utf8(&written).unwrap(), payload);
            assert_eq!(*clear_of(path, VAULT, &written), clear.as_bytes());
        }
        for (payload, clear) in [
            ("'a: 1'\n", "a: 1"),
            ("x\n...\n", "x"),
            ("a: 1\n", "a: 1\n"),
        ] {
            assert_eq!(
                *clear_of(Path::new("a.yaml"), VAULT, payload.as_bytes()),
                clear.as_bytes()
            );
        }
        assert_eq!(*payload_of(Path::new("a.yaml"), &[0xff]), [0xff]);
        assert_eq!(
            *clear_of(Path::new("key"), VAULT, b"two\nlines\n"),
            b"two\nlines\n"[..]
        );
    }

    #[test]
    fn a_link_in_the_place_of_a_folder_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "secrets/key", b"one");
        save(root, &keys(), &|_| false).unwrap();
        fs::remove_dir_all(&root.join("secrets")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("secrets")).unwrap();
        assert_eq!(restored(root, &keys()).1.len(), 1);
        assert!(fs::list(outside.path()).unwrap().is_empty());
    }
}
