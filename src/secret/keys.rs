//! The keys of one run, which open encrypted values and files.
//!
//! [`Keys`] open texts of Ansible Vault. [`FileKeys`] also open those of age, which are bound to their file's project.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::age::{AGE_TAG, AgeError, AgeKeys, is_age_text};
use super::vault::{VaultOpenError, VaultText, VaultTextError, is_vault_text, seal};
use crate::system::env::Env;
use crate::text::base64;
use crate::value::{REDACTED, Value};
use crate::yaml::{EncryptedScalar, TagError, TagReader, TagWriter};

/// The parts around the id in the name of a variable with a password.
const VARIABLE_START: &str = "UNFURL_VAULT_";
const VARIABLE_END: &str = "_PASSWORD";
/// The variable that leaves encrypted values and files closed.
const SKIP_VARIABLE: &str = "UNFURL_SKIP_VAULT_DECRYPT";

/// The password that Unfurl takes from the directive `+%: merge` in `vault_secrets`.
///
/// Unfurl encrypts with its first password, and counts the directive as one. Everyone knows this password, so
/// nothing is encrypted with it here.
const DIRECTIVE_PASSWORD: &str = "merge";

/// Returns the variable with the password of a vault.
pub fn password_variable(id: &str) -> String {
    format!("{VARIABLE_START}{}{VARIABLE_END}", id.to_uppercase())
}

/// Returns the vault whose password a variable has, in lowercase.
pub fn vault_of_variable(name: &str) -> Option<String> {
    let id = name.strip_prefix(VARIABLE_START)?;
    let id = id.strip_suffix(VARIABLE_END)?;
    (!id.is_empty()).then(|| id.to_lowercase())
}

/// The id and the password of a vault. The debug form shows only the id.
#[derive(Clone, PartialEq, Eq)]
pub struct VaultSecret {
    pub id: String,
    pub password: Zeroizing<String>,
}

impl std::fmt::Debug for VaultSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("VaultSecret").field(&self.id).finish()
    }
}

impl VaultSecret {
    pub fn new(id: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            password: Zeroizing::new(password.into()),
        }
    }
}

/// The reason why an encrypted text cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The text is not in the format.
    #[error("{0}")]
    Format(#[from] VaultTextError),
    /// No password is known.
    #[error("no password for the vault `{id}` is known")]
    NoPassword { id: String },
    /// Passwords are known, but none opens the text.
    #[error("{}, or the text was changed", wrong_passwords(id, tried))]
    WrongPassword { id: String, tried: Vec<String> },
    /// The HMAC is right, but the content is not padded.
    #[error("{0}")]
    Padding(VaultOpenError),
    /// The text of age cannot be opened.
    #[error(transparent)]
    Age(#[from] AgeError),
}

/// Describes the passwords that do not open a text with the id.
fn wrong_passwords(id: &str, tried: &[String]) -> String {
    let is_own = |other: &String| is_same_id(other, id);
    if tried.iter().any(is_own) {
        return format!("the password of the vault `{id}` is wrong");
    }
    let ids = tried.join("`, `");
    format!("no password for the vault `{id}` is known, and those of `{ids}` do not open it")
}

impl OpenError {
    /// Returns a hint about what to do.
    pub fn help(&self) -> String {
        match self {
            Self::Format(_) | Self::Padding(_) => {
                "restore the text from git, or encrypt the value again with `ansible-vault`"
                    .to_owned()
            }
            Self::NoPassword { id } | Self::WrongPassword { id, .. } => format!(
                "set the variable `{}`, or the password of `{id}` under \
                 `environments: {{defaults: {{secrets: {{vault_secrets: }}}}}}` in `local/unfurl.yaml`",
                password_variable(id)
            ),
            Self::Age(error) => error.help().unwrap_or_default(),
        }
    }
}

/// The contents opened so far, by digest of the encrypted text.
type OpenedTexts = HashMap<[u8; 32], Zeroizing<Vec<u8>>>;

/// The texts encrypted so far, by digest of their content. One job records the same secret many times, and each
/// encryption takes some milliseconds.
type SealedTexts = HashMap<[u8; 32], Arc<str>>;

/// The keys of one run. Each text is decrypted once.
#[derive(Clone, Default)]
pub struct Keys {
    passwords: Vec<VaultSecret>,
    /// True if values stay closed and count as redacted.
    skips: bool,
    opened: Arc<Mutex<OpenedTexts>>,
    sealed: Arc<Mutex<SealedTexts>>,
    age: Arc<AgeKeys>,
    /// True if a text was encrypted with [`DIRECTIVE_PASSWORD`].
    found_directive: Arc<AtomicBool>,
}

/// The keys for the texts of one file.
#[derive(Debug, Clone, Copy)]
pub struct FileKeys<'a> {
    keys: &'a Keys,
    /// The folder of the file, whose project has the readers.
    folder: &'a Path,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys")
            .field("passwords", &self.passwords)
            .field("skips", &self.skips)
            .finish_non_exhaustive()
    }
}

