//! Secrets in variables of this process.

use zeroize::Zeroizing;

use super::contract::{Backend, BackendContext, Secret};
use super::error::Problem;
use super::name::SecretName;

/// Takes secrets from variables of this process.
#[derive(Debug)]
pub(super) struct VariableBackend {
    /// The name of the variable, with the placeholder.
    pub(super) pattern: String,
}

impl Backend for VariableBackend {
    fn needs_permission(&self) -> bool {
        false
    }

    fn fetch(&self, name: &SecretName, context: &BackendContext<'_>) -> Result<Secret, Problem> {
        let variable = name.fill_in(&self.pattern);
        match context.env.non_empty(&variable) {
            Some(text) => Ok(Secret::Text(Zeroizing::new(text.to_owned()))),
            None => Err(Problem::new(
                format!("the variable `{variable}` is not set or is empty"),
                format!("set `{variable}` before the command"),
            )),
        }
    }
}
