//! Finds the ensemble, the project and the environment that the user means.
//!
//! [`locate()`] is the entry. The search starts at the argument of the command or in the current folder, goes
//! upwards to a project, and merges the environments of the home project, the project and an outer project.

use std::path::{Path, PathBuf};

use super::project::{MANIFEST, PROJECT_FILE, PROJECT_FOLDER};
use super::{EnsembleEntry, Environment, Environments, Error, FileLoader, Grants, Project, Trust};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::system::fs;
use crate::yaml::{Limits, Node};

/// The input of the search: the argument and the options of the command.
#[derive(Debug, Clone, Copy)]
pub struct LocateRequest<'a> {
    /// The file, folder, alias or name of an ensemble. If empty, the search goes from `cwd` upwards.
    pub argument: &'a str,
    /// The current folder of the user.
    pub cwd: &'a Path,
    /// The topmost folder that the search may enter.
    pub search_root: Option<&'a Path>,
    /// The folder or file of the home project, whose environments all projects inherit.
    pub home: Option<&'a Path>,
    /// The environment to use instead of the one that the project states.
    pub use_environment: Option<&'a str>,
    /// The effects that the user permits by name (`--allow`).
    pub allowed: &'a [String],
}

/// The result of the search: an ensemble, its project and its environment.
#[derive(Debug, Clone)]
pub struct LocatedEnsemble {
    pub manifest: PathBuf,
    /// The project of the ensemble, if there is one.
    pub project: Option<Project>,
    /// The entry of the project file for the ensemble.
    pub entry: Option<EnsembleEntry>,
    pub environment_name: Option<String>,
    /// The environments of the project, merged over inherited ones.
    pub environments: Environments,
    /// The effects that the user permits to this project.
    pub trust: Trust,
    pub warnings: Diagnostics,
}

impl LocatedEnsemble {
    /// Returns the folder of the manifest.
    pub fn folder(&self) -> &Path {
        self.manifest.parent().unwrap_or(Path::new("."))
    }

    /// Returns the folder of the project, if the ensemble belongs to one.
    pub fn root(&self) -> Option<&Path> {
        self.project.as_ref().map(|project| project.root.as_path())
    }

    /// Returns the environment that applies, merged over the `environment` section of the manifest.
    pub fn environment(&self, manifest_section: Option<&Node>) -> Environment {
        self.environments
            .resolve(self.environment_name.as_deref(), manifest_section)
    }
}

/// Finds the ensemble, its project and its environment.
pub fn locate(
    request: &LocateRequest<'_>,
    loader: &mut FileLoader<'_>,
) -> Result<LocatedEnsemble, Error> {
    let mut search = Search {
        request,
        loader,
        limits: Limits::default(),
        warnings: Diagnostics::default(),
    };
    let home = search.home()?;
    let start = search.start()?;
    let start = SearchStart {
        project: match start.project {
            Some(file) => Some(search.load(&file)?),
            None => None,
        },
        manifest: start.manifest,
        name: start.name,
    };
    search.resolve(start, home.as_ref())
}

/// Returns the permissions of a file that belongs to no ensemble.
pub fn trust_for_file(
    request: &LocateRequest<'_>,
    folder: &Path,
    loader: &mut FileLoader<'_>,
) -> Result<Trust, Error> {
    let mut search = Search {
        request,
        loader,
        limits: Limits::default(),
        warnings: Diagnostics::default(),
    };
    let home = search.home()?;
    Ok(search.trust(home.as_ref(), &[folder]))
}

/// Returns the folder and the project file of the home project that an option names.
pub fn home_project_folder(home: &Path, cwd: &Path) -> (PathBuf, PathBuf) {
    let home = fs::absolute(home, cwd);
    let is_file = home
        .extension()
        .is_some_and(|end| end == "yaml" || end == "yml");
    if is_file {
        let folder = home.parent().unwrap_or(Path::new("/")).to_owned();
        return (folder, home);
    }
    let file = home.join(PROJECT_FILE);
    (home, file)
}

/// Returns the folder of the project around a file or folder; `None` if there is none.
pub fn enclosing_project(folder: &Path, search_root: Option<&Path>) -> Option<PathBuf> {
    let inside = |folder: &&Path| search_root.is_none_or(|top| folder.starts_with(top));
    let mut folders = folder.ancestors().take_while(inside);
    folders
        .find(|folder| project_in(folder).is_some())
        .map(Path::to_owned)
}

