//! Selects the values of inputs that `--save-inputs` keeps in `spec.inputs` of the ensemble.

use std::sync::Arc;

use super::error::{LoadError, LoadErrorKind};
use super::input_source::InputSource;
use super::session::Session;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ensemble::input_section;
use crate::value::Value;

/// The values of inputs to keep in `spec.inputs`.
#[derive(Debug, Clone, Default)]
pub(crate) struct SavedInputs {
    /// The names of the inputs whose values are not there yet.
    pub(crate) names: Vec<Arc<str>>,
    /// The values, by the sections of the manifest that get them.
    pub(crate) sections: Vec<(String, Value)>,
}

/// Returns the form of a value in the ensemble. A text that is not to be evaluated is quoted.
fn saved_form(value: &Value) -> Value {
    match value {
        Value::Data(inner) => Value::map([("q", Value::clone(inner))]),
        other => other.clone(),
    }
}

impl Session {
    /// Returns the values that the user gave with the command and that `spec.inputs` does not have yet.
    ///
    /// # Errors
    ///
    /// A value is secret, or a saved value would have no effect, or the text of the ensemble cannot take it.
    pub(crate) fn inputs_to_save(&self) -> Result<SavedInputs, LoadError> {
        let given = self.input_sources.iter();
        let given = given.filter(|(_, source)| source.is_given());
        let mut saved = SavedInputs::default();
        let mut problems = Diagnostics::default();
        for (name, source) in given {
            let Some(value) = self.inputs.values.get(name) else {
                continue;
            };
            if let Some(problem) = self.obstacle(name, value, source) {
                problems.push(problem);
                continue;
            }
            let spec = self.manifest.root().get("spec");
            let own = spec.and_then(|spec| spec.get("inputs")?.get(name));
            let value = saved_form(value);
            if own.is_none_or(|own| own.to_value() != value) {
                saved.names.push(Arc::clone(name));
                saved.sections.push((input_section(name), value));
            }
        }
        if problems.is_empty()
            && let Err(error) = self.manifest.with_sections(&saved.sections)
        {
            let path = self.manifest.path().display();
            let message = format!("the inputs cannot be saved in `{path}`: {error}");
            let help =
                "write the values under `spec.inputs` yourself, and leave out `--save-inputs`";
            problems.push(Diagnostic::error(message).help(help));
        }
        if problems.is_empty() {
            return Ok(saved);
        }
        let sources = self.sources.clone();
        Err(LoadError::with_sources(
            LoadErrorKind::Refused,
            problems,
            sources,
        ))
    }

    /// Returns the reason for which an input cannot be saved.
    fn obstacle(&self, name: &Arc<str>, value: &Value, source: &InputSource) -> Option<Diagnostic> {
        let definition = self.service.topology.inputs.get(name);
        if definition.is_some_and(|it| it.is_sensitive()) || value.has_sensitive() {
            let message = format!(
                "input `{name}` ({source}) is sensitive, so `--save-inputs` does not write its value into the \
                 ensemble"
            );
            let help = format!(
                "save it outside of the ensemble: under `secrets` of the environment, read by `{name}: {{eval: \
                 {{secret: NAME}}}}` under `spec.inputs`, or in a variable, read by `{name}: {{get_env: VARIABLE}}`"
            );
            return Some(Diagnostic::error(message).help(help));
        }
        if let Some(place) = self
            .environment
            .section("inputs")
            .and_then(|it| it.get(name))
        {
            let message = format!(
                "input `{name}` cannot be saved in `spec.inputs`: the environment sets it, and goes before `spec.inputs`"
            );
            let problem = Diagnostic::error(message).label(place.span(), "set here");
            return Some(
                problem.help("change or remove the value there, and leave out `--save-inputs`"),
            );
        }
        let place = self.manifest.included_place(&input_section(name))?;
        let message = format!(
            "input `{name}` cannot be saved in `{}`: its value is included from another place",
            self.manifest.path().display()
        );
        let problem = Diagnostic::error(message).label(place, "set here");
        Some(problem.help("change the value there, and leave out `--save-inputs`"))
    }
}
