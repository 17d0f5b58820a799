//! The policy file of a project: its readers, and the values that removed readers could read.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use sha2::{Digest as _, Sha256};

use super::error::AgeError;
use super::identity::Identities;
use super::recipient::AgeRecipient;
use crate::system::env::Env;
use crate::system::fs;
use crate::value::{Value, hex};
use crate::yaml::{self, Node, Patch, Route, Schema};

/// The name of the policy file, in the folder of the project.
pub const POLICY_FILE: &str = "secret-readers.yaml";
/// The maximum size of a policy file, in bytes.
const MAX_POLICY_BYTES: u64 = 16 << 20;
/// The variable with the names of plugins that may encrypt, separated by `:`.
const PLUGINS_VARIABLE: &str = "UNFURL_AGE_PLUGINS";

/// The readers of a project's secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct ReaderPolicy {
    pub path: PathBuf,
    /// The id of the project, to which values are bound.
    pub id: String,
    /// The readers by name.
    pub readers: IndexMap<String, AgeRecipient>,
    /// The values that a removed reader could read, until they change.
    pub rotate: Vec<RotationDebt>,
    text: String,
}

/// A value that a removed reader could read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationDebt {
    /// The file, relative to the project.
    pub file: String,
    /// The path of the value in the file; empty for a whole file.
    pub name: String,
    pub reader: String,
    /// The day on which the reader was removed.
    pub date: String,
}

impl ReaderPolicy {
    /// Creates the policy of a new project.
    pub fn new(folder: &Path, id: &str, readers: IndexMap<String, AgeRecipient>) -> Self {
        let listed = readers.iter();
        let listed = listed.map(|(name, key)| (name.as_str(), Value::from(key.text())));
        let text = format!(
            "# The readers of this project's secrets. Change them with `unfurl secret rekey`.\nid: {id}\nreaders:\n"
        ) + &yaml::emit(&Value::map(listed), 2);
        Self {
            path: folder.join(POLICY_FILE),
            id: id.to_owned(),
            readers,
            rotate: Vec::new(),
            text,
        }
    }

