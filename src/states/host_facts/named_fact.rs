//! A fact with a name: its arguments, what is read for it, and what is made of that.

use std::collections::BTreeMap;

use crate::host::fact::{CommandSetting, Domain, Fact, FactReading, Probe, ProbeOutput};
use crate::text::{did_you_mean, shlex_quote};
use crate::value::Value;

/// A fact with a name.
#[derive(Debug)]
pub struct NamedFact {
    /// Its module and its name, such as `server.Users`.
    pub name: &'static str,
    /// What it gives, in a few words.
    pub about: &'static str,
    /// Its arguments, and what they are where they are not given; none where they must be.
    pub arguments: &'static [(&'static str, Option<&'static str>)],
    pub(super) query: fn(&FactArguments) -> Fact,
    pub(super) parse: fn(&FactArguments, &FactReading) -> Value,
}

/// The words that a fact was asked with, by argument.
#[derive(Debug, Clone, Default)]
pub(super) struct FactArguments(BTreeMap<String, String>);

impl FactArguments {
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A word as a shell reads it.
    pub(super) fn quoted(&self, name: &str) -> String {
        shlex_quote(self.get(name))
    }
}

/// A fact that was asked for with all its arguments.
#[derive(Debug)]
pub struct FactQuery {
    fact: &'static NamedFact,
    arguments: FactArguments,
}

/// Why a fact cannot be asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FactQueryError {
    /// There is none of this name.
    #[error("there is no fact `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// What may be meant.
        hint: Option<String>,
    },
    /// An argument is missing.
    #[error("the fact `{fact}` needs the argument `{argument}`")]
    Missing {
        /// The fact.
        fact: &'static str,
        /// The argument.
        argument: &'static str,
    },
    /// It has no such argument.
    #[error("the fact `{fact}` has no argument `{argument}`")]
    NoArgument {
        /// The fact.
        fact: &'static str,
        /// The argument.
        argument: String,
        /// What may be meant.
        hint: Option<String>,
    },
}

impl FactQueryError {
    /// What may be meant, for people.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unknown { hint, .. } | Self::NoArgument { hint, .. } => hint.as_deref(),
            Self::Missing { .. } => None,
        }
    }
}

impl NamedFact {
    /// A fact without arguments that one line of a command is.
    pub(super) const fn new(name: &'static str, ask: fn(&FactArguments) -> Fact) -> Self {
        Self {
            name,
            about: "",
            arguments: &[],
            query: ask,
            parse: line,
        }
    }

    /// Gives this, in a few words.
    pub(super) const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// With these arguments.
    pub(super) const fn arguments(
        self,
        arguments: &'static [(&'static str, Option<&'static str>)],
    ) -> Self {
        Self { arguments, ..self }
    }

    /// What was read becomes a value by this.
    pub(super) const fn parse_with(self, parse: fn(&FactArguments, &FactReading) -> Value) -> Self {
        Self { parse, ..self }
    }

    /// Asks for it with arguments.
    ///
    /// # Errors
    ///
    /// An argument is missing, or there is none of this name.
    pub fn query_with(
        &'static self,
        supplied: BTreeMap<String, String>,
    ) -> Result<FactQuery, FactQueryError> {
        for name in supplied.keys() {
            if !self.arguments.iter().any(|(it, _)| it == name) {
                return Err(FactQueryError::NoArgument {
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
    /// What is to be read.
    pub fn fact(&self) -> Fact {
        (self.fact.query)(&self.arguments)
    }

    /// What the reading says.
    ///
    /// # Errors
    ///
    /// Why it could not be read.
    pub fn parse_reading(&self, reading: &FactReading) -> Result<Value, String> {
        match reading {
            FactReading::Failed(why) => Err(why.clone()),
            reading => Ok((self.fact.parse)(&self.arguments, reading)),
        }
    }
}

/// A fact that a text for the shell gives.
pub(super) fn shell(text: impl Into<String>, reads: Domain) -> Fact {
    Fact::Probe(Box::new(Probe {
        text: text.into(),
        setting: CommandSetting::default(),
        reads,
    }))
}

/// What was printed, if the command succeeded or printed anything.
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

/// What was printed without spaces around it; null if that is nothing.
pub(super) fn line(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading);
    let text = text.as_deref().map(str::trim).filter(|it| !it.is_empty());
    text.into()
}

/// The lines that were printed.
pub(super) fn lines(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    Value::list(text.lines().map(Value::from))
}

/// A whole number where a text is one, or else the text.
pub(super) fn number_or_text(text: &str) -> Value {
    text.parse::<i64>()
        .map_or_else(|_| text.into(), Value::from)
}
