//! The algorithms of a connection, as `HostKeyAlgorithms`, `KexAlgorithms`, `Ciphers` and `MACs` choose them.
//!
//! Old algorithms are off by default, and on if the user's configuration names them.
//!
//! `ssh-rsa` signs with SHA-1, for which forgeries are affordable. Only the user's configuration
//! turns it on.

use std::borrow::Cow;
use std::sync::LazyLock;

use russh::keys::Algorithm;
use russh::{AlgorithmKind, Preferred, cipher, kex, mac};

use crate::host::AlgorithmSettings;
use crate::host::ssh_config::{has_own_order, select_algorithms};

/// The name of RSA keys that sign with SHA-1.
pub(super) const SHA1_NAME: &str = "ssh-rsa";
/// The end of the names of host certificates.
const CERTIFICATE_ENDING: &str = "-cert-v01@openssh.com";

/// The accepted host key algorithms, the preferred one first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostKeyAlgorithms {
    pub(super) keys: Vec<Algorithm>,
    /// The algorithms of the keys in host certificates.
    pub(super) certificates: Vec<Algorithm>,
    /// Whether the user decided the order.
    pub(super) is_ordered: bool,
}

/// An algorithm with its name in `ssh_config`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedAlgorithm {
    name: String,
    algorithm: Algorithm,
    is_certificate: bool,
}

impl HostKeyAlgorithms {
    /// Applies the value of `HostKeyAlgorithms` to the defaults.
    ///
    /// As in OpenSSH, `+` adds to the defaults, `-` removes, `^` puts to the front, and a list
    /// without a sign replaces the defaults. Algorithms that are not supported are left out.
    pub(super) fn choose(setting: Option<&str>) -> Self {
        static DEFAULT: LazyLock<HostKeyAlgorithms> = LazyLock::new(|| HostKeyAlgorithms::of(None));
        match setting {
            // Most of many hosts have no setting.
            None => DEFAULT.clone(),
            setting => Self::of(setting),
        }
    }

    fn of(setting: Option<&str>) -> Self {
        let all = supported();
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        let is_safe = |it: &&NamedAlgorithm| it.algorithm != Algorithm::Rsa { hash: None };
        let defaults = all.iter().filter(is_safe).map(|it| it.name.as_str());
        let defaults: Vec<&str> = defaults.collect();
        let chosen = select_algorithms(setting, &names, &defaults);
        let find = |name: &&str| all.iter().find(|it| it.name == **name);
        let chosen: Vec<&NamedAlgorithm> = chosen.iter().filter_map(find).collect();
        let kind = |is_certificate: bool| {
            let own = chosen
                .iter()
                .filter(|it| it.is_certificate == is_certificate);
            own.map(|it| it.algorithm.clone()).collect()
        };
        Self {
            keys: kind(false),
            certificates: kind(true),
            is_ordered: has_own_order(setting),
        }
    }

    /// Whether signatures with SHA-1 are accepted.
    pub(super) fn accepts_sha1(&self) -> bool {
        self.keys.contains(&Algorithm::Rsa { hash: None })
    }
}

/// Applies the settings for key exchange, ciphers and MACs.
///
/// # Errors
///
/// A setting leaves no algorithm. The message names the setting and the algorithms that can be chosen.
pub(super) fn apply(settings: &AlgorithmSettings, preferred: &mut Preferred) -> Result<(), String> {
    if let Some(setting) = &settings.kex {
        let all = kex::ALL_KEX_ALGORITHMS.iter().map(|name| **name);
        let is_extension = |name: &kex::Name| is_kex_extension(name.as_ref());
        let usual = preferred.kex.to_vec();
        let (extensions, usual): (Vec<_>, Vec<_>) = usual.into_iter().partition(is_extension);
        let mut chosen = choose("KexAlgorithms", setting, all, &usual)?;
        chosen.extend(extensions);
        preferred.kex = Cow::Owned(chosen);
    }
    if let Some(setting) = &settings.ciphers {
        let all = cipher::ALL_CIPHERS.iter().map(|name| **name);
        let chosen = choose("Ciphers", setting, all, &preferred.cipher)?;
        preferred.cipher = Cow::Owned(chosen);
    }
    if let Some(setting) = &settings.macs {
        let all = mac::ALL_MAC_ALGORITHMS.iter().map(|name| **name);
        let chosen = choose("MACs", setting, all, &preferred.mac)?;
        preferred.mac = Cow::Owned(chosen);
    }
    Ok(())
}

