//! Secrets that are encrypted with age: identities, recipients, files and values inside of YAML.
//!
//! A project names its readers in a [`ReaderPolicy`]. [`Identities`] open what is encrypted to one of them. A
//! [`SealedValue`] is one value of a YAML file, bound to its place and its readers.

mod cipher;
mod error;
mod identity;
mod keys;
mod plugin_callbacks;
mod policy;
mod recipient;
mod sealed;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test prepares its own files")]
mod tests;

pub use cipher::{check_age_form, encrypt_age, is_age_text};
pub use error::AgeError;
pub use identity::{Identities, create_identity, decrypt_age, identity_file_of_user};
pub use keys::AgeKeys;
pub use policy::{POLICY_FILE, ReaderPolicy, RotationDebt, check_reader_name};
pub use recipient::AgeRecipient;
pub use sealed::{AGE_TAG, SealedValue, ValuePlace, plain_json};
