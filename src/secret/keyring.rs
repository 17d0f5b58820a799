//! The digest keys of an ensemble: derives them from vault passwords, or reads them from
//! a key file, which is created on demand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use zeroize::Zeroizing;

use super::derivation::{KEY_LENGTH, Salt};
use super::error::Error;
use super::key::{DigestKey, KeyName};
use super::keys::VaultSecret;
use crate::system::fs::{self, Beneath, EntryKind};
use crate::system::random;
use crate::value::hex;

/// The environment variable whose password takes precedence over the others.
const PASSWORD_VARIABLE: &str = "UNFURL_VAULT_DEFAULT_PASSWORD";

/// The path of the key file, relative to the directory of the ensemble.
const KEY_FILE: &str = "local/digest.key";

/// The maximum size of a key file, in bytes.
const MAX_KEY_FILE_BYTES: u64 = 4096;

/// The maximum number of salts with which keys are derived in one run. Records that were merged have more than
/// one; a record with very many would cost too much time.
const MAX_SALTS: usize = 16;

/// The keys of an ensemble. Each key is derived or read once, on first use.
pub struct Keyring {
    passwords: Vec<VaultPassword>,
    /// The folder of the ensemble.
    directory: PathBuf,
    /// The salt for new records.
    salt: OnceLock<Salt>,
    stored: OnceLock<Result<Option<Arc<DigestKey>>, Error>>,
    created: OnceLock<Result<Arc<DigestKey>, Error>>,
}

struct VaultPassword {
    text: Zeroizing<String>,
    /// The key of earlier releases.
    before: OnceLock<Arc<DigestKey>>,
    /// The keys by salt. None if there was not enough memory.
    derived: Mutex<BTreeMap<Salt, Option<Arc<DigestKey>>>>,
}

impl VaultPassword {
    fn new(text: &str) -> Self {
        Self {
            text: Zeroizing::new(text.to_owned()),
            before: OnceLock::new(),
            derived: Mutex::default(),
        }
    }

    fn key(&self, salt: Option<&Salt>) -> Option<Arc<DigestKey>> {
        let Some(salt) = salt else {
            let make = || Arc::new(DigestKey::of_password_before(&self.text));
            return Some(Arc::clone(self.before.get_or_init(make)));
        };
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        if derived.len() >= MAX_SALTS && !derived.contains_key(salt) {
            return None;
        }
        let derive = || DigestKey::of_password(&self.text, salt).map(Arc::new);
        derived.entry(*salt).or_insert_with(derive).clone()
    }
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyring")
            .field("passwords", &self.passwords.len())
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

impl Keyring {
    /// Returns the keys of the ensemble in a folder.
    ///
    /// The keys are those of the vault passwords in `variables`, the default password first and the others
    /// ordered by variable name; then the key of the file.
    pub fn new(variables: &BTreeMap<String, String>, directory: &Path) -> Self {
        let is_password = |name: &str| {
            let id = name.strip_prefix("UNFURL_VAULT_");
            id.is_some_and(|id| id.ends_with("_PASSWORD")) && name != PASSWORD_VARIABLE
        };
        let others = variables.iter().filter(|(name, _)| is_password(name));
        let first = variables.get(PASSWORD_VARIABLE).into_iter();
        let all = first.chain(others.map(|(_, password)| password));
        let passwords = all.filter(|password| !password.is_empty());
        Self {
            passwords: passwords.map(|text| VaultPassword::new(text)).collect(),
            directory: directory.to_owned(),
            salt: OnceLock::new(),
            stored: OnceLock::new(),
            created: OnceLock::new(),
        }
    }

    /// Adds the passwords of vaults that a project has. Those of variables go first.
    #[must_use]
    pub fn with_passwords(mut self, more: &[VaultSecret]) -> Self {
        for VaultSecret { password, .. } in more {
            let is_known = |known: &VaultPassword| known.text == *password;
            if !self.passwords.iter().any(is_known) {
                self.passwords.push(VaultPassword::new(password));
            }
        }
        self
    }

    /// Sets the salt for new records, which is the one of the latest record. Texts that are no salt are ignored.
    pub fn continue_salt(&self, recorded: &str) {
        if let Some(salt) = Salt::parse(recorded) {
            self.salt.get_or_init(|| salt);
        }
    }

