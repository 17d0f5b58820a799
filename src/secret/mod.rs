//! Keys for digests of secrets, known only to the team of an ensemble.
//!
//! Records contain only a keyed digest of a secret, so that a change is detected and nothing is revealed. A
//! [`Keyring`] takes the key from the vault password, or from a file that is never committed. Other sources
//! of keys, such as user identities, can be added.

mod error;
mod key;
mod keyring;
mod vault;

pub use error::Error;
pub use key::DigestKey;
pub use keyring::Keyring;
pub use vault::encrypt_for_vault;
