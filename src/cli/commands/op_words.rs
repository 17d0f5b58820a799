//! The words of the command `op` after the function: names and arguments in YAML.

use std::sync::Arc;

use crate::cli::request::yaml_maps::map_of;
use crate::fleet::states::StateSelection;
use crate::ops::Failure;
use crate::value::{Map, Value};

/// The words of the command line after the function.
pub(super) struct OpWords {
    /// The words without `=`, in order.
    pub(super) names: Vec<Value>,
    /// The arguments with a name.
    pub(super) keywords: Map,
}

impl OpWords {
    pub(super) fn parse(function: &str, words: &[String]) -> Result<Self, Failure> {
        if !function.contains('.') {
            let message = format!("`{function}` has no module; write `MODULE.FUNCTION`");
            return Err(Failure::usage(message));
        }
        let (mut names, mut keywords) = (Vec::new(), Map::new());
        for word in words {
            let Some((key, text)) = word.split_once('=').filter(|(key, _)| is_key(key)) else {
                names.push(Value::from(word.as_str()));
                continue;
            };
            if keywords.insert(key.into(), value_of(key, text)?).is_some() {
                return Err(given_twice(key));
            }
        }
        Ok(Self { names, keywords })
    }

    /// Returns the state that the words describe. The word without `=` is the argument `name`.
    pub(super) fn state(self, function: &str) -> Result<StateSelection, Failure> {
        let mut arguments = Map::new();
        let names = self.names.into_iter().map(|name| ("name".into(), name));
        for (key, value) in names.chain(self.keywords) {
            if arguments.insert(Arc::clone(&key), value).is_some() {
                return Err(given_twice(&key));
            }
        }
        Ok(StateSelection::Single {
            function: function.to_owned(),
            arguments,
        })
    }
}

fn given_twice(key: &str) -> Failure {
    Failure::usage(format!("`{key}` is given twice"))
}

fn is_key(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && text.bytes().all(plain)
}

/// Parses a value as YAML. Text that is not valid YAML is taken as it is.
fn value_of(key: &str, text: &str) -> Result<Value, Failure> {
    let map = map_of(key, &format!("{key}: {text}")).or_else(|_| {
        let map = [(key.into(), Value::from(text))];
        Ok::<Map, Failure>(map.into_iter().collect())
    })?;
    Ok(map.get(key).cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed_state(function: &str, words: &[String]) -> Result<StateSelection, Failure> {
        OpWords::parse(function, words)?.state(function)
    }

    #[test]
    fn words_are_the_name_and_arguments_in_yaml() {
        let words = [
            "/etc/motd",
            "mode='0644'",
            "makedirs=true",
            "contents=a: b: c",
        ];
        let StateSelection::Single { arguments, .. } =
            typed_state("file.managed", &words.map(str::to_owned)).unwrap()
        else {
            panic!("one state was typed");
        };
        let shown: Vec<String> = arguments
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        insta::assert_snapshot!(shown.join(" "), @"name=/etc/motd mode=0644 makedirs=True contents=a: b: c");
    }

    #[test]
    fn a_name_may_contain_an_equals_sign() {
        let words = ["echo a=b".to_owned()];
        let StateSelection::Single { arguments, .. } = typed_state("cmd.run", &words).unwrap()
        else {
            panic!("one state was typed");
        };
        assert_eq!(arguments["name"].as_str(), Some("echo a=b"));
    }

    #[test]
    fn what_is_given_twice_is_refused() {
        let words = ["a".to_owned(), "b".to_owned()];
        assert!(typed_state("cmd.run", &words).is_err());
        assert!(typed_state("cmd.run", &["cwd=/".into(), "cwd=/".into()]).is_err());
        assert!(typed_state("cmd", &[]).is_err());
    }
}
