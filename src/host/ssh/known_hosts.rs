//! Known hosts files: the keys that they list for a host, and the addition of new keys.
//!
//! The format is described in `sshd(8)`, section `SSH_KNOWN_HOSTS FILE FORMAT` (F47).

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Certificate, HashAlg, PublicKey, PublicKeyOrCertificate};

use super::known_hosts_file::{KnownHostsFile, read_text};
use crate::host::names::shown;
use crate::host::{DEFAULT_PORT, Destination, check_host_name};
use crate::system::clock;
use crate::text::Glob;

/// A host key with the file and line that list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownHostKey {
    pub(super) key: PublicKey,
    pub(super) file: PathBuf,
    /// The line number, counted from 1.
    pub(super) line: usize,
}

/// The entries of all files for one host.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownHostEntries {
    /// The keys of exactly this host and port.
    pub(super) keys: Vec<KnownHostKey>,
    /// The keys of the host without a port. They are trusted, but a different key does not count as
    /// changed.
    any_port_keys: Vec<PublicKey>,
    /// The certificate authorities for this host.
    pub(super) authorities: Vec<PublicKey>,
    revoked: Vec<KnownHostKey>,
}

/// The verdict on the key that a host presents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostKeyVerdict {
    Trusted,
    /// No entry exists for the host.
    Unknown,
    /// The host has another key in this entry.
    Changed(KnownHostKey),
    Revoked(KnownHostKey),
}

/// The name of a host in the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownHostName {
    /// The text `host`, `[host]:port`, or the alias.
    name: String,
    /// The host without its port, if `name` has one.
    host_only: Option<String>,
}

impl KnownHostName {
    /// Creates the name of a host and port. An alias replaces both.
    pub(super) fn new(host: &str, port: u16, alias: Option<&str>) -> Self {
        match alias {
            Some(alias) => Self {
                name: alias.to_lowercase(),
                host_only: None,
            },
            None if port == DEFAULT_PORT => Self {
                name: host.to_lowercase(),
                host_only: None,
            },
            None => Self {
                name: format!("[{}]:{port}", host.to_lowercase()),
                host_only: Some(host.to_lowercase()),
            },
        }
    }

    /// Returns the name as files state it, with a port other than 22.
    pub(super) fn full(&self) -> &str {
        &self.name
    }

    fn host(&self) -> &str {
        self.host_only.as_deref().unwrap_or(&self.name)
    }
}

impl KnownHostEntries {
    /// Returns the entries of files for a host. Invalid lines are skipped.
    pub(super) fn of(files: &[KnownHostsFile], name: &KnownHostName) -> Self {
        let mut known = Self::default();
        for file in files {
            known.add(file, name);
        }
        known
    }

    /// Adds the lines of a file that are about a host.
    pub(super) fn add(&mut self, file: &KnownHostsFile, name: &KnownHostName) {
        for line in file.lines_about(&[&name.name, name.host()]) {
            let exact = line.names(&name.name);
            if !exact && !line.names(name.host()) {
                continue;
            }
            let Ok(key) = PublicKey::from_openssh(line.key) else {
                continue;
            };
            let known = KnownHostKey {
                key,
                file: file.path.clone(),
                line: line.number,
            };
            match line.marker {
                "@cert-authority" => self.authorities.push(known.key),
                "@revoked" => self.revoked.push(known),
                "" if exact => self.keys.push(known),
                "" => self.any_port_keys.push(known.key),
                _ => {}
            }
        }
    }

    /// Checks the key or certificate that a host presents.
    pub(super) fn verify(
        &self,
        shown: &PublicKeyOrCertificate,
        name: &KnownHostName,
    ) -> HostKeyVerdict {
        let key = shown.public_key();
        let is = |known: &PublicKey| known.key_data() == key.key_data();
        if let Some(revoked) = self.revoked.iter().find(|known| is(&known.key)) {
            return HostKeyVerdict::Revoked(revoked.clone());
        }
        if let Some(certificate) = shown.certificate()
            && self.is_certified(certificate, name)
        {
            return HostKeyVerdict::Trusted;
        }
        if self.keys.iter().any(|known| is(&known.key)) || self.any_port_keys.iter().any(is) {
            return HostKeyVerdict::Trusted;
        }
        let same_kind = |known: &&KnownHostKey| known.key.algorithm() == key.algorithm();
        let other = self.keys.iter().find(same_kind).or(self.keys.first());
        other.map_or(HostKeyVerdict::Unknown, |known| {
            HostKeyVerdict::Changed(known.clone())
        })
    }

    fn is_certified(&self, certificate: &Certificate, name: &KnownHostName) -> bool {
        let signer = certificate.signature_key();
        let is_revoked = self.revoked.iter().any(|it| it.key.key_data() == signer);
        let trusted: Vec<_> = self
            .authorities
            .iter()
            .map(|key| key.fingerprint(HashAlg::Sha256))
            .collect();
        let now = u64::try_from(clock::now().as_second()).unwrap_or_default();
        let names = certificate.valid_principals();
        let is_named = names.is_empty()
            || names
                .iter()
                .any(|it| Glob::without_brackets(&it.to_lowercase()).matches(name.host()));
        !is_revoked
            && is_named
            && certificate.cert_type() == CertType::Host
            && certificate.critical_options().is_empty()
            && certificate.validate_at(now, &trusted).is_ok()
    }
}

