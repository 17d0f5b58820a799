//! Typed access to the arguments of a state function, with Salt's leniency.
//!
//! Extends [`StateCall`]: YAML values are converted as Salt's modules do, and values of the wrong type
//! fail the state.

use crate::states::{FactCache, Halt, StateCall, TemplateRequest, refuse};
use crate::value::{Map, Value};

impl<'a> StateCall<'a> {
    /// Returns an argument; None if it is missing or null.
    pub fn arg(&self, key: &str) -> Option<&'a Value> {
        self.args
            .get(key)
            .map(Value::reveal)
            .filter(|value| !value.is_null())
    }

    /// Returns a text argument. Numbers and booleans are converted to text.
    pub fn text(&self, key: &str) -> Result<Option<String>, Halt> {
        self.arg(key)
            .map(|value| self.as_text(key, value))
            .transpose()
    }

    /// Returns a text argument; None if it is missing, null or empty.
    pub fn non_empty_text(&self, key: &str) -> Result<Option<String>, Halt> {
        Ok(self.text(key)?.filter(|text| !text.is_empty()))
    }

    /// Returns a text argument, or `otherwise` if it is missing or null.
    pub fn text_or(&self, key: &str, otherwise: &str) -> Result<String, Halt> {
        Ok(self.text(key)?.unwrap_or_else(|| otherwise.to_owned()))
    }

    /// Returns a text argument that the state requires; fails if it is missing.
    pub fn required(&self, key: &str) -> Result<String, Halt> {
        self.text(key)?.ok_or_else(|| {
            Halt::Failed(format!(
                "Missing parameter {key} for state {}.{}",
                self.state, self.fun
            ))
        })
    }

    fn as_text(&self, key: &str, value: &Value) -> Result<String, Halt> {
        match value {
            Value::Bool(true) => Ok("True".into()),
            Value::Bool(false) => Ok("False".into()),
            Value::Str(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) => {
                Ok(value.to_string())
            }
            other => Err(self.wrong_type(key, "a string", other)),
        }
    }

    /// Returns the truth of an argument by Python's rules, or `otherwise` if it is missing or null.
    pub fn flag(&self, key: &str, otherwise: bool) -> bool {
        self.arg(key).map_or(otherwise, Value::is_truthy)
    }

    /// Returns a whole number, also from text with digits.
    pub fn int(&self, key: &str) -> Result<Option<i64>, Halt> {
        let Some(value) = self.arg(key) else {
            return Ok(None);
        };
        let read = match value {
            Value::Str(text) => text.trim().parse().ok(),
            other => other.as_int(),
        };
        read.map(Some)
            .ok_or_else(|| self.wrong_type(key, "a whole number", value))
    }

    /// Returns a list of texts. A single value counts as a list with one item.
    pub fn texts(&self, key: &str) -> Result<Vec<String>, Halt> {
        match self.arg(key) {
            None => Ok(Vec::new()),
            Some(Value::List(items)) => items
                .iter()
                .map(|item| self.as_text(key, item.reveal()))
                .collect(),
            Some(one) => Ok(vec![self.as_text(key, one)?]),
        }
    }

    /// Returns permission bits. Both text and numbers are read as octal digits: `"0644"`, 644.
    pub fn mode(&self, key: &str) -> Result<Option<u32>, Halt> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let digits = text.trim().trim_start_matches("0o");
        match u32::from_str_radix(digits, 8) {
            Ok(mode) if mode <= 0o7777 => Ok(Some(mode)),
            _ => refuse(format!(
                "`{key}: {text}` is not a permission mode: write octal digits in quotes, such as \"0644\""
            )),
        }
    }

    /// Renders a Jinja template with the maps of the arguments `defaults` and `context`.
    ///
    /// `context` overrides `defaults`. A value that is not a map is ignored.
    pub fn render_template(
        &self,
        text: &str,
        path: &str,
        facts: &FactCache,
    ) -> Result<String, Halt> {
        let mut context = Map::new();
        for key in ["defaults", "context"] {
            let map = self.arg(key).and_then(Value::as_map);
            context.extend(map.cloned().unwrap_or_default());
        }
        let template = TemplateRequest {
            text,
            path,
            env: self.context.roots.env(),
            context: &context,
        };
        self.context.renderer.render(&template, facts)
    }

    /// Whether an argument holds a sensitive value, which results must not show.
    pub fn is_sensitive(&self, key: &str) -> bool {
        self.args.get(key).is_some_and(Value::has_sensitive)
    }

    fn wrong_type(&self, key: &str, expected: &str, found: &Value) -> Halt {
        Halt::Failed(format!(
            "`{key}` of {}.{} must be {expected}, not {}",
            self.state,
            self.fun,
            found.kind()
        ))
    }
}
