//! Identities of age: private keys of this user, found in files and read when the first secret is opened.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use age::secrecy::{ExposeSecret as _, SecretString};
use age::{plugin, scrypt, ssh, x25519};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::cipher::{decrypt_with, is_age_text, stanza_kinds, without_armor};
use super::error::AgeError;
use super::plugin_callbacks::PluginCallbacks;
use super::recipient::AgeRecipient;
use crate::secret::passphrase::passphrase_of;
use crate::system::env::Env;
use crate::system::{fs, user};
use crate::text::base64;

/// The variable with the paths of identity files, separated by `:`.
const IDENTITIES_VARIABLE: &str = "UNFURL_AGE_IDENTITIES";
/// The identity file of a project, which is never committed.
const PROJECT_IDENTITY: &str = "local/age-identity.txt";
/// The identity file of the user, in the folder of settings.
const USER_IDENTITY: &str = "unfurl/age-identity.txt";
/// The SSH keys that are used without another identity.
const SSH_KEYS: [&str; 2] = [".ssh/id_ed25519", ".ssh/id_rsa"];
/// The maximum size of an identity file, in bytes.
const MAX_IDENTITY_BYTES: u64 = 1 << 20;
/// The highest work factor of a passphrase that is accepted: about 8 s and 1 GiB.
const MAX_WORK_FACTOR: u8 = 20;

/// The private keys of this user. Files are read when the first secret is opened.
pub struct Identities {
    places: Vec<IdentityPlace>,
    loaded: OnceLock<Result<Vec<Identity>, AgeError>>,
}

/// A file that may hold identities.
#[derive(Debug, Clone)]
struct IdentityPlace {
    path: PathBuf,
    /// True if the user has named the file, so that it must exist.
    is_named: bool,
    /// True if the file belongs to a project, which may come from others.
    is_of_project: bool,
}

/// A private key.
enum Identity {
    X25519(x25519::Identity),
    Plugin(plugin::Identity),
    Ssh(Box<ssh::Identity>),
    LockedSsh(Box<LockedSsh>),
    LockedFile(LockedFile),
}

/// An SSH key that needs a passphrase. The opened key is kept.
struct LockedSsh {
    key: ssh::EncryptedKey,
    path: PathBuf,
    /// The beginning of the hash of the public key, as headers of age name it.
    tag: Option<String>,
    opened: OnceLock<Result<ssh::Identity, AgeError>>,
}

/// An identity file that is encrypted with a passphrase. The opened identities are kept.
struct LockedFile {
    bytes: Vec<u8>,
    path: PathBuf,
    opened: OnceLock<Result<Vec<Identity>, AgeError>>,
}

impl std::fmt::Debug for Identities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identities")
            .field("places", &self.places)
            .finish_non_exhaustive()
    }
}

impl Identities {
    /// Finds the identity files: those that the variable names, else that of the user, else that of the project,
    /// else the SSH keys of the user.
    pub fn find(env: &Env, project: Option<&Path>) -> Self {
        let named = env.non_empty(IDENTITIES_VARIABLE).map(|paths| {
            let named = paths.split(':').filter(|path| !path.is_empty());
            let place = |path: &str| IdentityPlace {
                path: PathBuf::from(path),
                is_named: true,
                is_of_project: false,
            };
            named.map(place).collect()
        });
        let places = named.unwrap_or_else(|| default_places(env, project));
        Self {
            places,
            loaded: OnceLock::new(),
        }
    }

    /// Returns the identities of one file, which must exist.
    pub fn of_file(path: &Path) -> Self {
        Self {
            places: vec![IdentityPlace {
                path: path.to_owned(),
                is_named: true,
                is_of_project: false,
            }],
            loaded: OnceLock::new(),
        }
    }

    /// Returns warnings about identity files that other users can read.
    pub fn warnings(&self) -> Vec<String> {
        let readable =
            |place: &&IdentityPlace| fs::mode_of(&place.path).is_ok_and(|mode| mode & 0o077 != 0);
        let warn = |place: &IdentityPlace| {
            let path = place.path.display();
            format!("other users can read the identity file `{path}`; run `chmod 600 {path}`")
        };
        self.places.iter().filter(readable).map(warn).collect()
    }

