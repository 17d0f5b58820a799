//! A project: a folder with the file `unfurl.yaml`, which lists ensembles and environments.
//!
//! `project_reader.rs` reads the file. This file has the data and the lookup of ensembles.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::{Environments, TrustEntry};
use crate::diagnostic::Span;
use crate::schedule::ScheduleSection;
use crate::system::fs;
use crate::value::Value;

/// The name of the project file.
pub const PROJECT_FILE: &str = "unfurl.yaml";
/// The name of the folder that contains the project file if the project is inside another folder's tree.
pub const PROJECT_FOLDER: &str = ".unfurl";
/// The file name of an ensemble's manifest.
pub const MANIFEST: &str = "ensemble.yaml";
/// The folder of a project's first ensemble.
const ENSEMBLE_FOLDER: &str = "ensemble";

/// A project with its ensembles and environments.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// The folder of the project file. Paths in the file are relative to it.
    pub root: PathBuf,
    /// The path of the project file. `None` for an empty folder `.unfurl`.
    pub file: Option<PathBuf>,
    pub ensembles: Vec<EnsembleEntry>,
    /// The environments of this project, without inherited ones.
    pub environments: Environments,
    /// The environment of ensembles that state none.
    pub default_environment: Option<String>,
    /// The local folders of other projects, by the names that this project gives them.
    pub projects: IndexMap<String, PathBuf>,
    /// The projects to trust. Only the entries of the home project have an effect.
    pub trusted: Vec<TrustEntry>,
    /// The location of `trusted` in the project file.
    pub trusted_span: Option<Span>,
    /// The unread sections with schedules. A wrong schedule does not prevent jobs.
    pub schedules: Vec<ScheduleSection>,
}

/// An ensemble that a project lists.
#[derive(Debug, Clone, PartialEq)]
pub struct EnsembleEntry {
    /// The path of the manifest, relative to the folder of the project.
    pub file: String,
    /// An alternative name for the ensemble.
    pub alias: Option<String>,
    /// Whether to use this ensemble if the user names none.
    pub default: bool,
    pub environment: Option<String>,
    /// The project that contains the ensemble, if it is not this one.
    pub project: Option<String>,
    /// The project that manages the ensemble, if it is not this one.
    pub managed_by: Option<String>,
    /// The number that a server (such as GitLab) assigns to the project that deploys the ensemble.
    pub project_id: Option<String>,
    /// The unevaluated list of CI pipelines that deployed the ensemble.
    pub pipelines: Value,
    /// Whether a server deploys the ensemble incrementally.
    pub incremental_deploy: bool,
    /// The location of the entry in the project file.
    pub span: Span,
}

impl Project {
    /// Returns the name of the project: that of its folder, with invalid characters replaced by `_`.
    pub fn name(&self) -> String {
        let is_project_folder = self.root.ends_with(PROJECT_FOLDER);
        let named = if is_project_folder {
            self.root.parent()
        } else {
            Some(&*self.root)
        };
        let name = named
            .and_then(Path::file_name)
            .unwrap_or_default()
            .to_string_lossy();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
        let mut name: String = name
            .chars()
            .map(|c| if allowed(c) { c } else { '_' })
            .collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '.' || c == '_') {
            name.insert(0, '_');
        }
        name
    }

    /// Returns the path of the manifest of a listed ensemble.
    pub fn path_of(&self, entry: &EnsembleEntry) -> PathBuf {
        fs::absolute(Path::new(&entry.file), &self.root)
    }

    /// Returns the entry for a manifest. If several entries match, later ones add to the first.
    pub fn entry_for(&self, manifest: &Path) -> Option<EnsembleEntry> {
        let manifest = fs::normalize(manifest);
        let same = self
            .ensembles
            .iter()
            .filter(|entry| self.path_of(entry) == manifest);
        same.cloned().reduce(|first, later| EnsembleEntry {
            file: first.file,
            span: first.span,
            default: first.default || later.default,
            alias: later.alias.or(first.alias),
            environment: later.environment.or(first.environment),
            project: later.project.or(first.project),
            managed_by: later.managed_by.or(first.managed_by),
            project_id: later.project_id.or(first.project_id),
            incremental_deploy: first.incremental_deploy || later.incremental_deploy,
            pipelines: if later.pipelines.is_truthy() {
                later.pipelines
            } else {
                first.pipelines
            },
        })
    }

    /// Returns the ensemble with the alias, or else the one in the folder with the name.
    pub fn entry_named(&self, name: &str) -> Option<&EnsembleEntry> {
        let by_alias = |entry: &&EnsembleEntry| entry.alias.as_deref() == Some(name);
        let by_folder = |entry: &&EnsembleEntry| entry.folder_name() == Some(name);
        let find =
            |predicate: &dyn Fn(&&EnsembleEntry) -> bool| self.ensembles.iter().find(predicate);
        find(&by_alias).or_else(|| find(&by_folder))
    }

    /// Returns the ensemble to use if the user names none: the only one, or the one marked as default.
    pub fn default_entry(&self) -> Option<&EnsembleEntry> {
        match self.ensembles.as_slice() {
            [only] => Some(only),
            all => all.iter().find(|entry| entry.default),
        }
    }

    /// Returns the manifest to use if no entry is the default.
    ///
    /// This is a manifest at a usual path, or the first listed one that exists.
    pub fn fallback_manifest(&self) -> Option<PathBuf> {
        let usual = [
            self.root.join(ENSEMBLE_FOLDER).join(MANIFEST),
            self.root.join(MANIFEST),
        ];
        let here = self
            .ensembles
            .iter()
            .filter(|entry| entry.project.is_none());
        let listed = here.map(|entry| self.path_of(entry));
        usual
            .into_iter()
            .chain(listed)
            .find(|path| fs::is_file(path))
    }

    /// Returns the names by which users can refer to the ensembles of the project.
    pub fn ensemble_names(&self) -> Vec<String> {
        let name = |entry: &EnsembleEntry| {
            entry
                .alias
                .as_deref()
                .or(entry.folder_name())
                .unwrap_or(&entry.file)
                .to_owned()
        };
        self.ensembles.iter().map(name).collect()
    }
}

impl EnsembleEntry {
    /// Returns the name of the folder that contains the manifest.
    fn folder_name(&self) -> Option<&str> {
        Path::new(&self.file).parent()?.file_name()?.to_str()
    }
}
