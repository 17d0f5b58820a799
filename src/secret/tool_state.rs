//! The state of a tool, such as Terraform's, in a file of an ensemble: encrypted for everybody who works on it.
//!
//! With a vault password the file is YAML whose root is encrypted, which Unfurl reads as well. Without one it is
//! encrypted with age: to the readers of the project, or else to a key of this clone.

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::age::{AgeRecipient, Identities, create_identity, decrypt_age, encrypt_age};
use super::age::{is_age_text, plain_json};
use super::folders::clear_of;
use super::keys::Keys;
use super::vault::{self, is_vault_text};
use crate::system::fs;
use crate::value::Value;
use crate::yaml::{NodeKind, Schema, emit, parse_text, seal};

/// The tag of encrypted JSON, as Unfurl writes it.
const JSON_TAG: &str = "!vault-json";
/// The key of a clone, relative to the ensemble. It is never committed.
const CLONE_KEY: &str = "local/state-identity.txt";

/// A state as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedState {
    pub text: String,
    /// A warning about who can read the file.
    pub warning: Option<String>,
}

/// The keys for the states of an ensemble's tools.
#[derive(Debug)]
pub struct StateKeys {
    keys: Keys,
    /// The folder of the ensemble.
    folder: PathBuf,
}

impl StateKeys {
    pub fn new(keys: Keys, folder: &Path) -> Self {
        Self {
            keys,
            folder: folder.to_owned(),
        }
    }

    /// Returns the state that a file has, as JSON. `path` names the file in messages.
    ///
    /// # Errors
    ///
    /// The file cannot be decrypted, or is neither YAML nor JSON. The text says what to do.
    pub fn open(&self, path: &Path, content: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
        let failed = |reason: &dyn std::fmt::Display, help: &str| {
            let help = if help.is_empty() {
                String::new()
            } else {
                format!("; {help}")
            };
            format!(
                "the state in `{}` cannot be read: {reason}{help}",
                path.display()
            )
        };
        if is_age_text(content) {
            return self.open_age(path, content);
        }
        if is_vault_text(content) {
            let text = String::from_utf8_lossy(content);
            let opened = self.keys.open(&text);
            let opened = opened.map_err(|error| failed(&error, &error.help()))?;
            let clear = clear_of(path, content, &opened);
            return self.json_of(&clear).map_err(|reason| failed(&reason, ""));
        }
        self.json_of(content).map_err(|reason| failed(&reason, ""))
    }

    /// Returns the JSON of a document whose values may be encrypted.
    fn json_of(&self, content: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
        let text = std::str::from_utf8(content).map_err(|_| "it is no text".to_owned())?;
        let root = parse_text(Schema::Core, text).map_err(|_| "it is not valid YAML".to_owned())?;
        if let (Some(JSON_TAG), NodeKind::Str(sealed)) = (root.tag(), root.kind()) {
            // The text itself is returned: numbers keep all their digits.
            return self
                .keys
                .open(sealed)
                .map_err(|error| format!("{error}; {}", error.help()));
        }
        if text.trim_start().starts_with('{')
            && serde_json::from_str::<serde_json::Value>(text).is_ok()
        {
            return Ok(Zeroizing::new(content.to_vec()));
        }
        let keys = self.keys.for_folder(&self.folder);
        let value = root.to_value_with(&keys).map_err(|problems| {
            let first = problems.iter().next();
            first.map_or_else(String::new, |problem| problem.message.clone())
        })?;
        if value.as_map().is_none() {
            return Err("it has no map of values".to_owned());
        }
        serde_json::to_vec_pretty(&plain_json(&value))
            .map(Zeroizing::new)
            .map_err(|_| "it cannot be written as JSON".to_owned())
    }

    fn open_age(&self, path: &Path, content: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
        let subject = format!("`{}`", path.display());
        let key = self.folder.join(CLONE_KEY);
        if fs::is_file(&key)
            && let Ok(opened) = decrypt_age(content, &Identities::of_file(&key), &subject)
        {
            return Ok(opened);
        }
        let opened = self.keys.age().open_file(content, &self.folder, &subject);
        opened.map_err(|error| {
            let path = path.display();
            let help = error.help().map_or_else(String::new, |help| format!("; {help}"));
            format!(
                "the state in `{path}` cannot be decrypted: {error}{help}; if another clone encrypted it to its own key, \
                 copy `{CLONE_KEY}` from there"
            )
        })
    }

    /// Returns a state as its file has it: encrypted as a whole.
    pub fn seal(&self, clear: &[u8]) -> Result<SealedState, String> {
        if let Some(secret) = self.keys.passwords().first() {
            let sealed = vault::seal(clear, &secret.id, &secret.password);
            let sealed =
                sealed.map_err(|error| format!("random bytes are not available: {error}"))?;
            return Ok(SealedState {
                text: sealed_document(JSON_TAG, &sealed),
                warning: None,
            });
        }
        let sealed = self.keys.age().seal_file(clear, &self.folder);
        if let Some(text) = sealed.map_err(|error| error.to_string())? {
            return Ok(SealedState {
                text,
                warning: None,
            });
        }
        self.seal_for_clone(clear)
    }

