//! The session: a loaded ensemble with its service template, environment and options.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::ensemble_location::EnsembleLocation;
use super::error::{LoadError, LoadErrorKind};
use super::expression_writes::ExpressionWrites;
use super::input_source::InputSource;
use super::local_system_context::LocalSystem;
use super::options::SessionOptions;
use super::package_lock;
use super::secret_source::SecretSource;
use super::tool_artifacts::has_installers;
use super::tool_paths::{artifact_tool_paths, tool_paths};
use super::used_package::UsedPackage;
use crate::diagnostic::{Diagnostics, Sources};
use crate::ensemble::{self, JobTemporaryFolder, Manifest, RecordedHistory};
use crate::expr::{Context, Evaluator, Memo, RequestedWrites, Scope};
use crate::git::Repository;
use crate::host::Variables;
use crate::name::ChangeId;
use crate::package::PackageRule;
use crate::project::{DEFAULT_ENVIRONMENT, Environment, FolderKeys, ReadScope};
use crate::system::fs;
use crate::topology::{Topology, TopologyInputs};
use crate::tosca::ServiceTemplate;
use crate::value::{EnvRuleOptions, Map, Value};

/// A loaded ensemble with everything that operations need to work on it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) sources: Sources,
    pub(crate) manifest: Manifest,
    pub(crate) service: Arc<ServiceTemplate>,
    pub(crate) environment: Environment,
    pub(crate) warnings: Diagnostics,
    pub(crate) project: PathBuf,
    /// The options with which it was loaded.
    pub(crate) options: SessionOptions,
    pub(crate) location: EnsembleLocation,
    /// The manifests of this ensemble and of the ensembles that use it, to detect cycles.
    pub(crate) manifest_chain: Vec<PathBuf>,
    /// The files that the ensemble and its expressions may read.
    pub(crate) scope: ReadScope,
    /// The temporary folder of the job, shared by all system contexts of the session.
    pub(super) temporary: Arc<JobTemporaryFolder>,
    /// The values of the topology's inputs.
    pub(super) inputs: TopologyInputs,
    /// The packages that its files use.
    pub(super) packages: Vec<UsedPackage>,
    pub(super) package_rules: Vec<PackageRule>,
    /// The sources of these values.
    pub(super) input_sources: IndexMap<Arc<str>, InputSource>,
}

impl Session {
    /// Returns the id of the last recorded job; `None` if it is missing or invalid.
    pub(crate) fn last_job(&self) -> Option<String> {
        let id = self.manifest.last_job()?;
        ChangeId::parse(&id).is_ok().then_some(id)
    }

    /// Returns the required inputs of the topology that have no value.
    pub(crate) fn missing_inputs(&self) -> Vec<&str> {
        let inputs = self.service.topology.inputs.iter();
        let missing = inputs.filter(|(name, _)| !self.inputs.values.contains_key(*name));
        missing.map(|(name, _)| &**name).collect()
    }

    /// Reads the results of earlier jobs from `jobs.tsv` or from the manifest.
    pub(crate) fn history(&self) -> Result<RecordedHistory, LoadError> {
        if self.manifest.keeps_changes_inline() {
            let changes = self.manifest.inline_changes();
            return Ok(RecordedHistory::from_changes(&changes));
        }
        let read = ensemble::open_folder(self.manifest.path())
            .and_then(|folder| folder.read(Path::new("jobs.tsv"), fs::MAX_READ_BYTES));
        let unsaved = &self.location.unsaved;
        let mut bytes = match read {
            Err(error) if error.is_not_found() => Vec::new(),
            read => read.map_err(|error| {
                let hint = "the file is needed to determine what has changed; make it readable";
                let hint = error.hint().unwrap_or_else(|| hint.to_owned());
                LoadError::new(LoadErrorKind::Refused, error, Some(hint))
            })?,
        };
        bytes.extend_from_slice(unsaved.lines.as_bytes());
        let history = RecordedHistory::from_tsv(&String::from_utf8_lossy(&bytes));
        let history = history.with_base(self.manifest.base_dir());
        Ok(history.with_files(&unsaved.files))
    }

