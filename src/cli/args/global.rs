//! Global options: those of all commands, before or after the command.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use crate::cli::args::format::{existing_folder, limit_size, positive_duration};

/// The accepted names of message levels for `--loglevel`.
const LEVELS: [&str; 8] = [
    "trace", "debug", "verbose", "info", "warning", "warn", "error", "critical",
];

/// The display of running work on the error output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(in crate::cli) enum ProgressMode {
    /// A live display on a terminal, groups in pipelines of GitHub and GitLab, `plain` elsewhere
    #[default]
    Auto,
    /// The output of each task when it ends
    Plain,
    /// Events as JSON, one per line
    Json,
    /// Only the output of tasks and messages
    None,
}

/// Global options, which all commands take.
#[derive(Debug, Args)]
pub(in crate::cli) struct Global {
    /// Path to the home project; empty for none
    #[arg(long, global = true, env = "UNFURL_HOME", value_name = "PATH")]
    pub(in crate::cli) home: Option<String>,
    /// Show more messages: -v verbose, -vv debug, -vvv trace
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(in crate::cli) verbose: u8,
    /// Show errors only
    #[arg(short, long, global = true)]
    pub(in crate::cli) quiet: bool,
    /// Lowest message level to show: trace, debug, verbose, info, warning, error, critical
    #[arg(long, global = true, env = "UNFURL_LOGGING", value_name = "LEVEL", ignore_case = true, value_parser = LEVELS, hide_possible_values = true)]
    pub(in crate::cli) loglevel: Option<String>,
    /// How running jobs are shown: live or by task (auto), plain, json (events, one per line), none
    #[arg(
        long,
        global = true,
        env = "UNFURL_PROGRESS",
        value_name = "WORD",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(in crate::cli) progress: ProgressMode,
    /// File for the log of the job
    #[arg(long, global = true, env = "UNFURL_LOGFILE", value_name = "PATH")]
    pub(in crate::cli) logfile: Option<PathBuf>,
    /// Folder for temporary files; it must exist
    #[arg(long, global = true, env = "UNFURL_TMPDIR", value_name = "PATH", value_parser = existing_folder)]
    pub(in crate::cli) tmp: Option<PathBuf>,
    /// Permit the project an effect beyond reading its own files: read (other files), pipe, url, secrets, python,
    /// inventory (programs that list hosts), …;
    /// git-config lets settings and hooks of its repositories run programs; evaluate-results lets expressions
    /// in the output of commands be evaluated
    #[arg(long, global = true, value_name = "NAME", value_delimiter = ',', action = ArgAction::Append)]
    pub(in crate::cli) allow: Vec<String>,
    /// Limit of the YAML text of one file, and of all files of a project together, such as 512MiB
    #[arg(long, global = true, env = "UNFURL_MAX_TEXT", value_name = "SIZE", value_parser = limit_size, default_value = "256MiB")]
    pub(in crate::cli) max_text: usize,
    /// Limit of one value and of one file that an expression reads, such as 64MiB
    #[arg(long, global = true, env = "UNFURL_MAX_VALUE", value_name = "SIZE", value_parser = limit_size, default_value = "16MiB")]
    pub(in crate::cli) max_value: usize,
    /// Limit of the CPU time that one property, input or template may take to evaluate
    #[arg(long, global = true, env = "UNFURL_EVAL_TIMEOUT", value_name = "DURATION", value_parser = positive_duration, default_value = "10s")]
    pub(in crate::cli) eval_timeout: Duration,
    /// Not supported: there is no other runtime
    #[arg(
        long,
        global = true,
        hide = true,
        env = "UNFURL_RUNTIME",
        value_name = "NAME"
    )]
    pub(in crate::cli) runtime: Option<String>,
    /// Ignore `UNFURL_RUNTIME`
    #[arg(long, global = true, hide = true, env = "UNFURL_NORUNTIME", value_parser = clap::builder::FalseyValueParser::new())]
    pub(in crate::cli) no_runtime: bool,
    /// Not supported: there is no runtime that could be older
    #[arg(
        long,
        global = true,
        hide = true,
        env = "UNFURL_VERSION_CHECK",
        value_name = "VERSION"
    )]
    pub(in crate::cli) version_check: Option<String>,
    /// Ignore `UNFURL_VERSION_CHECK`
    #[arg(long, global = true, hide = true)]
    pub(in crate::cli) no_version_check: bool,
    #[command(flatten)]
    pub(in crate::cli) upstream: UpstreamArgs,
}

/// The check of remotes for newer commits before a job.
#[derive(Debug, Args)]
pub(in crate::cli) struct UpstreamArgs {
    /// Do not check the ensemble's repositories for newer commits before a job
    #[arg(long, global = true, env = "UNFURL_SKIP_UPSTREAM_CHECK", value_parser = clap::builder::FalseyValueParser::new())]
    pub(in crate::cli) skip_upstream_check: bool,
    /// Check for newer commits even if `UNFURL_SKIP_UPSTREAM_CHECK` is set
    #[arg(long, global = true, hide = true, env = "UNFURL_CHECK_UPSTREAM", value_parser = clap::builder::FalseyValueParser::new())]
    pub(in crate::cli) check_upstream: bool,
}
