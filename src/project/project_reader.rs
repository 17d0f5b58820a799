//! Reads a project file (`unfurl.yaml`) and reports all problems with their locations.
//!
//! [`Project::load`] is the entry. The key tables here also describe the file for completion and
//! documentation.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::environment_check::check_environment;
use super::environment_keys::ENVIRONMENT_KEYS;
use super::open_passwords::find_open_password;
use super::trust_entry::normalize_url;
use super::{EnsembleEntry, Environments, Error, FileLoader, PROJECT_FOLDER, Project, TrustEntry};
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId};
use crate::git::exposed_password_warning;
use crate::lock::RemoteLockSettings;
use crate::schedule::{SCHEDULE_KEYS, schedule_sections};
use crate::secret::SecretBackends;
use crate::system::fs;
use crate::value::Value;
use crate::yaml::{Limits, Mapping, Node, NodeKind, Shape, expand_for_merging, tables};

use Shape::{Flag, List, ListOf, Map, MapOf, Names, Scalar, Text, Words};

/// The supported values of `apiVersion`. The last one is preferred.
const API_VERSIONS: &[&str] = &["unfurl/v1alpha1", "unfurl/v1.0.0"];

tables! {
    pub PROJECT_KEYS closed "project" "A project: its ensembles and environments"
        needs ["apiVersion", "kind"] {
        "apiVersion" Words(API_VERSIONS), "The version of the file format";
        "kind" Words(&["Project"]), "The kind of this file";
        "ensembles" ListOf(&ENSEMBLE_KEYS), "The ensembles of the project";
        "environments" MapOf(&ENVIRONMENT_KEYS), "Environments to deploy into, by name";
        "default_environment" Text, "The environment of ensembles without one";
        "schedules" MapOf(&SCHEDULE_KEYS), "Actions that run at set times, by name";
        "projects" MapOf(&OTHER_PROJECT_KEYS), "Other projects, by name";
        "localRepositories" Map, "Clones of repositories, by their path";
        "include_paths" Names, "Reserved";
        "exclude_paths" Names, "Reserved";
        "trusted" List, "Projects that are allowed to do more than read their files";
        "secrets" Text, "How new projects encrypt secrets: `vault` or `age`. Only for the home project";
    }
    ENSEMBLE_KEYS open "ensemble" "An ensemble of the project" needs ["file"] {
        "file" Text, "The path of its manifest from the project's folder";
        "alias" Text, "Another name for it on the command line";
        "default" Flag, "Whether it is the default ensemble";
        "environment" Text, "The environment that it is deployed into";
        "project" Text, "The project that contains it, if not this one";
        "managedBy" Text, "The project that manages it, if not this one";
        "project_id" Scalar, "The number of its project on a server";
        "pipelines" List, "The server pipelines that deployed it";
        "incremental_deploy" Flag, "Whether a server deploys it incrementally";
    }
    OTHER_PROJECT_KEYS open "other_project" "Another project" {
        "url" Text, "The repository that contains it";
        "initial" Text, "The first commit of that repository";
        "file" Text, "Its folder or its file within the repository";
    }
}

/// Reads the parsed project file of the project in `root`. `user` is the home folder of the user.
pub(super) fn read_project(
    document: &Node,
    root: &Path,
    user: Option<&Path>,
) -> Result<Project, Error> {
    let mut problems = Diagnostics::default();
    let Some(map) = document.as_map() else {
        let message = format!("a project must be a map, not {}", document.kind_name());
        let diagnostic = Diagnostic::error(message).label(document.span(), "");
        return Err(
            diagnostic.help("begin it with `apiVersion: unfurl/v1.0.0` and `kind: Project`")
        )
        .map_err(|diagnostic| Error::Invalid(diagnostic.into()));
    };
    check_head(document, map, &mut problems);
    let mut reader = ProjectReader {
        problems: &mut problems,
    };
    let ensembles = reader.ensembles(map.get("ensembles"));
    reader.environments(map.get("environments"));
    let default_environment = reader.text(document, "default_environment");
    let projects = reader.projects(map, root);
    let trusted = reader.trusted(map.get("trusted"), root, user);
    if problems.has_errors() {
        return Err(problems.into());
    }
    Ok(Project {
        ensembles,
        environments: Environments::read(map.get("environments")),
        default_environment,
        projects,
        trusted,
        trusted_span: map.get("trusted").map(Node::span),
        schedules: schedule_sections(map.get("schedules"), map.get("environments")),
        ..Project::default()
    })
}

