//! A world in which nothing is and nothing happens.

use std::path::{Path, PathBuf};

use unfurl::diagnostic::Sources;
use unfurl::expr::{Place, World};
use unfurl::value::Value;
use unfurl::yaml::{Limits, emit, parse};

/// No files, no programs; it is always 1970 there.
#[derive(Debug)]
pub struct Nowhere;

fn nothing<T>() -> Result<T, String> {
    Err("there is nothing".to_owned())
}

impl World for Nowhere {
    fn env(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home".to_owned())
    }

    fn env_all(&self) -> Vec<(String, String)> {
        vec![("HOME".to_owned(), "/home".to_owned())]
    }

    fn read(&self, _path: &Path) -> Result<Vec<u8>, String> {
        Ok(b"a: [1, 2]\n".to_vec())
    }

    fn exists(&self, path: &Path) -> bool {
        path.is_absolute()
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.ends_with("d")
    }

    fn list(&self, _path: &Path) -> Result<Vec<PathBuf>, String> {
        nothing()
    }

    fn write(&self, _path: &Path, _contents: &[u8], _sensitive: bool) -> Result<(), String> {
        Ok(())
    }

    fn make_dir(&self, _path: &Path) -> Result<(), String> {
        Ok(())
    }

    fn directory(&self, _place: &Place, location: &str, _create: bool) -> Result<PathBuf, String> {
        Ok(Path::new("/").join(location))
    }

    fn which(&self, _name: &str) -> Option<PathBuf> {
        None
    }

    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }

    fn parse_yaml(&self, text: &str) -> Result<Value, String> {
        let mut sources = Sources::default();
        let source = sources.add("text", text, None);
        match parse(&sources, source, &Limits::default()) {
            Ok(node) => Ok(node.to_value()),
            Err(problems) => Err(format!("{} problems", problems.len())),
        }
    }

    fn to_yaml(&self, value: &Value) -> Result<String, String> {
        Ok(emit(value, 0))
    }

    fn tree_digest(&self, _path: &Path) -> Option<String> {
        None
    }

    fn random(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}