/// The starting point of the search: the ensemble or project that the argument or current folder refers to.
struct SearchStart<P> {
    manifest: Option<PathBuf>,
    project: Option<P>,
    /// The name to look up in the project, if the argument is no path.
    name: Option<String>,
}

struct Search<'r, 'l, 's> {
    request: &'r LocateRequest<'r>,
    loader: &'l mut FileLoader<'s>,
    limits: Limits,
    warnings: Diagnostics,
}

impl Search<'_, '_, '_> {
    fn load(&mut self, file: &Path) -> Result<Project, Error> {
        let project = Project::load(file, self.loader, &self.limits)?;
        self.warnings.append(self.loader.take_warnings());
        let home = self.request.home;
        let is_home =
            home.is_some_and(|home| file.starts_with(fs::absolute(home, self.request.cwd)));
        if let Some(span) = project.trusted_span.filter(|_| !is_home) {
            let message = "`trusted` has an effect only in the home project";
            let help = "move it to `unfurl.yaml` of the home project";
            let warning = Diagnostic::warning(message).label(span, "ignored");
            self.warnings.push(warning.help(help));
        }
        Ok(project)
    }

    fn home(&mut self) -> Result<Option<Project>, Error> {
        let Some(home) = self.request.home else {
            return Ok(None);
        };
        let (_, file) = home_project_folder(home, self.request.cwd);
        if fs::is_file(&file) {
            // The home project is the user's own, also where a link leads to it.
            self.loader.scope().add_file(&file);
            let project = Project::load(&file, self.loader, &self.limits)?;
            self.warnings.append(self.loader.take_warnings());
            return Ok(Some(project));
        }
        let message = format!("the home project `{}` does not exist", file.display());
        let help = "create it with `unfurl home --init`, or disable it with `--home ''`";
        self.warnings.push(Diagnostic::warning(message).help(help));
        Ok(None)
    }

    /// Returns the permissions for a project with these folders. Reports trust that is no longer valid.
    fn trust(&mut self, home: Option<&Project>, folders: &[&Path]) -> Trust {
        let grants = home.map(|home| self.grants(home)).unwrap_or_default();
        for (folder, reason) in grants.mismatches(folders) {
            let folder = folder.display();
            let message = format!("`{folder}` is not trusted any more: {reason}");
            let help = format!("run `unfurl trust {folder}` again if you trust it");
            self.warnings.push(Diagnostic::warning(message).help(help));
        }
        let trusted = grants.cover(folders);
        Trust::new(self.request.allowed.iter().cloned(), trusted).with_grants(grants)
    }

    fn grants(&mut self, home: &Project) -> Grants {
        let (grants, warnings) = Grants::of_home(home);
        self.warnings.append(warnings);
        grants
    }

    fn start(&self) -> Result<SearchStart<PathBuf>, Error> {
        let argument = self.request.argument;
        let mut start = if argument.is_empty() {
            self.search_upwards()?
        } else {
            let path = fs::absolute(Path::new(argument), self.request.cwd);
            self.start_at(&path)?
        };
        if let (Some(manifest), None) = (&start.manifest, &start.project) {
            let folder = manifest.parent().unwrap_or(Path::new("/"));
            start.project = self.project_above(folder);
        }
        Ok(start)
    }

    fn start_at(&self, path: &Path) -> Result<SearchStart<PathBuf>, Error> {
        let mut start = SearchStart {
            manifest: None,
            project: None,
            name: None,
        };
        if fs::is_dir(path) {
            start.manifest = Some(path.join(MANIFEST)).filter(|file| fs::is_file(file));
            start.project = project_in(path);
            if start.manifest.is_none() && start.project.is_none() {
                let folder = path.to_owned();
                return Err(Error::NotFoundIn { folder });
            }
        } else if fs::exists(path) {
            let is_project = path.file_name().is_some_and(|name| name == PROJECT_FILE);
            if is_project {
                start.project = Some(path.to_owned());
            } else {
                start.project = path.parent().and_then(project_in);
                start.manifest = Some(path.to_owned());
            }
        } else {
            let name = self.request.argument.to_owned();
            start.project = self.project_above(self.request.cwd);
            if start.project.is_none() {
                return Err(Error::NoSuchFile { name });
            }
            start.name = Some(name);
        }
        Ok(start)
    }

    fn search_upwards(&self) -> Result<SearchStart<PathBuf>, Error> {
        // An unreadable file counts as found: using the ensemble of another folder instead would be worse.
        let is_there =
            |file: &PathBuf| fs::is_file(file) || fs::is_symlink(file) || fs::is_dir(file);
        for folder in self.ancestors(self.request.cwd) {
            let manifest = Some(folder.join(MANIFEST)).filter(is_there);
            let project = project_in(folder);
            if manifest.is_some() || project.is_some() {
                return Ok(SearchStart {
                    manifest,
                    project,
                    name: None,
                });
            }
        }
        Err(Error::NotFound {
            folder: self.request.cwd.to_owned(),
        })
    }

    /// Returns the folder and those above it, up to the topmost folder of the search.
    fn ancestors<'p>(&self, folder: &'p Path) -> impl Iterator<Item = &'p Path> {
        let top = self.request.search_root.map(Path::to_owned);
        let inside = move |folder: &&Path| top.as_ref().is_none_or(|top| folder.starts_with(top));
        folder.ancestors().take_while(inside)
    }

    fn project_above(&self, folder: &Path) -> Option<PathBuf> {
        self.ancestors(folder).find_map(project_in)
    }

    fn resolve(
        mut self,
        start: SearchStart<Project>,
        home: Option<&Project>,
    ) -> Result<LocatedEnsemble, Error> {
        let home_environments = home.map(|home| home.environments.clone());
        let home_environments = home_environments.unwrap_or_default();
        let mut located = match start.project {
            None => LocatedEnsemble {
                manifest: start.manifest.unwrap_or_default(),
                project: None,
                entry: None,
                environment_name: None,
                environments: home_environments,
                trust: Trust::default(),
                warnings: Diagnostics::default(),
            },
            Some(project) => {
                let (manifest, entry) = choose_ensemble(&project, start.manifest, start.name)?;
                self.resolve_nesting(project, manifest, entry, &home_environments)?
            }
        };
        if let Some(name) = self.request.use_environment {
            located.environments.check(name)?;
            located.environment_name = Some(name.to_owned());
        } else if let Some(name) = &located.environment_name
            && let Err(error) = located.environments.check(name)
        {
            let message = format!("{error}, so the defaults apply");
            let entry = located.entry.as_ref().map(|entry| entry.span);
            let diagnostic = Diagnostic::warning(message);
            self.warnings.push(match entry {
                Some(span) => diagnostic.label(span, "named here"),
                None => diagnostic,
            });
        }
        let project = located.project.as_ref().map(|project| &*project.root);
        let folders: Vec<&Path> = project.into_iter().chain([located.folder()]).collect();
        let trust = self.trust(home, &folders);
        located.trust = trust;
        located.warnings = self.warnings;
        Ok(located)
    }

    /// Resolves projects within projects, and the name of the environment.
    ///
    /// A project file beside the manifest replaces the project that lists the ensemble. If there is an outer
    /// project, it becomes the project of the ensemble, and its environments override the inner ones.
    fn resolve_nesting(
        &mut self,
        mut project: Project,
        manifest: PathBuf,
        entry: Option<EnsembleEntry>,
        home: &Environments,
    ) -> Result<LocatedEnsemble, Error> {
        let named = entry.as_ref().and_then(|entry| entry.environment.clone());
        let mut environment_name = named.or_else(|| project.default_environment.clone());
        let beside = manifest.with_file_name(PROJECT_FILE);
        let is_other = manifest
            .parent()
            .is_some_and(|folder| folder != project.root);
        if is_other && fs::is_file(&beside) {
            project = self.load(&beside)?;
        }
        let mut environments = project.environments.clone().merged_over(home);
        let own_folder = project.root.ends_with(PROJECT_FOLDER);
        let outside = project.root.parent();
        let outside = if own_folder {
            outside.and_then(Path::parent)
        } else {
            outside
        };
        if let Some(file) = outside.and_then(|folder| self.project_above(folder))
            && self.request.home.is_none_or(|home| !file.starts_with(home))
        {
            let outer = self.load(&file)?;
            environments = outer.environments.clone().merged_over(&environments);
            project = outer;
        }
        if environment_name.is_none() {
            environment_name.clone_from(&project.default_environment);
        }
        Ok(LocatedEnsemble {
            manifest,
            project: Some(project),
            entry,
            environment_name,
            environments,
            trust: Trust::default(),
            warnings: Diagnostics::default(),
        })
    }
}

