//! The traits through which expressions see this machine, and those who implement none of it.

mod system;
mod effects;
mod error;
mod null_scope;
mod null_context;

#[cfg(test)]
pub use system::json_as_yaml;
pub use system::{Clock, ReadEnvironment, LocalContext, DirectoryOwner, Random, ReadFiles, SystemContext, Yaml};
pub use effects::{EffectOutput, Effect, Effects};
pub use error::{EffectError, ReadError, YamlError};
pub use null_scope::NullScope;
pub use null_context::{NullContext, FixedSources};
