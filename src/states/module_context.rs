//! What state functions know beside facts: the state tree, the renderer, grains and pillar.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use super::{FactCache, FileRoots, Halt};
use crate::value::{Map, Value};

/// What state functions of one machine know beside facts.
pub struct ModuleContext {
    /// The name of the machine, Salt's minion id.
    pub id: Arc<str>,
    /// The files of the state tree.
    pub roots: Arc<dyn FileRoots>,
    /// Renders templates as state files are rendered.
    pub renderer: Arc<dyn RenderTemplate>,
    /// What the machine is like (S11).
    pub grains: Value,
    /// What was given for it; sensitive values stay so.
    pub pillar: Value,
    /// The settings.
    pub options: Value,
}

/// Renders templates.
pub trait RenderTemplate: Send + Sync {
    /// Renders a Jinja template with the words of state files (`grains`, `pillar`, `salt`, …) and
    /// those of the context; `path` is its path in the state tree, for messages and relative
    /// imports. Where it asks the machine, it may need facts.
    fn render(&self, request: &TemplateRequest<'_>, facts: &FactCache) -> Result<String, Halt>;
}

/// A template to render.
#[derive(Debug, Clone, Copy)]
pub struct TemplateRequest<'a> {
    /// The text.
    pub text: &'a str,
    /// Its path in the state tree.
    pub path: &'a str,
    /// Words beside those of state files.
    pub context: &'a Map,
}

impl Debug for ModuleContext {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
