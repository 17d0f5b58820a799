//! What use cases share: finds, reads and checks an ensemble, and makes its topology.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::blueprint;
use super::conditions::read_service;
use super::externals;
use super::failure::{Failure, FailureKind};
use super::imports::FileImporter;
use super::instances;
use super::request::SessionOptions;
use super::world::RealWorld;
use crate::diagnostic::{Diagnostic, Diagnostics, Source, SourceId, Sources, Span};
use crate::ensemble::{Manifest, ManifestSource, RecordedHistory};
use crate::expr::{Context, Evaluator, Memo};
use crate::name::ChangeId;
use crate::project::{self, Environment, FileLoader, Located, Project, Trust};
use crate::system::env::Env;
use crate::system::{env, fs};
use crate::topology::{self, Topology};
use crate::tosca::{self, ReadOptions, ServiceTemplate};
use crate::value::{Map, Value};
use crate::yaml::{self, Kind, Limits, Mapping, Node};

/// An ensemble that was found but not read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) located: Located,
    /// The link by which its file was found, if it was.
    pub(super) link: Option<PathBuf>,
    pub(super) sources: Sources,
    pub(super) env: Env,
}

impl Found {
    /// The path by which its file was found.
    pub(super) fn path(&self) -> &Path {
        self.link.as_deref().unwrap_or(&self.located.manifest)
    }
}

fn link_of(manifest: &Path) -> Option<PathBuf> {
    fs::is_symlink(manifest).then(|| manifest.to_path_buf())
}

/// The record of an ensemble is beside its file, by whatever links that is found.
fn behind_link(mut located: Located) -> Located {
    if fs::is_symlink(&located.manifest)
        && let Ok(manifest) = fs::canonicalize(&located.manifest)
    {
        located.manifest = manifest;
    }
    located
}

/// An ensemble that was read.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) sources: Sources,
    pub(super) manifest: Manifest,
    pub(super) service: Arc<ServiceTemplate>,
    pub(super) environment: Environment,
    pub(super) warnings: Diagnostics,
    pub(super) env: Env,
    pub(super) project: PathBuf,
    pub(super) trust: Trust,
    /// How it was asked for.
    pub(super) options: SessionOptions,
    /// The project that it is in.
    pub(super) located_project: Option<Project>,
    /// Its own manifest, and those of the ensembles that use it.
    pub(super) used_by: Vec<PathBuf>,
    inputs: Map,
}

/// The folder in which the program was called.
pub(super) fn current_dir() -> Result<PathBuf, Failure> {
    env::current_dir().map_err(|error| {
        let message = format!("the current folder cannot be found: {error}");
        Failure::new(FailureKind::Refused, message, None)
    })
}

/// Finds the ensemble that is meant.
pub(super) fn find(options: &SessionOptions) -> Result<Found, Failure> {
    let env = Env::of_this_process();
    let cwd = current_dir()?;
    let mut sources = Sources::default();
    let search_root = env.non_empty("UNFURL_SEARCH_ROOT").map(PathBuf::from);
    let request = project::Request {
        argument: &options.ensemble,
        cwd: &cwd,
        search_root: search_root.as_deref(),
        home: options.home.as_deref(),
        use_environment: options.environment.as_deref(),
        allowed: &options.allowed,
    };
    let mut loader = FileLoader::new(&mut sources, &env, Limits::default());
    // Whether it is trusted altogether is not known before it is found.
    let allowed = Trust::new(options.allowed.iter().cloned(), false);
    loader.set_trust(&allowed, &cwd);
    let located = project::locate(&request, &mut loader);
    drop(loader);
    match located {
        Ok(located) => Ok(Found {
            link: link_of(&located.manifest),
            located: behind_link(located),
            sources,
            env,
        }),
        Err(error) => Err(Failure::of_search(error, sources)),
    }
}

/// Reads an ensemble and checks all of it.
pub(super) fn load(found: Found, options: &SessionOptions) -> Result<Session, Failure> {
    load_with(found, options, Mapping::default())
}

/// Reads the file of an ensemble, and not what the ensemble describes.
pub(super) fn manifest(found: &Found) -> Result<Manifest, Failure> {
    manifest_with(found).map(|(manifest, _)| manifest)
}

/// As [`manifest`], with the environment that applies to it.
pub(super) fn surroundings(found: &Found) -> Result<(Manifest, Environment), Failure> {
    let (manifest, sources) = manifest_with(found)?;
    let environment = found.located.environment(manifest.environment());
    if environment.lock_problems.has_errors() {
        let problems = environment.lock_problems;
        return Err(Failure::with_places(FailureKind::Load, problems, sources));
    }
    Ok((manifest, environment))
}

