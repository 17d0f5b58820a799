//! Features of Unfurl that this program leaves out, and the answers that name a replacement.
//!
//! Commands and options are parsed, so that the answer comes instead of a guess of the parser. They end with exit
//! code 2. Variables that only influence details are answered with a warning.

use clap::Args;

use super::args::global::Global;
use super::output::Output;
use crate::job::LogLevel;
use crate::ops::Failure;
use crate::system::env::Env;

/// The id of the words of a left-out command.
pub(super) const WORDS: &str = "left_out_words";

/// The words of a command that this program leaves out. They are not looked at.
#[derive(Debug, Args)]
pub(super) struct LeftOutArgs {
    /// Not supported
    #[arg(
        id = WORDS,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    _words: Vec<String>,
}

/// Returns true if the words of a left-out command ask for JSON.
pub(super) fn asks_for_json(matches: &clap::ArgMatches) -> bool {
    let words = matches.try_get_raw(WORDS).ok().flatten();
    let mut last = None;
    words.into_iter().flatten().any(|word| {
        let is_value = last.replace(word).is_some_and(|last| last == "--output");
        word == "--output=json" || (is_value && word == "json")
    })
}

/// A command of Unfurl that this program leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftOutCommand {
    Runtime,
    Serve,
    CloudMap,
}

impl LeftOutCommand {
    /// Returns the answer to the command.
    pub(super) fn failure(self) -> Failure {
        let (message, help) = match self {
            Self::Runtime => (
                "`unfurl runtime` is left out: this program is a single file and needs no runtime",
                "`unfurl version` shows the version that runs everything; to run it in a container or elsewhere, \
                 call it there",
            ),
            Self::Serve => (
                "the API server of `unfurl serve` is left out: `unfurl serve` runs schedules",
                "`unfurl export` prints the same JSON; the other commands answer programs with `--output json`",
            ),
            Self::CloudMap => (
                "`unfurl cloudmap` is left out: this program keeps no catalogue of repositories",
                "name a repository by its URL under `repositories` of the environment or the service template; \
                 Unfurl's own `unfurl cloudmap` still works with the same projects",
            ),
        };
        Failure::usage_with(message, help)
    }
}

/// A variable of Unfurl that would change what a job does. A job that ignores it is not the job that was asked for.
const REFUSED_VARIABLES: [(&str, &str, &str); 2] = [
    (
        "UNFURL_MOCK_DEPLOY",
        "operations are not replaced by mock operations",
        "`--dryrun` runs the operations of the interface `Mock`; unset the variable",
    ),
    (
        "UNFURL_WORKDIR",
        "tasks work below the folder of the ensemble",
        "move the ensemble, or set `cwd` for a command; unset the variable",
    ),
];

/// Variables of Unfurl without effect, with the reason.
const UNUSED_VARIABLES: [(&str, &str); 4] = [
    ("UNFURL_VALIDATION_MODE", "all checks are always made"),
    (
        "UNFURL_GLOBAL_NAMESPACE_PACKAGES",
        "each imported file has its own namespace",
    ),
    ("UNFURL_LOG_TRUNCATE", "messages of the log are not cut"),
    (
        "UNFURL_LOG_FORMAT",
        "the log has one format; `--output json` is for programs",
    ),
];

/// Refuses global options and variables for features that this program leaves out.
pub(super) fn refuse(global: &Global) -> Result<(), Failure> {
    let runtime = global.runtime.as_deref();
    // In Unfurl, `.` is the current process.
    let runtime = runtime.filter(|runtime| !runtime.is_empty() && *runtime != ".");
    if runtime.is_some() && !global.no_runtime {
        return Err(Failure::usage_with(
            "`--runtime` (`UNFURL_RUNTIME`) is left out: this program runs in no other runtime",
            "leave the option out, or unset the variable; `--no-runtime` ignores it; to run in a container or \
             elsewhere, call the program there",
        ));
    }
    let version = global.version_check.as_deref();
    if version.is_some_and(|version| !version.is_empty()) && !global.no_version_check {
        return Err(Failure::usage_with(
            "`--version-check` (`UNFURL_VERSION_CHECK`) is left out: there is no runtime that could be older",
            "compare the output of `unfurl version --semver`; `--no-version-check` ignores the variable",
        ));
    }
    let env = Env::of_this_process();
    for (name, message, help) in REFUSED_VARIABLES {
        if env.non_empty(name).is_some() {
            let message = format!("the variable `{name}` is left out: {message}");
            return Err(Failure::usage_with(message, help));
        }
    }
    Ok(())
}

/// Warns about variables without effect.
pub(super) fn warn_unused(output: &Output) {
    for (name, reason) in UNUSED_VARIABLES {
        if output.variable(name).is_some_and(|value| !value.is_empty()) {
            let text = format!("the variable `{name}` has no effect: {reason}");
            output.message(LogLevel::Warning, &text);
        }
    }
}
