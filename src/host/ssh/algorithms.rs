//! The host key algorithms of a connection, as `HostKeyAlgorithms` chooses them.
//!
//! `ssh-rsa` signs with SHA-1, for which forgeries are affordable. Only the user's configuration
//! turns it on.

use russh::Preferred;
use russh::keys::Algorithm;

use crate::text::Glob;

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
        let all = supported();
        let safe = |it: &&NamedAlgorithm| it.algorithm != Algorithm::Rsa { hash: None };
        let defaults: Vec<NamedAlgorithm> = all.iter().filter(safe).cloned().collect();
        let matching = |list: &str| {
            let patterns: Vec<Glob> = list.split(',').map(Glob::without_brackets).collect();
            let mut found: Vec<NamedAlgorithm> = Vec::new();
            for pattern in &patterns {
                let new = all.iter().filter(|it| pattern.matches(&it.name));
                for algorithm in new {
                    if !found.contains(algorithm) {
                        found.push(algorithm.clone());
                    }
                }
            }
            found
        };
        let without = |list: &[NamedAlgorithm]| {
            let rest = defaults.iter().filter(|it| !list.contains(it));
            rest.cloned().collect::<Vec<_>>()
        };
        let setting = setting.unwrap_or("+");
        let (chosen, is_ordered) = match setting.split_at_checked(1) {
            Some(("+", list)) => {
                let added = matching(list).into_iter();
                let new = added
                    .filter(|it| !defaults.contains(it))
                    .collect::<Vec<_>>();
                (defaults.iter().cloned().chain(new).collect(), false)
            }
            Some(("-", list)) => (without(&matching(list)), false),
            Some(("^", list)) => {
                let first = matching(list);
                let rest = without(&first);
                (first.into_iter().chain(rest).collect(), true)
            }
            _ => (matching(setting), true),
        };
        let of = |is_certificate: bool| {
            let own = chosen
                .iter()
                .filter(|it: &&NamedAlgorithm| it.is_certificate == is_certificate);
            own.map(|it| it.algorithm.clone()).collect()
        };
        Self {
            keys: of(false),
            certificates: of(true),
            is_ordered,
        }
    }

    /// Whether signatures with SHA-1 are accepted.
    pub(super) fn accepts_sha1(&self) -> bool {
        self.keys.contains(&Algorithm::Rsa { hash: None })
    }
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
