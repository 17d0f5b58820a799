//! The answers to plugins of age, which are programs that ask for passphrases.

use age::Callbacks;
use age::secrecy::SecretString;

use crate::secret::passphrase::passphrase_of;
use crate::system::console::{self, StandardStream};

/// The answers to a plugin: passphrases only. Messages go to the error output.
#[derive(Debug, Clone, Copy)]
pub(super) struct PluginCallbacks;

impl Callbacks for PluginCallbacks {
    fn display_message(&self, message: &str) {
        console::write(StandardStream::Stderr, &format!("{message}\n")).ok();
    }

    fn confirm(&self, _: &str, _: &str, _: Option<&str>) -> Option<bool> {
        None
    }

    fn request_public_string(&self, _: &str) -> Option<String> {
        None
    }

    fn request_passphrase(&self, description: &str) -> Option<SecretString> {
        let text = passphrase_of(&format!("the plugin ({description})"))?;
        Some(SecretString::from((*text).clone()))
    }
}
