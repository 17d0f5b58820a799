//! A text of `tasks.yaml` that may contain templates.

use std::sync::Arc;

/// A text that may contain templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateText {
    text: Arc<str>,
    is_template: bool,
}

impl TemplateText {
    /// Creates a text that is a template if it contains `{{` or `{%`.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let is_template = text.contains("{{") || text.contains("{%");
        Self { text, is_template }
    }

    /// Creates a text that is used literally.
    pub fn plain(text: impl Into<Arc<str>>) -> Self {
        Self {
            text: text.into(),
            is_template: false,
        }
    }

    /// Returns the text as written, with its templates.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if the text has to be rendered.
    pub fn is_template(&self) -> bool {
        self.is_template
    }
}
