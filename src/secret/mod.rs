//! Encryption of values and files, and keys for digests of secrets, known only to the team of an ensemble.
//!
//! [`Keys`] open encrypted values and files; [`seal`] encrypts.
//!
//! Records contain only a keyed digest of a secret, so that a change is detected and nothing is revealed. A
//! [`Keyring`] takes the key from the vault password, or from a file that is never committed. Other sources
//! of keys, such as user identities, can be added.
//!
//! [`SecretBackends`] gets secrets that are stored elsewhere, such as in a password manager.

mod age;
mod backend;
mod derivation;
mod error;
mod folders;
mod key;
mod keyring;
mod keys;
mod passphrase;
mod tool_state;
mod transaction;
mod vault;

pub use age::{
    AGE_TAG, AgeError, AgeRecipient, Identities, POLICY_FILE, ReaderPolicy, RotationDebt,
    SealedValue, ValuePlace, check_age_form, check_reader_name, create_identity, encrypt_age,
    identity_file_of_user, is_age_text, plain_json,
};
pub use backend::{BackendContext, BackendError, SECRET_BACKEND_KEYS, SecretBackends};
pub use error::Error;
pub use folders::{SecretFileError, clear_of, newer_copy, payload_of, restore, save};
pub use key::{DigestKey, KeyName};
pub use keyring::Keyring;
pub use keys::{FileKeys, Keys, VaultSecret, is_encrypted, password_variable, vault_of_variable};
pub use passphrase::set_passphrase_prompt;
pub use tool_state::{SealedState, StateKeys, sealed_document};
pub use transaction::{FileChange, TransactionError, finish_interrupted, write_all_or_none};
pub use vault::{VaultText, check_vault_form, is_vault_text, seal, seal_with_salt, vault_id};
