//! Performs the effects of expressions on this machine.

use crate::expr::{Answer, Effect, EffectError, Effects};
use crate::system::{fs, process};

use super::world::RealWorld;

impl Effects for RealWorld {
    fn perform(&self, effect: &Effect) -> Result<Answer, EffectError> {
        match effect {
            Effect::Run { command } => self.run(command.iter().map(String::as_str)),
            Effect::Fetch { url } => {
                let curl = ["curl", "-fsSL", "--proto", "=http,https", "--", url];
                self.run(curl.into_iter())
            }
            Effect::WriteFile {
                path,
                contents,
                sensitive,
            } => {
                let mode = sensitive.then_some(0o600);
                let written = fs::write_plain(&self.absolute(path), contents, mode);
                written.map(|()| Answer::default()).map_err(EffectError::of)
            }
            Effect::MakeDir { path } => {
                let made = fs::create_dir_all(&self.absolute(path));
                made.map(|()| Answer::default()).map_err(EffectError::of)
            }
        }
    }
}

impl RealWorld {
    fn run<'a>(&self, command: impl Iterator<Item = &'a str>) -> Result<Answer, EffectError> {
        let mut helper = process::Helper::new(command);
        helper.cwd = Some(self.base.clone());
        let variables = self.variables.iter();
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
                said: said.trim().to_owned(),
            });
        }
        let output = output.stdout;
        Ok(Answer { output })
    }
}