/// Checks `kind` and `apiVersion`, and reports unknown keys.
fn check_head(document: &Node, map: &Mapping, problems: &mut Diagnostics) {
    for key in PROJECT_KEYS.keys {
        let (key, Words(right)) = (key.name, key.shape) else {
            continue;
        };
        let help = format!("write `{key}: {}`", right.last().unwrap_or(&""));
        match map.get(key) {
            None => {
                let diagnostic = Diagnostic::error(format!("a project needs `{key}`"));
                problems.push(
                    diagnostic
                        .label(document.span(), "missing in this file")
                        .help(help),
                );
            }
            Some(value) if value.as_str().is_some_and(|text| right.contains(&text)) => {}
            Some(value) => {
                let shown = value.to_value();
                let message = format!("a project's `{key}` cannot be `{shown}`");
                problems.push(
                    Diagnostic::error(message)
                        .label(value.span(), "")
                        .help(help),
                );
            }
        }
    }
    for (key, entry) in map {
        if !PROJECT_KEYS.has_key(key) {
            let message = format!("a project has no key `{key}`");
            let names: Vec<&str> = PROJECT_KEYS.names().collect();
            let help = format!("its keys are `{}`", names.join("`, `"));
            problems.push(
                Diagnostic::error(message)
                    .label(entry.key_span, "unknown")
                    .help(help),
            );
        }
    }
}

struct ProjectReader<'a> {
    problems: &'a mut Diagnostics,
}