    /// Returns a state whose secret values are encrypted, as a file that everybody may see the rest of.
    ///
    /// `state` has its secret values marked. Without a vault password the whole state is encrypted if it has any.
    pub fn seal_values(&self, state: &Value, clear: &[u8]) -> Result<SealedState, String> {
        let is_open = !state.has_sensitive();
        if is_open || !self.keys.passwords().is_empty() {
            let text = emit(&seal(state, &self.keys), 0);
            return Ok(SealedState {
                text,
                warning: None,
            });
        }
        self.seal(clear)
    }

    /// Encrypts a state with the key of this clone, and creates the key if there is none, with a warning.
    fn seal_for_clone(&self, clear: &[u8]) -> Result<SealedState, String> {
        let path = self.folder.join(CLONE_KEY);
        let known = fs::is_file(&path);
        let recipient = if known {
            Identities::of_file(&path)
                .first_recipient()
                .map_err(|error| error.to_string())?
                .ok_or_else(|| format!("`{}` has no age identity", path.display()))?
        } else {
            self.create_key(&path)?
        };
        let text = encrypt_age(clear, &[recipient]).map_err(|error| error.to_string())?;
        let warning = (!known).then(|| {
            format!(
                "the state is encrypted to the new key `{}` of this clone alone, because the project has neither a vault \
                 password nor readers; keep a copy of that file, or set `UNFURL_VAULT_DEFAULT_PASSWORD` or name readers \
                 with `unfurl secret rekey`, so that others can go on",
                path.display()
            )
        });
        Ok(SealedState { text, warning })
    }

    fn create_key(&self, path: &Path) -> Result<AgeRecipient, String> {
        let folder = fs::Beneath::open(&self.folder).map_err(|error| error.to_string())?;
        // A link of another person must not lead the key elsewhere.
        folder
            .create_dir_all(fs::parent_of(Path::new(CLONE_KEY)))
            .map_err(|error| error.to_string())?;
        create_identity(path).map_err(|error| error.to_string())
    }
}

/// Returns a YAML document that is an encrypted text with a tag.
pub fn sealed_document(tag: &str, sealed: &str) -> String {
    let mut text = format!("{tag} |\n");
    for line in sealed.lines() {
        text.push_str("  ");
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::VaultSecret;

    const STATE: &[u8] = br#"{"version": 4, "serial": 12345678901234567890123, "outputs": {"s": {"value": "hunter2"}}}"#;

    fn keys(folder: &Path, passwords: &[(&str, &str)]) -> StateKeys {
        let passwords = passwords.iter();
        let passwords = passwords.map(|(id, password)| VaultSecret::new(*id, *password));
        StateKeys::new(Keys::default().with_passwords(passwords.collect()), folder)
    }

    #[test]
    fn a_state_is_encrypted_with_the_vault_password_and_keeps_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keys(folder.path(), &[("web", "pass")]);
        let sealed = keys.seal(STATE).unwrap();
        assert!(
            sealed
                .text
                .starts_with("!vault-json |\n  $ANSIBLE_VAULT;1.2;AES256;web\n")
        );
        assert_eq!(sealed.warning, None);
        let opened = keys.open(Path::new("s.yaml"), sealed.text.as_bytes());
        assert_eq!(*opened.unwrap(), STATE);
    }

    #[test]
    fn a_clone_without_keys_of_the_project_has_its_own_and_says_so_once() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keys(folder.path(), &[]);
        let first = keys.seal(STATE).unwrap();
        assert!(first.warning.unwrap().contains("local/state-identity.txt"));
        let second = keys.seal(STATE).unwrap();
        assert_eq!(second.warning, None);
        assert!(!second.text.contains("hunter2"));
        for text in [first.text, second.text] {
            assert_eq!(*keys.open(Path::new("s"), text.as_bytes()).unwrap(), STATE);
        }
        let key = folder.path().join(CLONE_KEY);
        assert_eq!(fs::mode_of(&key).unwrap() & 0o777, 0o600);
    }

    #[test]
    fn states_of_unfurl_are_read_in_clear_text_and_with_encrypted_values() {
        let folder = tempfile::tempdir().unwrap();
        let keys = keys(folder.path(), &[("default", "pass")]);
        let sealed = vault::seal(b"hunter2", "default", "pass").unwrap();
        let sealed = sealed.replace('\n', "\n      ");
        let text = format!("version: 4\noutputs:\n  s:\n    value: !vault |\n      {sealed}\n");
        let opened = keys.open(Path::new("s"), text.as_bytes()).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&opened).unwrap();
        assert_eq!(json["outputs"]["s"]["value"], "hunter2");
        let whole = vault::seal(text.as_bytes(), "default", "pass").unwrap();
        assert_eq!(
            *keys.open(Path::new("s"), whole.as_bytes()).unwrap(),
            *opened
        );
        for (wrong, reason) in [("a: [", "not valid YAML"), ("- 1", "no map")] {
            let error = keys.open(Path::new("s"), wrong.as_bytes()).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_state_that_others_may_see_hides_its_secret_values() {
        let folder = tempfile::tempdir().unwrap();
        let secret = Value::map([
            ("o", Value::from("x")),
            ("s", Value::from("hunter2").sensitive()),
        ]);
        let keys_of_vault = keys(folder.path(), &[("default", "pass")]);
        let text = keys_of_vault.seal_values(&secret, STATE).unwrap().text;
        assert!(
            text.contains("o: x") && text.contains("s: !vault"),
            "{text}"
        );
        let text = keys(folder.path(), &[])
            .seal_values(&secret, STATE)
            .unwrap()
            .text;
        assert!(is_age_text(text.as_bytes()), "{text}");
    }
}
