//! The files that logins read: known hosts, private keys, public keys and certificates.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::file_cache::FileCache;
use super::keys::{self, KeyFile, PublicFiles};
use super::known_hosts_file::KnownHostsFile;
use crate::host::{Identities, Secret};
use crate::system::fs;

/// A private key, with the time of the last change of its file.
type CachedKey = (Option<SystemTime>, KeyFile);

/// The files that the logins of a pool share, so that each is read once for many hosts.
#[derive(Debug, Clone, Default)]
pub(in crate::host) struct LoginFiles {
    known_hosts: FileCache<Vec<PathBuf>, Arc<Vec<KnownHostsFile>>>,
    /// The private keys by file and passphrase. Decryption with a passphrase is slow.
    private_keys: FileCache<(PathBuf, Option<String>), CachedKey>,
    /// The public keys and certificates by key files and named certificates.
    public_files: FileCache<(Vec<PathBuf>, Vec<PathBuf>), Arc<PublicFiles>>,
}

impl LoginFiles {
    /// Returns the known hosts files that can be read.
    pub(super) async fn known_hosts(&self, paths: &[PathBuf]) -> Arc<Vec<KnownHostsFile>> {
        let read = |paths: &Vec<PathBuf>, _| Arc::new(KnownHostsFile::read_all(paths));
        let found = self.known_hosts.get(paths.to_vec(), read).await;
        found.unwrap_or_default()
    }

    /// Forgets the known hosts, because a key was added to a file.
    pub(super) fn forget_known_hosts(&self) {
        self.known_hosts.clear();
    }

    /// Returns a private key, reading it only if its file has changed since the last time.
    pub(super) async fn private_key(&self, file: &Path, passphrase: Option<&Secret>) -> KeyFile {
        let passphrase = passphrase.map(|it| it.reveal().to_owned());
        let found = self
            .private_keys
            .get((file.to_owned(), passphrase), read_key);
        let found = found.await;
        found.map_or(KeyFile::Unusable(None), |(_, key)| key)
    }

    /// Returns the public keys and the certificates of identities.
    pub(super) async fn public_files(&self, identities: &Identities) -> Arc<PublicFiles> {
        let key = (identities.files.clone(), identities.certificates.clone());
        let read = |(files, named): &(Vec<PathBuf>, Vec<PathBuf>), _| {
            Arc::new(PublicFiles::read(files, named))
        };
        self.public_files.get(key, read).await.unwrap_or_default()
    }
}

/// Reads a private key, unless its file has not changed since it was read before.
fn read_key(
    (file, passphrase): &(PathBuf, Option<String>),
    before: Option<CachedKey>,
) -> CachedKey {
    let changed = fs::modified_time(file);
    match before {
        Some((then, key)) if then == changed => (then, key),
        _ => (changed, keys::read(file, passphrase.as_deref())),
    }
}