fn manifest_with(found: &Found) -> Result<(Manifest, Sources), Failure> {
    let located = &found.located;
    let mut sources = found.sources.clone();
    let mut loader = FileLoader::new(&mut sources, &found.env, Limits::default());
    loader.set_trust(&located.trust, located.folder());
    let project = located.project.as_ref();
    let root = project.map(|project| project.root.as_path());
    loader.set_places(located.folder(), root);
    let read = read_manifest(&located.manifest, &mut loader, Limits::default());
    drop(loader);
    match read {
        Ok(manifest) => Ok((manifest, sources)),
        Err(problems) => Err(Failure::with_places(FailureKind::Load, problems, sources)),
    }
}

/// As [`load`], with node templates that have left the model.
pub(super) fn load_with(
    found: Found,
    options: &SessionOptions,
    departed: Mapping,
) -> Result<Session, Failure> {
    let Found {
        located,
        mut sources,
        env,
        ..
    } = found;
    let mut loader = FileLoader::new(&mut sources, &env, Limits::default());
    loader.set_trust(&located.trust, located.folder());
    let project = located.project.as_ref();
    let root = project.map(|project| project.root.as_path());
    loader.set_places(located.folder(), root);
    let result = read(&located, &mut loader, &env, (options, departed));
    let mut warnings = located.warnings.clone();
    warnings.append(loader.take_warnings());
    drop(loader);
    let project = located.project.as_ref().map(|project| project.root.clone());
    let project = project.unwrap_or_else(|| located.folder().to_path_buf());
    let own = fs::canonicalize(&located.manifest).unwrap_or_else(|_| located.manifest.clone());
    match result {
        Ok((manifest, service, environment, inputs, problems)) => {
            warnings.append(problems);
            let service = Arc::new(service);
            Ok(Session {
                sources,
                manifest,
                service,
                environment,
                warnings,
                env,
                project,
                trust: located.trust,
                options: options.clone(),
                located_project: located.project,
                used_by: vec![own],
                inputs,
            })
        }
        Err(problems) => Err(Failure::with_places(FailureKind::Load, problems, sources)),
    }
}

type Read = (Manifest, ServiceTemplate, Environment, Map, Diagnostics);

fn read(
    located: &Located,
    loader: &mut FileLoader<'_>,
    env: &Env,
    (options, departed): (&SessionOptions, Mapping),
) -> Result<Read, Diagnostics> {
    let limits = Limits::default();
    let manifest = read_manifest(&located.manifest, loader, limits)?;
    let environment = located.environment(manifest.environment());
    add_repositories(&environment, located.folder(), loader);
    let root = manifest.service_template().cloned();
    let without = root.is_none();
    let nothing = || Node::new(Kind::Null, manifest.root().span(), None);
    let root = root.unwrap_or_else(nothing);
    let of_spec = manifest.blueprints().cloned();
    let mut chosen = Diagnostics::default();
    let read_options = ReadOptions {
        check_unused: options.check_unused,
        blueprint: blueprint::choose(&root, of_spec.as_ref(), &environment, &mut chosen),
        blueprints: of_spec,
        added: instances::templates(manifest.root().get("spec"), &root),
        departed,
        directories: directories_of_includes(loader.sources()),
        ..ReadOptions::default()
    };
    let mut importer = FileImporter {
        loader,
        document: manifest.root().clone(),
        limits,
        lenient: false,
    };
    let base = located.folder();
    let (service, mut problems) = read_service(&root, base, &mut importer, &read_options, env);
    problems.append(chosen);
    problems.append(environment.lock_problems.clone());
    let Some(service) = service.filter(|_| !problems.has_errors()) else {
        return Err(problems);
    };
    if without {
        let message = "the ensemble has no service template, so there is nothing to deploy";
        let help = "describe what to deploy under `spec: {service_template: …}`";
        problems.push(Diagnostic::warning(message).help(help));
    }
    let inputs = inputs_of(&manifest, &environment, &service, options, &mut problems);
    if !options.incomplete {
        let found = tosca::check_inputs(&service.types, &service.topology, &inputs);
        problems.append(found);
    }

    if problems.has_errors() {
        Err(problems)
    } else {
        Ok((manifest, service, environment, inputs, problems))
    }
}

