//! The extra variables of a playbook: the public ones in a file, the secret ones in a file that is encrypted with a
//! password of this run.

use std::sync::Arc;

use super::yaml_writer::{is_ansible_template, to_ansible_yaml};
use crate::value::{Map, Value};

/// The start of the names of variables that stand for secret values of other files.
const SECRET_PREFIX: &str = "unfurl_secret_";
/// The start of the names of variables that stand for texts from outside the model.
const VALUE_PREFIX: &str = "unfurl_value_";

/// The extra variables that a playbook gets.
#[derive(Debug, Default)]
pub(super) struct ExtraVariables {
    public: Map,
    secret: Map,
}

impl ExtraVariables {
    /// Adds a variable. Variables that contain secrets go to the encrypted file as a whole.
    pub(super) fn add(&mut self, name: impl Into<Arc<str>>, value: Value) {
        let variables = if value.has_sensitive() {
            &mut self.secret
        } else {
            &mut self.public
        };
        variables.insert(name.into(), value);
    }

    /// Returns a value for a file in clear: instead of secrets, and of texts from outside the model that look like
    /// templates, it has references to variables.
    pub(super) fn replace_in(&mut self, value: &Value) -> Value {
        self.replaced(value, false)
    }

    fn replaced(&mut self, value: &Value, is_data: bool) -> Value {
        match value {
            Value::Sensitive(inner) => {
                let inner = inner.revealed().data().sensitive();
                Self::reference(&mut self.secret, SECRET_PREFIX, inner)
            }
            Value::Data(inner) => self.replaced(inner, true),
            Value::External(external) if external.plain_text().is_some() => value.clone(),
            Value::External(external) => self.replaced(&external.value, is_data),
            Value::Str(text) if is_data && is_ansible_template(text) => {
                let text = value.clone().data();
                Self::reference(&mut self.public, VALUE_PREFIX, text)
            }
            Value::List(items) => Value::list(
                items
                    .iter()
                    .map(|item| self.replaced(item, is_data))
                    .collect::<Vec<_>>(),
            ),
            Value::Map(map) => {
                let entries = map.iter();
                let entries =
                    entries.map(|(key, item)| (Arc::clone(key), self.replaced(item, is_data)));
                Value::from(entries.collect::<Map>())
            }
            other => other.clone(),
        }
    }

    fn reference(variables: &mut Map, prefix: &str, value: Value) -> Value {
        let known = variables
            .iter()
            .find(|(name, known)| name.starts_with(prefix) && known.revealed() == value.revealed());
        let name = match known {
            Some((name, _)) => Arc::clone(name),
            None => {
                let name: Arc<str> = format!("{prefix}{}", variables.len() + 1).into();
                variables.insert(Arc::clone(&name), value);
                name
            }
        };
        Value::from(format!("{{{{ {name} }}}}"))
    }

    /// Returns the text of the file with the public variables. None if there are none.
    pub(super) fn public_text(&self) -> Option<String> {
        let is_used = !self.public.is_empty();
        is_used.then(|| to_ansible_yaml(&Value::from(self.public.clone())))
    }

    /// Returns the text of the secret variables in clear, to be encrypted. None if there are none.
    pub(super) fn secret_text(&self) -> Option<zeroize::Zeroizing<String>> {
        let is_used = !self.secret.is_empty();
        is_used.then(|| to_ansible_yaml(&Value::from(self.secret.clone())).into())
    }

    /// Returns the secret values.
    pub(super) fn secret_values(&self) -> Value {
        Value::from(self.secret.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_clear_have_references_instead_of_secrets() {
        let mut variables = ExtraVariables::default();
        let password = || Value::str("hunter2").sensitive();
        let playbook = Value::map([
            ("password", password()),
            ("again", Value::list([password()])),
            ("text", Value::str("{{ own }}")),
            ("data", Value::map([("x", Value::str("{{ evil }}"))]).data()),
        ]);
        let clear = variables.replace_in(&playbook);
        insta::assert_snapshot!(to_ansible_yaml(&clear), @r#"
        password: "{{ unfurl_secret_1 }}"
        again:
          - "{{ unfurl_secret_1 }}"
        text: "{{ own }}"
        data:
          x: "{{ unfurl_value_1 }}"
        "#);
        insta::assert_snapshot!(variables.public_text().unwrap(), @r#"unfurl_value_1: !unsafe "{{ evil }}""#);
        insta::assert_snapshot!(&*variables.secret_text().unwrap(), @"unfurl_secret_1: hunter2");
        variables.add("user", Value::str("joe"));
        variables.add("token", Value::map([("of", password())]));
        assert!(!variables.public_text().unwrap().contains("hunter2"));
    }
}
