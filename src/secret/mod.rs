//! Keys that only the people of an ensemble have.
//!
//! Records say of secrets no more than a keyed digest, so that a secret that was changed is
//! noticed and nothing is revealed. A [`Keyring`] finds the key: in the vault password, else in
//! a file that no repository takes in. Identities of other kinds are further sources of keys.

mod error;
mod key;
mod keyring;

pub use error::Error;
pub use key::DigestKey;
pub use keyring::Keyring;