    /// Returns the section `lock` for a record: the commits of the packages. `None` if the ensemble uses none.
    pub(crate) fn package_lock(&self) -> Option<(String, Value)> {
        let section = package_lock::section_of(&self.packages, &self.package_rules)?;
        Some((package_lock::SECTION.to_owned(), section))
    }

    /// Returns the system context of expressions. `planned` is the root of the planned folders.
    pub(crate) fn system_context(&self, planned: PathBuf) -> LocalSystem {
        let mut scope = self.scope.clone();
        scope.add_folder(&planned);
        scope.add_folder(self.temporary.path());
        LocalSystem {
            base: self.manifest.base_dir().to_path_buf(),
            project: self.project.clone(),
            planned,
            variables: self.location.env.all().clone(),
            secret_variables: BTreeSet::new(),
            locals: self.environment.locals.clone(),
            secrets: self.environment.secrets.clone(),
            backends: SecretSource::new(&self.environment, &self.location.env),
            keys: Arc::new(FolderKeys::from(self.location.keys.clone())),
            metadata: self.metadata(),
            trust: self.location.located.trust.clone(),
            scope,
            writes: ExpressionWrites::new(self.manifest.path(), Arc::clone(&self.temporary)),
        }
    }

    /// Returns the name of the environment in use, or else that of the ensemble's folder.
    pub(crate) fn display_name(&self) -> String {
        let environment = self.environment.name.as_deref();
        match environment.filter(|name| *name != DEFAULT_ENVIRONMENT) {
            Some(name) => name.to_owned(),
            None => self.folder_name(),
        }
    }

    /// Returns the name of the folder, with that of the environment unless it is the default one.
    pub(crate) fn full_name(&self) -> String {
        let folder = self.folder_name();
        let environment = self.environment.name.as_deref();
        match environment.filter(|name| *name != DEFAULT_ENVIRONMENT) {
            Some(environment) => format!("{folder}/{environment}"),
            None => folder,
        }
    }