impl Keys {
    /// Returns the keys that the environment variables of this process have.
    pub fn of_variables(env: &Env) -> Self {
        let variables = env.all().iter();
        let passwords = variables.filter_map(|(name, password)| {
            let id = vault_of_variable(name).filter(|_| !password.is_empty())?;
            Some(VaultSecret::new(id, password))
        });
        let mut passwords: Vec<VaultSecret> = passwords.collect();
        // A stable sort puts the password of `default` first.
        passwords.sort_by_key(|secret| secret.id != super::vault::DEFAULT_ID);
        Self {
            passwords,
            skips: env.non_empty(SKIP_VARIABLE).is_some(),
            ..Self::default()
        }
    }

    /// Returns these keys with passwords that go before the others. Opened texts stay known.
    #[must_use]
    pub fn with_passwords(&self, first: Vec<VaultSecret>) -> Self {
        let mut passwords = first;
        for other in &self.passwords {
            if !passwords
                .iter()
                .any(|known| is_same_id(&known.id, &other.id))
            {
                passwords.push(other.clone());
            }
        }
        Self {
            passwords,
            skips: self.skips,
            opened: Arc::clone(&self.opened),
            age: Arc::clone(&self.age),
            // Another password goes first.
            sealed: Arc::default(),
            found_directive: Arc::clone(&self.found_directive),
        }
    }

    /// Returns true if a text was encrypted with a password that everyone knows.
    pub fn found_known_password(&self) -> bool {
        self.found_directive.load(Ordering::Relaxed)
    }

    /// Returns the passwords of vaults. The first one encrypts.
    pub fn passwords(&self) -> &[VaultSecret] {
        &self.passwords
    }

    /// Returns the keys for the texts of a file in a folder.
    pub fn for_folder<'a>(&'a self, folder: &'a Path) -> FileKeys<'a> {
        FileKeys { keys: self, folder }
    }

    /// Returns the keys of age.
    pub fn age(&self) -> &AgeKeys {
        &self.age
    }

    /// Returns true if encrypted values and files stay closed, because the user wants it.
    pub fn skips(&self) -> bool {
        self.skips
    }

    /// Decrypts a text.
    ///
    /// The password of the vault that the text names is tried first, then all others, as Ansible does.
    pub fn open(&self, text: &str) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        let digest = Sha256::digest(text.trim().as_bytes()).into();
        let known = |opened: &OpenedTexts| opened.get(&digest).cloned();
        if let Some(known) = known(&self.opened.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(known);
        }
        let opened = self.open_vault(&VaultText::parse(text)?)?;
        let mut all = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(digest, opened.clone());
        Ok(opened)
    }

    fn open_vault(&self, text: &VaultText) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        let id = text.id();
        let mut passwords: Vec<&VaultSecret> = self.passwords.iter().collect();
        passwords.sort_by_key(|secret| (secret.id != id, !is_same_id(&secret.id, id)));
        for secret in &passwords {
            match text.open(&secret.password) {
                Ok(content) => return Ok(content),
                Err(error @ VaultOpenError::Padding) => return Err(OpenError::Padding(error)),
                Err(VaultOpenError::Mac) => {}
            }
        }
        if let Ok(content) = text.open(DIRECTIVE_PASSWORD) {
            self.found_directive.store(true, Ordering::Relaxed);
            return Ok(content);
        }
        let id = id.to_owned();
        if passwords.is_empty() {
            return Err(OpenError::NoPassword { id });
        }
        let tried = passwords.iter().map(|secret| secret.id.clone()).collect();
        Err(OpenError::WrongPassword { id, tried })
    }
}

impl FileKeys<'_> {
    /// Decrypts the text of a whole file. `subject` names it in the question for a passphrase.
    pub fn open(&self, text: &str, subject: &str) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        if is_age_text(text.as_bytes()) {
            let age = self.keys.age();
            return Ok(age.open_file(text.as_bytes(), self.folder, subject)?);
        }
        self.keys.open(text)
    }
}

