//! Secrets that live elsewhere: in environment variables, in files, behind programs and in `HashiCorp` Vault.
//!
//! Each place is a [`contract::Backend`]. [`SecretBackends`] holds those of an environment, and keeps what they gave in
//! memory until the job ends.

mod command;
mod contract;
mod error;
mod file;
mod hashicorp;
mod keys;
mod name;
mod settings;
mod store;
mod variable;

pub use contract::BackendContext;
pub use error::BackendError;
pub use keys::SECRET_BACKEND_KEYS;
pub use store::SecretBackends;
