//! The values that the user gives with a command: options, files and environment variables.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::input_source::InputSource;
use super::options::{GivenVariable, SessionOptions};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::expr::is_template;
use crate::project::FileLoader;
use crate::system::env::Env;
use crate::text::did_you_mean;
use crate::value::Value;
use crate::yaml::{self, Node, Schema};

/// The start of the environment variables that set inputs.
const VARIABLE_PREFIX: &str = "UNFURL_INPUT_";

/// The start of the job variables that set inputs.
const OPTION_PREFIX: &str = "input_";

/// The values that the user gives with the command, before they are compared with the service template.
#[derive(Debug, Default)]
pub(super) struct GivenInputs {
    /// The files of `--var-file`, in order.
    files: Vec<Node>,
    /// The `--var input_NAME` options, without the prefix of their names.
    options: Vec<GivenVariable>,
    /// The names of all other `--var` options.
    other_options: Vec<String>,
    /// The environment variables that begin with [`VARIABLE_PREFIX`] and are not empty.
    variables: BTreeMap<String, String>,
}

/// A value that the user gave for an input.
#[derive(Debug)]
pub(super) struct GivenValue {
    pub(super) name: Arc<str>,
    pub(super) value: Value,
    pub(super) source: InputSource,
}

impl GivenInputs {
    /// Parses the files and collects options and variables.
    ///
    /// # Errors
    ///
    /// A file is not YAML, or not a map.
    pub(super) fn read(
        options: &SessionOptions,
        env: &Env,
        loader: &mut FileLoader<'_>,
    ) -> Result<Self, Diagnostics> {
        let mut given = Self::default();
        if options.is_external {
            return Ok(given);
        }
        for file in &options.var_files {
            let source = loader.add_source(&file.path, Arc::clone(&file.text));
            let root = loader.parse_source(source)?;
            if root.as_map().is_none() && !root.is_null() {
                let problem = root.type_mismatch("a file of `--var-file`", "a map of inputs");
                return Err(problem
                    .help("write one line `NAME: VALUE` for each input")
                    .into());
            }
            given.files.push(root);
        }
        for variable in &options.vars {
            match variable.name.strip_prefix(OPTION_PREFIX) {
                Some(input) => given.options.push(GivenVariable {
                    name: input.to_owned(),
                    ..variable.clone()
                }),
                None => given.other_options.push(variable.name.clone()),
            }
        }
        let variables = env.all().iter();
        let variables =
            variables.filter(|(name, text)| name.starts_with(VARIABLE_PREFIX) && !text.is_empty());
        given.variables = variables
            .map(|(name, text)| (name.clone(), text.clone()))
            .collect();
        Ok(given)
    }

    /// Returns the values, lowest precedence first. `known` are the names of the inputs.
    ///
    /// `takes_text` says whether the text of a file is the value of an input, and not YAML.
    pub(super) fn values(
        &self,
        known: &[Arc<str>],
        is_sensitive: &dyn Fn(&str) -> bool,
        takes_text: &dyn Fn(&str) -> bool,
        problems: &mut Diagnostics,
    ) -> Vec<GivenValue> {
        let names = InputNames {
            known,
            set: known.iter().map(|name| &**name).collect(),
            is_sensitive,
            takes_text,
        };
        let mut values = self.values_of_variables(&names, problems);
        values.extend(self.values_of_files(&names, problems));
        values.extend(self.values_of_options(&names, problems));
        values
    }

    fn values_of_variables(
        &self,
        names: &InputNames<'_>,
        problems: &mut Diagnostics,
    ) -> Vec<GivenValue> {
        let by_variable = names.by_variable();
        let mut values = Vec::new();
        for (variable, text) in &self.variables {
            let Some(inputs) = by_variable.get(variable) else {
                let similar = did_you_mean(variable, by_variable.keys().map(String::as_str));
                let message = format!("the variable `{variable}` sets no input");
                problems.push(Diagnostic::warning(message).help_if(similar));
                continue;
            };
            let [input] = &inputs[..] else {
                let message = format!(
                    "the variable `{variable}` could set the inputs {}",
                    listed(inputs)
                );
                let help = "use `--var input_NAME VALUE` for these inputs";
                problems.push(Diagnostic::error(message).help(help));
                continue;
            };
            match parse_value(text) {
                Ok(value) => values.push(GivenValue {
                    name: Arc::clone(input),
                    value,
                    source: InputSource::Variable(variable.clone()),
                }),
                Err(why) => {
                    let message =
                        format!("the value of the variable `{variable}` is not YAML: {why}");
                    problems.push(Diagnostic::error(message));
                }
            }
        }
        values
    }