    /// Returns the names of the plugins that the user's own identities need.
    pub fn plugins(&self) -> Vec<String> {
        let loaded = self.loaded().map(Vec::as_slice).unwrap_or_default();
        let names = loaded.iter().filter_map(|identity| match identity {
            Identity::Plugin(key) => Some(key.plugin().to_owned()),
            _ => None,
        });
        names.collect()
    }

    /// Returns the public key of the first identity that has one without a passphrase.
    pub fn first_recipient(&self) -> Result<Option<AgeRecipient>, AgeError> {
        let mut keys = self.loaded()?.iter().filter_map(Identity::recipient);
        Ok(keys.next())
    }

    fn loaded(&self) -> Result<&Vec<Identity>, AgeError> {
        let loaded = self.loaded.get_or_init(|| {
            let mut all = Vec::new();
            for place in &self.places {
                all.extend(read_place(place)?);
            }
            Ok(all)
        });
        loaded.as_ref().map_err(Clone::clone)
    }

    /// Opens the binary form with the identities: first those that need no passphrase.
    fn open(
        &self,
        binary: &[u8],
        kinds: &[(String, String)],
    ) -> Result<Zeroizing<Vec<u8>>, AgeError> {
        let identities = self.loaded()?;
        if identities.is_empty() {
            return Err(AgeError::NoIdentity);
        }
        let mut count = 0;
        for needs_passphrase in [false, true] {
            for identity in identities {
                if identity.needs_passphrase() != needs_passphrase || !identity.may_open(kinds) {
                    continue;
                }
                if let Some(plain) = identity.open(binary, &mut count)? {
                    return Ok(plain);
                }
            }
        }
        Err(AgeError::NotAReader {
            count: count.max(identities.len()),
            readers: "not named in the file".to_owned(),
        })
    }
}

/// Decrypts a text or the binary form with identities. `subject` names the text in questions for a passphrase.
pub fn decrypt_age(
    bytes: &[u8],
    identities: &Identities,
    subject: &str,
) -> Result<Zeroizing<Vec<u8>>, AgeError> {
    let binary = without_armor(bytes)?;
    let kinds = stanza_kinds(&binary)?;
    if kinds.iter().any(|(kind, _)| kind == "scrypt") {
        return open_with_passphrase(&binary, subject);
    }
    identities.open(&binary, &kinds)
}

fn open_with_passphrase(binary: &[u8], subject: &str) -> Result<Zeroizing<Vec<u8>>, AgeError> {
    let subject = subject.to_owned();
    let Some(passphrase) = passphrase_of(&subject) else {
        return Err(AgeError::NoPassphrase { subject });
    };
    let mut key = scrypt::Identity::new(SecretString::from((*passphrase).clone()));
    key.set_max_work_factor(MAX_WORK_FACTOR);
    match decrypt_with(binary, &key)? {
        Some(plain) => Ok(plain),
        None => Err(AgeError::WrongPassphrase { subject }),
    }
}

impl Identity {
    fn needs_passphrase(&self) -> bool {
        matches!(self, Self::LockedSsh(_) | Self::LockedFile(_))
    }

    /// Returns true if a header can name the identity, so that a passphrase is not asked in vain.
    fn may_open(&self, kinds: &[(String, String)]) -> bool {
        match self {
            Self::LockedSsh(locked) => kinds.iter().any(|(kind, tag)| {
                kind.starts_with("ssh-") && locked.tag.as_ref().is_none_or(|own| own == tag)
            }),
            Self::LockedFile(_) => kinds.iter().any(|(kind, _)| !kind.starts_with("ssh-")),
            _ => true,
        }
    }

    fn recipient(&self) -> Option<AgeRecipient> {
        match self {
            Self::X25519(key) => Some(key.to_public().into()),
            Self::Ssh(key) => {
                let public = ssh::Recipient::try_from((**key).clone()).ok()?;
                public.to_string().parse().ok()
            }
            Self::LockedSsh(locked) => {
                let key = ssh::Identity::Encrypted(locked.key.clone());
                let public = ssh::Recipient::try_from(key).ok()?;
                public.to_string().parse().ok()
            }
            Self::Plugin(_) | Self::LockedFile(_) => None,
        }
    }