/// The directories of the texts that other texts included, for the file names they contain.
pub(super) fn directories_of_includes(sources: &Sources) -> HashMap<SourceId, Arc<PathBuf>> {
    let included = sources
        .iter()
        .filter(|(_, source)| source.included_from.is_some());
    let directory = |(id, source): (SourceId, &Source)| {
        let parent = source.path.parent()?;
        Some((id, Arc::new(parent.to_path_buf())))
    };
    included.filter_map(directory).collect()
}

/// Reads an ensemble's file and expands it.
pub(super) fn read_manifest(
    path: &Path,
    loader: &mut FileLoader<'_>,
    limits: Limits,
) -> Result<Manifest, Diagnostics> {
    if path.extension().is_some_and(|extension| extension == "py") {
        let message = format!(
            "`{}` is a service template, not an ensemble",
            path.display()
        );
        let help = "include it in an `ensemble.yaml`: `spec: {service_template: {+include: …}}`";
        return Err(Diagnostic::error(message).help(help).into());
    }
    let (source, root) = loader.read(path, None)?;
    let expanded = yaml::expand(&root, loader, &limits)?;
    let text = loader
        .sources()
        .get(source)
        .map(|source| Arc::clone(&source.text));
    let text = text.unwrap_or_else(|| Arc::from(""));
    Manifest::read(ManifestSource {
        path: path.to_path_buf(),
        text,
        source,
        expanded,
    })
}

fn add_repositories(environment: &Environment, base: &Path, loader: &mut FileLoader<'_>) {
    let repositories = environment.repositories().and_then(Node::as_map);
    for (name, entry) in repositories.into_iter().flatten() {
        if let Some(folder) = folder_of_repository(&entry.value, base) {
            loader.add_repository(&**name, folder);
        }
    }
}

/// The folder of a repository on this machine: what its `file:` URL names.
pub(super) fn folder_of_repository(repository: &Node, base: &Path) -> Option<PathBuf> {
    let url = repository
        .as_str()
        .or_else(|| repository.get("url")?.as_str())?;
    let path = url.strip_prefix("file:")?;
    Some(fs::absolute(Path::new(path), base))
}

/// The inputs of the topology: `--var input_x` goes before the environment's, these before the
/// ensemble's own, these before defaults.
fn inputs_of(
    manifest: &Manifest,
    environment: &Environment,
    service: &ServiceTemplate,
    options: &SessionOptions,
    problems: &mut Diagnostics,
) -> Map {
    let mut given = manifest.spec_inputs();
    given.extend(
        environment
            .inputs
            .iter()
            .map(|(name, value)| (Arc::clone(name), value.clone())),
    );
    for (name, text) in &options.vars {
        let Some(input) = name.strip_prefix("input_") else {
            continue;
        };
        match parse_value(text) {
            Ok(value) => drop(given.insert(input.into(), value)),
            Err(message) => {
                let message = format!("the value of `--var {name}` is not YAML: {message}");
                problems.push(Diagnostic::error(message));
            }
        }
    }
    let mut inputs = Map::new();
    for (name, definition) in &service.topology.inputs {
        // An input that may be missing is there, and null.
        if let Some(value) = given
            .shift_remove(name)
            .or_else(|| definition.default.clone())
            .or_else(|| (!definition.required).then_some(Value::Null))
        {
            inputs.insert(Arc::clone(name), value);
        }
    }
    inputs.extend(given);
    inputs
}

fn parse_value(text: &str) -> Result<Value, String> {
    let mut sources = Sources::default();
    let source = sources.add("--var", text, None);
    let first = |problems: Diagnostics| {
        problems
            .iter()
            .next()
            .map_or_else(String::new, |problem| problem.message.clone())
    };
    yaml::parse(&sources, source, &Limits::default())
        .map(|node| node.to_value())
        .map_err(first)
}

impl Session {
    /// The topology with all that is recorded, and what stands for instances of other ensembles.
    pub(super) fn topology_of_job(&mut self) -> Result<Topology, Failure> {
        let mut topology = self.topology()?;
        let mut problems = Diagnostics::default();
        externals::select(self, &mut topology, &mut problems);
        if problems.is_empty() {
            return Ok(topology);
        }
        let sources = self.sources.clone();
        Err(Failure::with_places(FailureKind::Load, problems, sources))
    }

