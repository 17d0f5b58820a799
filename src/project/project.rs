//! A project: a folder with `unfurl.yaml`, its ensembles and environments.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::{Environments, TrustEntry};
use crate::diagnostic::Span;
use crate::system::fs;
use crate::value::Value;

/// The name of a project's file.
pub const PROJECT_FILE: &str = "unfurl.yaml";
/// The folder that holds that file where a project lives in somebody else's folder.
pub const PROJECT_FOLDER: &str = ".unfurl";
/// The name of a manifest.
pub const MANIFEST: &str = "ensemble.yaml";
/// The folder of a project's first ensemble.
const ENSEMBLE_FOLDER: &str = "ensemble";

/// A project: a folder with `unfurl.yaml`, its ensembles and environments.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// Its folder; paths in its file start there.
    pub root: PathBuf,
    /// Its file, if there is one.
    pub file: Option<PathBuf>,
    /// The ensembles it lists.
    pub ensembles: Vec<EnsembleEntry>,
    /// The environments it defines, without those it inherits.
    pub environments: Environments,
    /// The environment of ensembles that name none.
    pub default_environment: Option<String>,
    /// Where other projects are on this machine, by the names it gives them.
    pub projects: IndexMap<String, PathBuf>,
    /// What it trusts; counts in the home project only.
    pub trusted: Vec<TrustEntry>,
    /// Where it says so.
    pub trusted_span: Option<Span>,
}

/// An ensemble that a project lists.
#[derive(Debug, Clone, PartialEq)]
pub struct EnsembleEntry {
    /// Its manifest, from the project's folder.
    pub file: String,
    /// Another name for it.
    pub alias: Option<String>,
    /// Whether it is taken if none is named.
    pub default: bool,
    /// Its environment.
    pub environment: Option<String>,
    /// The project it is in, if not this one.
    pub project: Option<String>,
    /// The project that manages it, if not this one.
    pub managed_by: Option<String>,
    /// The number that a server gives the project it is deployed from.
    pub project_id: Option<String>,
    /// The runs of a server that deployed it, raw.
    pub pipelines: Value,
    /// Whether a server deploys it step by step.
    pub incremental_deploy: bool,
    /// Where the project lists it.
    pub span: Span,
}

impl Project {
    /// Its name: that of its folder.
    pub fn name(&self) -> String {
        let is_folder_of_ours = self.root.ends_with(PROJECT_FOLDER);
        let named = if is_folder_of_ours {
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

    /// The manifest of an ensemble that it lists.
    pub fn path_of(&self, entry: &EnsembleEntry) -> PathBuf {
        fs::absolute(Path::new(&entry.file), &self.root)
    }

    /// What it lists for a manifest. Of several entries the later ones add to the first.
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

    /// The ensemble of an alias, or else of a folder's name.
    pub fn entry_named(&self, name: &str) -> Option<&EnsembleEntry> {
        let by_alias = |entry: &&EnsembleEntry| entry.alias.as_deref() == Some(name);
        let by_folder = |entry: &&EnsembleEntry| entry.folder_name() == Some(name);
        let find =
            |predicate: &dyn Fn(&&EnsembleEntry) -> bool| self.ensembles.iter().find(predicate);
        find(&by_alias).or_else(|| find(&by_folder))
    }

    /// The ensemble that its file says to take if none is named: the only one, or the default.
    pub fn default_entry(&self) -> Option<&EnsembleEntry> {
        match self.ensembles.as_slice() {
            [only] => Some(only),
            all => all.iter().find(|entry| entry.default),
        }
    }

    /// The manifest to take if its file does not say: one at a usual place, or the first listed
    /// that is there.
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

    /// The names by which people can ask for its ensembles.
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
    /// The name of the folder that its manifest is in.
    fn folder_name(&self) -> Option<&str> {
        Path::new(&self.file).parent()?.file_name()?.to_str()
    }
}