impl ProjectReader<'_> {
    fn report_mismatch(&mut self, node: &Node, subject: &str, expected: &str) {
        let message = format!("{subject} must be {expected}, not {}", node.kind_name());
        self.problems
            .push(Diagnostic::error(message).label(node.span(), ""));
    }

    /// Returns the value under a key. Reports a value of another kind than expected.
    fn value_of_kind<'n, T>(
        &mut self,
        value: Option<&'n Node>,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'n Node) -> Option<T>,
    ) -> Option<T> {
        let value = value.filter(|value| !value.is_null())?;
        let found = read(value);
        if found.is_none() {
            self.report_mismatch(value, &format!("`{key}`"), expected);
        }
        found
    }

    /// Returns the text under a key, if it is present.
    fn text(&mut self, node: &Node, key: &str) -> Option<String> {
        let text = self.value_of_kind(node.get(key), key, "a string", Node::as_str);
        text.map(str::to_owned)
    }

    /// Returns the boolean under a key, or false if it is missing.
    fn flag(&mut self, node: &Node, key: &str) -> bool {
        let truth = self.value_of_kind(node.get(key), key, "true or false", Node::as_bool);
        truth.unwrap_or(false)
    }

    fn ensembles(&mut self, section: Option<&Node>) -> Vec<EnsembleEntry> {
        let items = self.value_of_kind(section, "ensembles", "a list", Node::as_seq);
        items
            .into_iter()
            .flatten()
            .filter_map(|item| self.ensemble(item))
            .collect()
    }

    fn ensemble(&mut self, item: &Node) -> Option<EnsembleEntry> {
        if item.as_map().is_none() {
            self.report_mismatch(item, "an entry of `ensembles`", "a map");
            return None;
        }
        let file = self.text(item, "file");
        if item.get("file").is_none_or(Node::is_null) {
            let message = "an entry of `ensembles` needs a `file`";
            let help = "give the path of its manifest from the project's folder";
            self.problems
                .push(Diagnostic::error(message).label(item.span(), "").help(help));
        }
        Some(EnsembleEntry {
            alias: self.text(item, "alias"),
            default: self.flag(item, "default"),
            environment: self.text(item, "environment"),
            project: self.text(item, "project"),
            managed_by: self.text(item, "managedBy"),
            project_id: item
                .get("project_id")
                .filter(|id| !id.is_null())
                .map(|id| id.to_value().to_string()),
            pipelines: item
                .get("pipelines")
                .map_or_else(|| Value::list([]), Node::to_value),
            incremental_deploy: self.flag(item, "incremental_deploy"),
            span: item.span(),
            file: file?,
        })
    }

    /// Returns the projects to trust: a list of folders and URLs.
    fn trusted(
        &mut self,
        section: Option<&Node>,
        root: &Path,
        user: Option<&Path>,
    ) -> Vec<TrustEntry> {
        let items = self.value_of_kind(section, "trusted", "a list", Node::as_seq);
        let mut trusted = Vec::new();
        for item in items.into_iter().flatten() {
            match item.as_str().filter(|text| !text.is_empty()) {
                Some(text) => trusted.push(TrustEntry::read(text, root, user)),
                None => self.report_mismatch(item, "an entry of `trusted`", "a folder or a URL"),
            }
        }
        trusted
    }

    fn environments(&mut self, section: Option<&Node>) {
        let environments = self.value_of_kind(section, "environments", "a map", Node::as_map);
        for (name, entry) in environments.into_iter().flatten() {
            match entry.value.kind() {
                NodeKind::Null => {}
                NodeKind::Map(environment) => {
                    check_environment(environment, self.problems);
                    if let Some(section) = environment.get("lfs_lock") {
                        RemoteLockSettings::read(section, self.problems);
                    }
                    if let Some(section) = environment.get("secret_backends") {
                        SecretBackends::read(section, self.problems);
                    }
                }
                _ => self.report_mismatch(
                    &entry.value,
                    &format!("the environment `{name}`"),
                    "a map",
                ),
            }
        }
    }

    /// Returns the folders of other projects, as far as `localRepositories` lists a clone of them.
    fn projects(&mut self, map: &Mapping, root: &Path) -> IndexMap<String, PathBuf> {
        for key in ["projects", "localRepositories"] {
            self.value_of_kind(map.get(key), key, "a map", Node::as_map);
        }
        let section = |key: &str| map.get(key).and_then(Node::as_map).into_iter().flatten();
        let text = |node: &Node, key: &str| node.get(key).and_then(Node::as_str).map(normalize_url);
        let mut found = IndexMap::new();
        for (name, project) in section("projects") {
            let url = text(&project.value, "url");
            let initial = text(&project.value, "initial");
            let is_clone = |lock: &Node| {
                (url.is_some() && text(lock, "url") == url)
                    || (initial.is_some() && text(lock, "initial") == initial)
            };
            let clone = section("localRepositories").find(|(_, lock)| is_clone(&lock.value));
            let Some((path, _)) = clone else {
                continue;
            };
            let mut folder = fs::absolute(Path::new(&**path), root);
            if let Some(file) = text(&project.value, "file") {
                folder.push(file);
            }
            found.insert(name.to_string(), folder);
        }
        found
    }
}

/// Returns the folder that belongs to a project: the parent of a folder `.unfurl`, or else its own folder.
pub(super) fn readable_folder(root: &Path) -> PathBuf {
    let inner = root.ends_with(PROJECT_FOLDER);
    let folder = root.parent().filter(|_| inner).unwrap_or(root);
    folder.to_owned()
}

/// Warns of each file that was read from `first` on, contains a password, and can be read by others.
fn warn_of_open_passwords(first: SourceId, loader: &mut FileLoader<'_>) {
    for (path, document) in loader.files_from(first) {
        let Some(found) = find_open_password(&document) else {
            continue;
        };
        let line = loader.sources().position(found.span);
        let line = line.map_or(String::new(), |place| format!(", line {}", place.line));
        let content = format!("a password (`{}`{line})", found.key);
        if let Some(warning) = exposed_password_warning(&path, &content) {
            loader.warn(warning);
        }
    }
}

