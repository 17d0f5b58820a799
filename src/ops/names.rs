//! The names that options can take, for completion in shells. Nothing is written, run or fetched.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::drift::read_log;
use super::hosts::{HostsRequest, known_hosts};
use super::schedules::{ProjectSchedules, SchedulesRequest};
use super::tasks;
use crate::ensemble::history::{History, Selection};
use crate::host::resolver::LoginOptions;
use crate::host::ssh_config::SshConfigFiles;
use crate::name::{InstanceName, TemplateName};
use crate::ops::history::history;
use crate::plan::WorkflowKind;
use crate::schedule::ScheduleSpec;
use crate::session::{self, Session, SessionOptions};
use crate::states::host_facts;
use crate::system::fs::{self, EntryKind, WalkLimits};
use crate::topology::Topology;
use crate::tosca::Operations;

/// The maximum number of jobs that are offered, newest first.
const MAX_JOBS: usize = 50;

/// The start of the variables that set inputs.
const INPUT_PREFIX: &str = "input_";

/// The folder with state files, unless the command line names others.
const STATES_FOLDER: &str = "states";

/// The extension of state files.
const STATE_EXTENSION: &str = "sls";

/// The limits of the search for state files.
const STATE_LIMITS: WalkLimits = WalkLimits {
    entries: 5_000,
    depth: 12,
};

/// The kinds of names that can be completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// Instances, templates without an instance, and orphans.
    Instance,
    Template,
    Operation,
    Workflow,
    /// Inputs, with the prefix of `--var`.
    Input,
    Output,
    Environment,
    Ensemble,
    Job,
    /// The ids of recorded findings.
    Finding,
    Task,
    Host,
    Role,
    StateFile,
    Fact,
    /// Schedules of the project.
    Schedule,
}

/// The ensemble and the files from which names come.
#[derive(Debug, Clone, Default)]
pub struct NamesRequest {
    pub options: SessionOptions,
    /// Operations are those of these instances, or of all if none is given.
    pub instances: Vec<String>,
    pub hosts_files: Vec<PathBuf>,
    pub tasks_file: Option<PathBuf>,
    /// The folders with state files. Empty for the default one.
    pub state_folders: Vec<PathBuf>,
}

/// A name with one line about it, which may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownName {
    pub text: String,
    pub about: String,
}

impl KnownName {
    fn new(text: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            about: about.into(),
        }
    }
}

/// Returns the names of a kind. Empty if the ensemble or the file cannot be read.
pub fn names(kind: NameKind, request: &NamesRequest) -> Vec<KnownName> {
    let options = &request.options;
    let of_ensemble = |names: &dyn Fn(&Session, &Topology) -> Vec<KnownName>| {
        let loaded = load(options);
        loaded.map_or_else(Vec::new, |(session, topology)| names(&session, &topology))
    };
    match kind {
        NameKind::Instance => of_ensemble(&|_, topology| instances(topology)),
        NameKind::Template => of_ensemble(&|_, topology| templates(topology)),
        NameKind::Operation => of_ensemble(&|_, topology| operations(topology, &request.instances)),
        NameKind::Workflow => of_ensemble(&|_, topology| workflows(topology)),
        NameKind::Input => of_ensemble(&|session, _| inputs(session)),
        NameKind::Output => of_ensemble(&|_, topology| {
            let outputs = topology.template().outputs.keys();
            outputs.map(|name| KnownName::new(&**name, "")).collect()
        }),
        NameKind::Environment => located(options, |found| {
            let names = found.located.environments.names();
            names.map(|name| KnownName::new(name, "")).collect()
        }),
        NameKind::Ensemble => located(&SessionOptions::default(), |found| {
            let project = found.located.project.as_ref();
            let entries = project.into_iter().flat_map(|project| &project.ensembles);
            let aliases = entries.filter_map(|entry| Some((entry.alias.as_deref()?, &entry.file)));
            aliases
                .map(|(alias, file)| KnownName::new(alias, file.as_str()))
                .collect()
        }),
        NameKind::Job => jobs(options),
        NameKind::Finding => findings(options),
        NameKind::Task => task_names(request.tasks_file.as_deref()),
        NameKind::Host => hosts(request, false),
        NameKind::Role => hosts(request, true),
        NameKind::Schedule => schedules(),
        NameKind::StateFile => state_files(&request.state_folders),
        NameKind::Fact => host_facts::all()
            .map(|fact| KnownName::new(fact.name, fact.about))
            .collect(),
    }
}

