//! The evaluation of documents, such as `resultTemplate`: a text renders to YAML, and data from outside fills
//! its scalars. Structure, keys, tags and anchors come from the text alone.

use crate::value::{Map, Value, hex};

use super::context::Context;
use super::error::Error;
use super::evaluator::Evaluator;
use super::lazy::Scene;
use super::syntax::is_template;
use super::template::{Document, Part, native_literal};

/// The function that error messages name.
const NAME: &str = "resultTemplate";

/// The longest text that may stand for a number or a truth value.
const LONGEST_PLAIN: usize = 64;

impl Evaluator {
    /// Evaluates a value that is a document: a text that renders to YAML, or a map or list. Returns whether it
    /// was a text.
    pub fn evaluate_document(
        &self,
        raw: &Value,
        context: &Context,
    ) -> Result<(Value, bool), Error> {
        let value = match raw {
            Value::Str(text) if is_template(text) && !self.system().evaluates_results() => {
                let _run = self.tracker().begin_evaluation();
                let document = self.template_document(text, &Scene::new(context.clone()));
                match document.inspect_err(|error| self.note_failure(error))? {
                    Document::Whole(value) => value,
                    Document::Parts(parts) => return Filling::new(self, &parts)?.document(),
                }
            }
            raw => self.evaluate(raw, context)?,
        };
        match value.as_str() {
            None => Ok((value, false)),
            Some(_) if value.has_data() => Err(fail(
                "the whole text is output of a command, and output has no structure of its own; write \
                 `{{ stdout | from_yaml }}` or `from_json` to read it as data",
            )),
            Some(text) => Ok((self.parse_document(text)?, true)),
        }
    }

    fn parse_document(&self, text: &str) -> Result<Value, Error> {
        let parsed = self.system().parse_yaml(text);
        parsed.map_err(|problem| fail(problem.to_string()))
    }
}

fn fail(problem: impl Into<String>) -> Error {
    Error::Function {
        function: NAME.to_owned(),
        problem: problem.into(),
    }
}

/// The filling of a document: placeholders stand for the data until the text is parsed.
struct Filling<'a> {
    evaluator: &'a Evaluator,
    parts: &'a [Part],
    /// The beginning of each placeholder. Its number and `q` follow.
    token: String,
}

impl<'a> Filling<'a> {
    fn new(evaluator: &'a Evaluator, parts: &'a [Part]) -> Result<Self, Error> {
        let mut bytes = [0; 16];
        let mut token = String::new();
        let is_taken = |token: &str| {
            parts.iter().any(|part| {
                let (Part::Text(text) | Part::Data { text, .. }) = part;
                text.contains(token)
            })
        };
        for attempt in 0_usize.. {
            let filled = evaluator.system().random(&mut bytes);
            filled.map_err(|problem| fail(problem.to_string()))?;
            token = format!("q{}x{attempt}n", hex(&bytes));
            if !is_taken(&token) {
                break;
            }
        }
        Ok(Self {
            evaluator,
            parts,
            token,
        })
    }

    /// Parses the text with placeholders and replaces them.
    fn document(&self) -> Result<(Value, bool), Error> {
        let mut text = String::new();
        for (place, part) in self.parts.iter().enumerate() {
            match part {
                Part::Text(own) => text.push_str(own),
                Part::Data { .. } => text.push_str(&format!("{}{place}q", self.token)),
            }
        }
        let literal = native_literal(text.trim());
        if matches!(literal, Value::List(_) | Value::Map(_)) {
            return Ok((self.fill(&literal)?, false));
        }
        let parsed = self.evaluator.parse_document(&text)?;
        Ok((self.fill(&parsed)?, true))
    }

    /// Replaces the placeholders in the scalars of a value.
    fn fill(&self, value: &Value) -> Result<Value, Error> {
        match value {
            Value::Str(text) if text.contains(&self.token) => Ok(self.scalar(text)),
            Value::List(items) => {
                let items = items.iter().map(|item| self.fill(item));
                Ok(items.collect::<Result<Vec<_>, Error>>()?.into())
            }
            Value::Map(map) => {
                let mut filled = Map::with_capacity(map.len());
                for (key, item) in map.iter() {
                    if key.contains(&self.token) {
                        let key = self.texts(key);
                        return Err(fail(format!(
                            "the key `{}` contains output of a command, and keys come from the template \
                             alone; use the output as a value",
                            key.escape_debug()
                        )));
                    }
                    filled.insert(key.clone(), self.fill(item)?);
                }
                Ok(filled.into())
            }
            Value::Sensitive(inner) => Ok(self.fill(inner)?.sensitive()),
            other => Ok(other.clone()),
        }
    }

    /// Returns the value of a scalar with placeholders: the data itself with its type if nothing else is in
    /// it.
    fn scalar(&self, scalar: &str) -> Value {
        let only = scalar
            .strip_prefix(self.token.as_str())
            .and_then(|rest| rest.strip_suffix('q'))
            .and_then(|place| place.parse().ok());
        if let Some(value) = only.and_then(|place| self.value_at(place)) {
            return value.data();
        }
        let sensitive = self
            .parts
            .iter()
            .any(|part| matches!(part, Part::Data { value, .. } if value.own_marks().sensitive));
        Value::from(self.texts(scalar))
            .data()
            .sensitive_if(sensitive)
    }

    fn value_at(&self, place: usize) -> Option<Value> {
        let Part::Data {
            value,
            text,
            is_quoted,
        } = self.parts.get(place)?
        else {
            return None;
        };
        let marks = value.own_marks();
        Some(match value.reveal() {
            Value::List(_) | Value::Map(_) => value.clone(),
            _ if *is_quoted => Value::from(text.as_str()).marked(marks),
            _ => self.plain(text).marked(marks),
        })
    }

    /// Reads the text of a plain scalar: a number or truth value is one in YAML too, any other text stays
    /// text.
    fn plain(&self, text: &str) -> Value {
        let text = text.trim();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-._~".contains(c);
        if text.len() <= LONGEST_PLAIN
            && text.chars().all(is_plain)
            && let Ok(value) = self.evaluator.system().parse_yaml(text)
            && !matches!(value, Value::List(_) | Value::Map(_))
        {
            return value;
        }
        Value::from(text)
    }

    /// Replaces the placeholders in a text by the texts of the data.
    fn texts(&self, text: &str) -> String {
        let mut pieces = text.split(self.token.as_str());
        let mut done = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let place = piece.split_once('q');
            let found = place.and_then(|(place, rest)| Some((place.parse().ok()?, rest)));
            let Some((place, rest)) = found else {
                done.push_str(piece);
                continue;
            };
            let place: usize = place;
            if let Some(Part::Data { text, .. }) = self.parts.get(place) {
                done.push_str(text);
            }
            done.push_str(rest);
        }
        done
    }
}