    fn values_of_files(
        &self,
        names: &InputNames<'_>,
        problems: &mut Diagnostics,
    ) -> Vec<GivenValue> {
        let mut values = Vec::new();
        let entries = self.files.iter().filter_map(Node::as_map).flatten();
        for (name, entry) in entries {
            if names.contains(name) {
                values.push(GivenValue {
                    name: Arc::clone(name),
                    value: entry.value.to_value(),
                    source: InputSource::File(entry.value.span()),
                });
                continue;
            }
            let message =
                format!("`{name}` in a file of `--var-file` is no input of the service template");
            problems.push(names.unknown(&message, name, entry.key_span));
        }
        values
    }

    fn values_of_options(
        &self,
        names: &InputNames<'_>,
        problems: &mut Diagnostics,
    ) -> Vec<GivenValue> {
        for name in self
            .other_options
            .iter()
            .filter(|name| names.contains(name))
        {
            let message = format!("`--var {name}` does not set the input `{name}`");
            let help = format!("use `--var input_{name} VALUE`");
            problems.push(Diagnostic::warning(message).help(help));
        }
        let mut values = Vec::new();
        for given in &self.options {
            let name = &given.name;
            if !names.contains(name) {
                let message = format!("`--var input_{name}` sets no input of the service template");
                problems.push(names.unknown(&message, name, Span::NONE));
                continue;
            }
            let value = if given.is_literal && (names.takes_text)(name) {
                // The text of a file is no template either.
                let text = given.text.as_str();
                Ok(Value::str(text).data_if(is_template(text)))
            } else {
                parse_value(&given.text)
            };
            match value {
                Ok(value) => values.push(GivenValue {
                    name: name.as_str().into(),
                    value,
                    source: InputSource::Option(name.clone()),
                }),
                Err(why) => {
                    let message = format!("the value of `--var input_{name}` is not YAML: {why}");
                    problems.push(Diagnostic::error(message));
                }
            }
        }
        values
    }
}

/// The names of the inputs that a value can be given for.
struct InputNames<'a> {
    known: &'a [Arc<str>],
    set: HashSet<&'a str>,
    is_sensitive: &'a dyn Fn(&str) -> bool,
    takes_text: &'a dyn Fn(&str) -> bool,
}

impl InputNames<'_> {
    fn contains(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    /// Returns the inputs that each environment variable may set.
    ///
    /// A variable with the exact name of an input sets that input only. The name in capital letters, with `_` in
    /// place of all other characters, is the second choice.
    fn by_variable(&self) -> HashMap<String, Vec<Arc<str>>> {
        let mut exact: HashMap<String, Vec<Arc<str>>> = HashMap::new();
        for name in self.known {
            let variable = format!("{VARIABLE_PREFIX}{name}");
            exact.insert(variable, vec![Arc::clone(name)]);
        }
        let mut all = exact.clone();
        for name in self.known {
            let variable = format!("{VARIABLE_PREFIX}{}", upper_case(name));
            if !exact.contains_key(&variable) {
                all.entry(variable).or_default().push(Arc::clone(name));
            }
        }
        all
    }

    /// Returns the error for a name that is no input.
    fn unknown(&self, message: &str, name: &str, place: Span) -> Diagnostic {
        let plain = name.strip_prefix(OPTION_PREFIX).unwrap_or(name);
        let known = || self.known.iter().map(|known| &**known);
        let similar = known()
            .find(|known| *known == plain)
            .map(|found| format!("did you mean `{found}`?"))
            .or_else(|| did_you_mean(plain, known()));
        let help = similar.unwrap_or_else(|| match self.known {
            [] => "the service template has no inputs".to_owned(),
            known => format!("its inputs are {}", listed(known)),
        });
        // The line of a misspelt name may hold a secret.
        let is_secret = known().any(|known| (self.is_sensitive)(known));
        let place = if is_secret { Span::NONE } else { place };
        Diagnostic::error(message).label(place, "").help(help)
    }
}

/// Returns a name in capital letters, with `_` in place of characters that names of variables cannot have.
fn upper_case(name: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    name.chars().map(letter).collect()
}

/// The maximum number of names in a message.
const MAX_NAMES: usize = 20;

fn listed(names: &[Arc<str>]) -> String {
    let mut shown: Vec<String> = names
        .iter()
        .take(MAX_NAMES)
        .map(|it| format!("`{it}`"))
        .collect();
    if names.len() > MAX_NAMES {
        shown.push(format!("{} more", names.len() - MAX_NAMES));
    }
    shown.join(", ")
}

fn parse_value(text: &str) -> Result<Value, String> {
    Ok(yaml::parse_text(Schema::Core, text)?.to_value())
}
