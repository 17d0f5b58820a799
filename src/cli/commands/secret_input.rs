//! The input that the subcommands of `secret` share: the project, and values that are never on the command line.

use std::io::Read as _;

use serde_json::{Value as Json, json};
use zeroize::Zeroizing;

use crate::cli::output::Context;
use crate::cli::prompt;
use crate::cli::request::session::session_options;
use crate::ops::secret::{SecretPlace, SecretProject};
use crate::ops::{Failure, FailureKind, watch_signals};

/// The maximum size of a value, in bytes.
pub(super) const MAX_VALUE_BYTES: u64 = 16 << 20;

/// Opens the project around a folder, and prints remarks on its keys.
pub(super) fn open(folder: &str, cx: &Context) -> Result<SecretProject, Failure> {
    let project = SecretProject::open(&session_options(folder, None, cx))?;
    for warning in &project.warnings {
        cx.output.message(crate::job::LogLevel::Warning, warning);
    }
    Ok(project)
}

/// Reads the standard input without its last line break.
pub(super) fn read_stdin() -> Result<Zeroizing<String>, Failure> {
    let mut bytes = Zeroizing::new(Vec::new());
    let mut limited = std::io::stdin().lock().take(MAX_VALUE_BYTES);
    limited.read_to_end(&mut bytes).map_err(|error| {
        let message = format!("the standard input cannot be read: {error}");
        Failure::new(FailureKind::Refused, message, None)
    })?;
    let text = text_of(&bytes)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    Ok(Zeroizing::new(line.to_owned()))
}

/// Returns bytes as text.
pub(super) fn text_of(bytes: &[u8]) -> Result<Zeroizing<String>, Failure> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Zeroizing::new(text.to_owned())),
        Err(_) => {
            let message = "the value is not UTF-8 text";
            let help = "encode it, for example with `base64`".to_owned();
            Err(Failure::new(FailureKind::Refused, message, Some(help)))
        }
    }
}

/// Asks for a secret text twice, without showing it.
pub(super) fn ask_twice(subject: &str, cx: &Context) -> Result<Zeroizing<String>, Failure> {
    let interrupts = watch_signals();
    let ask = |question: &str| {
        let answer = prompt::line(question, true, &interrupts, &cx.output);
        answer
            .map(Zeroizing::new)
            .ok_or_else(|| Failure::new(FailureKind::Refused, "no value was given", None))
    };
    let first = ask(&format!("{subject}: "))?;
    let second = ask(&format!("{subject} again: "))?;
    if first == second {
        return Ok(first);
    }
    let message = "the two values differ, so nothing was written";
    Err(Failure::new(FailureKind::Refused, message, None))
}

/// Returns the place of a value as JSON.
pub(super) fn place_json(place: &SecretPlace) -> Json {
    json!({
        "name": place.name,
        "file": place.file.display().to_string(),
        "line": place.line,
        "column": place.column,
    })
}
