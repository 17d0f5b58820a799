//! The rendering of documents in parts: each value that may come from outside stays apart from the text of the
//! template.

use std::sync::Arc;

use minijinja::{
    Error as JinjaError, ErrorKind, Output, State, UndefinedBehavior, Value as JinjaValue,
};

use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::lazy::Scene;
use crate::value::Value;

use super::delimiters::Delimiters;
use super::engine::{FUEL, environment, format, output_value, tests_definedness};
use super::header;
use super::parts::{Document, Part};
use super::preprocess::prepare_template;
use super::variables::{VariableObject, Variables};

/// Writes a value like the usual formatter, and keeps it apart if the template has accessed data.
fn format_part(
    output: &mut Output,
    state: &mut State,
    value: &JinjaValue,
) -> Result<(), JinjaError> {
    let variables = Variables::from_state(state)?;
    let native = if value.is_undefined() {
        Value::Null
    } else {
        variables.native_value(value)?
    };
    let tracker = variables.evaluator.tracker();
    tracker.note_marks(&native);
    let is_foreign = tracker.has_data();
    if let Some(writer) = variables.parts.as_ref().filter(|_| is_foreign) {
        writer.begin_value(Some(native));
    }
    let written = format(output, state, value);
    if let Some(writer) = &variables.parts {
        writer.begin_value(None);
    }
    written
}

impl Evaluator {
    /// Renders a template whose output is a document, such as YAML.
    pub(in crate::expr) fn template_document(
        &self,
        text: &str,
        scene: &Scene,
    ) -> Result<Document, Error> {
        let variables = Variables::for_document(self.clone(), scene.clone(), text);
        let (rendered, notes) = self.render_noted(text, &variables, render_document)?;
        let sensitive = notes.marks.sensitive;
        Ok(match rendered.unwrap_or(Document::Whole(Value::Null)) {
            Document::Whole(value) => Document::Whole(value.sensitive_if(sensitive)),
            Document::Parts(mut parts) => {
                for part in &mut parts {
                    if let Part::Data { value, .. } = part {
                        *value = std::mem::take(value).sensitive_if(sensitive);
                    }
                }
                Document::Parts(parts)
            }
        })
    }
}

/// Renders a document in parts: the text of the template, and the values that may come from outside.
fn render_document(text: &str, variables: &Arc<Variables>) -> Result<Document, JinjaError> {
    let context = JinjaValue::from_object(VariableObject(Arc::clone(variables)));
    let syntax = |problem| JinjaError::new(ErrorKind::SyntaxError, problem);
    let (other_syntax, text) = header::split(text).map_err(syntax)?;
    let undefined = if other_syntax.is_none() && tests_definedness(text) {
        UndefinedBehavior::Chainable
    } else {
        UndefinedBehavior::Strict
    };
    let mut environment = environment(undefined, FUEL);
    environment.set_formatter(format_part);
    let mut delimiters = Delimiters::default();
    if let Some((syntax, other)) = other_syntax {
        environment.set_syntax(syntax);
        delimiters = other;
    }
    let text = prepare_template(text, &delimiters);
    let template = environment.template_from_str(&text)?;
    let writer = variables.parts.clone().unwrap_or_default();
    let captured = template.render_captured_to(context, writer.clone())?;
    let parts = writer.take();
    let is_data = |part: &Part| matches!(part, Part::Data { .. });
    let has_data = parts.iter().any(is_data);
    if has_data && parts.len() > 1 {
        return Ok(Document::Parts(parts));
    }
    let output = parts.into_iter().next().map(|part| match part {
        Part::Text(text) | Part::Data { text, .. } => text,
    });
    let value = output_value(&output.unwrap_or_default(), captured.state(), variables)?;
    Ok(Document::Whole(value.data_if(has_data)))
}
