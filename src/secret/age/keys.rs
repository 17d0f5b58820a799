//! The keys of one run for values and files that are encrypted with age.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use zeroize::Zeroizing;

use super::cipher::encrypt_age;
use super::error::AgeError;
use super::identity::{Identities, decrypt_age};
use super::policy::ReaderPolicy;
use super::sealed::{SealedValue, ValuePlace};
use crate::system::env::Env;
use crate::value::Value;

/// The policy around a folder, with the identities that its project may use.
#[derive(Debug)]
struct FolderPolicy {
    policy: Option<ReaderPolicy>,
    identities: Arc<Identities>,
}

/// The identities of the user, and the policies of the projects whose values they open. Both are read on first
/// use, once for each folder.
#[derive(Debug, Default)]
pub struct AgeKeys {
    folders: Mutex<HashMap<PathBuf, Result<Arc<FolderPolicy>, AgeError>>>,
    identities: Mutex<HashMap<Option<PathBuf>, Arc<Identities>>>,
}

impl AgeKeys {
    /// Opens the text of a value at a path of a file in a folder.
    pub fn open_value(&self, text: &str, path: &str, folder: &Path) -> Result<Value, AgeError> {
        let sealed = SealedValue::parse(text)?;
        let found = self.folder(folder)?;
        let Some(policy) = &found.policy else {
            let reason =
                "the project has no file `secret-readers.yaml`, to which the value belongs";
            return Err(AgeError::Misplaced {
                reason: reason.to_owned(),
            });
        };
        let project = policy.id.as_str();
        sealed.open(ValuePlace { project, path }, &found.identities)
    }

    /// Opens a whole file in a folder. `subject` names it in the question for a passphrase.
    pub fn open_file(
        &self,
        bytes: &[u8],
        folder: &Path,
        subject: &str,
    ) -> Result<Zeroizing<Vec<u8>>, AgeError> {
        decrypt_age(bytes, &self.folder(folder)?.identities, subject)
    }

    /// Encrypts a whole file in a folder for the readers of its project. None if the project has none.
    pub fn seal_file(&self, content: &[u8], folder: &Path) -> Result<Option<String>, AgeError> {
        let found = self.folder(folder)?;
        let Some(policy) = &found.policy else {
            return Ok(None);
        };
        let readers = policy.recipients(&found.identities)?;
        encrypt_age(content, &readers).map(Some)
    }

    /// Returns the identities for the files in a folder.
    pub fn identities(&self, folder: &Path) -> Result<Arc<Identities>, AgeError> {
        Ok(Arc::clone(&self.folder(folder)?.identities))
    }

    fn folder(&self, folder: &Path) -> Result<Arc<FolderPolicy>, AgeError> {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = folders.get(folder) {
            return known.clone();
        }
        let read = ReaderPolicy::around(folder).map(|policy| {
            let project = policy.as_ref().map(|policy| policy.project().to_owned());
            let mut all = self
                .identities
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let identities = all.entry(project).or_insert_with_key(|project| {
                let env = Env::of_this_process();
                Arc::new(Identities::find(&env, project.as_deref()))
            });
            Arc::new(FolderPolicy {
                policy,
                identities: Arc::clone(identities),
            })
        });
        folders.insert(folder.to_owned(), read.clone());
        read
    }
}
