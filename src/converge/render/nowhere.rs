//! What templates of state files see of this machine: nothing.

use std::path::{Path, PathBuf};

use crate::diagnostic::Sources;
use crate::expr::{Place, World};
use crate::value::Value;
use crate::yaml::{Limits, Node, Schema, parse_as};

/// No machine.
pub(super) struct Nowhere;

const NOTHING: &str = "state files read the machine they are for, with `salt[…]`";

impl World for Nowhere {
    fn env(&self, _name: &str) -> Option<String> {
        None
    }

    fn env_all(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn read(&self, _path: &Path) -> Result<Vec<u8>, String> {
        Err(NOTHING.to_owned())
    }

    fn exists(&self, _path: &Path) -> bool {
        false
    }

    fn is_dir(&self, _path: &Path) -> bool {
        false
    }

    fn list(&self, _path: &Path) -> Result<Vec<PathBuf>, String> {
        Err(NOTHING.to_owned())
    }

    fn write(&self, _path: &Path, _contents: &[u8], _sensitive: bool) -> Result<(), String> {
        Err(NOTHING.to_owned())
    }

    fn make_dir(&self, _path: &Path) -> Result<(), String> {
        Err(NOTHING.to_owned())
    }

    fn directory(&self, _place: &Place, _location: &str, _create: bool) -> Result<PathBuf, String> {
        Err(NOTHING.to_owned())
    }

    fn which(&self, _name: &str) -> Option<PathBuf> {
        None
    }

    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }

    fn parse_yaml(&self, text: &str) -> Result<Value, String> {
        parse_yaml(text)
    }

    fn tree_digest(&self, _path: &Path) -> Option<String> {
        None
    }

    fn random(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

/// What a YAML text holds, as Salt reads it.
pub(super) fn parse_yaml(text: &str) -> Result<Value, String> {
    let mut sources = Sources::default();
    let source = sources.add("", text, None);
    let root = parse_as(Schema::Salt, &sources, source, &Limits::default());
    let root = root.map_err(|problems| {
        let first = problems.iter().next();
        first.map_or_else(String::new, |problem| problem.message.clone())
    })?;
    Ok(Node::to_value(&root))
}
