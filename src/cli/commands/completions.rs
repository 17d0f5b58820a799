//! `completions`.

use crate::cli::output::Output;

/// Prints a completion script.
pub(in crate::cli) fn completions(
    shell: clap_complete::Shell,
    command: &mut clap::Command,
    output: &Output,
) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "unfurl", &mut script);
    output.answer(&String::from_utf8_lossy(&script));
    0
}