    /// Returns the key for new records. None if a key would have to be created first.
    pub fn current(&self) -> Result<Option<Arc<DigestKey>>, Error> {
        if let Some(password) = self.passwords.first() {
            let salt = self.salt.get();
            let key = salt.map(|salt| password.key(Some(salt)).ok_or(Error::Memory));
            return key.transpose();
        }
        if let Some(created) = self.created.get() {
            return created.clone().map(Some);
        }
        self.stored()
    }

    /// Returns the key for new records, and creates the salt or the key file if none exists.
    pub fn current_or_new(&self) -> Result<Arc<DigestKey>, Error> {
        if !self.passwords.is_empty() && self.salt.get().is_none() {
            let salt = Salt::random().map_err(|error| Error::Random(error.to_string()))?;
            self.salt.get_or_init(|| salt);
        }
        if let Some(key) = self.current()? {
            return Ok(key);
        }
        self.created
            .get_or_init(|| create_key(&self.directory))
            .clone()
    }

    /// Returns the key that a record names. None if the keyring does not contain it.
    pub fn find(&self, name: &KeyName) -> Result<Option<Arc<DigestKey>>, Error> {
        let salt = Salt::parse(&name.salt);
        if salt.is_none() && !name.salt.is_empty() {
            return Ok(None);
        }
        if salt.is_none()
            && let Ok(Some(key)) = self.stored()
            && key.id() == name.id
        {
            return Ok(Some(key));
        }
        let mut keys = self.passwords.iter();
        let found = keys.find_map(|password| {
            let key = password.key(salt.as_ref())?;
            (key.id() == name.id).then_some(key)
        });
        match found {
            Some(key) => Ok(Some(key)),
            None if salt.is_none() => Ok(self.stored()?.filter(|key| key.id() == name.id)),
            None => Ok(None),
        }
    }

