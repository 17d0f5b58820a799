//! The traits through which expressions see this machine, and those who implement none of it.

mod context;
mod effects;
mod error;
mod null_scope;
mod null_world;

#[cfg(test)]
pub use context::json_as_yaml;
pub use context::{Clock, Env, LocalContext, Place, Random, ReadFiles, World, Yaml};
pub use effects::{Answer, Effect, Effects};
pub use error::{EffectError, ReadError, YamlError};
pub use null_scope::NullScope;
pub use null_world::{NullWorld, Still};