/// Returns the path of the project file in a folder, if the folder has a project.
fn project_in(folder: &Path) -> Option<PathBuf> {
    let file = folder.join(PROJECT_FILE);
    if fs::is_file(&file) {
        return Some(file);
    }
    let own = folder.join(PROJECT_FOLDER);
    fs::is_dir(&own).then(|| own.join(PROJECT_FILE))
}

/// Chooses the ensemble of a project: the given manifest, the named ensemble, or the default.
fn choose_ensemble(
    project: &Project,
    manifest: Option<PathBuf>,
    name: Option<String>,
) -> Result<(PathBuf, Option<EnsembleEntry>), Error> {
    let unlisted = |manifest: PathBuf| {
        let entry = project.entry_for(&manifest);
        Ok((manifest, entry))
    };
    let entry = match (&manifest, &name) {
        (Some(_), _) => None,
        (None, Some(name)) => project.entry_named(name),
        (None, None) => project.default_entry(),
    };
    let Some(entry) = entry else {
        let (known, project_root) = (project.ensemble_names(), project.root.clone());
        return match (manifest, name) {
            (Some(manifest), _) => unlisted(manifest),
            (None, Some(name)) => Err(Error::UnknownEnsemble {
                name,
                project: project_root,
                known,
            }),
            (None, None) => match project.fallback_manifest() {
                Some(manifest) => unlisted(manifest),
                None => Err(Error::NoDefault {
                    project: project_root,
                    known,
                }),
            },
        };
    };
    let mut file = project.path_of(entry);
    if let Some(other) = entry
        .project
        .as_ref()
        .filter(|other| **other != project.name())
    {
        let folder = project
            .projects
            .get(other)
            .ok_or_else(|| Error::OtherProject {
                file: entry.file.clone().into(),
                project: other.clone(),
                span: entry.span,
            })?;
        file = fs::absolute(Path::new(&entry.file), folder);
    }
    // An entry may name the folder of a manifest instead of its file.
    if fs::is_dir(&file) {
        file.push(MANIFEST);
    }
    if !fs::is_file(&file) {
        let span = entry.span;
        return Err(Error::MissingEnsemble { file, span });
    }
    Ok((file, Some(entry.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::system::env::Env;

    const HEAD: &str = "apiVersion: unfurl/v1alpha1\nkind: Project\n";

    struct TestFolder {
        _folder: tempfile::TempDir,
        root: PathBuf,
    }

    impl TestFolder {
        /// Creates the files. Those named `unfurl.yaml` get the header of a project file.
        fn new(files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let place = Self {
                root: folder.path().canonicalize().unwrap(),
                _folder: folder,
            };
            for (path, text) in files {
                let head = if path.ends_with(PROJECT_FILE) {
                    HEAD
                } else {
                    ""
                };
                let text = format!("{head}{text}");
                fs::write_plain(&place.root().join(path), text.as_bytes(), None).unwrap();
            }
            place
        }

        fn root(&self) -> PathBuf {
            self.root.clone()
        }

        fn locate_as<'a>(
            &'a self,
            argument: &'a str,
            change: impl FnOnce(&mut LocateRequest<'a>),
        ) -> Result<LocatedEnsemble, Error> {
            let mut request = LocateRequest {
                argument,
                cwd: &self.root,
                search_root: Some(&self.root),
                home: None,
                use_environment: None,
                allowed: &[],
            };
            change(&mut request);
            let (mut sources, env) = (Sources::default(), Env::default());
            locate(
                &request,
                &mut FileLoader::new(&mut sources, &env, Limits::default()),
            )
        }

        fn locate(&self, argument: &str) -> Result<LocatedEnsemble, Error> {
            self.locate_as(argument, |_| {})
        }

        /// Returns the path of the manifest that the search finds, relative to the root.
        fn found(&self, argument: &str) -> String {
            match self.locate(argument) {
                Ok(located) => {
                    let manifest = located.manifest.strip_prefix(self.root()).unwrap();
                    manifest.display().to_string()
                }
                Err(error) => error
                    .to_string()
                    .replace(&self.root().display().to_string(), "<>"),
            }
        }

        fn message(&self, error: &Error) -> String {
            error
                .to_string()
                .replace(&self.root().display().to_string(), "<>")
        }
    }

    #[test]
    fn an_ensemble_without_project_is_found_here_or_above() {
        let place = TestFolder::new(&[("ensemble.yaml", ""), ("a/b/x", "")]);
        assert_eq!(place.found(""), "ensemble.yaml");
        let deep = place.root().join("a/b");
        let located = place.locate_as("", |request| request.cwd = &deep).unwrap();
        assert_eq!(located.manifest, place.root().join("ensemble.yaml"));
        assert!(located.project.is_none());
        let error = place
            .locate_as("", |request| {
                (request.cwd, request.search_root) = (deep.as_path(), Some(deep.as_path()));
            })
            .unwrap_err();
        assert_eq!(
            place.message(&error),
            "there is no ensemble and no project in `<>/a/b` or any folder above it"
        );
    }

    #[test]
    fn a_path_may_name_a_manifest_a_folder_or_a_project_file() {
        let place = TestFolder::new(&[
            ("p/unfurl.yaml", ""),
            ("p/ensemble/ensemble.yaml", ""),
            ("p/other.yaml", ""),
            ("empty/x", ""),
        ]);
        for (argument, expected) in [
            ("p/other.yaml", "p/other.yaml"),
            ("p", "p/ensemble/ensemble.yaml"),
            ("p/unfurl.yaml", "p/ensemble/ensemble.yaml"),
            ("p/ensemble", "p/ensemble/ensemble.yaml"),
            ("empty", "there is no ensemble and no project in `<>/empty`"),
            ("nowhere", "there is no ensemble `nowhere`"),
        ] {
            assert_eq!(place.found(argument), expected, "{argument}");
        }
        let located = place.locate("p/ensemble/ensemble.yaml").unwrap();
        assert_eq!(located.project.unwrap().root, place.root().join("p"));
    }

    #[test]
    fn a_project_knows_its_ensembles_by_alias_and_by_folder() {
        let listed = "ensembles: [{file: a/ensemble.yaml, alias: one}, {file: b/ensemble.yaml, default: true, environment: e}, {file: c/gone.yaml}]\nenvironments: {e: }\n";
        let place = TestFolder::new(&[
            ("unfurl.yaml", listed),
            ("a/ensemble.yaml", ""),
            ("b/ensemble.yaml", ""),
        ]);
        assert_eq!(place.found("one"), "a/ensemble.yaml");
        assert_eq!(place.found(""), "b/ensemble.yaml");
        let deep = place.root().join("a");
        let located = place.locate_as("b", |request| request.cwd = &deep).unwrap();
        assert!(located.manifest.ends_with("b/ensemble.yaml"));
        assert_eq!(located.environment_name.as_deref(), Some("e"));
        assert_eq!(
            place.found("c"),
            "the project lists the ensemble `<>/c/gone.yaml`, but the file does not exist"
        );
        assert_eq!(
            place.found("zzz"),
            "there is no file `zzz`, and the project `<>` has no ensemble of that name"
        );
    }

    #[test]
    fn a_manifest_beside_the_project_comes_before_its_default() {
        let listed = "ensembles: [{file: a/ensemble.yaml, default: true}, {file: ensemble.yaml, environment: staging}]\nenvironments: {staging: }\n";
        let place = TestFolder::new(&[
            ("unfurl.yaml", listed),
            ("a/ensemble.yaml", ""),
            ("ensemble.yaml", ""),
        ]);
        let located = place.locate("").unwrap();
        assert_eq!(located.manifest, place.root().join("ensemble.yaml"));
        assert_eq!(located.environment_name.as_deref(), Some("staging"));
    }

    #[test]
    fn without_a_default_the_first_that_is_there_is_taken() {
        let listed = "ensembles: [{file: a/ensemble.yaml}, {file: b/ensemble.yaml}]\n";
        let place = TestFolder::new(&[("unfurl.yaml", listed), ("b/ensemble.yaml", "")]);
        assert_eq!(place.found(""), "b/ensemble.yaml");
        let place = TestFolder::new(&[("unfurl.yaml", "")]);
        assert_eq!(place.found(""), "the project `<>` has no default ensemble");
    }

    #[test]
    fn a_project_may_hide_in_a_folder_of_its_own() {
        let place = TestFolder::new(&[
            (
                ".unfurl/unfurl.yaml",
                "ensembles: [{file: ../x/ensemble.yaml}]\n",
            ),
            ("x/ensemble.yaml", ""),
        ]);
        assert_eq!(place.found(""), "x/ensemble.yaml");
        let place = TestFolder::new(&[(".unfurl/other", ""), ("ensemble.yaml", "")]);
        assert!(place.locate("").unwrap().project.is_some());
    }

    #[test]
    fn the_environment_is_the_options_the_ensembles_or_the_projects() {
        let text = "default_environment: a\nenvironments: {a: , b: , c: }\nensembles: [{file: x/ensemble.yaml, environment: b}]\n";
        let place = TestFolder::new(&[
            ("unfurl.yaml", text),
            ("x/ensemble.yaml", ""),
            ("y/ensemble.yaml", ""),
        ]);
        let name = |argument: &str| place.locate(argument).unwrap().environment_name.unwrap();
        assert_eq!((name("x"), name("y")), ("b".into(), "a".into()));
        let located = place
            .locate_as("x", |r| r.use_environment = Some("c"))
            .unwrap();
        assert_eq!(located.environment_name.as_deref(), Some("c"));
        let located = place
            .locate_as("x", |r| r.use_environment = Some("defaults"))
            .unwrap();
        assert_eq!(located.environment(None).name.as_deref(), Some("defaults"));
        let error = place
            .locate_as("x", |r| r.use_environment = Some("d"))
            .unwrap_err();
        assert_eq!(error.to_string(), "no environment named `d`");
    }

    #[test]
    fn an_environment_that_the_project_names_but_lacks_is_warned_of() {
        let text = "ensembles: [{file: ensemble.yaml, environment: gone}]\n";
        let place = TestFolder::new(&[("unfurl.yaml", text), ("ensemble.yaml", "")]);
        let located = place.locate("").unwrap();
        let warning = located.warnings.iter().next().unwrap();
        assert_eq!(
            warning.message,
            "no environment named `gone`, so the defaults apply"
        );
    }

    #[test]
    fn environments_are_inherited_from_home_and_overridden_from_outside() {
        let place = TestFolder::new(&[
            (
                "home/unfurl.yaml",
                "environments: {defaults: {inputs: {a: home, b: home, c: home}}}\n",
            ),
            (
                "out/unfurl.yaml",
                "environments: {defaults: {inputs: {c: outer}}}\n",
            ),
            (
                "out/in/unfurl.yaml",
                "environments: {defaults: {inputs: {b: inner, c: inner}}}\n",
            ),
            ("out/in/ensemble.yaml", ""),
        ]);
        let home = place.root().join("home");
        let located = place.locate_as("out/in", |r| r.home = Some(&home)).unwrap();
        let environment = located.environment(None);
        let inputs = environment.section("inputs").map(Node::to_value);
        assert_eq!(
            inputs.unwrap_or_default().to_string(),
            "{'c': 'outer', 'b': 'inner', 'a': 'home'}"
        );
        assert_eq!(located.project.unwrap().root, place.root().join("out"));
        let gone = place.root().join("nowhere");
        let located = place.locate_as("out/in", |r| r.home = Some(&gone)).unwrap();
        assert_eq!(located.warnings.len(), 1);
    }

    #[test]
    fn an_ensemble_of_another_project_is_found_where_its_clone_is() {
        let text = "ensembles: [{file: e/ensemble.yaml, project: lib, alias: x}, {file: e/ensemble.yaml, project: gone, alias: y}]
projects: {lib: {url: 'https://x/lib.git'}}
localRepositories: {../lib: {url: 'https://x/lib.git'}}
";
        let place = TestFolder::new(&[("p/unfurl.yaml", text), ("lib/e/ensemble.yaml", "")]);
        let cwd = place.root().join("p");
        let located = place.locate_as("x", |request| request.cwd = &cwd).unwrap();
        assert_eq!(located.manifest, place.root().join("lib/e/ensemble.yaml"));
        let error = place
            .locate_as("y", |request| request.cwd = &cwd)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the ensemble `e/ensemble.yaml` is in the project `gone`, of which this project lists no clone"
        );
    }

    #[test]
    fn the_home_project_alone_says_what_is_trusted() {
        let place = TestFolder::new(&[
            ("home/unfurl.yaml", "trusted: [../a]\n"),
            ("a/unfurl.yaml", ""),
            ("a/ensemble.yaml", ""),
            ("b/unfurl.yaml", "trusted: [../b]\n"),
            ("b/ensemble.yaml", ""),
        ]);
        let home = place.root().join("home");
        let locate = |argument| place.locate_as(argument, |request| request.home = Some(&home));
        assert!(locate("a").unwrap().trust.permits("pipe"));
        let other = locate("b").unwrap();
        assert!(!other.trust.permits("pipe"));
        let warning = other.warnings.iter().next().unwrap();
        assert_eq!(
            warning.message,
            "`trusted` has an effect only in the home project"
        );
        assert!(!place.locate("a").unwrap().trust.permits("pipe"));
        let allowed = ["pipe".to_owned()];
        let allowing = place.locate_as("a", |request| request.allowed = &allowed);
        assert!(allowing.unwrap().trust.permits("pipe"));
    }
}
