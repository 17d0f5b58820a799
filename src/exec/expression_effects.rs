//! Performs the effects of expressions on this machine.
//!
//! Expressions may run programs, fetch URLs (with `curl`), write files and create folders where the
//! project allows it. These effects block the caller.

use std::collections::BTreeMap;
use std::path::Path;

use crate::expr::{Effect, EffectError, EffectOutput};
use crate::system::{fs, process};

/// Performs one effect.
///
/// Relative paths are below `base`, which is also the working folder of programs. Programs see
/// `variables` only.
///
/// # Errors
///
/// The program fails or prints too much, or the file cannot be written.
pub fn perform_effect(
    effect: &Effect,
    base: &Path,
    variables: &BTreeMap<String, String>,
) -> Result<EffectOutput, EffectError> {
    match effect {
        Effect::Run { command } => run(command.iter().map(String::as_str), base, variables),
        Effect::Fetch { url } => {
            let curl = ["curl", "-fsSL", "--proto", "=http,https", "--", url];
            run(curl.into_iter(), base, variables)
        }
        Effect::WriteFile {
            path,
            contents,
            sensitive,
        } => {
            let mode = sensitive.then_some(0o600);
            let written = fs::write_plain(&fs::absolute(path, base), contents, mode);
            written
                .map(|()| EffectOutput::default())
                .map_err(EffectError::of)
        }
        Effect::MakeDir { path } => {
            let created = fs::create_dir_all(&fs::absolute(path, base));
            created
                .map(|()| EffectOutput::default())
                .map_err(EffectError::of)
        }
    }
}

fn run<'a>(
    command: impl Iterator<Item = &'a str>,
    base: &Path,
    variables: &BTreeMap<String, String>,
) -> Result<EffectOutput, EffectError> {
    let mut helper = process::Helper::new(command);
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
