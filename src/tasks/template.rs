//! Renders the texts of tasks with the project's template engine, which sees no topology here.

use std::fmt::{Debug, Formatter};
use std::path::Path;
use std::sync::Arc;

use super::TemplateText;
use crate::expr::{Context, Error, Evaluator, Memo, NullScope, SystemContext, Vars};
use crate::value::{Handle, Value};

/// Stands around a text, so that what it gives stays a text: the engine would read `[1,2]` as a
/// list, and would strip spaces.
const TEXT_FENCE: char = '\u{2}';

/// How deep expressions may refer to each other.
const MAX_REFERENCE_DEPTH: usize = 1_000;

/// Renders texts and values.
pub(super) struct TaskRenderer {
    evaluator: Evaluator,
    world: Arc<dyn SystemContext>,
}

impl Debug for TaskRenderer {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renderer").finish_non_exhaustive()
    }
}

/// A text that was rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RenderedText {
    pub(super) text: String,
    /// Whether something in it must not be shown.
    pub(super) secret: bool,
}

impl TaskRenderer {
    pub(super) fn new(world: Arc<dyn SystemContext>) -> Self {
        let scope = Arc::new(NullScope("::task"));
        let memo = Arc::new(Memo::default());
        Self {
            evaluator: Evaluator::with_limit(scope, Arc::clone(&world), memo, MAX_REFERENCE_DEPTH),
            world,
        }
    }

    /// The text, with its templates rendered.
    pub(super) fn text(&self, text: &TemplateText, scene: &Context) -> Result<RenderedText, Error> {
        if !text.is_template() {
            return Ok(RenderedText {
                text: text.as_str().to_owned(),
                secret: false,
            });
        }
        self.template(text.as_str(), scene)
    }

    /// A template as a text, whatever it looks like.
    fn template(&self, template: &str, scene: &Context) -> Result<RenderedText, Error> {
        let value = self
            .evaluator
            .render(&format!("{TEXT_FENCE}{template}{TEXT_FENCE}"), scene);
        self.evaluator.take_reads();
        let value = value?;
        let secret = value.has_sensitive();
        let text = value.reveal().to_string();
        let text = text.strip_prefix(TEXT_FENCE).unwrap_or(&text);
        let text = text.strip_suffix(TEXT_FENCE).unwrap_or(text);
        Ok(RenderedText {
            text: text.to_owned(),
            secret,
        })
    }

    /// What a text gives: one that is a single template gives the value itself.
    pub(super) fn native(&self, text: &TemplateText, scene: &Context) -> Result<Value, Error> {
        if !text.is_template() {
            return Ok(text.as_str().into());
        }
        let value = self.evaluator.render(text.as_str(), scene);
        self.evaluator.take_reads();
        value
    }

    /// The value, with the templates and expressions in it evaluated.
    pub(super) fn value(&self, raw: &Value, scene: &Context) -> Result<Value, Error> {
        let value = self.evaluator.evaluate(raw, scene);
        self.evaluator.take_reads();
        value
    }

    /// Whether a condition holds: a template, or an expression without braces. Of texts, the empty
    /// one and the usual words for no do not.
    pub(super) fn is_condition_met(
        &self,
        condition: &TemplateText,
        scene: &Context,
    ) -> Result<bool, Error> {
        let value = if condition.is_template() {
            self.native(condition, scene)?
        } else {
            let braced = TemplateText::new(format!("{{{{ {} }}}}", condition.as_str()));
            self.native(&braced, scene)?
        };
        Ok(match value.as_str() {
            Some(text) => {
                let text = text.trim().to_ascii_lowercase();
                !["", "0", "no", "off", "false", "none", "null"].contains(&text.as_str())
            }
            None => value.is_truthy(),
        })
    }

    /// A file of this machine, with its templates rendered.
    pub(super) fn file(&self, path: &Path, scene: &Context) -> Result<Vec<u8>, String> {
        let bytes = self.world.read(path).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes)
            .map_err(|_| format!("`{}` is not UTF-8, so it is no template", path.display()))?;
        let rendered = self.template(&text, scene);
        rendered
            .map(|rendered| rendered.text.into_bytes())
            .map_err(|error| format!("`{}`: {error}", path.display()))
    }
}

/// The surroundings of a rendering: these variables, and paths from this folder.
pub(super) fn template_context(vars: Vars, folder: &Path) -> Context {
    Context {
        vars,
        base_dir: folder.to_owned(),
        ..Context::new(Handle(0))
    }
}