    fn folder_name(&self) -> String {
        let name = self.manifest.base_dir().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    fn metadata(&self) -> Map {
        let name = self.folder_name();
        let environment = self
            .environment
            .name
            .clone()
            .unwrap_or_else(|| DEFAULT_ENVIRONMENT.to_owned());
        Map::from_iter([
            ("deployment".into(), Value::from(name)),
            ("environment".into(), Value::from(environment)),
            (
                "unfurlproject".into(),
                Value::from(super::imports::display_path(&self.project)),
            ),
        ])
    }

    /// Returns this process's environment variables with the rules of the ensemble's environment applied, and
    /// with the variables of its connections.
    pub(crate) fn variables(
        &self,
        topology: &Arc<Topology>,
        system_context: &Arc<LocalSystem>,
    ) -> Result<EnvironmentVariables, LoadError> {
        let mut process = self.location.env.all().clone();
        let mut tools = tool_paths(&self.project, &self.location.env);
        if has_installers(&self.service) {
            tools.extend(artifact_tool_paths(&self.project));
        }
        if !tools.is_empty() {
            let tools = tools.iter().map(|folder| folder.display().to_string());
            let path = process.get("PATH").cloned();
            let path = path.unwrap_or_else(|| fs::DEFAULT_PATH.to_owned());
            let all: Vec<String> = tools.chain([path]).collect();
            process.insert("PATH".to_owned(), all.join(":"));
        }
        let process = process.into_iter().collect();
        let mut variables = EnvironmentVariables {
            values: process,
            writes: RequestedWrites::default(),
        };
        if !self.environment.variables.is_empty() {
            let evaluator = environment_evaluator(topology, system_context);
            let evaluate = evaluate_with(&evaluator, topology);
            let mut rules = Vec::new();
            for (name, raw) in &self.environment.variables {
                let value = evaluate(&format!("the variable `{name}`"), raw)?;
                rules.push((name.clone(), value));
            }
            variables.add(&rules, evaluator.take_reads().writes());
        }
        self.add_connection_variables(topology, system_context, &mut variables);
        Ok(variables)
    }

    /// Adds the variables of all connections. The properties of connections see those added before.
    ///
    /// A value that cannot be evaluated yet is left out: tasks that use the connection evaluate it again, and
    /// report the error.
    fn add_connection_variables(
        &self,
        topology: &Arc<Topology>,
        system_context: &Arc<LocalSystem>,
        variables: &mut EnvironmentVariables,
    ) {
        let mut context = self.system_context(system_context.planned.clone());
        context.set_variables(&variables.values);
        let evaluator = environment_evaluator(topology, &Arc::new(context));
        let mut rules = Vec::new();
        for connection in topology.connections_of(topology.root()) {
            let found = topology.connection_variables(connection, &evaluator);
            let found = found.unwrap_or_default().into_iter();
            rules.extend(found.map(|(name, value)| (name.to_string(), value)));
        }
        if !rules.is_empty() {
            variables.add(&rules, evaluator.take_reads().writes());
        }
    }

    /// Returns a section of the environment with its expressions evaluated; `None` if the section is missing.
    pub(crate) fn section(
        &self,
        section: &str,
        topology: &Arc<Topology>,
        system_context: &Arc<LocalSystem>,
    ) -> Result<Option<Value>, LoadError> {
        let Some(node) = self.environment.section(section) else {
            return Ok(None);
        };
        let evaluator = environment_evaluator(topology, system_context);
        let evaluate = evaluate_with(&evaluator, topology);
        let raw = node.to_value();
        let Some(map) = raw.as_map() else {
            return evaluate(&format!("`{section}`"), &raw).map(Some);
        };
        let mut values = Map::new();
        for (name, raw) in map {
            let value = evaluate(&format!("`{section}: {name}`"), raw)?;
            values.insert(Arc::clone(name), value);
        }
        Ok(Some(Value::from(values)))
    }

    /// Returns a text that identifies the ensemble in every clone: its URI; else the first commit of its
    /// repository with its path there; else its absolute path.
    pub(crate) fn identity(&self) -> String {
        let metadata = self.manifest.root().get("metadata");
        let uri = metadata.and_then(|metadata| metadata.get("uri")?.as_str());
        if let Some(uri) = uri {
            return uri.to_owned();
        }
        let path = self.manifest.path();
        let in_repository = || {
            let repository = Repository::discover(self.manifest.base_dir())
                .ok()
                .flatten()?;
            let first = repository.first_commit()?;
            let position = repository.relative(path)?;
            Some(format!("{first}:{}", position.display()))
        };
        in_repository().unwrap_or_else(|| {
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
            path.display().to_string()
        })
    }
}

/// The environment variables of a job.
#[derive(Debug)]
pub(crate) struct EnvironmentVariables {
    pub(crate) values: Variables,
    /// The files that expressions in the variables request, for the first task that runs.
    pub(crate) writes: RequestedWrites,
}

impl EnvironmentVariables {
    /// Applies rules, and adds the files that their values request.
    fn add(&mut self, rules: &[(String, Value)], writes: &RequestedWrites) {
        self.values = Variables::from_rules(rules, &self.values, EnvRuleOptions::default());
        self.writes.append(writes);
    }
}

fn environment_evaluator(topology: &Arc<Topology>, system_context: &Arc<LocalSystem>) -> Evaluator {
    let scope: Arc<dyn Scope> = Arc::clone(topology) as _;
    let system_context = Arc::clone(system_context) as _;
    Evaluator::new(scope, system_context, Arc::new(Memo::default()))
}

/// Returns a function that evaluates values of the environment. Its first argument names the value in errors.
fn evaluate_with<'e>(
    evaluator: &'e Evaluator,
    topology: &Topology,
) -> impl Fn(&str, &Value) -> Result<Value, LoadError> + use<'e> {
    let context = Context::new(topology.root());
    move |subject, raw| {
        evaluator.evaluate(raw, &context).map_err(|error| {
            let message = format!("{subject} of the environment: {error}");
            LoadError::new(LoadErrorKind::Invalid, message, None)
        })
    }
}
