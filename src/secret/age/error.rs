//! The errors of age: keys, files and values that cannot be used.

use std::path::PathBuf;

/// The reason why something cannot be encrypted or decrypted with age.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgeError {
    /// No identity file exists in any of the known places.
    #[error("no age identity was found")]
    NoIdentity,
    /// A file with identities that cannot be read.
    #[error("the identity file `{}` cannot be used: {reason}", path.display())]
    IdentityFile { path: PathBuf, reason: String },
    /// None of the identities opens the text.
    #[error("none of the {count} identities opens it (readers: {readers})")]
    NotAReader {
        /// The number of identities that were tried.
        count: usize,
        /// The names of the readers, as far as they are known.
        readers: String,
    },
    /// A passphrase that nobody can be asked for.
    #[error("{subject} needs a passphrase, and there is no terminal to ask on")]
    NoPassphrase { subject: String },
    /// A passphrase that is wrong.
    #[error("the passphrase of {subject} is wrong")]
    WrongPassphrase { subject: String },
    /// A text that is not age, or that was changed.
    #[error("the encrypted text is damaged: {reason}")]
    Damaged { reason: String },
    /// A value that was moved to another place, or whose header was changed.
    #[error("{reason}")]
    Misplaced { reason: String },
    /// A text that is no recipient.
    #[error("`{text}` is not a recipient of age: {reason}")]
    Recipient { text: String, reason: String },
    /// A plugin that may not or cannot run.
    #[error("the plugin `age-plugin-{name}` {reason}")]
    Plugin { name: String, reason: String },
    /// A policy file that cannot be used.
    #[error("`{}` {reason}", path.display())]
    Policy { path: PathBuf, reason: String },
    /// The system has no random bytes, or writes failed in memory.
    #[error("the text cannot be encrypted: {reason}")]
    Encrypt { reason: String },
}

impl AgeError {
    /// Returns a hint about what to do.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::NoIdentity => {
                "name the file with your identity in the variable UNFURL_AGE_IDENTITIES, or put it into \
                 `~/.config/unfurl/age-identity.txt`"
            }
            Self::IdentityFile { .. } => {
                "name files with age identities or SSH keys in UNFURL_AGE_IDENTITIES, separated by `:`"
            }
            Self::NotAReader { .. } => {
                "ask a reader to run `unfurl secret rekey --add-reader NAME=RECIPIENT`, or name another identity \
                 file in UNFURL_AGE_IDENTITIES"
            }
            Self::NoPassphrase { .. } | Self::WrongPassphrase { .. } => {
                "set the variable UNFURL_AGE_PASSPHRASE, or run the command on a terminal"
            }
            Self::Damaged { .. } => {
                "take the value from an earlier commit, or set it again with `unfurl secret set`"
            }
            Self::Misplaced { .. } => {
                "a value belongs to its place: set it with `unfurl secret set`, or take it from an earlier commit"
            }
            Self::Recipient { .. } => "give a recipient as `age1…`, `ssh-ed25519 …` or `ssh-rsa …`",
            Self::Plugin { .. } => {
                "install the plugin, and name it in an identity file of your own"
            }
            Self::Policy { .. } => "correct the file, or take it from an earlier commit",
            Self::Encrypt { .. } => return None,
        };
        Some(help.to_owned())
    }
}