fn schedules() -> Vec<KnownName> {
    let loaded = ProjectSchedules::load(&SchedulesRequest::default());
    let specs = loaded.map_or_else(|_| Vec::new(), |loaded| loaded.schedules.specs);
    let name = |spec: &ScheduleSpec| {
        let about = format!("{}, {}", spec.action, spec.timing);
        KnownName::new(&*spec.name, about)
    };
    specs.iter().map(name).collect()
}

fn located(
    options: &SessionOptions,
    names: impl FnOnce(&session::EnsembleLocation) -> Vec<KnownName>,
) -> Vec<KnownName> {
    session::find(options).map_or_else(|_| Vec::new(), |found| names(&found))
}

fn load(options: &SessionOptions) -> Option<(Session, Arc<Topology>)> {
    let found = session::find(options).ok()?;
    let mut session = session::load(found, options).ok()?;
    let topology = Arc::new(session.topology().ok()?);
    Some((session, topology))
}

fn instances(topology: &Topology) -> Vec<KnownName> {
    let nodes = topology.nodes().into_iter();
    let mut names: Vec<KnownName> = nodes
        .map(|node| {
            let entity = topology.entity(node);
            let status = topology.effective(node).as_str();
            KnownName::new(
                entity.name.as_str(),
                format!("{} {status}", entity.type_name()),
            )
        })
        .collect();
    let templates = templates(topology).into_iter();
    names.extend(templates.filter(|template| topology.find(&template.text).is_none()));
    let orphans = topology.orphans();
    names.extend(orphans.map(|orphan| KnownName::new(orphan.name.as_str(), "without a template")));
    names
}

fn templates(topology: &Topology) -> Vec<KnownName> {
    let nodes = topology.template().nodes.iter();
    nodes
        .map(|(name, node)| KnownName::new(TemplateName::as_str(name), node.type_name.as_str()))
        .collect()
}

fn operations(topology: &Topology, selected: &[String]) -> Vec<KnownName> {
    let is_selected = |name: &str| selected.is_empty() || selected.iter().any(|it| it == name);
    let templates = topology.template().nodes.iter();
    let templates = templates
        .filter(|(name, _)| is_selected(name.as_str()))
        .map(|(_, node)| &*node.operations);
    let nodes = topology.nodes().into_iter().map(|it| topology.entity(it));
    let nodes = nodes
        .filter(|entity| is_selected(entity.name.as_str()))
        .filter_map(|entity| Some(&*entity.node()?.template.operations));
    let all: Vec<&Operations> = templates.chain(nodes).collect();
    let implemented = all.iter().flat_map(|operations| operations.iter());
    let implemented = implemented.filter(|operation| operation.is_implemented());
    let mut names: Vec<String> = implemented.map(|it| it.reference.to_string()).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| KnownName::new(name, ""))
        .collect()
}

fn workflows(topology: &Topology) -> Vec<KnownName> {
    let own = topology.template().workflows.keys().map(|name| &**name);
    let all = WorkflowKind::BUILT_IN.into_iter().chain(own);
    all.map(|name| KnownName::new(name, "")).collect()
}

fn inputs(session: &Session) -> Vec<KnownName> {
    let inputs = session.service.topology.inputs.keys();
    inputs
        .map(|name| KnownName::new(format!("{INPUT_PREFIX}{name}"), ""))
        .collect()
}