    fn stored(&self) -> Result<Option<Arc<DigestKey>>, Error> {
        let read = || Ok(read_key(&self.directory)?.map(Arc::new));
        self.stored.get_or_init(read).clone()
    }
}

fn file_error(path: &Path, error: &dyn std::error::Error) -> Error {
    Error::File {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

fn read_key(directory: &Path) -> Result<Option<DigestKey>, Error> {
    let path = &directory.join(KEY_FILE);
    let failed = |error: fs::Error| file_error(path, &error);
    let name = Path::new(KEY_FILE);
    let folder = match Beneath::open(directory) {
        Err(error) if error.is_not_found() => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    let Some(info) = folder.info(name).map_err(failed)? else {
        return Ok(None);
    };
    if info.kind == EntryKind::File && info.mode & 0o077 != 0 {
        return Err(Error::Readable {
            path: path.clone(),
            mode: info.mode,
        });
    }
    let bytes = folder.read(name, MAX_KEY_FILE_BYTES).map_err(failed)?;
    let malformed = || Error::Malformed {
        path: path.to_owned(),
    };
    let key = parse_key(&bytes).ok_or_else(malformed)?;
    Ok(Some(DigestKey::of_bytes(key)))
}

fn parse_key(text: &[u8]) -> Option<[u8; KEY_LENGTH]> {
    let text = std::str::from_utf8(text).ok()?.trim_ascii_end();
    let is_key = text.len() == 2 * KEY_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut key = [0; KEY_LENGTH];
    for (place, byte) in key.iter_mut().enumerate().take_while(|_| is_key) {
        *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
    }
    is_key.then_some(key)
}

fn create_key(directory: &Path) -> Result<Arc<DigestKey>, Error> {
    let path = &directory.join(KEY_FILE);
    let mut key = [0; KEY_LENGTH];
    random::fill(&mut key).map_err(|error| file_error(path, &error))?;
    let text = hex(&key) + "\n";
    let written = Beneath::open(directory).and_then(|folder| {
        let path = Path::new(KEY_FILE);
        folder.create_dir_all(path.parent().unwrap_or(path))?;
        folder.write_atomic(path, text.as_bytes(), Some(fs::SECRET_MODE))
    });
    written.map_err(|error| file_error(path, &error))?;
    Ok(Arc::new(DigestKey::of_bytes(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyring(folder: &Path, variables: &[(&str, &str)]) -> Keyring {
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Keyring::new(&variables.collect(), folder)
    }

    #[test]
    fn the_default_password_goes_before_others_and_these_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let both = [
            ("UNFURL_VAULT_B_PASSWORD", "b"),
            ("UNFURL_VAULT_A_PASSWORD", "a"),
            ("UNFURL_VAULT_DEFAULT_PASSWORD", ""),
        ];
        let salt = Salt::parse(&"5".repeat(32)).unwrap();
        let derived = |password| DigestKey::of_password(password, &salt).unwrap();
        let found = |keys: &Keyring| {
            keys.continue_salt(&salt.to_string());
            keys.current().unwrap().unwrap()
        };
        assert_eq!(*found(&keyring(folder.path(), &both)), derived("a"));
        let all = [both[0], both[1], ("UNFURL_VAULT_DEFAULT_PASSWORD", "d")];
        let all = keyring(folder.path(), &all);
        assert_eq!(*found(&all), derived("d"));
        // A record made with one of the other passwords can still be compared.
        assert!(all.find(derived("b").name()).unwrap().is_some());
        assert!(!folder.path().join(KEY_FILE).exists());
    }

    #[test]
    fn a_password_gets_a_salt_when_the_first_secret_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let password = [("UNFURL_VAULT_DEFAULT_PASSWORD", "d")];
        let keys = keyring(folder.path(), &password);
        assert!(keys.current().unwrap().is_none());
        let key = keys.current_or_new().unwrap();
        assert_eq!(keys.current().unwrap().unwrap(), key);
        let later = keyring(folder.path(), &password);
        later.continue_salt("no salt");
        later.continue_salt(&key.name().salt);
        assert_eq!(later.current_or_new().unwrap(), key);
        let other = keyring(folder.path(), &password).current_or_new().unwrap();
        assert_ne!(other.id(), key.id());
    }

    #[test]
    fn records_of_earlier_releases_are_compared_with_their_key() {
        let folder = tempfile::tempdir().unwrap();
        let password = [("UNFURL_VAULT_DEFAULT_PASSWORD", "d")];
        let keys = keyring(folder.path(), &password);
        let before = DigestKey::of_password_before("d");
        assert_eq!(*keys.find(before.name()).unwrap().unwrap(), before);
        assert_ne!(keys.current_or_new().unwrap().id(), before.id());
    }

    #[test]
    fn many_salts_are_not_all_tried() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keyring(folder.path(), &[("UNFURL_VAULT_DEFAULT_PASSWORD", "d")]);
        let password = &keys.passwords[0];
        let mut derived = password.derived.lock().unwrap();
        derived.extend((0..MAX_SALTS).map(|_| (Salt::random().unwrap(), None)));
        drop(derived);
        let salt = Salt::random().unwrap();
        let name = DigestKey::of_password("d", &salt).unwrap().name().clone();
        assert!(keys.find(&name).unwrap().is_none());
        let malformed = KeyName {
            salt: "0".to_owned(),
            ..name
        };
        assert!(keys.find(&malformed).unwrap().is_none());
    }

    #[test]
    fn a_key_is_made_when_it_is_needed_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keyring(folder.path(), &[]);
        assert!(keys.current().unwrap().is_none());
        assert!(!folder.path().join(KEY_FILE).exists());
        let created = keys.current_or_new().unwrap();
        assert_eq!(
            fs::mode_of(&folder.path().join(KEY_FILE)).unwrap() & 0o777,
            0o600
        );
        assert_eq!(keys.current().unwrap().unwrap(), created);
        let again = keyring(folder.path(), &[]);
        assert_eq!(again.current().unwrap().unwrap(), created);
        let with_password = [("UNFURL_VAULT_DEFAULT_PASSWORD", "x")];
        let later = keyring(folder.path(), &with_password);
        assert_eq!(later.find(created.name()).unwrap().unwrap(), created);
        assert_ne!(later.current_or_new().unwrap(), created);
    }

    #[test]
    fn a_key_that_others_may_read_or_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(KEY_FILE);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        for (text, mode, expected) in [
            ("00".repeat(32), 0o640, "other users can read"),
            ("00".repeat(31), 0o600, "does not hold"),
            ("0".repeat(62) + "+1", 0o600, "does not hold"),
            ("zz".repeat(32), 0o600, "does not hold"),
            ("ä".repeat(32), 0o600, "does not hold"),
            (String::new(), 0o600, "does not hold"),
        ] {
            fs::write_atomic(&file, text.as_bytes(), Some(mode)).unwrap();
            let keys = keyring(folder.path(), &[]);
            let error = keys.current_or_new().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(std::fs::metadata(&file).unwrap().len(), text.len() as u64);
        }
    }
}