    /// Opens the binary form. `count` is the number of keys that were tried.
    fn open(
        &self,
        binary: &[u8],
        count: &mut usize,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, AgeError> {
        if let Self::LockedFile(file) = self {
            for identity in file.opened()? {
                if let Some(plain) = identity.open(binary, count)? {
                    return Ok(Some(plain));
                }
            }
            return Ok(None);
        }
        *count += 1;
        match self {
            Self::X25519(key) => decrypt_with(binary, key),
            Self::Ssh(key) => decrypt_with(binary, &**key),
            Self::LockedSsh(locked) => decrypt_with(binary, locked.opened()?),
            Self::Plugin(key) => {
                let name = key.plugin();
                let keys = std::slice::from_ref(key);
                let made = plugin::IdentityPluginV1::new(name, keys, PluginCallbacks);
                let made = made.map_err(|_| AgeError::Plugin {
                    name: name.to_owned(),
                    reason: "was not found on the search path".to_owned(),
                })?;
                decrypt_with(binary, &made)
            }
            Self::LockedFile(_) => Ok(None),
        }
    }
}

impl LockedSsh {
    fn opened(&self) -> Result<&ssh::Identity, AgeError> {
        let opened = self.opened.get_or_init(|| {
            let subject = format!("the SSH key `{}`", self.path.display());
            let Some(passphrase) = passphrase_of(&subject) else {
                return Err(AgeError::NoPassphrase { subject });
            };
            let opened = self.key.decrypt(SecretString::from((*passphrase).clone()));
            match opened {
                Ok(key) => Ok(key.into()),
                Err(_) => Err(AgeError::WrongPassphrase { subject }),
            }
        });
        opened.as_ref().map_err(Clone::clone)
    }
}

impl LockedFile {
    fn opened(&self) -> Result<&Vec<Identity>, AgeError> {
        let opened = self.opened.get_or_init(|| {
            let subject = format!("the identity file `{}`", self.path.display());
            let mut binary = Vec::new();
            let mut reader = age::armor::ArmoredReader::new(&*self.bytes);
            let read = std::io::Read::read_to_end(&mut reader, &mut binary);
            read.map_err(|error| file_error(&self.path, &error))?;
            let plain = open_with_passphrase(&binary, &subject)?;
            parse_lines(&plain, &self.path)
        });
        opened.as_ref().map_err(Clone::clone)
    }
}

/// Returns the path of the identity file of the user.
pub fn identity_file_of_user(env: &Env) -> Option<PathBuf> {
    let settings = env.non_empty("XDG_CONFIG_HOME").map(PathBuf::from);
    let settings = settings.filter(|path| path.is_absolute());
    let settings = settings.or_else(|| Some(home(env)?.join(".config")))?;
    Some(settings.join(USER_IDENTITY))
}

/// Creates an identity file that only this user can read. Returns the public key.
pub fn create_identity(path: &Path) -> Result<AgeRecipient, AgeError> {
    let identity = x25519::Identity::generate();
    let public = AgeRecipient::from(identity.to_public());
    let secret = identity.to_string();
    let text = Zeroizing::new(format!(
        "# public key: {}\n{}\n",
        public.text(),
        secret.expose_secret()
    ));
    let folder = fs::parent_of(path);
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write_atomic(path, text.as_bytes(), Some(fs::SECRET_MODE)));
    written.map_err(|error| file_error(path, &error))?;
    Ok(public)
}

fn home(env: &Env) -> Option<PathBuf> {
    let home = env.non_empty("HOME").map(PathBuf::from);
    home.or_else(user::home)
}

