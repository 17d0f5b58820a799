//! The context of state functions apart from facts: the state tree, the template renderer, grains and pillar.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use super::{FactCache, FileRoots, Halt};
use crate::value::{Map, Value};

/// The data about one machine that state functions use besides facts.
pub struct ModuleContext {
    /// The name of the machine (Salt's minion ID).
    pub id: Arc<str>,
    pub roots: Arc<dyn FileRoots>,
    /// The renderer for templates such as the sources of `file.managed`.
    pub renderer: Arc<dyn RenderTemplate>,
    /// The properties of the machine (S11).
    pub grains: Value,
    /// The pillar data. Sensitive values keep their marking.
    pub pillar: Value,
    /// The configuration options, by Salt's names.
    pub options: Value,
}

/// A renderer of templates. Lets state functions render without depending on [`super::StateRenderer`].
pub trait RenderTemplate: Send + Sync {
    /// Renders a Jinja template with the variables of state files (`grains`, `pillar`, `salt`, …) and those
    /// of the request.
    ///
    /// Returns [`Halt::Needs`] if the template reads facts that are not cached.
    fn render(&self, request: &TemplateRequest<'_>, facts: &FactCache) -> Result<String, Halt>;
}

/// A request to render a template.
#[derive(Debug, Clone, Copy)]
pub struct TemplateRequest<'a> {
    pub text: &'a str,
    /// The path in the state tree, for messages and relative imports.
    pub path: &'a str,
    /// The variables in addition to those of state files.
    pub context: &'a Map,
}

impl Debug for ModuleContext {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModuleContext")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
