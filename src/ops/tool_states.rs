//! The states of an ensemble's tools: their cipher.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::secret::{SealedState, StateKeys};
use crate::session::Session;
use crate::system::fs;
use crate::task::StateCipher;
use crate::value::{Value, hex};

/// The number of hexadecimal digits that tell the private folders of ensembles apart.
const KEY_LENGTH: usize = 16;

/// The cipher for the states of one ensemble.
#[derive(Debug)]
pub(super) struct ToolStates {
    keys: StateKeys,
    prefix: String,
}

impl ToolStates {
    /// Returns the cipher of the ensemble of a session.
    pub(super) fn of(session: &Session) -> Self {
        let base = session.manifest.base_dir();
        Self {
            keys: StateKeys::new(session.location.keys.clone(), base),
            prefix: folder_prefix(session.manifest.path()),
        }
    }
}

/// Returns the beginning of the names of an ensemble's private folders.
pub(super) fn folder_prefix(manifest: &Path) -> String {
    let real = fs::canonicalize(manifest).unwrap_or_else(|_| manifest.to_owned());
    let digest = hex(&Sha256::digest(real.as_os_str().as_encoded_bytes()));
    format!("{}-", &digest[..KEY_LENGTH])
}

fn parts(sealed: SealedState) -> (String, Option<String>) {
    (sealed.text, sealed.warning)
}

impl StateCipher for ToolStates {
    fn open(&self, path: &Path, content: &[u8]) -> Result<Vec<u8>, String> {
        self.keys.open(path, content).map(|clear| clear.to_vec())
    }

    fn seal(&self, clear: &[u8]) -> Result<(String, Option<String>), String> {
        self.keys.seal(clear).map(parts)
    }

    fn seal_values(&self, state: &Value, clear: &[u8]) -> Result<(String, Option<String>), String> {
        self.keys.seal_values(state, clear).map(parts)
    }

    fn folder_prefix(&self) -> &str {
        &self.prefix
    }
}
