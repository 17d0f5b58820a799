//! Builds requests to apply or show Salt states from the options of the command line.
//!
//! Options override the settings of the minion configuration file (`--config`).

use std::num::NonZeroUsize;

use crate::cli::args::host::{HostChoice, HostSelectionArgs};
use crate::cli::args::state::{RunOptions, StateTreeArgs, TreeOptions};
use crate::cli::output::Context;
use crate::cli::prompt::AnswerSource;
use crate::cli::request::hosts::{ExecutorRequest, items};
use crate::cli::request::state_roots::state_roots;
use crate::cli::request::yaml_maps::{map_of, map_of_file};
use crate::fleet::states::{
    MachinePace, StateHost, StateSelection, StatesRequest, StatesSource, choose_hosts, this_machine,
};
use crate::host::ExecutorConfiguration;
use crate::host::Passwords;
use crate::name::EnumWords as _;
use crate::ops::watch_signals;
use crate::ops::{Failure, FailureKind};
use crate::project::Trust;
use crate::states::{DYNAMIC_ENV, RunOrdering};
use crate::system::fs;
use crate::value::{Map, Value};

/// The number of hosts that run at the same time unless an option says otherwise.
pub(in crate::cli) const MAX_PARALLEL: usize = 50;

/// The hosts that options choose, with the passwords that are known for them.
pub(in crate::cli) struct ChosenHosts {
    pub(in crate::cli) hosts: Vec<StateHost>,
    pub(in crate::cli) passwords: Passwords,
    /// The executors that hosts files and the environment configure, the strongest first.
    pub(in crate::cli) executors: Vec<ExecutorConfiguration>,
}

impl ChosenHosts {
    /// Returns this machine alone, under the given name.
    pub(in crate::cli) fn this_machine(name: &str) -> Self {
        Self {
            hosts: vec![this_machine(name)],
            passwords: Passwords::default(),
            executors: Vec::new(),
        }
    }
}

/// Builds the request from the options and the minion configuration.
pub(in crate::cli) fn request(
    tree_options: &TreeOptions,
    run: &RunOptions,
    hosts: &HostSelectionArgs,
    cx: &Context,
) -> Result<StatesRequest, Failure> {
    let options = match &tree_options.tree.config {
        Some(file) => map_of_file(file)?,
        None => Map::new(),
    };
    let id = tree_options.tree.id.clone();
    let id = id.or_else(|| text_of(&options, "id"));
    let chosen = if names_this_machine(tree_options, hosts) {
        None
    } else {
        chosen_hosts(tree_options, hosts, cx)?
    };
    let over_hosts = chosen.is_some();
    let connections = hosts.connection.pool_limits();
    let this_machine = || ChosenHosts::this_machine(id.as_deref().unwrap_or("local"));
    let ChosenHosts {
        hosts,
        passwords,
        executors: configured,
    } = chosen.unwrap_or_else(this_machine);
    let requested = ExecutorRequest {
        names: run.executors.as_deref(),
        options: run.executor_opts.as_deref(),
        sudo: run.sudo.as_deref(),
    };
    let configured: Vec<&ExecutorConfiguration> = configured.iter().collect();
    let chain = requested.chain(&configured, &cx.output)?;
    let pace = match (run.serial, run.no_wait) {
        (true, _) => MachinePace::Serial,
        (_, true) => MachinePace::Independent,
        _ => MachinePace::Lockstep,
    };
    Ok(StatesRequest {
        source: tree(tree_options, options, &cx.global.allow)?,
        hosts,
        has_named_hosts: over_hosts,
        pace,
        parallel: run.parallel.map_or(MAX_PARALLEL, NonZeroUsize::get),
        fail_percent: run.fail_percent,
        test: run.dryrun,
        sudo: run.sudo.clone().filter(|_| chain.is_none()),
        chain,
        connections,
        passwords,
        interrupts: watch_signals(),
    })
}