    /// The topology with all that is recorded.
    pub(super) fn topology(&mut self) -> Result<Topology, Failure> {
        let mut topology = Topology::new(Arc::clone(&self.service), self.inputs.clone());
        topology.set_input_places(self.input_places());
        let mut problems = Diagnostics::default();
        externals::add(self, &mut topology, &mut problems);
        let errors = topology::load(&mut topology, &self.manifest.status());
        let span = self.manifest.root().get("status").map(Node::span);
        for error in errors {
            let span = span.unwrap_or(Span::NONE);
            problems.push(Diagnostic::error(error).label(span, "recorded here"));
        }
        let spec = self.manifest.root().get("spec");
        instances::add(&mut topology, spec, &mut problems);
        for (name, imported) in topology.show_imported() {
            let message = format!(
                "the recorded instance `{name}` stands for `{imported}`, which is not in another \
                 ensemble"
            );
            let span = span.unwrap_or(Span::NONE);
            problems.push(externals::not_there(message, span, &imported));
        }
        if problems.is_empty() {
            Ok(topology)
        } else {
            Err(Failure::with_places(
                FailureKind::Load,
                problems,
                self.sources.clone(),
            ))
        }
    }

    /// Where inputs are given that are not left to their defaults; no text gives those of options.
    fn input_places(&self) -> HashMap<Arc<str>, Span> {
        let spec = self.manifest.root().get("spec");
        let given = [
            spec.and_then(|spec| spec.get("inputs")),
            self.environment.section("inputs"),
        ];
        let given = given.into_iter().flatten().filter_map(Node::as_map);
        let mut places: HashMap<_, _> = given
            .flat_map(|map| map.iter())
            .map(|(name, entry)| (Arc::clone(name), entry.value.span()))
            .collect();
        for (name, _) in &self.options.vars {
            if let Some(name) = name.strip_prefix("input_") {
                places.insert(name.into(), Span::NONE);
            }
        }
        places
    }

    /// The id of the last job, if the ensemble says one that is an id.
    pub(super) fn last_job(&self) -> Option<String> {
        let said = self.manifest.last_job()?;
        ChangeId::parse(&said).is_ok().then_some(said)
    }

    /// What earlier jobs have recorded.
    pub(super) fn history(&self) -> Result<RecordedHistory, Failure> {
        if self.manifest.keeps_changes_inline() {
            let changes = self.manifest.inline_changes();
            return Ok(RecordedHistory::from_changes(&changes));
        }
        let path = self.manifest.base_dir().join("jobs.tsv");
        if !fs::exists(&path) {
            return Ok(RecordedHistory::default());
        }
        let bytes = fs::read(&path).map_err(|error| {
            let hint = "without it nobody can tell what has changed; make it readable";
            Failure::new(FailureKind::Refused, error, Some(hint.to_owned()))
        })?;
        let history = RecordedHistory::from_tsv(&String::from_utf8_lossy(&bytes));
        Ok(history.within(self.manifest.base_dir()))
    }

    /// This machine, seen from the ensemble.
    pub(super) fn world(&self, planned: PathBuf) -> RealWorld {
        RealWorld {
            base: self.manifest.base_dir().to_path_buf(),
            project: self.project.clone(),
            planned,
            variables: self.env.all().clone(),
            locals: self.environment.locals.clone(),
            secrets: self.environment.secrets.clone(),
            metadata: self.metadata(),
            trust: self.trust.clone(),
        }
    }

    fn metadata(&self) -> Map {
        let name = self.manifest.base_dir().file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let environment = self
            .environment
            .name
            .clone()
            .unwrap_or_else(|| "defaults".to_owned());
        Map::from_iter([
            ("deployment".into(), Value::from(name)),
            ("environment".into(), Value::from(environment)),
            (
                "unfurlproject".into(),
                Value::from(super::imports::shown(&self.project)),
            ),
        ])
    }

    /// The process's environment with the rules of the ensemble's environment applied.
    pub(super) fn variables(
        &self,
        topology: &Arc<Topology>,
        world: &Arc<RealWorld>,
    ) -> Result<BTreeMap<String, String>, Failure> {
        if self.environment.variables.is_empty() {
            return Ok(self.env.all().clone());
        }
        let scope: Arc<dyn crate::expr::Scope> = Arc::clone(topology) as _;
        let evaluator = Evaluator::new(scope, Arc::clone(world) as _, Arc::new(Memo::default()));
        let context = Context::new(topology.root());
        let mut rules = Vec::new();
        for (name, raw) in &self.environment.variables {
            let value = evaluator.evaluate(raw, &context).map_err(|error| {
                let message = format!("the variable `{name}` of the environment: {error}");
                Failure::new(FailureKind::Load, message, None)
            })?;
            rules.push((name.to_owned(), value));
        }
        Ok(project::filter_env(&rules, self.env.all())
            .into_iter()
            .collect())
    }
}
