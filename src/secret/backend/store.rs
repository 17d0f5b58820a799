//! The backends of an environment, with what they gave.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::contract::{Backend, BackendContext, Secret};
use super::error::{BackendError, Problem};
use super::name::SecretName;
use super::settings::{NamedBackends, read_section};
use crate::diagnostic::Diagnostics;
use crate::system::env::Env;
use crate::text::did_you_mean;
use crate::value::Value;
use crate::yaml::{self, Node, Schema};

/// The backends of an environment.
///
/// Each secret is fetched once. The values stay in memory until the last clone is dropped, and are never
/// written anywhere.
#[derive(Clone, Default)]
pub struct SecretBackends {
    backends: Arc<NamedBackends>,
    fetched: Arc<Mutex<FetchedSecrets>>,
}

/// The secrets by the names of their backends and their own.
type FetchedSecrets = HashMap<(Arc<str>, SecretName), FetchedSecret>;

/// The place of a secret, which is empty until it is fetched.
type FetchedSecret = Arc<OnceLock<Result<Secret, Problem>>>;

impl std::fmt::Debug for SecretBackends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SecretBackends")
            .field(&self.backends)
            .finish()
    }
}

impl SecretBackends {
    /// Reads the section `secret_backends` of an environment, and reports errors to `problems`.
    pub fn read(section: &Node, problems: &mut Diagnostics) -> Self {
        Self {
            backends: Arc::new(read_section(section, problems)),
            fetched: Arc::default(),
        }
    }

    /// Returns the files with credentials that the backends would read.
    pub fn credential_files(&self, env: &Env) -> Vec<PathBuf> {
        let backends = self.backends.iter();
        let mut files: Vec<_> = backends
            .filter_map(|(_, backend)| backend.credential_file(env))
            .collect();
        files.dedup();
        files
    }

    /// Returns a secret, which is sensitive: its field, or else the whole.
    ///
    /// `from` is the name of the backend; it may be missing if the environment has only one. `is_permitted`
    /// says whether the user permits programs and the network for secrets.
    pub fn get(
        &self,
        from: Option<&str>,
        name: &str,
        field: Option<&str>,
        is_permitted: bool,
        context: &BackendContext<'_>,
    ) -> Result<Value, BackendError> {
        let (backend_name, backend) = self.find(from)?;
        if backend.needs_permission() && !is_permitted {
            return Err(BackendError::NotPermitted);
        }
        let failed = |problem: Problem| BackendError::Failed {
            backend: backend_name.to_string(),
            name: name.to_owned(),
            reason: problem.reason,
            help: problem.help,
        };
        let key = (
            Arc::clone(backend_name),
            SecretName::parse(name).map_err(failed)?,
        );
        let slot = {
            let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(fetched.entry(key.clone()).or_default())
        };
        let secret = slot.get_or_init(|| backend.fetch(&key.1, context));
        let value = secret.clone().and_then(|secret| part_of(&secret, field));
        value.map(Value::sensitive).map_err(failed)
    }

    fn find(&self, name: Option<&str>) -> Result<&(Arc<str>, Arc<dyn Backend>), BackendError> {
        let listed = || {
            let names: Vec<_> = self
                .backends
                .iter()
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            format!("they are {}", names.join(", "))
        };
        let unknown =
            |problem: String, help: String| BackendError::Unknown(format!("{problem}; {help}"));
        match (name, &self.backends[..]) {
            (_, []) => Err(unknown(
                "the environment has no secret backend".to_owned(),
                "add it to `secret_backends` of the environment in `unfurl.yaml`".to_owned(),
            )),
            (None, [only]) => Ok(only),
            (None, _) => Err(unknown(
                "the environment has several secret backends".to_owned(),
                format!("name one with `from`; {}", listed()),
            )),
            (Some(name), all) => all
                .iter()
                .find(|(known, _)| **known == *name)
                .ok_or_else(|| {
                    let similar = did_you_mean(name, all.iter().map(|(name, _)| &**name));
                    let problem = format!("the environment has no secret backend `{name}`");
                    unknown(problem, similar.unwrap_or_else(listed))
                }),
        }
    }
}

