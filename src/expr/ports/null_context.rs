//! A null implementation of the machine: it refuses every read and every effect with a message. Sandboxed
//! evaluations and tests use it.

use std::path::{Path, PathBuf};

use crate::expr::effect::{Effect, EffectOutput};
use crate::value::{Map, Value};

use super::effects::Effects;
use super::error::{EffectError, RandomError, ReadError, YamlError};
use super::system::{
    Clock, DirectoryOwner, Random, ReadEnvironment, ReadFiles, Yaml, json_as_yaml,
};

/// A machine on which every read and effect is refused. Time, randomness and YAML come from `sources`.
#[derive(Debug, Clone)]
pub struct NullContext<R> {
    refusal: &'static str,
    sources: R,
}

impl<R> NullContext<R> {
    /// Creates a null machine. `refusal` is the message for every refused read and effect; `rest` supplies
    /// the time, random bytes and YAML.
    pub fn new(refusal: &'static str, sources: R) -> Self {
        Self { refusal, sources }
    }

    fn refuse<T>(&self) -> Result<T, ReadError> {
        Err(ReadError::Refused(self.refusal))
    }
}

impl<R> ReadFiles for NullContext<R> {
    fn check_read(&self, _path: &Path) -> Result<(), ReadError> {
        Ok(())
    }

    fn read(&self, _path: &Path) -> Result<Vec<u8>, ReadError> {
        self.refuse()
    }

    fn exists(&self, _path: &Path) -> bool {
        false
    }

    fn is_dir(&self, _path: &Path) -> bool {
        false
    }

    fn is_link(&self, _path: &Path) -> bool {
        false
    }

    fn is_mount(&self, _path: &Path) -> bool {
        false
    }

    fn list(&self, _path: &Path) -> Result<Vec<PathBuf>, ReadError> {
        self.refuse()
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn which(&self, _name: &str) -> Option<PathBuf> {
        None
    }

    fn directory(&self, _place: &DirectoryOwner, _location: &str) -> Result<PathBuf, ReadError> {
        self.refuse()
    }

    fn tree_digest(&self, _path: &Path) -> Option<String> {
        None
    }

    fn content_digest(&self, _path: &Path) -> Option<String> {
        None
    }
}

impl<R> ReadEnvironment for NullContext<R> {
    fn env(&self, _name: &str) -> Option<String> {
        None
    }

    fn env_all(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn context_value(&self, _section: &str, _name: &str) -> Option<Value> {
        None
    }

    fn metadata(&self) -> Map {
        Map::new()
    }

    fn permits(&self, _name: &str) -> bool {
        false
    }

    fn temp_dir(&self) -> PathBuf {
        PathBuf::from("/tmp")
    }
}

impl<R> Effects for NullContext<R> {
    fn perform(&self, effect: &Effect) -> Result<EffectOutput, EffectError> {
        Err(EffectError::Refused(match effect {
            Effect::Run { .. } | Effect::Fetch { .. } => "expressions here cannot run programs",
            Effect::WriteFile { .. } | Effect::MakeDir { .. } => self.refusal,
        }))
    }

    fn check(&self, effect: &Effect) -> Result<(), EffectError> {
        self.perform(effect).map(drop)
    }
}

impl<R: Clock> Clock for NullContext<R> {
    fn now(&self) -> jiff::Timestamp {
        self.sources.now()
    }
}

impl<R: Random> Random for NullContext<R> {
    fn random(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        self.sources.random(bytes)
    }
}

impl<R: Yaml> Yaml for NullContext<R> {
    fn parse_yaml(&self, text: &str) -> Result<Value, YamlError> {
        self.sources.parse_yaml(text)
    }

    fn to_yaml(&self, value: &Value) -> Result<String, YamlError> {
        self.sources.to_yaml(value)
    }
}

/// Deterministic sources: a clock at 1970, random bytes that are zero, and the given YAML parser.
#[derive(Debug, Clone, Copy)]
pub struct FixedSources(pub fn(&str) -> Result<Value, YamlError>);

impl Clock for FixedSources {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
}

impl Random for FixedSources {
    fn random(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        bytes.fill(0);
        Ok(())
    }
}

impl Yaml for FixedSources {
    fn parse_yaml(&self, text: &str) -> Result<Value, YamlError> {
        (self.0)(text)
    }

    fn to_yaml(&self, value: &Value) -> Result<String, YamlError> {
        json_as_yaml(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_world_refuses_with_its_message() {
        let system = NullContext::new(
            "no machine",
            FixedSources(|_| Err(YamlError("no YAML".into()))),
        );
        let path = Path::new("/etc/hosts");
        let reads = [
            system.read(path).map(|_| ()),
            system.list(path).map(|_| ()),
            system
                .directory(&DirectoryOwner::default(), "src")
                .map(|_| ()),
        ];
        for read in reads {
            assert_eq!(read.unwrap_err().to_string(), "no machine");
        }
        let make = Effect::MakeDir { path: path.into() };
        let url = "http://example.com".to_owned();
        let effects = [
            (make, "no machine"),
            (
                Effect::Fetch { url },
                "expressions here cannot run programs",
            ),
        ];
        for (effect, refusal) in effects {
            assert_eq!(system.perform(&effect).unwrap_err().to_string(), refusal);
        }
        assert!(!system.exists(path) && !system.permits("pipe"));
        assert_eq!(system.parse_yaml("a").unwrap_err().to_string(), "no YAML");
    }
}