    /// Reads the policy of a project. None if the project has none.
    pub fn load(project: &Path) -> Result<Option<Self>, AgeError> {
        let path = project.join(POLICY_FILE);
        if !fs::exists(&path) {
            return Ok(None);
        }
        let refuse = |reason: String| AgeError::Policy {
            path: path.clone(),
            reason,
        };
        let bytes = fs::read_within(&path, MAX_POLICY_BYTES);
        let bytes = bytes.map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|_| refuse("is not a text".to_owned()))?;
        Self::parse(&path, text).map(Some)
    }

    /// Returns the policy of the project around a folder, with the folder of the project.
    pub fn around(folder: &Path) -> Result<Option<Self>, AgeError> {
        let mut above = folder.ancestors();
        match above.find(|folder| fs::is_file(&folder.join(POLICY_FILE))) {
            Some(project) => Self::load(project),
            None => Ok(None),
        }
    }

    fn parse(path: &Path, text: String) -> Result<Self, AgeError> {
        let refuse = |reason: String| AgeError::Policy {
            path: path.to_owned(),
            reason,
        };
        let root = yaml::parse_text(Schema::Core, &text)
            .map_err(|_| refuse("is not valid YAML".to_owned()))?;
        let keys = root.as_map().into_iter().flatten().map(|(key, _)| &**key);
        if let Some(other) = keys
            .into_iter()
            .find(|key| !["id", "readers", "rotate"].contains(key))
        {
            let other = other.escape_debug();
            return Err(refuse(format!("has the unknown key `{other}`")));
        }
        let id = root.get("id").and_then(Node::as_str).unwrap_or_default();
        if id.is_empty() || id.chars().any(|c| !c.is_ascii_alphanumeric()) {
            return Err(refuse("has no `id` of letters and digits".to_owned()));
        }
        let mut readers = IndexMap::new();
        let listed = root.get("readers").and_then(Node::as_map);
        for (name, entry) in listed.into_iter().flatten() {
            check_reader_name(name).map_err(&refuse)?;
            let Some(key) = entry.value.as_str() else {
                return Err(refuse(format!("has no recipient for the reader `{name}`")));
            };
            let key: AgeRecipient = key
                .parse()
                .map_err(|error| refuse(format!("has a wrong reader `{name}`: {error}")))?;
            readers.insert(name.to_string(), key);
        }
        if readers.is_empty() {
            return Err(refuse("names no reader under `readers`".to_owned()));
        }
        Ok(Self {
            path: path.to_owned(),
            id: id.to_owned(),
            readers,
            rotate: read_debts(&root).ok_or_else(|| {
                refuse("has an entry under `rotate` without file, reader and date".to_owned())
            })?,
            text,
        })
    }

    /// Returns the folder of the project.
    pub fn project(&self) -> &Path {
        fs::parent_of(&self.path)
    }

    /// Returns the names of the readers, as values state them.
    pub fn reader_names(&self) -> String {
        let names: Vec<&str> = self.readers.keys().map(String::as_str).collect();
        names.join(", ")
    }

    /// Returns a short digest of the readers and their keys, as values state it.
    pub fn recipients_digest(&self) -> String {
        let mut pairs: Vec<(&str, &str)> = self
            .readers
            .iter()
            .map(|(name, key)| (&**name, key.text()))
            .collect();
        pairs.sort_unstable();
        let mut hash = Sha256::new();
        for (name, key) in pairs {
            hash.update(format!("{name}\0{key}\n"));
        }
        hex(&hash.finalize()[..8])
    }

    /// Returns the keys of the readers. A plugin may run only if the user's own identities name it, or the
    /// variable `UNFURL_AGE_PLUGINS`.
    pub fn recipients(&self, identities: &Identities) -> Result<Vec<AgeRecipient>, AgeError> {
        let mut allowed = None;
        for key in self.readers.values() {
            let Some(name) = key.plugin() else { continue };
            let allowed = allowed.get_or_insert_with(|| allowed_plugins(identities));
            if !allowed.iter().any(|own| own == name) {
                return Err(AgeError::Plugin {
                    name: name.to_owned(),
                    reason: format!(
                        "is named by `{}` only, so it does not run; `{PLUGINS_VARIABLE}={name}` permits it",
                        self.path.display()
                    ),
                });
            }
        }
        Ok(self.readers.values().cloned().collect())
    }

    /// Returns the text of the file with the present readers and debts. Comments stay.
    pub fn to_text(&self) -> Result<String, AgeError> {
        let refuse = |reason: String| AgeError::Policy {
            path: self.path.clone(),
            reason,
        };
        let root = yaml::parse_text(Schema::Core, &self.text)
            .map_err(|_| refuse("is not valid YAML".to_owned()))?;
        let mut patches = Vec::new();
        let old = root.get("readers").and_then(Node::as_map);
        for (name, _) in old.into_iter().flatten() {
            if !self.readers.contains_key(&**name) {
                patches.push(Patch::remove(Route::keys(["readers", &**name])));
            }
        }
        for (name, key) in &self.readers {
            let route = Route::keys(["readers", name]);
            let is_same = route
                .find(&root)
                .and_then(Node::as_str)
                .is_some_and(|old| old.parse::<AgeRecipient>().is_ok_and(|old| old == *key));
            if !is_same {
                patches.push(Patch::set(route, key.text()));
            }
        }
        let debts = Value::list(self.rotate.iter().map(RotationDebt::value));
        let rotate = Route::keys(["rotate"]);
        let had_debts = root.get("rotate").is_some();
        if self.rotate.is_empty() && had_debts {
            patches.push(Patch::remove(rotate));
        } else if read_debts(&root).is_none_or(|old| old != self.rotate) {
            patches.push(Patch::set(rotate, debts));
        }
        yaml::apply(&self.text, &root, &patches)
            .map_err(|error| refuse(format!("cannot be changed: {error}")))
    }
}

impl RotationDebt {
    fn value(&self) -> Value {
        let mut entries = vec![("file", &self.file)];
        if !self.name.is_empty() {
            entries.push(("value", &self.name));
        }
        entries.extend([("reader", &self.reader), ("date", &self.date)]);
        Value::map(
            entries
                .into_iter()
                .map(|(key, text)| (key, Value::from(text.as_str()))),
        )
    }
}

/// Checks the name of a reader: such names are listed on one line, separated by commas.
pub fn check_reader_name(name: &str) -> Result<(), String> {
    let is_allowed = |c: char| !c.is_control() && !c.is_whitespace() && !",:#".contains(c);
    if !name.is_empty() && name.chars().all(is_allowed) {
        return Ok(());
    }
    let name = name.escape_debug();
    Err(format!(
        "has the reader `{name}`, whose name has a blank, a comma, a colon or `#`"
    ))
}

fn allowed_plugins(identities: &Identities) -> Vec<String> {
    let env = Env::of_this_process();
    let named = env.non_empty(PLUGINS_VARIABLE).unwrap_or_default();
    let mut allowed: Vec<String> = named.split(':').map(str::to_owned).collect();
    allowed.extend(identities.plugins());
    allowed
}

fn read_debts(root: &Node) -> Option<Vec<RotationDebt>> {
    let Some(list) = root.get("rotate") else {
        return Some(Vec::new());
    };
    let text = |item: &Node, key: &str| item.get(key).and_then(Node::as_str).map(str::to_owned);
    let read = |item: &Node| {
        Some(RotationDebt {
            file: text(item, "file")?,
            name: text(item, "value").unwrap_or_default(),
            reader: text(item, "reader")?,
            date: text(item, "date")?,
        })
    };
    list.as_seq()?.iter().map(read).collect()
}
