//! A project with the keys that open and encrypt its secrets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zeroize::Zeroizing;

use super::inventory::SealedLeaf;
use crate::ops::failure::{Failure, FailureKind};
use crate::project::{enclosing_project, keys_of_folder};
use crate::secret::{
    AgeError, Identities, Keys, ReaderPolicy, SealedValue, StateKeys, TransactionError,
    VaultSecret, finish_interrupted, is_age_text, plain_json, seal,
};
use crate::session::{SessionOptions, current_dir};
use crate::system::env::Env;
use crate::system::fs;
use crate::value::Value;
use crate::yaml::TagReader as _;

/// The file that makes a folder the place of an ensemble.
const MANIFEST: &str = crate::project::MANIFEST;

/// A project, its keys, and remarks for the user.
#[derive(Debug)]
pub struct SecretProject {
    /// The folder of the project.
    pub root: PathBuf,
    keys: Keys,
    /// Remarks for the user, such as keys that others can read.
    pub warnings: Vec<String>,
}

/// The way in which a new value is encrypted.
#[derive(Debug, Clone)]
pub(super) enum Cipher {
    Vault(VaultSecret),
    Age(ReaderPolicy),
}

impl From<AgeError> for Failure {
    fn from(error: AgeError) -> Self {
        let help = error.help();
        Self::new(FailureKind::Refused, error, help)
    }
}

impl From<TransactionError> for Failure {
    fn from(error: TransactionError) -> Self {
        let help = error.help();
        Self::new(FailureKind::Refused, error, Some(help))
    }
}

/// Returns the policy for a file: the nearest one above it.
pub(super) fn policy_of(file: &Path) -> Result<Option<ReaderPolicy>, Failure> {
    Ok(ReaderPolicy::around(fs::parent_of(file))?)
}

impl SecretProject {
    /// Finds the project of the options, finishes an interrupted `rekey`, and collects the keys.
    pub fn open(options: &SessionOptions) -> Result<Self, Failure> {
        let root = project_root(options)?;
        let finished = finish_interrupted(&root)?;
        let env = Env::of_this_process();
        let environment = options.environment.as_deref();
        let keys = keys_of_folder(&root, options.home.as_deref(), environment, &env);
        let mut warnings = Vec::new();
        if ReaderPolicy::around(&root).is_ok_and(|policy| policy.is_some()) {
            warnings.extend(keys.age().identities(&root)?.warnings());
        }
        warnings.extend(finished.map(|count| {
            format!(
                "an interrupted `secret rekey` was finished; {count} files have their new content"
            )
        }));
        Ok(Self {
            root,
            keys,
            warnings,
        })
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns the identities for the files in the folder of a file.
    pub(super) fn identities(&self, file: &Path) -> Result<Arc<Identities>, Failure> {
        Ok(self.keys.age().identities(fs::parent_of(file))?)
    }

    /// Returns the way to encrypt new values of a file: a vault if there is a password, else age.
    pub(super) fn cipher_for(&self, file: &Path) -> Result<Cipher, Failure> {
        if let Some(password) = self.keys.passwords().first() {
            return Ok(Cipher::Vault(password.clone()));
        }
        match policy_of(file)? {
            Some(policy) => Ok(Cipher::Age(policy)),
            None => {
                let message = "the project has no key: neither the password of a vault nor a file \
                               `secret-readers.yaml`";
                let help = "set the variable UNFURL_VAULT_DEFAULT_PASSWORD, or create a project with \
                            `unfurl init --secrets age`";
                Err(Failure::new(
                    FailureKind::Refused,
                    message,
                    Some(help.to_owned()),
                ))
            }
        }
    }

    /// Encrypts a value for a path of a file. Returns the tag and the text.
    pub(super) fn seal(
        &self,
        cipher: &Cipher,
        value: &Value,
        path: &str,
    ) -> Result<(&'static str, String), Failure> {
        match cipher {
            Cipher::Age(policy) => {
                let identities = self.identities(&policy.path)?;
                let sealed = SealedValue::seal(value, path, policy, &identities)?;
                Ok((crate::secret::AGE_TAG, sealed.text()))
            }
            Cipher::Vault(password) => {
                let (tag, content) = match value.as_str() {
                    Some(text) => ("!vault", text.to_owned()),
                    None => ("!vault-json", plain_json(value).to_string()),
                };
                Ok((tag, seal_bytes(content.as_bytes(), password)?))
            }
        }
    }

    /// Decrypts the text of a value with a tag, at a path of a file.
    pub(super) fn open_value(
        &self,
        file: &Path,
        leaf: &SealedLeaf,
    ) -> Result<Value, (String, Option<String>)> {
        let keys = self.keys.for_folder(fs::parent_of(file));
        match keys.read(&leaf.tag, leaf.text(), &leaf.name) {
            Some(Ok(value)) => Ok(value.reveal().clone()),
            Some(Err(error)) => Err((error.reason, error.help)),
            None => Err((format!("the tag `{}` is unknown", leaf.tag), None)),
        }
    }

    /// Decrypts a whole file.
    pub(super) fn open_file(
        &self,
        bytes: &[u8],
        path: &Path,
    ) -> Result<Zeroizing<Vec<u8>>, (String, Option<String>)> {
        let folder = fs::parent_of(path);
        let subject = format!("`{}`", path.display());
        if is_age_text(bytes) {
            let opened = self.keys.age().open_file(bytes, folder, &subject);
            if opened.is_err()
                && let Some(state) = self.open_state(bytes, path)
            {
                return Ok(state);
            }
            return opened.map_err(|error| (error.to_string(), error.help()));
        }
        let opened = self.keys.open(&String::from_utf8_lossy(bytes));
        opened.map_err(|error| (error.to_string(), Some(error.help())))
    }
}

impl SecretProject {
    /// Decrypts the state of a tool, which may be encrypted to the key of this clone.
    fn open_state(&self, bytes: &[u8], path: &Path) -> Option<Zeroizing<Vec<u8>>> {
        let mut folders = path.ancestors();
        let ensemble = folders
            .find(|folder| folder.ends_with("active"))?
            .parent()?;
        let keys = StateKeys::new(self.keys.clone(), ensemble);
        keys.open(path, bytes).ok()
    }
}

/// Encrypts bytes with the password of a vault.
pub(super) fn seal_bytes(bytes: &[u8], password: &VaultSecret) -> Result<String, Failure> {
    seal(bytes, &password.id, &password.password).map_err(|error| {
        let message = format!("random bytes are not available: {error}");
        Failure::new(FailureKind::Refused, message, None)
    })
}

/// Returns the folder of the project: that of the ensemble that the options name, or the one around a folder.
pub(super) fn project_root(options: &SessionOptions) -> Result<PathBuf, Failure> {
    let cwd = current_dir()?;
    let folder = fs::absolute(Path::new(&options.ensemble), &cwd);
    let folder = fs::canonicalize(&folder).unwrap_or(folder);
    if let Some(root) = enclosing_project(&folder, None) {
        return Ok(root);
    }
    let is_place = |folder: &&Path| {
        [MANIFEST, crate::secret::POLICY_FILE]
            .iter()
            .any(|name| fs::is_file(&folder.join(name)))
    };
    if let Some(found) = folder.ancestors().find(is_place) {
        return Ok(found.to_owned());
    }
    let message = format!("`{}` is in no project", folder.display());
    let help = "run the command in the folder of a project, or create one with `unfurl init`";
    Err(Failure::new(
        FailureKind::NoEnsemble,
        message,
        Some(help.to_owned()),
    ))
}