/// Returns the findings that the last looks recorded.
fn findings(options: &SessionOptions) -> Vec<KnownName> {
    let Ok(log) = read_log(options) else {
        return Vec::new();
    };
    let known = log.known_findings().into_iter().map(|known| {
        let subject = &known.finding.subject;
        let instance = subject.instance.as_ref().map(InstanceName::as_str);
        let name = instance.or(subject.host.as_deref()).unwrap_or_default();
        KnownName::new(&*known.id.0, format!("{name} {}", subject.attribute))
    });
    known.collect()
}

fn jobs(options: &SessionOptions) -> Vec<KnownName> {
    let selection = Selection {
        limit: Some(MAX_JOBS),
        ..Selection::default()
    };
    let Ok(History::Jobs { jobs, .. }) = history(options, &selection) else {
        return Vec::new();
    };
    let about = |job: &crate::ensemble::history::JobEntry| {
        let workflow = job.record.get("workflow").map(ToString::to_string);
        let known = [workflow, job.status.clone(), job.start.clone()];
        let known: Vec<String> = known.into_iter().flatten().collect();
        known.join(" ")
    };
    jobs.iter()
        .map(|job| KnownName::new(job.id.to_string(), about(job)))
        .collect()
}

fn task_names(file: Option<&Path>) -> Vec<KnownName> {
    let Ok(loaded) = tasks::load(file, &[]) else {
        return Vec::new();
    };
    let all = loaded.tasks.iter();
    all.map(|task| KnownName::new(&*task.name, task.summary()))
        .collect()
}

fn hosts(request: &NamesRequest, roles: bool) -> Vec<KnownName> {
    let known = known_hosts(&HostsRequest {
        login: LoginOptions::default(),
        ssh_config: SshConfigFiles::Default,
        inventories: request.hosts_files.clone(),
        session: SessionOptions {
            ensemble: String::new(),
            ..request.options.clone()
        },
    });
    let Ok(known) = known else {
        return Vec::new();
    };
    let inventory = known.inventory();
    if roles {
        let roles = inventory.roles();
        return roles.map(|role| KnownName::new(&**role, "")).collect();
    }
    let hosts = inventory.hosts().map(|host| KnownName::new(&**host, ""));
    hosts
        .chain([KnownName::new("@local", "this machine")])
        .collect()
}

fn state_files(folders: &[PathBuf]) -> Vec<KnownName> {
    let default = [PathBuf::from(STATES_FOLDER)];
    let folders = if folders.is_empty() {
        &default
    } else {
        folders
    };
    let mut names = Vec::new();
    for folder in folders {
        let found = fs::walk(folder, STATE_LIMITS).unwrap_or_default();
        let files = found.iter().filter(|entry| entry.kind == EntryKind::File);
        for file in files {
            let path = file.path.strip_prefix(folder).unwrap_or(&file.path);
            if path.extension().is_some_and(|it| it == STATE_EXTENSION) {
                names.extend(state_name(path).map(|name| KnownName::new(name, "")));
            }
        }
    }
    names.sort_by(|a, b| a.text.cmp(&b.text));
    names.dedup();
    names
}

/// Returns the name of a state file: dots for slashes, and the name of its folder for `init.sls`.
fn state_name(path: &Path) -> Option<String> {
    let whole = path.with_extension("");
    let mut parts: Vec<&str> = whole.iter().filter_map(std::ffi::OsStr::to_str).collect();
    if parts.len() > 1 && parts.last() == Some(&"init") {
        parts.pop();
    }
    // A top file assigns states and is none itself.
    let name = parts.join(".");
    (!name.is_empty() && name != "top").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_file_has_dots_for_slashes() {
        let name = |path: &str| state_name(Path::new(path));
        assert_eq!(name("nginx.sls").unwrap(), "nginx");
        assert_eq!(name("web/tuned.sls").unwrap(), "web.tuned");
        assert_eq!(name("web/init.sls").unwrap(), "web");
        assert_eq!(name("top.sls"), None);
    }
}
