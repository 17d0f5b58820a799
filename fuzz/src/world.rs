//! An environment without files, programs and state, so that fuzzed expressions have no effect on the
//! machine.

use std::path::{Path, PathBuf};

use unfurl::testing::diagnostic::Sources;
use unfurl::testing::expr::{
    Clock, DirectoryOwner, Effect, EffectError, EffectOutput, Effects, Random, RandomError,
    ReadEnvironment, ReadError, ReadFiles, Yaml, YamlError,
};
use unfurl::testing::value::{Map, Value};
use unfurl::testing::yaml::{Limits, emit, parse};

/// An environment without files and programs. The time is always 1970.
#[derive(Debug)]
pub struct EmptyEnvironment;

impl ReadEnvironment for EmptyEnvironment {
    fn env(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home".to_owned())
    }

    fn env_all(&self) -> Vec<(String, String)> {
        vec![("HOME".to_owned(), "/home".to_owned())]
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

impl ReadFiles for EmptyEnvironment {
    fn check_read(&self, _path: &Path) -> Result<(), ReadError> {
        Ok(())
    }

    fn read(&self, _path: &Path) -> Result<Vec<u8>, ReadError> {
        Ok(b"a: [1, 2]\n".to_vec())
    }

    fn exists(&self, path: &Path) -> bool {
        path.is_absolute()
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.ends_with("d")
    }

    fn is_link(&self, _path: &Path) -> bool {
        false
    }

    fn is_mount(&self, _path: &Path) -> bool {
        false
    }

    fn list(&self, _path: &Path) -> Result<Vec<PathBuf>, ReadError> {
        Err(ReadError::Refused("there is nothing"))
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn which(&self, _name: &str) -> Option<PathBuf> {
        None
    }

    fn directory(&self, _place: &DirectoryOwner, location: &str) -> Result<PathBuf, ReadError> {
        Ok(Path::new("/").join(location))
    }

    fn tree_digest(&self, _path: &Path) -> Option<String> {
        None
    }

    fn content_digest(&self, _path: &Path) -> Option<String> {
        None
    }
}

impl Effects for EmptyEnvironment {
    fn perform(&self, effect: &Effect) -> Result<EffectOutput, EffectError> {
        match effect {
            Effect::Run { .. } | Effect::Fetch { .. } => {
                Err(EffectError::Refused("programs cannot be run here"))
            }
            Effect::WriteFile { .. } | Effect::MakeDir { .. } => Ok(EffectOutput::default()),
        }
    }

    fn check(&self, effect: &Effect) -> Result<(), EffectError> {
        self.perform(effect).map(drop)
    }
}

impl Clock for EmptyEnvironment {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
}

impl Random for EmptyEnvironment {
    fn random(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        bytes.fill(7);
        Ok(())
    }
}

impl Yaml for EmptyEnvironment {
    fn parse_yaml(&self, text: &str) -> Result<Value, YamlError> {
        let mut sources = Sources::default();
        let source = sources.add("text", text, None);
        match parse(&sources, source, &Limits::default()) {
            Ok(node) => Ok(node.to_value()),
            Err(problems) => Err(YamlError(format!("{} problems", problems.len()))),
        }
    }

    fn to_yaml(&self, value: &Value) -> Result<String, YamlError> {
        Ok(emit(value, 0))
    }
}
