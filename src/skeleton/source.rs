//! A skeleton: a built-in one, or a folder of the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Error;
use super::built_in::{BUILT_IN_NAMES, default_template, template_names, templates_of};
use crate::system::fs;

/// The maximum size of a file of a skeleton.
const MAX_TEMPLATE_BYTES: u64 = 4 << 20;

/// The templates of a skeleton. Files that it does not have come from the default skeleton.
#[derive(Debug, Clone, Default)]
pub struct Skeleton {
    own: BTreeMap<String, String>,
    /// The folder of the user that holds the skeleton.
    folder: Option<PathBuf>,
}

impl Skeleton {
    /// Returns the built-in skeleton with the name; `None` if there is none.
    pub fn built_in(name: &str) -> Option<Self> {
        let files = templates_of(name)?.iter();
        let own = files.map(|(file, text)| ((*file).to_owned(), (*text).to_owned()));
        Some(Self {
            own: own.collect(),
            folder: None,
        })
    }

    /// Reads the skeleton in a folder. Links in the folder are not followed.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let files = fs::Beneath::open(folder)?;
        let mut own = BTreeMap::new();
        for entry in files.list(Path::new(""))? {
            if entry.kind == fs::EntryKind::File
                && entry.path.extension().is_some_and(|end| end == "j2")
            {
                let bytes = files.read(Path::new(&entry.name), MAX_TEMPLATE_BYTES)?;
                let text = String::from_utf8(bytes).map_err(|error| {
                    let source = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
                    fs::Error::new(fs::FileAction::Read, &entry.path, source)
                })?;
                own.insert(entry.name, text);
            }
        }
        if !own.keys().any(|file| default_template(file).is_some()) {
            let names: Vec<String> = template_names().map(|name| format!("`{name}`")).collect();
            return Err(Error::NotASkeleton {
                folder: folder.to_owned(),
                names: names.join(", "),
            });
        }
        Ok(Self {
            own,
            folder: Some(folder.to_owned()),
        })
    }

    /// Returns the error for a name that no skeleton has.
    pub fn unknown(name: &str) -> Error {
        let names: Vec<String> = BUILT_IN_NAMES.iter().map(|it| format!("`{it}`")).collect();
        Error::UnknownSkeleton {
            name: name.to_owned(),
            names: names.join(", "),
        }
    }

    /// Returns the folder of the user that holds the skeleton; `None` if the program has it.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns a template: the skeleton's own, or that of the default skeleton.
    pub(super) fn template(&self, file: &str) -> Option<&str> {
        let own = self.own.get(file).map(String::as_str);
        own.or_else(|| default_template(file))
    }
}
