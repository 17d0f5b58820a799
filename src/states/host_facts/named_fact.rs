//! The type of a named fact: its arguments, the raw fact it reads, and the conversion of the reading to a
//! value.

use std::collections::BTreeMap;

use crate::host::fact::{CommandSetting, Domain, Fact, FactReading, Probe, ProbeOutput};
use crate::text::{did_you_mean, shlex_quote};
use crate::value::Value;

/// A fact that users can request by name.
#[derive(Debug)]
pub struct NamedFact {
    /// The module and the name, such as `server.Users`.
    pub name: &'static str,
    pub about: &'static str,
    /// The argument names with their default values. `None` marks a required argument.
    pub arguments: &'static [(&'static str, Option<&'static str>)],
    pub(super) query: fn(&FactArguments) -> Fact,
    pub(super) parse: fn(&FactArguments, &FactReading) -> Value,
}

/// The argument values of a query, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct FactArguments(BTreeMap<String, String>);

impl FactArguments {
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Returns an argument quoted for the shell.
    pub(super) fn quoted(&self, name: &str) -> String {
        shlex_quote(self.get(name))
    }
}

/// A named fact with a complete set of arguments.
#[derive(Debug)]
pub struct FactQuery {
    fact: &'static NamedFact,
    arguments: FactArguments,
}

/// An error in a request for a named fact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FactQueryError {
    #[error("unknown fact `{name}`")]
    Unknown {
        name: String,
        /// A suggestion for a similar name.
        hint: Option<String>,
    },
    #[error("the fact `{fact}` needs the argument `{argument}`")]
    Missing {
        fact: &'static str,
        argument: &'static str,
    },
    #[error("the fact `{fact}` has no argument `{argument}`")]
    UnknownArgument {
        fact: &'static str,
        argument: String,
        /// A suggestion for a similar argument.
        hint: Option<String>,
    },
}

impl FactQueryError {
    /// The suggestion to show to the user, if there is one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unknown { hint, .. } | Self::UnknownArgument { hint, .. } => hint.as_deref(),
            Self::Missing { .. } => None,
        }
    }
}

impl NamedFact {
    /// Makes a fact without arguments whose value is the output of a command, as one trimmed text.
    pub(super) const fn new(name: &'static str, query: fn(&FactArguments) -> Fact) -> Self {
        Self {
            name,
            about: "",
            arguments: &[],
            query,
            parse: line,
        }
    }

    pub(super) const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    pub(super) const fn arguments(
        self,
        arguments: &'static [(&'static str, Option<&'static str>)],
    ) -> Self {
        Self { arguments, ..self }
    }

    /// Sets the function that converts the reading to a value.
    pub(super) const fn parse_with(self, parse: fn(&FactArguments, &FactReading) -> Value) -> Self {
        Self { parse, ..self }
    }

    /// Makes a query with these arguments and the defaults of the others.
    ///
    /// Fails if a required argument is missing or an argument is unknown.
    pub fn query_with(
        &'static self,
        supplied: BTreeMap<String, String>,
    ) -> Result<FactQuery, FactQueryError> {
        for name in supplied.keys() {
            if !self.arguments.iter().any(|(it, _)| it == name) {
                return Err(FactQueryError::UnknownArgument {
                    fact: self.name,
                    argument: name.clone(),
                    hint: did_you_mean(name, self.arguments.iter().map(|(it, _)| *it)),
                });
            }
        }
        let mut words = supplied;
        for (name, default) in self.arguments {
            match (words.contains_key(*name), default) {
                (true, _) => {}
                (false, Some(default)) => {
                    words.insert((*name).to_owned(), (*default).to_owned());
                }
                (false, None) => {
                    return Err(FactQueryError::Missing {
                        fact: self.name,
                        argument: name,
                    });
                }
            }
        }
        Ok(FactQuery {
            fact: self,
            arguments: FactArguments(words),
        })
    }
}

impl FactQuery {
    /// The raw fact to read from the host.
    pub fn fact(&self) -> Fact {
        (self.fact.query)(&self.arguments)
    }

    /// Converts the reading to the value of the fact. Returns the reason as `Err` if the host could not read
    /// it.
    pub fn parse_reading(&self, reading: &FactReading) -> Result<Value, String> {
        match reading {
            FactReading::Failed(why) => Err(why.clone()),
            reading => Ok((self.fact.parse)(&self.arguments, reading)),
        }
    }
}

/// Makes a raw fact from a shell command and the domain it reads.
pub(super) fn shell(text: impl Into<String>, reads: Domain) -> Fact {
    Fact::Probe(Box::new(Probe {
        text: text.into(),
        setting: CommandSetting::default(),
        reads,
    }))
}

/// The standard output, if the command succeeded or printed anything.
pub(super) fn printed(reading: &FactReading) -> Option<String> {
    match reading {
        FactReading::Probe(ProbeOutput { code, stdout, .. })
            if *code == 0 || !stdout.is_empty() =>
        {
            Some(String::from_utf8_lossy(stdout).into_owned())
        }
        _ => None,
    }
}

/// Converts the reading to its trimmed output, or to null if that is empty.
pub(super) fn line(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading);
    let text = text.as_deref().map(str::trim).filter(|it| !it.is_empty());
    text.into()
}

/// Converts the reading to the list of its output lines.
pub(super) fn lines(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    Value::list(text.lines().map(Value::from))
}

/// Converts a text to an integer if possible.
pub(super) fn number_or_text(text: &str) -> Value {
    text.parse::<i64>()
        .map_or_else(|_| text.into(), Value::from)
}
