//! The render pipeline that the first line of a state file selects, such as `#!jinja|yaml`.

use super::stateconf::StateconfOptions;

/// The renderers of a state file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a separate renderer"
)]
pub(super) struct RenderPipe {
    pub(super) jinja: bool,
    pub(super) json: bool,
    /// Texts with a PGP message are decrypted once the file is parsed.
    pub(super) gpg: bool,
    /// The file is a program in Python, whose function `run` gives the states.
    pub(super) python: bool,
    pub(super) stateconf: Option<StateconfOptions>,
}

impl RenderPipe {
    /// Reads the first line of a state file.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let mut pipe = Self {
            jinja: true,
            json: false,
            gpg: false,
            python: false,
            stateconf: None,
        };
        let Some(line) = text.strip_prefix("#!") else {
            return Ok(pipe);
        };
        let line = line.lines().next().unwrap_or_default().trim();
        if line.starts_with('/') {
            return Ok(pipe);
        }
        pipe.jinja = false;
        let steps: Vec<&str> = line.split('|').map(str::trim).collect();
        for (place, step) in steps.iter().enumerate() {
            let (name, arguments) = step.split_once(char::is_whitespace).unwrap_or((step, ""));
            let is_last = place + 1 == steps.len();
            match name {
                "jinja" => pipe.jinja = true,
                "yaml" => {}
                "json" => pipe.json = true,
                "gpg" if is_last && place > 0 => pipe.gpg = true,
                "gpg" => {
                    return Err(
                        "the renderer `gpg` must be the last one: `#!jinja|yaml|gpg`".to_owned(),
                    );
                }
                "py" if steps.len() == 1 => pipe.python = true,
                "stateconf" if steps.len() == 1 => {
                    pipe.stateconf = Some(StateconfOptions::parse(arguments, &mut pipe.json)?);
                    pipe.jinja = true;
                }
                "py" | "stateconf" => {
                    return Err(format!(
                        "the renderer `{name}` cannot be combined with others"
                    ));
                }
                name => {
                    return Err(format!(
                        "unknown renderer `{name}`: use jinja, yaml, json, gpg, py or stateconf"
                    ));
                }
            }
        }
        Ok(pipe)
    }
}