/// Returns true if the name stands for an extension of the protocol, not for a key exchange.
fn is_kex_extension(name: &str) -> bool {
    name.starts_with("ext-info-") || name.starts_with("kex-strict-")
}

fn choose<N: Copy + AsRef<str>>(
    option: &str,
    setting: &str,
    all: impl Iterator<Item = N>,
    usual: &[N],
) -> Result<Vec<N>, String> {
    // These names encrypt or authenticate nothing.
    let all: Vec<N> = all
        .filter(|it| !["none", "clear"].contains(&it.as_ref()))
        .collect();
    let names: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    let defaults: Vec<&str> = usual.iter().map(AsRef::as_ref).collect();
    let chosen = select_algorithms(Some(setting), &names, &defaults);
    if chosen.is_empty() {
        let known = names.join(", ");
        return Err(format!(
            "`{option} {setting}` of ssh_config names none of the algorithms that are available here: {known}"
        ));
    }
    let find = |name: &&str| all.iter().find(|it| *it.as_ref() == **name).copied();
    Ok(chosen.iter().filter_map(find).collect())
}

/// Returns the setting that turns on an algorithm that a host offers, if there is one that is off by default.
pub(super) fn setting_for(kind: &AlgorithmKind, theirs: &[String]) -> Option<String> {
    let (option, known): (&str, Vec<&str>) = match kind {
        AlgorithmKind::Kex => {
            let all = kex::ALL_KEX_ALGORITHMS.iter();
            ("KexAlgorithms", all.map(AsRef::as_ref).collect())
        }
        AlgorithmKind::Cipher => {
            let all = cipher::ALL_CIPHERS.iter();
            ("Ciphers", all.map(AsRef::as_ref).collect())
        }
        AlgorithmKind::Mac => {
            let all = mac::ALL_MAC_ALGORITHMS.iter();
            ("MACs", all.map(AsRef::as_ref).collect())
        }
        AlgorithmKind::Key | AlgorithmKind::Compression => return None,
    };
    let is_usable = |name: &&String| name.as_str() != "none" && known.contains(&name.as_str());
    let found = theirs.iter().find(is_usable)?;
    Some(format!("{option} +{found}"))
}

fn supported() -> Vec<NamedAlgorithm> {
    let keys = Preferred::DEFAULT.key;
    let named = |is_certificate: bool| {
        keys.iter().map(move |algorithm| {
            let ending = if is_certificate {
                CERTIFICATE_ENDING
            } else {
                ""
            };
            NamedAlgorithm {
                name: format!("{}{ending}", algorithm.as_str()),
                algorithm: algorithm.clone(),
                is_certificate,
            }
        })
    };
    named(false).chain(named(true)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(setting: Option<&str>) -> String {
        let chosen = HostKeyAlgorithms::choose(setting);
        let names: Vec<&str> = chosen.keys.iter().map(Algorithm::as_str).collect();
        format!("{} / {}", names.join(" "), chosen.certificates.len())
    }

    #[test]
    fn sha1_is_accepted_only_if_the_user_asks() {
        insta::assert_snapshot!(keys(None), @"ssh-ed25519 ecdsa-sha2-nistp256 ecdsa-sha2-nistp384 ecdsa-sha2-nistp521 rsa-sha2-512 rsa-sha2-256 / 6");
        insta::assert_snapshot!(keys(Some("+ssh-rsa")), @"ssh-ed25519 ecdsa-sha2-nistp256 ecdsa-sha2-nistp384 ecdsa-sha2-nistp521 rsa-sha2-512 rsa-sha2-256 ssh-rsa / 6");
        insta::assert_snapshot!(keys(Some("ssh-rsa,x")), @"ssh-rsa / 0");
        insta::assert_snapshot!(keys(Some("-ecdsa-*")), @"ssh-ed25519 rsa-sha2-512 rsa-sha2-256 / 3");
        insta::assert_snapshot!(keys(Some("^rsa-sha2-256")), @"rsa-sha2-256 ssh-ed25519 ecdsa-sha2-nistp256 ecdsa-sha2-nistp384 ecdsa-sha2-nistp521 rsa-sha2-512 / 6");
        insta::assert_snapshot!(keys(Some("")), @" / 0");
        assert!(HostKeyAlgorithms::choose(Some("+ssh-rsa")).accepts_sha1());
        assert!(!HostKeyAlgorithms::choose(Some("^rsa-*")).accepts_sha1());
    }
}
