//! Builds the session options: the ensemble, its environment and the home project.

use std::path::PathBuf;

use crate::cli::output::{Context, Output};
use crate::ops::{self, SessionOptions};

/// Returns the session options for an ensemble and an environment.
pub(in crate::cli) fn session_options(
    ensemble: &str,
    environment: Option<&str>,
    cx: &Context,
) -> SessionOptions {
    SessionOptions {
        ensemble: ensemble.to_owned(),
        environment: environment.map(str::to_owned),
        home: home(cx),
        allowed: cx.global.allow.clone(),
        ..SessionOptions::default()
    }
}

/// Returns the home project: `--home` or `UNFURL_HOME`, else `~/.unfurl_home` if it exists.
///
/// An empty option means no home project.
pub(in crate::cli) fn home(cx: &Context) -> Option<PathBuf> {
    home_folder(cx.global.home.as_deref(), cx.output.variable("HOME"))
}

/// Returns the home project that an option names, else `~/.unfurl_home` if it exists in the user's home folder.
pub(in crate::cli) fn home_folder(
    option: Option<&str>,
    user_home: Option<&str>,
) -> Option<PathBuf> {
    match option {
        Some("") => None,
        Some(path) => Some(PathBuf::from(path)),
        None => {
            let home = PathBuf::from(user_home?).join(".unfurl_home");
            crate::system::fs::is_dir(&home).then_some(home)
        }
    }
}

/// Prints a note if an earlier job was interrupted and is not recorded yet.
pub(in crate::cli) fn warn_interrupted_job(options: &SessionOptions, output: &Output) {
    if let Some(text) = ops::recover::notice(options) {
        output.print_stderr(&format!("note: {text}\n"));
    }
}