/// Returns a field of a secret, or the whole secret. The text of a secret with fields is YAML or JSON.
fn part_of(secret: &Secret, field: Option<&str>) -> Result<Value, Problem> {
    let fields = match (secret, field) {
        (Secret::Text(text), None) => return Ok(Value::str(text.as_str())),
        (Secret::Fields(fields), None) => return Ok(Value::from(fields.clone())),
        (Secret::Fields(fields), Some(_)) => fields.clone(),
        // The error of the parser could quote the secret.
        (Secret::Text(text), Some(_)) => yaml::parse_text(Schema::Core, text)
            .ok()
            .and_then(|node| node.to_value().as_map().cloned())
            .ok_or_else(|| {
                let help = "leave out `field`, or store a map in YAML or JSON";
                Problem::new("the secret is a text without fields", help)
            })?,
    };
    let field = field.unwrap_or_default();
    fields.get(field).cloned().ok_or_else(|| {
        let reason = format!("the secret has no field `{field}`");
        Problem::new(reason, "correct `field`, or add the field in the backend")
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};

    fn backends(text: &str) -> SecretBackends {
        let mut sources = Sources::default();
        let id = sources.add("unfurl.yaml", text, None);
        let node = parse(&sources, id, &Limits::default()).unwrap();
        let mut problems = Diagnostics::default();
        let backends = SecretBackends::read(&node, &mut problems);
        assert!(problems.is_empty(), "{problems:?}");
        backends
    }

    /// Returns the secret, or the message of the error.
    fn get(
        backends: &SecretBackends,
        from: Option<&str>,
        name: &str,
        field: Option<&str>,
    ) -> String {
        let variables = [("A_X", "hush"), ("A_M", "{u: me, p: 1}"), ("A_L", "[1, 2]")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let context = BackendContext {
            env: &variables.into_iter().collect(),
            folder: Path::new("/nowhere"),
            files: &|_| Err("no file here".to_owned()),
        };
        match backends.get(from, name, field, true, &context) {
            Ok(value) => {
                assert!(value.has_sensitive());
                value.reveal().to_string()
            }
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn a_secret_is_the_whole_or_a_field() {
        let one = backends("a: {env: 'A_{name}'}");
        assert_eq!(get(&one, None, "X", None), "hush");
        assert_eq!(get(&one, Some("a"), "M", None), "{u: me, p: 1}");
        assert_eq!(get(&one, Some("a"), "M", Some("p")), "1");
        for (name, field) in [("X", "u"), ("L", "u"), ("M", "none")] {
            let message = get(&one, None, name, Some(field));
            assert!(
                message.starts_with("error: ") && !message.contains("hush"),
                "{message}"
            );
        }
    }

    #[test]
    fn errors_name_the_backend_and_the_secret_and_the_way_out() {
        let two = backends("{a: {env: 'A_{name}'}, files: {file: 'x/{name}'}}");
        let cases = [
            get(&SecretBackends::default(), Some("a"), "X", None),
            get(&two, None, "X", None),
            get(&two, Some("fils"), "X", None),
            get(&two, Some("other"), "X", None),
            get(&two, Some("a"), "NONE", None),
            get(&two, Some("a"), "../X", None),
            get(&two, Some("files"), "X", None),
        ];
        insta::assert_snapshot!(cases.join("\n"), @"
        error: the environment has no secret backend; add it to `secret_backends` of the environment in `unfurl.yaml`
        error: the environment has several secret backends; name one with `from`; they are `a`, `files`
        error: the environment has no secret backend `fils`; did you mean `files`?
        error: the environment has no secret backend `other`; they are `a`, `files`
        error: the secret backend `a` did not give `NONE`: the variable `A_NONE` is not set or is empty; set `A_NONE` before the command
        error: the secret backend `a` did not give `../X`: a part of the name is empty, `.` or `..`; give the name that the backend knows, such as `db/password`
        error: the secret backend `files` did not give `X`: `/nowhere/x/X` lies outside of the project; no file here
        ");
    }
}
