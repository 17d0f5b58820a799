//! The options of the command `drift` that look at hosts: which hosts, which states, how hosts are reached.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::cli::args::host::{HostChoice, HostConnection, HostSelectionArgs};
use crate::cli::args::state::{RunOptions, StateTreeArgs, TreeOptions};
use crate::cli::commands::state;
use crate::cli::output::Context;
use crate::cli::request::session::session_options;
use crate::cli::request::states::request_of_files;
use crate::cli::screen::states::StatesScreen;
use crate::drift::{DriftAnswer, DriftKind};
use crate::fleet::states::{StatesRequest, apply_states};
use crate::ops::Failure;
use crate::ops::drift::{HostDriftRequest, drift_of_hosts};
use crate::system::signals::Interrupts;

/// The options of `drift` for hosts.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct DriftHostArgs {
    #[command(flatten)]
    choice: HostChoice,
    /// State files to look at on the hosts, separated by commas; by default, those of the top file
    #[arg(
        long,
        value_name = "SLS",
        value_delimiter = ',',
        help_heading = "States of hosts"
    )]
    states: Vec<String>,
    /// A folder with state files of an environment, or of `base`; may be given more than once; by default, `states`
    #[arg(long, value_name = "[ENV=]DIR", help_heading = "States of hosts")]
    file_root: Vec<PathBuf>,
    /// The environment whose state files are used
    #[arg(long, value_name = "ENV", help_heading = "States of hosts")]
    saltenv: Option<String>,
    /// Pillar data: a YAML map, or `@FILE`, which keeps secrets off the command line
    #[arg(long, value_name = "YAML", help_heading = "States of hosts")]
    pillar: Option<String>,
    /// A file with settings, in the format of Salt's minion configuration
    #[arg(long, value_name = "FILE", help_heading = "States of hosts")]
    config: Option<PathBuf>,
    /// Look as another user; root if no user is given
    #[arg(long, value_name = "USER", num_args = 0..=1, require_equals = true, default_missing_value = "root", help_heading = "States of hosts")]
    sudo: Option<String>,
    #[command(flatten)]
    connection: DriftConnection,
}

/// The options that say how hosts are reached, with the long names alone where `drift` has another option with the
/// short one.
#[derive(Debug, Default)]
struct DriftConnection(HostConnection);

impl Args for DriftConnection {
    fn augment_args(command: Command) -> Command {
        without_short_names(HostConnection::augment_args(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        without_short_names(HostConnection::augment_args_for_update(command))
    }
}

impl FromArgMatches for DriftConnection {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        HostConnection::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Removes the short names that mean something else with `drift`: `-i` is an instance, `-a` approves, and `-n` limits the
/// rows of the log.
fn without_short_names(command: Command) -> Command {
    let names = ["connection_attempts", "identity", "no_agent"];
    names.into_iter().fold(command, |command, name| {
        command.mut_arg(name, |arg| arg.short(None))
    })
}

impl DriftHostArgs {
    /// Returns true if the user names hosts or roles.
    pub(in crate::cli) fn names_hosts(&self) -> Result<bool, Failure> {
        Ok(!self.choice.scope()?.is_unspecified())
    }

    /// Looks at the hosts. None if none are named.
    pub(in crate::cli) fn look(
        &self,
        environment: Option<&str>,
        interrupts: &Interrupts,
        cx: &Context,
    ) -> Result<Option<DriftAnswer>, Failure> {
        if !self.names_hosts()? {
            return Ok(None);
        }
        let request = HostDriftRequest {
            states: self.states_request(interrupts, cx)?,
            session: session_options("", environment, cx),
        };
        let mut screen = StatesScreen::new(&cx.output, interrupts.clone());
        drift_of_hosts(&request, &mut screen).map(Some)
    }

    /// Returns the request to run the states on the hosts.
    fn states_request(
        &self,
        interrupts: &Interrupts,
        cx: &Context,
    ) -> Result<StatesRequest, Failure> {
        let tree = TreeOptions {
            sls: self.states.clone(),
            tree: StateTreeArgs {
                file_root: self.file_root.clone(),
                saltenv: self.saltenv.clone(),
                pillar: self.pillar.clone(),
                config: self.config.clone(),
                ..StateTreeArgs::default()
            },
        };
        let run = RunOptions {
            sudo: self.sudo.clone(),
            ..RunOptions::default()
        };
        let hosts = HostSelectionArgs {
            choice: self.choice.clone(),
            connection: self.connection.0.clone(),
        };
        let mut states = request_of_files(&tree, &run, &hosts, cx)?;
        states.interrupts = interrupts.clone();
        Ok(states)
    }

    /// Runs the states on the hosts with these names, after a question unless the user has approved. Returns the exit
    /// code of the run.
    pub(in crate::cli) fn repair(
        &self,
        drifted: &[Arc<str>],
        (approve, is_text): (bool, bool),
        interrupts: &Interrupts,
        cx: &Context,
    ) -> Result<u8, Failure> {
        let mut states = self.states_request(interrupts, cx)?;
        if states.has_named_hosts {
            states.hosts.retain(|host| drifted.contains(&host.name));
        }
        if !is_text {
            // The standard output belongs to the one JSON document.
            state::require_approval("drift --repair", &states, approve, cx)?;
            let mut screen = StatesScreen::new(&cx.output, interrupts.clone());
            return Ok(apply_states(&states, &mut screen)?.exit_code);
        }
        let options = RunOptions {
            approve,
            ..RunOptions::default()
        };
        state::run("drift --repair", &states, &options, cx)
    }
}

/// Returns the hosts of an answer that have drifted from outside. `all` includes the drift that a rule ignores.
pub(in crate::cli) fn drifted_hosts(answer: &DriftAnswer, all: bool) -> Vec<Arc<str>> {
    let findings = answer.findings.iter();
    let drifted = findings.filter(|finding| {
        finding.kind == DriftKind::Outside && (all || finding.ignored_by.is_none())
    });
    let mut hosts: Vec<Arc<str>> = Vec::new();
    for host in drifted.filter_map(|finding| finding.subject.host.clone()) {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}
