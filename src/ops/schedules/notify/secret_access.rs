//! Reads the keys of webhooks at the moment of a delivery.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::expr::SECRETS_PERMISSION;
use crate::project::{Environment, Trust};
use crate::schedule::SecretSource;
use crate::secret::{BackendContext, SecretBackends};
use crate::system::env::Env;
use crate::system::fs;
use crate::value::{REDACTED, Value};

/// The maximum size of a key, in bytes.
const MAX_KEY_BYTES: u64 = 64 << 10;

/// The places of keys of the schedules of one environment.
#[derive(Debug, Clone)]
pub struct SecretAccess {
    project: PathBuf,
    env: Arc<Env>,
    backends: SecretBackends,
    /// True if the user permits secret backends to run programs and to use the network.
    is_permitted: bool,
}

impl SecretAccess {
    /// Creates access without secret backends.
    pub fn new(project: &Path, env: &Env) -> Self {
        Self {
            project: project.to_owned(),
            env: Arc::new(env.clone()),
            backends: SecretBackends::default(),
            is_permitted: false,
        }
    }

    /// Adds the secret backends of an environment.
    #[must_use]
    pub fn with_backends(mut self, environment: &Environment, trust: &Trust) -> Self {
        self.backends = environment.secret_backends.clone();
        self.is_permitted = trust.permits(SECRETS_PERMISSION);
        self
    }

    /// Returns the folder of the project.
    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    /// Returns a key, or the reason why there is none. The reason never contains the key.
    pub(super) fn read(&self, source: &SecretSource) -> Result<Zeroizing<String>, String> {
        let key = match source {
            SecretSource::Variable(name) => {
                let text = self.env.non_empty(name);
                Zeroizing::new(text.unwrap_or_default().to_owned())
            }
            SecretSource::File(path) => self.read_file(path)?,
            SecretSource::Backend { from, name, field } => {
                self.ask(from.as_deref(), name, field.as_deref())?
            }
            SecretSource::Inline(text) if **text == *REDACTED => {
                return Err("the secret of the webhook cannot be decrypted".to_owned());
            }
            SecretSource::Inline(text) => text.clone(),
        };
        if key.is_empty() {
            return Err(format!(
                "{source}, which signs the request, is not set or is empty"
            ));
        }
        Ok(key)
    }

    fn read_file(&self, path: &str) -> Result<Zeroizing<String>, String> {
        let path = fs::absolute(Path::new(path), &self.project);
        let bytes = fs::read_within(&path, MAX_KEY_BYTES).map_err(|error| error.to_string())?;
        let bytes = Zeroizing::new(bytes);
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| format!("`{}` is not text in UTF-8", path.display()))?;
        Ok(Zeroizing::new(
            text.trim_end_matches(['\r', '\n']).to_owned(),
        ))
    }

    fn ask(
        &self,
        from: Option<&str>,
        name: &str,
        field: Option<&str>,
    ) -> Result<Zeroizing<String>, String> {
        let files = |path: &Path| Ok(path.to_owned());
        let context = BackendContext {
            env: &self.env,
            folder: &self.project,
            files: &files,
        };
        let value = self
            .backends
            .get(from, name, field, self.is_permitted, &context);
        let value = value.map_err(|error| error.to_string())?;
        match value.reveal() {
            Value::Str(text) => Ok(Zeroizing::new(text.to_string())),
            _ => Err(format!(
                "the secret `{name}` is no text; name a field of it with `field`"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_from_variables_and_files_and_reasons_name_the_place() {
        let folder = tempfile::tempdir().unwrap();
        fs::write_plain(&folder.path().join("key"), b"hush\n", None).unwrap();
        let mut env = Env::default();
        env.set("KEY", "from env");
        env.set("EMPTY", "");
        let access = SecretAccess::new(folder.path(), &env);
        let read = |source: &SecretSource| match access.read(source) {
            Ok(key) => key.to_string(),
            Err(reason) => reason.replace(folder.path().to_str().unwrap(), "/p"),
        };
        let variable = |name: &str| SecretSource::Variable(name.into());
        assert_eq!(read(&variable("KEY")), "from env");
        assert_eq!(read(&SecretSource::File("key".into())), "hush");
        let inline = |text: &str| SecretSource::Inline(Zeroizing::new(text.to_owned()));
        assert_eq!(read(&inline("inline")), "inline");
        let backend = SecretSource::Backend {
            from: None,
            name: "x".into(),
            field: None,
        };
        let reasons = [
            read(&variable("EMPTY")),
            read(&variable("NONE")),
            read(&SecretSource::File("none".into())),
            read(&inline(REDACTED)),
            read(&backend),
        ];
        insta::assert_snapshot!(reasons.join("\n"), @"
        the variable `EMPTY`, which signs the request, is not set or is empty
        the variable `NONE`, which signs the request, is not set or is empty
        could not read `/p/none`: no such file or directory
        the secret of the webhook cannot be decrypted
        the environment has no secret backend; add it to `secret_backends` of the environment in `unfurl.yaml`
        ");
    }
}
