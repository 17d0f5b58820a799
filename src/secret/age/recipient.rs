//! Recipients of age: public keys to which secrets are encrypted.

use std::str::FromStr;

use age::{plugin, ssh, x25519};

use super::error::AgeError;
use super::plugin_callbacks::PluginCallbacks;

/// A public key to which secrets are encrypted.
#[derive(Clone)]
pub struct AgeRecipient {
    key: RecipientKey,
    /// The canonical text of the key, without a comment.
    text: String,
}

#[derive(Clone)]
enum RecipientKey {
    X25519(x25519::Recipient),
    Ssh(ssh::Recipient),
    Plugin(plugin::Recipient),
}

impl std::fmt::Debug for AgeRecipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AgeRecipient").field(&self.text).finish()
    }
}

impl PartialEq for AgeRecipient {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl FromStr for AgeRecipient {
    type Err = AgeError;

    fn from_str(text: &str) -> Result<Self, AgeError> {
        let text = text.trim();
        let refuse = |reason: &str| AgeError::Recipient {
            text: shortened(text),
            reason: reason.to_owned(),
        };
        if text.to_ascii_uppercase().starts_with("AGE-SECRET-KEY-") {
            return Err(AgeError::Recipient {
                text: "AGE-SECRET-KEY-…".to_owned(),
                reason: "this is a secret identity; give its public key".to_owned(),
            });
        }
        if let Ok(key) = text.parse::<x25519::Recipient>() {
            return Ok(Self {
                text: key.to_string(),
                key: RecipientKey::X25519(key),
            });
        }
        if text.starts_with("ssh-") || text.starts_with("ecdsa-") {
            return match text.parse::<ssh::Recipient>() {
                Ok(key) => Ok(Self {
                    text: key.to_string(),
                    key: RecipientKey::Ssh(key),
                }),
                Err(error) => Err(refuse(ssh_reason(&error))),
            };
        }
        match text.parse::<plugin::Recipient>() {
            Ok(key) => Ok(Self {
                text: key.to_string(),
                key: RecipientKey::Plugin(key),
            }),
            Err(_) => Err(refuse("a character or the checksum is wrong")),
        }
    }
}

impl From<x25519::Recipient> for AgeRecipient {
    fn from(key: x25519::Recipient) -> Self {
        Self {
            text: key.to_string(),
            key: RecipientKey::X25519(key),
        }
    }
}

impl AgeRecipient {
    /// Returns the canonical text of the key.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the name of the plugin that encrypts for the key.
    pub fn plugin(&self) -> Option<&str> {
        match &self.key {
            RecipientKey::Plugin(key) => Some(key.plugin()),
            _ => None,
        }
    }

    /// Returns the key in the form that the age library uses. A plugin is looked up on the search path.
    pub(super) fn encryptor(&self) -> Result<Box<dyn age::Recipient>, AgeError> {
        Ok(match &self.key {
            RecipientKey::X25519(key) => Box::new(key.clone()),
            RecipientKey::Ssh(key) => Box::new(key.clone()),
            RecipientKey::Plugin(key) => {
                let name = key.plugin();
                let made = plugin::RecipientPluginV1::new(
                    name,
                    std::slice::from_ref(key),
                    &[],
                    PluginCallbacks,
                );
                Box::new(made.map_err(|_| AgeError::Plugin {
                    name: name.to_owned(),
                    reason: "was not found on the search path".to_owned(),
                })?)
            }
        })
    }
}

fn ssh_reason(error: &ssh::ParseRecipientKeyError) -> &'static str {
    match error {
        ssh::ParseRecipientKeyError::RsaModulusTooLarge => "the RSA key has more than 4096 bits",
        ssh::ParseRecipientKeyError::RsaModulusTooSmall => "the RSA key has fewer than 2048 bits",
        ssh::ParseRecipientKeyError::Unsupported(_) => {
            "age supports SSH keys of the types ed25519 and rsa only"
        }
        _ => "the text is not a public SSH key",
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.escape_debug().to_string().replace("\\u{2026}", "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN";

    #[test]
    fn recipients_have_one_canonical_text() {
        let key = x25519::Identity::generate().to_public().to_string();
        let padded = format!("  {key}\n");
        assert_eq!(padded.parse::<AgeRecipient>().unwrap().text(), key);
        let with_comment = format!("{ED25519} ann@example");
        let key: AgeRecipient = with_comment.parse().unwrap();
        assert_eq!(key.text(), ED25519);
        assert_eq!(key.plugin(), None);
    }

    #[test]
    fn other_texts_are_refused_and_secret_keys_are_not_quoted() {
        for text in [
            "",
            "age1",
            "ann",
            "ssh-dss AAAA",
            "ssh-ed25519 AAAA",
            "age1äöü",
        ] {
            let error = text.parse::<AgeRecipient>().unwrap_err();
            assert!(error.help().is_some(), "{error}");
        }
        let secret = "AGE-SECRET-KEY-1QQPQYQ";
        let error = secret.parse::<AgeRecipient>().unwrap_err().to_string();
        assert!(!error.contains("QQPQYQ"), "{error}");
    }
}
