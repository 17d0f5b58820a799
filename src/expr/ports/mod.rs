//! The traits through which expressions see this machine, and those who implement none of it.

mod clock;
mod effects;
mod env;
mod error;
mod null_scope;
mod null_world;
mod random;
mod read_files;
mod world;
mod yaml;

pub use clock::Clock;
pub use effects::{Answer, Effect, Effects};
pub use env::Env;
pub use error::{EffectError, ReadError, YamlError};
pub use null_scope::NullScope;
pub use null_world::{NullWorld, Still};
pub use random::Random;
pub use read_files::{Place, ReadFiles};
pub use world::{LocalContext, World};
pub use yaml::Yaml;
#[cfg(test)]
pub use yaml::json_as_yaml;
