//! The ensemble that a command is about, and its surroundings.

use std::path::PathBuf;

use crate::cli::output::{Context, Output};
use crate::ops::{self, SessionOptions};

/// Which ensemble a command is about, and in which surroundings.
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

/// The home project: that of the option or the environment, else `~/.unfurl_home` where it exists.
pub(in crate::cli) fn home(cx: &Context) -> Option<PathBuf> {
    match cx.global.home.as_deref() {
        Some("") => None,
        Some(path) => Some(PathBuf::from(path)),
        None => {
            let home = PathBuf::from(cx.output.variable("HOME")?).join(".unfurl_home");
            crate::system::fs::is_dir(&home).then_some(home)
        }
    }
}

/// Tells of a job that was cut off and is not on record yet.
pub(in crate::cli) fn warn_interrupted_job(options: &SessionOptions, output: &Output) {
    if let Some(text) = ops::recover::notice(options) {
        output.print_stderr(&format!("note: {text}\n"));
    }
}