fn default_places(env: &Env, project: Option<&Path>) -> Vec<IdentityPlace> {
    let place = |path: PathBuf, is_of_project| IdentityPlace {
        path,
        is_named: false,
        is_of_project,
    };
    let of_user = identity_file_of_user(env).map(|path| place(path, false));
    let of_project = project.map(|root| place(root.join(PROJECT_IDENTITY), true));
    let mut first = of_user.into_iter().chain(of_project);
    if let Some(found) = first.find(|place| fs::is_file(&place.path)) {
        return vec![found];
    }
    let home = home(env);
    let keys = home
        .iter()
        .flat_map(|home| SSH_KEYS.map(|key| home.join(key)));
    keys.filter(|path| fs::is_file(path))
        .map(|path| place(path, false))
        .collect()
}

fn file_error(path: &Path, error: &dyn std::fmt::Display) -> AgeError {
    AgeError::IdentityFile {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

fn read_place(place: &IdentityPlace) -> Result<Vec<Identity>, AgeError> {
    let path = &place.path;
    if !place.is_named && !fs::is_file(path) {
        return Ok(Vec::new());
    }
    let bytes = fs::read_within(path, MAX_IDENTITY_BYTES);
    let bytes = Zeroizing::new(bytes.map_err(|error| file_error(path, &error))?);
    if bytes.trim_ascii_start().starts_with(b"-----BEGIN") && !is_age_text(&bytes) {
        return read_ssh_key(&bytes, place);
    }
    if is_age_text(&bytes) {
        return Ok(vec![Identity::LockedFile(LockedFile {
            bytes: bytes.to_vec(),
            path: path.clone(),
            opened: OnceLock::new(),
        })]);
    }
    let identities = parse_lines(&bytes, path)?;
    let has_plugin = |identity: &Identity| matches!(identity, Identity::Plugin(_));
    if place.is_of_project && identities.iter().any(has_plugin) {
        let reason = "the identity file of a project cannot name a plugin, because a plugin is a program; put the \
                      identity into a file of your own";
        return Err(file_error(path, &reason));
    }
    Ok(identities)
}

fn parse_lines(bytes: &[u8], path: &Path) -> Result<Vec<Identity>, AgeError> {
    let text = std::str::from_utf8(bytes).map_err(|_| file_error(path, &"the file is no text"))?;
    let mut identities = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Ok(key) = line.parse::<x25519::Identity>() {
            identities.push(Identity::X25519(key));
        } else if let Ok(key) = line.parse::<plugin::Identity>() {
            identities.push(Identity::Plugin(key));
        } else {
            let reason = format!("line {} is no identity of age", number + 1);
            return Err(file_error(path, &reason));
        }
    }
    if identities.is_empty() {
        return Err(file_error(path, &"the file holds no identity"));
    }
    Ok(identities)
}

fn read_ssh_key(bytes: &[u8], place: &IdentityPlace) -> Result<Vec<Identity>, AgeError> {
    let path = &place.path;
    let key = ssh::Identity::from_buffer(bytes, None).map_err(|error| file_error(path, &error))?;
    match key {
        ssh::Identity::Unencrypted(_) => Ok(vec![Identity::Ssh(Box::new(key))]),
        ssh::Identity::Encrypted(locked) => {
            let public = ssh::Recipient::try_from(ssh::Identity::Encrypted(locked.clone())).ok();
            Ok(vec![Identity::LockedSsh(Box::new(LockedSsh {
                tag: public.and_then(|key| header_tag(&key)),
                key: locked,
                path: path.clone(),
                opened: OnceLock::new(),
            }))])
        }
        ssh::Identity::Unsupported(_) if place.is_named => {
            let reason = "age supports SSH keys of the types ed25519 and rsa only";
            Err(file_error(path, &reason))
        }
        ssh::Identity::Unsupported(_) => Ok(Vec::new()),
    }
}

/// Returns the text by which headers of age name an SSH key: four bytes of the hash of the public key.
fn header_tag(key: &ssh::Recipient) -> Option<String> {
    let text = key.to_string();
    let bytes = base64::decode(text.split(' ').nth(1)?)?;
    let tag = base64::encode(&Sha256::digest(&bytes)[..4]);
    Some(tag.trim_end_matches('=').to_owned())
}
