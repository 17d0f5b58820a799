//! Renders the texts of tasks with the template engine of the project (`expr`).
//!
//! Tasks have no topology, so expressions about instances are not available.

use std::fmt::{Debug, Formatter};
use std::path::Path;
use std::sync::Arc;

use super::TemplateText;
use crate::expr::{Context, Error, Evaluator, Memo, NullScope, SystemContext, Vars};
use crate::value::{Handle, Map, Value};

/// A character put around a template so that its result stays a text.
///
/// Without it, the engine would read `[1,2]` as a list and strip spaces.
const TEXT_FENCE: char = '\u{2}';

/// The maximum depth of expressions that refer to each other.
const MAX_REFERENCE_DEPTH: usize = 1_000;

/// Renders the texts and values of tasks.
pub(super) struct TaskRenderer {
    evaluator: Evaluator,
    system: Arc<dyn SystemContext>,
}

impl Debug for TaskRenderer {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renderer").finish_non_exhaustive()
    }
}

/// A rendered text, marked if it contains secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RenderedText {
    pub(super) text: String,
    /// Whether the text contains a sensitive value.
    pub(super) secret: bool,
}

impl TaskRenderer {
    pub(super) fn new(world: Arc<dyn SystemContext>) -> Self {
        let scope = Arc::new(NullScope("::task"));
        let memo = Arc::new(Memo::default());
        Self {
            evaluator: Evaluator::with_limit(scope, Arc::clone(&world), memo, MAX_REFERENCE_DEPTH),
            system: world,
        }
    }

    /// Renders a text. A text without templates is returned as it is.
    pub(super) fn text(
        &self,
        text: &TemplateText,
        context: &Context,
    ) -> Result<RenderedText, Error> {
        if !text.is_template() {
            return Ok(RenderedText {
                text: text.as_str().to_owned(),
                secret: false,
            });
        }
        self.template(text.as_str(), context)
    }

    /// Renders a template as a text, whatever its result looks like.
    fn template(&self, template: &str, context: &Context) -> Result<RenderedText, Error> {
        let value = self
            .evaluator
            .render(&format!("{TEXT_FENCE}{template}{TEXT_FENCE}"), context);
        let value = self.with_writes(value).map_err(without_fences)?;
        let secret = value.has_sensitive();
        let text = value.reveal().to_string();
        let text = text.strip_prefix(TEXT_FENCE).unwrap_or(&text);
        let text = text.strip_suffix(TEXT_FENCE).unwrap_or(text);
        Ok(RenderedText {
            text: text.to_owned(),
            secret,
        })
    }

    /// Renders a text to a value. A text that consists of one template gives the value itself.
    pub(super) fn native(&self, text: &TemplateText, context: &Context) -> Result<Value, Error> {
        if !text.is_template() {
            return Ok(text.as_str().into());
        }
        self.with_writes(self.evaluator.render(text.as_str(), context))
    }

    /// Evaluates the templates and expressions in a value.
    pub(super) fn value(&self, raw: &Value, context: &Context) -> Result<Value, Error> {
        self.with_writes(self.evaluator.evaluate(raw, context))
    }

    /// Writes the files that a rendering requests. The task runs whose texts are rendered.
    fn with_writes(&self, value: Result<Value, Error>) -> Result<Value, Error> {
        let reads = self.evaluator.take_reads();
        let value = value?;
        let written = self.evaluator.perform_writes(reads.writes());
        written.map_err(|problem| Error::Function {
            function: "file".to_owned(),
            problem: problem.to_string(),
        })?;
        Ok(value)
    }

    /// Whether a condition is true.
    ///
    /// A condition is a template, or an expression without braces. As texts, the empty one and the
    /// usual words for "no" are false.
    pub(super) fn is_condition_met(
        &self,
        condition: &TemplateText,
        context: &Context,
    ) -> Result<bool, Error> {
        let value = if condition.is_template() {
            self.native(condition, context)?
        } else {
            let braced = TemplateText::new(format!("{{{{ {} }}}}", condition.as_str()));
            self.native(&braced, context)?
        };
        Ok(match value.as_str() {
            Some(text) => {
                let text = text.trim().to_ascii_lowercase();
                !["", "0", "no", "off", "false", "none", "null"].contains(&text.as_str())
            }
            None => value.is_truthy(),
        })
    }

    /// Reads a YAML file with variables.
    pub(super) fn vars_file(&self, path: &Path) -> Result<Map, Error> {
        let failed = |problem: String| Error::Function {
            function: "vars_files".to_owned(),
            problem: format!("`{}`: {problem}", path.display()),
        };
        let bytes = self.system.read(path);
        let bytes = bytes.map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| failed("is not UTF-8 text".to_owned()))?;
        let value = self.system.parse_yaml(&text);
        let value = value.map_err(|error| failed(error.to_string()))?;
        match value {
            Value::Map(map) => Ok(Map::clone(&map)),
            Value::Null => Ok(Map::new()),
            other => Err(failed(format!(
                "the file must be a map of variables, not {}",
                other.kind()
            ))),
        }
    }

    /// Renders a local file as a template.
    pub(super) fn file(&self, path: &Path, context: &Context) -> Result<Vec<u8>, String> {
        let bytes = self.system.read(path).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| {
            format!(
                "`{}` is not UTF-8 text, so it cannot be used as a template",
                path.display()
            )
        })?;
        let rendered = self.template(&text, context);
        rendered
            .map(|rendered| rendered.text.into_bytes())
            .map_err(|error| format!("`{}`: {error}", path.display()))
    }
}

/// Removes the fences from the text of the template that an error shows.
fn without_fences(error: Error) -> Error {
    let plain = |template: String| template.replace(TEXT_FENCE, "");
    match error {
        Error::Undefined { message, template } => Error::Undefined {
            message,
            template: plain(template),
        },
        Error::Template { template, problem } => Error::Template {
            template: plain(template),
            problem,
        },
        other => other,
    }
}

/// Returns the context of a rendering: its variables, and the folder of relative paths.
pub(super) fn template_context(vars: Vars, folder: &Path) -> Context {
    Context {
        vars,
        base_dir: folder.to_owned(),
        ..Context::new(Handle(0))
    }
}