/// Whether the files of a destination have a key for it, or an authority that may have signed its key.
pub fn has_known_key(destination: &Destination) -> bool {
    let address = &destination.address;
    let alias = destination.host_key_alias.as_deref();
    let name = KnownHostName::new(&address.host, address.port, alias);
    let files = KnownHostsFile::read_all(&destination.known_hosts);
    let known = KnownHostEntries::of(&files, &name);
    !(known.keys.is_empty() && known.any_port_keys.is_empty() && known.authorities.is_empty())
}

/// Adds a host key to a file, unless another process has already added a key of the host.
///
/// Returns the verdict on the key by the file as it is then.
///
/// Missing folders and files are created with access for the user only.
///
/// Fails if the name would not be one name in the file, such as an alias with a space or a line end.
pub(super) fn add_key(
    file: &Path,
    name: &KnownHostName,
    key: &PublicKey,
) -> std::io::Result<HostKeyVerdict> {
    if check_host_name(name.host()).is_err() {
        let why = format!("`{}` is not a host name", shown(name.host()));
        return Err(std::io::Error::new(ErrorKind::InvalidInput, why));
    }
    if let Some(folder) = file.parent().filter(|it| !it.as_os_str().is_empty()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    // Opening a named pipe must not block.
    options.custom_flags(nix::libc::O_NONBLOCK);
    let mut open = options.open(file)?;
    if !open.metadata()?.is_file() {
        return Err(std::io::Error::other("the path is not a regular file"));
    }
    open.lock()?;
    let text = read_text(&open)?;
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let known = KnownHostEntries::of(&[KnownHostsFile::new(file, text)], name);
    let bare = PublicKey::new(key.key_data().clone(), "");
    let verdict = known.verify(&bare.clone().into(), name);
    if verdict != HostKeyVerdict::Unknown {
        return Ok(verdict);
    }
    let line = bare.to_openssh().map_err(std::io::Error::other)?;
    // A single write at the end: a reader without the lock sees the whole line or nothing.
    open.write_all(format!("{gap}{} {line}\n", name.name).as_bytes())?;
    Ok(HostKeyVerdict::Trusted)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use super::*;

    const ONE: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
    const TWO: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN+Wjn4+4Fcvl2JlKpggT+wCRxpSvtqqpVrQrKN1/A22";

    fn key(text: &str) -> PublicKey {
        PublicKey::from_openssh(text).unwrap()
    }

    fn verdict(text: &str, (host, port): (&str, u16), shown: &str) -> String {
        let name = KnownHostName::new(host, port, None);
        let file = KnownHostsFile::new(Path::new("known"), text.to_owned());
        let known = KnownHostEntries::of(&[file], &name);
        match known.verify(&key(shown).into(), &name) {
            HostKeyVerdict::Changed(it) => format!("changed:{}", it.line),
            HostKeyVerdict::Revoked(it) => format!("revoked:{}", it.line),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_host_is_known_by_name_pattern_port_and_hash() {
        let web = ("web", 22);
        assert_eq!(verdict(&format!("db,WEB {ONE}"), web, ONE), "Trusted");
        assert_eq!(verdict(&format!("w* {ONE} me@here"), web, ONE), "Trusted");
        assert_eq!(verdict(&format!("w*,!web {ONE}"), web, ONE), "Unknown");
        assert_eq!(
            verdict(&format!("[web]:222 {ONE}"), ("web", 222), ONE),
            "Trusted"
        );
        assert_eq!(verdict(&format!("[web]:222 {ONE}"), web, ONE), "Unknown");
        // The hash has the form that `ssh-keygen -H` writes, but does not match `web`.
        let hashed = "|1|Ys6FpQ0O8nyBXlWvpzMCYbHq3iQ=|AAAA";
        assert_eq!(verdict(&format!("{hashed} {ONE}"), web, ONE), "Unknown");
    }

    #[test]
    fn another_key_is_a_change_and_a_revoked_one_is_reported() {
        let text = format!("# mine\n\nweb {ONE}\n@revoked * {TWO}\n");
        assert_eq!(verdict(&text, ("web", 22), TWO), "revoked:4");
        let text = format!("\nweb {ONE}\n");
        assert_eq!(verdict(&text, ("web", 22), TWO), "changed:2");
        // The entry has no port, so a different key on another port does not count as changed.
        assert_eq!(verdict(&text, ("web", 222), TWO), "Unknown");
        assert_eq!(verdict(&text, ("web", 222), ONE), "Trusted");
        assert_eq!(
            verdict("web nonsense\n@x\n|1|", ("web", 22), TWO),
            "Unknown"
        );
    }

    #[test]
    fn a_new_key_is_added_once_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ssh/known_hosts");
        let name = KnownHostName::new("web", 222, None);
        add_key(&file, &name, &key(ONE)).unwrap();
        add_key(&file, &name, &key(ONE)).unwrap();
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            format!("[web]:222 {ONE}\n")
        );
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().unwrap()), 0o700);
    }

    #[test]
    fn a_name_with_a_line_end_or_a_pattern_is_not_added() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("known_hosts");
        for alias in ["a\nb", "a b", "*", "a,b", "@revoked", "|1|x", "#"] {
            let name = KnownHostName::new("web", 22, Some(alias));
            assert!(add_key(&file, &name, &key(ONE)).is_err(), "{alias:?}");
        }
        assert!(!file.exists());
    }
}
