//! Performs the effects of expressions on this machine.
//!
//! Expressions may run programs and fetch URLs (with `curl`) where the project allows it. These effects block
//! the caller.

use std::collections::BTreeMap;
use std::path::Path;

use crate::expr::{Effect, EffectError, EffectOutput};
use crate::system::process::{self, Helper};

/// Runs the program of an effect.
///
/// Programs run in the folder `base` and see `variables` only.
///
/// # Errors
///
/// The program fails or prints too much, or the effect is no program.
pub fn perform_effect(
    effect: &Effect,
    base: &Path,
    variables: &BTreeMap<String, String>,
) -> Result<EffectOutput, EffectError> {
    match effect {
        Effect::Run { command } => {
            let command = Helper::new(command.iter().map(String::as_str));
            run(command, base, variables)
        }
        Effect::Fetch { url } => {
            let curl = ["curl", "-fsSL", "--proto", "=http,https", "--", url];
            let command = Helper {
                is_remote: true,
                ..Helper::new(curl)
            };
            run(command, base, variables)
        }
        Effect::WriteFile { .. } | Effect::MakeDir { .. } => {
            Err(EffectError::Refused("files are not written here"))
        }
    }
}

fn run(
    mut helper: Helper,
    base: &Path,
    variables: &BTreeMap<String, String>,
) -> Result<EffectOutput, EffectError> {
    helper.cwd = Some(base.to_path_buf());
    let variables = variables.iter();
    let variables = variables.map(|(name, value)| (name.clone(), value.clone()));
    helper.env = Some(variables.collect());
    let output = process::run(&helper).map_err(EffectError::of)?;
    if output.truncated {
        return Err(EffectError::TooMuchOutput);
    }
    if !output.is_ok() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(EffectError::Exited {
            code: output.code,
            output: said.trim().to_owned(),
        });
    }
    let output = output.stdout;
    Ok(EffectOutput { output })
}
