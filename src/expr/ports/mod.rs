//! The ports of the module `expr`: traits through which expressions access this machine, and null
//! implementations of them. The module `session` implements the traits for the real machine.

mod effects;
mod error;
mod null_context;
mod null_scope;
mod secrets;
mod system;

pub use effects::Effects;
pub use error::{EffectError, RandomError, ReadError, YamlError};
pub use null_context::{FixedSources, NullContext};
pub use null_scope::NullScope;
pub use secrets::{SECRETS_PERMISSION, SecretError, SecretRequest, VaultPassword};
#[cfg(test)]
pub use system::json_as_yaml;
pub use system::{
    Clock, DirectoryOwner, FileContent, LocalContext, Random, ReadEnvironment, ReadFiles,
    SystemContext, Yaml,
};