fn tree(
    tree_options: &TreeOptions,
    mut options: Map,
    allowed: &[String],
) -> Result<StatesSource, Failure> {
    let tree = &tree_options.tree;
    let map = |option: &str, text: &Option<String>| match text {
        Some(text) => map_of(option, text),
        None => Ok(Map::new()),
    };
    let ordering = match tree.ordering {
        Some(ordering) => ordering,
        None => match text_of(&options, "ordering") {
            None => RunOrdering::default(),
            Some(word) => RunOrdering::parse(&word).ok_or_else(|| {
                let message = format!("`ordering` must be `classic` or `dag`, not `{word}`");
                Failure::usage(message)
            })?,
        },
    };
    let mut grains = match options.get("grains").and_then(Value::as_map) {
        Some(grains) => grains.clone(),
        None => Map::new(),
    };
    grains.extend(map("--grains", &tree.grains)?);
    let mut pillar = match options.get("pillar").and_then(Value::as_map) {
        Some(pillar) => pillar.clone(),
        None => Map::new(),
    };
    pillar.extend(map("--pillar", &tree.pillar)?);
    let roots = state_roots(&tree.file_root, options.get("file_roots"))?;
    if let Some(env) = &tree.saltenv {
        options.insert("saltenv".into(), env.as_str().into());
    }
    let names = items(&tree_options.sls).map_err(Failure::usage);
    let names = names?;
    Ok(StatesSource {
        selection: if names.is_empty() {
            StateSelection::Top
        } else {
            StateSelection::Sls(names)
        },
        roots,
        allows_python: Trust::new(allowed.to_vec(), false).permits("python"),
        pillar,
        grains,
        options,
        ordering,
    })
}

/// Builds the request for state files.
///
/// Fails if a folder with state files does not exist.
pub(in crate::cli) fn request_of_files(
    tree_options: &TreeOptions,
    run: &RunOptions,
    hosts: &HostSelectionArgs,
    cx: &Context,
) -> Result<StatesRequest, Failure> {
    let request = request(tree_options, run, hosts, cx)?;
    let roots = request.source.roots.iter();
    let mut folders = roots
        .filter(|(env, _)| &***env != DYNAMIC_ENV)
        .flat_map(|(_, own)| own);
    if let Some(missing) = folders.find(|root| !fs::is_dir(root)) {
        let message = format!(
            "there is no folder `{}` with state files",
            missing.display()
        );
        let help = "name it with `--file-root DIR`, or put the state files into `states` here";
        let kind = FailureKind::Refused;
        return Err(Failure::new(kind, message, Some(help.into())));
    }
    Ok(request)
}

fn text_of(options: &Map, key: &str) -> Option<String> {
    options.get(key)?.as_str().map(str::to_owned)
}

/// The name of this machine among hosts.
pub(in crate::cli) const THIS_MACHINE: &str = "@local";

/// Returns true if this machine is the only host that the options choose.
///
/// States are then applied as without a host.
fn names_this_machine(tree_options: &TreeOptions, hosts: &HostSelectionArgs) -> bool {
    let HostChoice {
        hosts: named,
        roles,
        exclude_hosts,
        hosts_file,
    } = &hosts.choice;
    let tree = &tree_options.tree;
    named.iter().all(|name| name == THIS_MACHINE)
        && !named.is_empty()
        && roles.is_empty()
        && exclude_hosts.is_empty()
        && hosts_file.is_empty()
        && tree.instance.is_empty()
        && tree.limit.is_empty()
}

/// Checks that a command which changes hosts names them.
pub(in crate::cli) fn require_target(
    command: &str,
    tree: &StateTreeArgs,
    hosts: &HostSelectionArgs,
) -> Result<(), Failure> {
    if !hosts.choice.scope()?.is_unspecified() || !tree.instance.is_empty() {
        return Ok(());
    }
    let message = format!("`{command}` changes hosts, so name them with `-H` or `-R`");
    let help = "`-H @local` is this machine; a test run (`--dryrun`) needs no host";
    Err(Failure::usage_with(message, help))
}

/// Returns the chosen hosts.
///
/// None if no host is chosen, which means this machine.
pub(in crate::cli) fn chosen_hosts(
    tree_options: &TreeOptions,
    hosts: &HostSelectionArgs,
    cx: &Context,
) -> Result<Option<ChosenHosts>, Failure> {
    let HostSelectionArgs { choice, connection } = hosts;
    let mut scope = choice.scope()?;
    scope
        .hosts
        .extend(tree_options.tree.instance.iter().cloned());
    if scope.is_unspecified() {
        let needless = [
            (!tree_options.tree.limit.is_empty(), "--limit"),
            (!choice.exclude_hosts.is_empty(), "--exclude-hosts"),
            (!choice.hosts_file.is_empty(), "--hosts-file"),
        ];
        if let Some((_, option)) = needless.iter().find(|(is_set, _)| *is_set) {
            let message = format!("`{option}` needs hosts; name them with `-H` or `-R`");
            return Err(Failure::usage(message));
        }
        return Ok(None);
    }
    let known = connection.fleet_hosts(&choice.hosts_file, AnswerSource::Stdin, cx)?;
    let user = connection.user.as_deref();
    let scope = known.expand(scope)?;
    let hosts = choose_hosts(&scope, &tree_options.tree.limit, &known, user)?;
    let passwords = known.passwords.clone();
    let executors = known.executors.clone();
    Ok(Some(ChosenHosts {
        hosts,
        passwords,
        executors,
    }))
}
