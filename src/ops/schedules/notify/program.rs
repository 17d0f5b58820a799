//! Delivery to a program on this machine.

use std::path::Path;
use std::time::Duration;

use super::delivery_error::DeliveryError;
use crate::system::process::{self, Helper};

/// The number of characters of the messages of a program that an error quotes.
const QUOTED_CHARS: usize = 200;

/// Runs a program in the folder of the project, with the notice on its standard input.
pub(super) fn run(
    argv: Vec<String>,
    stdin: Vec<u8>,
    folder: &Path,
    limit: Duration,
) -> Result<(), DeliveryError> {
    let helper = Helper {
        cwd: Some(folder.to_owned()),
        stdin,
        time_limit: limit,
        is_remote: true,
        max_output: 64 << 10,
        ..Helper::new(argv)
    };
    let output = process::run(&helper);
    let output = output.map_err(|error| DeliveryError::passing(error.to_string()))?;
    if output.is_ok() {
        return Ok(());
    }
    let program = helper.argv.first().map_or("", String::as_str);
    let messages = String::from_utf8_lossy(&output.stderr);
    let last = messages.trim_end().lines().next_back().unwrap_or_default();
    let last: String = last.chars().take(QUOTED_CHARS).collect();
    let mut message = format!("`{program}` ended with exit code {}", output.code);
    if !last.is_empty() {
        message.push_str(&format!(": {last}"));
    }
    Err(DeliveryError::passing(message))
}