impl Project {
    /// Loads the project of a file. A folder `.unfurl` without the file is an empty project.
    pub fn load(file: &Path, loader: &mut FileLoader<'_>, limits: &Limits) -> Result<Self, Error> {
        let root = file.parent().unwrap_or(Path::new(".")).to_owned();
        if !fs::exists(file) {
            return Ok(Self {
                root,
                ..Self::default()
            });
        }
        loader.scope().add_folder(&readable_folder(&root));
        let (first, document) = loader.read(file, None)?;
        let expanded = expand_for_merging(&document, loader, limits)?;
        warn_of_open_passwords(first, loader);
        let mut project = read_project(&expanded.root, &root, loader.home_dir())?;
        project.file = Some(file.to_owned());
        project.root = root;
        Ok(project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::parse;

    fn read(text: &str) -> Result<Project, Vec<String>> {
        let mut sources = Sources::default();
        let id = sources.add("unfurl.yaml", text, None);
        let document = parse(&sources, id, &Limits::default()).unwrap();
        read_project(&document, Path::new("/p"), None).map_err(|error| {
            let problems = Diagnostics::from(error);
            let reported = problems.iter().map(|problem| {
                let place = problem.span().and_then(|span| sources.position(span));
                let place = place.map_or(String::new(), |place| format!("{place}: "));
                format!("{place}{}", problem.message)
            });
            reported.collect()
        })
    }

    #[test]
    fn a_project_is_read() {
        let project = read(
            "apiVersion: unfurl/v1alpha1
kind: Project
default_environment: dev
ensembles:
  - file: a/ensemble.yaml
    alias: one
    environment: prod
  - {file: b/ensemble.yaml, default: true, managedBy: other}
environments: {prod: , dev: {inputs: {a: 1}}}
projects: {other: {url: 'https://x/y.git', file: sub}}
localRepositories: {../y: {url: 'https://x/y'}}
",
        )
        .unwrap();
        assert_eq!(project.default_environment.as_deref(), Some("dev"));
        assert_eq!(project.ensembles[0].alias.as_deref(), Some("one"));
        assert!(project.ensembles[1].default);
        assert_eq!(project.ensembles[1].managed_by.as_deref(), Some("other"));
        assert_eq!(project.projects["other"], Path::new("/y/sub"));
        assert!(project.environments.contains("prod"));
    }

    #[test]
    fn all_problems_of_a_project_are_reported_with_their_positions() {
        let problems = read(
            "apiVersion: 2
ensembels: []
ensembles: [1, {alias: x}, {file: 3, default: maybe}]
environments: {a: 1, b: {imports: {}, inputs: [], lfs_lock: {lock: always}}}
default_environment: []
projects: x
trusted: [3]
",
        )
        .unwrap_err();
        insta::assert_snapshot!(problems.join("\n"), @r"
        unfurl.yaml:1:13: a project's `apiVersion` cannot be `2`
        unfurl.yaml:1:1: a project needs `kind`
        unfurl.yaml:2:1: a project has no key `ensembels`
        unfurl.yaml:3:13: an entry of `ensembles` must be a map, not an integer
        unfurl.yaml:3:16: an entry of `ensembles` needs a `file`
        unfurl.yaml:3:35: `file` must be a string, not an integer
        unfurl.yaml:3:47: `default` must be true or false, not a string
        unfurl.yaml:4:19: the environment `a` must be a map, not an integer
        unfurl.yaml:4:35: `imports` must be a list, not a map
        unfurl.yaml:4:47: `inputs` must be a map, not a list
        unfurl.yaml:4:68: `lock` is not one of `no`, `try`, `require`
        unfurl.yaml:5:22: `default_environment` must be a string, not a list
        unfurl.yaml:6:11: `projects` must be a map, not a string
        unfurl.yaml:7:11: an entry of `trusted` must be a folder or a URL, not an integer
        ");
    }

    #[test]
    fn a_project_that_is_no_map_is_reported() {
        assert_eq!(read("").unwrap_err().len(), 1);
        assert_eq!(
            read("[]").unwrap_err(),
            ["unfurl.yaml:1:1: a project must be a map, not a list"]
        );
    }
}
