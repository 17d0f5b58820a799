//! Connects options with the names that their values can have.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgMatches, Command};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};

use crate::cli::help::JOB_COMMANDS;
use crate::cli::request::session::home_folder;
use crate::cli::request::state_roots::split_root;
use crate::drift::FindingId;
use crate::ops::SessionOptions;
use crate::ops::names::{NameKind, NamesRequest, names};
use crate::system::env::Env;

/// The separator of hosts and roles within one word.
const LIST_SEPARATOR: char = ',';

/// The subcommands of `schedule` that take the name of a schedule.
const SCHEDULE_COMMANDS: [&str; 5] = ["next", "run", "log", "pause", "resume"];

/// The ensemble and the files that the finished words of a command line name.
#[derive(Debug, Clone)]
pub(super) struct NameSources(Arc<NamesRequest>);

impl NameSources {
    /// Reads the words of a command line, without the one that is typed.
    pub(super) fn of(words: &[String], cli: &Command) -> Self {
        let parsed = cli.clone().ignore_errors(true).try_get_matches_from(words);
        let parsed = parsed.ok();
        let mut leaf = parsed.as_ref();
        while let Some((_, below)) = leaf.and_then(ArgMatches::subcommand) {
            leaf = Some(below);
        }
        let all = |id: &str| -> Vec<String> {
            let raw = leaf.and_then(|leaf| leaf.try_get_raw(id).ok().flatten());
            let words = raw.into_iter().flatten();
            words
                .map(|word| word.to_string_lossy().into_owned())
                .collect()
        };
        let one = |id: &str| all(id).pop();
        let paths = |id: &str| all(id).into_iter().map(PathBuf::from).collect();
        let env = Env::of_this_process();
        let ensemble = ["ensemble", "ensembles", "path", "dir"]
            .into_iter()
            .find_map(one);
        let named = all("names")
            .into_iter()
            .find(|word| !FindingId::is_written_as(word));
        let ensemble = ensemble.or(named);
        let options = SessionOptions {
            ensemble: ensemble.unwrap_or_default(),
            environment: one("use_environment"),
            home: home_folder(one("home").as_deref(), env.get("HOME")),
            incomplete: true,
            ..SessionOptions::default()
        };
        Self(Arc::new(NamesRequest {
            options,
            instances: all("instance"),
            hosts_files: paths("hosts_file"),
            tasks_file: one("file").map(PathBuf::from),
            state_folders: paths("file_root")
                .iter()
                .map(|written| split_root(written).1)
                .collect(),
        }))
    }
}

/// Completes one kind of name.
struct NameCompleter {
    kind: NameKind,
    sources: NameSources,
    /// The word may hold several names.
    is_list: bool,
    /// Paths are values, too.
    or_path: bool,
}

impl ValueCompleter for NameCompleter {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let current = current.to_string_lossy();
        let last = current.rfind(LIST_SEPARATOR).filter(|_| self.is_list);
        let (before, typed) = current.split_at(last.map_or(0, |place| place + 1));
        let mut found: Vec<CompletionCandidate> = names(self.kind, &self.sources.0)
            .into_iter()
            .filter(|name| name.text.starts_with(typed))
            .map(|name| {
                let about = (!name.about.is_empty()).then(|| name.about.into());
                CompletionCandidate::new(format!("{before}{}", name.text)).help(about)
            })
            .collect();
        if self.or_path {
            found.extend(PathCompleter::any().complete(OsStr::new(typed)));
        }
        found
    }

    fn complete_at(&self, index: usize, current: &OsStr) -> Vec<CompletionCandidate> {
        // The second word of `--var` is a value.
        if index == 0 {
            self.complete(current)
        } else {
            Vec::new()
        }
    }
}

/// Returns the kind of names that an option of a command takes.
fn kind_of(command: &str, argument: &Arg) -> Option<NameKind> {
    let is_job = JOB_COMMANDS.contains(&command);
    Some(match argument.get_id().as_str() {
        "instance" | "exclude" => NameKind::Instance,
        "host" if command == "run" => NameKind::Instance,
        "host" | "hosts" | "exclude_hosts" | "gateway" => NameKind::Host,
        "pattern" if command == "hosts" => NameKind::Host,
        "roles" => NameKind::Role,
        "template" if is_job => NameKind::Template,
        "operation" => NameKind::Operation,
        "workflow" => NameKind::Workflow,
        "var" if is_job => NameKind::Input,
        "reveal" => NameKind::Output,
        "use_environment" => NameKind::Environment,
        "job" if command == "history" => NameKind::Job,
        "names" if command == "accept" => NameKind::Finding,
        "calls" | "details" if command == "task" => NameKind::Task,
        "sls" => NameKind::StateFile,
        "name" if command == "fact" => NameKind::Fact,
        "name" if SCHEDULE_COMMANDS.contains(&command) => NameKind::Schedule,
        "ensemble" | "ensembles" | "path" | "dir" => NameKind::Ensemble,
        _ => return None,
    })
}

/// Adds completion of names to the options of all commands.
pub(super) fn with_names(command: Command, sources: &NameSources) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|argument| match kind_of(&name, &argument) {
            Some(kind) => argument.add(ArgValueCompleter::new(NameCompleter {
                kind,
                sources: sources.clone(),
                is_list: matches!(kind, NameKind::Host | NameKind::Role),
                or_path: kind == NameKind::Ensemble,
            })),
            None => argument,
        })
        .mut_subcommands(|below| with_names(below, sources))
}
