//! The secret backends of an environment, with the variables of this process, which they read.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::Diagnostics;
use crate::expr::{SECRETS_PERMISSION, SecretError, SecretRequest};
use crate::git::exposed_password_warning;
use crate::project::{Environment, OutsideError, ReadScope, Trust};
use crate::secret::{BackendContext, BackendError, SecretBackends};
use crate::system::env::Env;
use crate::value::Value;

/// Gets the secrets for expressions of an ensemble.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecretSource {
    backends: SecretBackends,
    env: Arc<Env>,
}

impl SecretSource {
    pub(crate) fn new(environment: &Environment, env: &Env) -> Self {
        Self {
            backends: environment.secret_backends.clone(),
            env: Arc::new(env.clone()),
        }
    }

    /// Gets a secret. Programs run in the folder of the project, and relative paths begin there.
    pub(super) fn fetch(
        &self,
        request: &SecretRequest,
        project: &Path,
        trust: &Trust,
        scope: &ReadScope,
    ) -> Result<Value, SecretError> {
        let is_permitted = trust.permits(SECRETS_PERMISSION);
        let files = |path: &Path| {
            if is_permitted {
                return Ok(path.to_owned());
            }
            scope.resolve(path).map_err(|_| OutsideError::help())
        };
        let context = BackendContext {
            env: &self.env,
            folder: project,
            files: &files,
        };
        let (from, field) = (request.from.as_deref(), request.field.as_deref());
        let found = self
            .backends
            .get(from, &request.name, field, is_permitted, &context);
        found.map_err(|error| match error {
            BackendError::NotPermitted => SecretError::NotPermitted,
            error => SecretError::Failed(error.to_string()),
        })
    }
}

/// Returns a warning for each file with a credential of a backend that other users can read, or that git tracks.
pub(super) fn exposed_credentials(environment: &Environment, env: &Env) -> Diagnostics {
    let files = environment
        .secret_backends
        .credential_files(env)
        .into_iter();
    let warnings = files.filter_map(|file| exposed_password_warning(&file, "a token of Vault"));
    let mut exposed = Diagnostics::default();
    warnings.for_each(|warning| exposed.push(warning));
    exposed
}