impl TagReader for FileKeys<'_> {
    fn read(&self, tag: &str, text: &str, path: &str) -> Option<Result<Value, TagError>> {
        if tag != AGE_TAG {
            return self.keys.read(tag, text, path);
        }
        if self.keys.skips() {
            return Some(Ok(Value::from(REDACTED).sensitive()));
        }
        let opened = self.keys.age().open_value(text, path, self.folder);
        Some(opened.map(Value::sensitive).map_err(|error| TagError {
            help: error.help(),
            reason: error.to_string(),
        }))
    }
}

/// Returns true if two ids mean the same password. The names of variables do not tell their case.
fn is_same_id(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Returns true if the content of a file is encrypted in a format that [`Keys`] open.
pub fn is_encrypted(content: &[u8]) -> bool {
    is_vault_text(content) || is_age_text(content)
}

impl TagReader for Keys {
    fn read(&self, tag: &str, text: &str, _path: &str) -> Option<Result<Value, TagError>> {
        let convert = match tag {
            "!vault" => text_value,
            "!vault-json" => json_value,
            "!vault-binary" => binary_value,
            _ => return None,
        };
        if self.skips {
            return Some(Ok(Value::from(REDACTED).sensitive()));
        }
        let opened = self.open(text).map_err(|error| TagError {
            help: Some(error.help()),
            reason: error.to_string(),
        });
        Some(opened.and_then(|content| convert(&content).map(Value::sensitive)))
    }
}

/// Values are encrypted with the first password, as Unfurl does.
impl TagWriter for Keys {
    fn write(&self, value: &Value) -> Option<EncryptedScalar> {
        let secret = self.passwords.first().filter(|_| !self.skips)?;
        let value = value.with_externals_resolved().revealed();
        let (tag, content) = match &value {
            Value::Str(text) => ("!vault", Zeroizing::new(text.to_string())),
            other => (
                "!vault-json",
                Zeroizing::new(serde_json::to_string(other).ok()?),
            ),
        };
        let mut sealed = self.sealed.lock().unwrap_or_else(PoisonError::into_inner);
        let digest = Sha256::new()
            .chain_update(tag)
            .chain_update([0])
            .chain_update(content.as_bytes())
            .finalize()
            .into();
        let text = match sealed.get(&digest) {
            Some(known) => Arc::clone(known),
            None => {
                let text = seal(content.as_bytes(), &secret.id, &secret.password).ok()?;
                let text: Arc<str> = text.into();
                sealed.insert(digest, Arc::clone(&text));
                text
            }
        };
        Some(EncryptedScalar {
            tag: tag.into(),
            text,
        })
    }
}

fn text_value(content: &[u8]) -> Result<Value, TagError> {
    let text = std::str::from_utf8(content).map_err(|_| TagError {
        reason: "its content is not UTF-8 text".to_owned(),
        help: Some("use the tag `!vault-binary` for bytes".to_owned()),
    })?;
    Ok(Value::from(text))
}

fn json_value(content: &[u8]) -> Result<Value, TagError> {
    // The error message of the parser is left out, because it may quote the content.
    let json: Result<serde_json::Value, _> = serde_json::from_slice(content);
    json.map(Value::from).map_err(|_| TagError {
        reason: "its content is not JSON".to_owned(),
        help: Some("use the tag `!vault` for text".to_owned()),
    })
}

/// Returns bytes as text; base64 if they are not UTF-8, as for the tag `!!binary`.
#[expect(clippy::unnecessary_wraps, reason = "the other conversions can fail")]
fn binary_value(content: &[u8]) -> Result<Value, TagError> {
    let text = std::str::from_utf8(content).map(Value::from);
    Ok(text.unwrap_or_else(|_| Value::from(base64::encode(content))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(variables: &[(&str, &str)]) -> Keys {
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Keys::of_variables(&variables.collect())
    }

    fn read(keys: &Keys, tag: &str, text: &str) -> Result<Value, String> {
        let read = keys.read(tag, text, "").unwrap();
        read.map_err(|error| format!("{}\n{}", error.reason, error.help.unwrap_or_default()))
    }

    #[test]
    fn a_value_is_opened_with_the_password_of_its_vault_or_another_one() {
        let keys = keys(&[
            ("UNFURL_VAULT_WEB_PASSWORD", "w"),
            ("UNFURL_VAULT_DEFAULT_PASSWORD", "d"),
            ("UNFURL_VAULT_EMPTY_PASSWORD", ""),
        ]);
        let ids: Vec<&str> = keys.passwords().iter().map(|secret| &*secret.id).collect();
        assert_eq!(ids, ["default", "web"]);
        for (id, password) in [("web", "w"), ("Web", "w"), ("default", "d"), ("old", "w")] {
            let text = seal(b"the text", id, password).unwrap();
            let value = read(&keys, "!vault", &text).unwrap();
            assert!(value.has_sensitive());
            assert_eq!(value.as_str(), Some("the text"));
        }
    }

    #[test]
    fn tags_for_json_and_bytes_give_their_values() {
        let keys = keys(&[("UNFURL_VAULT_DEFAULT_PASSWORD", "d")]);
        let sealed = |content: &[u8]| seal(content, "default", "d").unwrap();
        let json = read(
            &keys,
            "!vault-json",
            &sealed(br#"{"a": [1, "\ud83d\ude00"]}"#),
        )
        .unwrap();
        assert_eq!(json.reveal().to_string(), "{'a': [1, '😀']}");
        let bytes = read(&keys, "!vault-binary", &sealed(&[0xff, 0])).unwrap();
        assert_eq!(bytes.as_str(), Some("/wA="));
        let text = read(&keys, "!vault-binary", &sealed(b"x")).unwrap();
        assert_eq!(text.as_str(), Some("x"));
        insta::assert_snapshot!(read(&keys, "!vault-json", &sealed(b"{secret")).unwrap_err(), @"
        its content is not JSON
        use the tag `!vault` for text
        ");
        insta::assert_snapshot!(read(&keys, "!vault", &sealed(&[0xff])).unwrap_err(), @"
        its content is not UTF-8 text
        use the tag `!vault-binary` for bytes
        ");
        assert_eq!(keys.read("!other", "x", ""), None);
    }

    #[test]
    fn the_reason_and_the_variable_to_set_are_named() {
        let text = seal(b"x", "web", "right").unwrap();
        insta::assert_snapshot!(read(&Keys::default(), "!vault", &text).unwrap_err(), @"
        no password for the vault `web` is known
        set the variable `UNFURL_VAULT_WEB_PASSWORD`, or the password of `web` under `environments: {defaults: {secrets: {vault_secrets: }}}` in `local/unfurl.yaml`
        ");
        let wrong = keys(&[("UNFURL_VAULT_WEB_PASSWORD", "wrong")]);
        insta::assert_snapshot!(wrong.open(&text).unwrap_err(), @"the password of the vault `web` is wrong, or the text was changed");
        let other = keys(&[
            ("UNFURL_VAULT_A_PASSWORD", "a"),
            ("UNFURL_VAULT_B_PASSWORD", "b"),
        ]);
        insta::assert_snapshot!(other.open(&text).unwrap_err(), @"no password for the vault `web` is known, and those of `a`, `b` do not open it, or the text was changed");
        insta::assert_snapshot!(read(&wrong, "!vault", "clear").unwrap_err(), @"
        its first line is not `$ANSIBLE_VAULT;1.1;AES256` or `$ANSIBLE_VAULT;1.2;AES256;ID`
        restore the text from git, or encrypt the value again with `ansible-vault`
        ");
    }

    #[test]
    fn texts_with_the_directive_as_password_are_opened_and_noted() {
        let text = seal(b"x", "+%", "merge").unwrap();
        let keys = keys(&[("UNFURL_VAULT_WEB_PASSWORD", "w")]);
        assert!(!keys.found_known_password());
        assert_eq!(*keys.open(&text).unwrap(), b"x");
        assert!(keys.with_passwords(vec![]).found_known_password());
    }

    #[test]
    fn values_stay_closed_if_the_user_wants_it() {
        let keys = keys(&[("UNFURL_SKIP_VAULT_DECRYPT", "1")]);
        let value = read(&keys, "!vault", "damaged").unwrap();
        assert_eq!(
            (value.has_sensitive(), value.as_str()),
            (true, Some(REDACTED))
        );
    }

    #[test]
    fn passwords_of_the_project_go_before_those_of_variables() {
        let keys = keys(&[
            ("UNFURL_VAULT_A_PASSWORD", "1"),
            ("UNFURL_VAULT_B_PASSWORD", "2"),
        ]);
        let keys = keys.with_passwords(vec![VaultSecret::new("B", "3")]);
        let shown = keys.passwords().iter();
        let shown: Vec<_> = shown
            .map(|secret| (&*secret.id, &**secret.password))
            .collect();
        assert_eq!(shown, [("B", "3"), ("a", "1")]);
        assert!(!format!("{keys:?}").contains('3'));
    }
}
