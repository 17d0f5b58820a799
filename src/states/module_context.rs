//! The context of state functions apart from facts: the state tree, the template renderer, grains and pillar.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use super::{FactCache, Halt, StateTrees};
use crate::value::{Map, Value};

/// The data about one machine that state functions use besides facts.
#[derive(Clone)]
pub struct ModuleContext {
    /// The name of the machine (Salt's minion ID).
    pub id: Arc<str>,
    /// The state trees, seen from the environment of the states.
    pub roots: StateTrees,
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
    /// The environment in which the template finds other files.
    pub env: &'a str,
    /// The variables in addition to those of state files.
    pub context: &'a Map,
}

impl ModuleContext {
    /// The context of states of another environment.
    #[must_use]
    pub fn within(&self, env: &str) -> Self {
        Self {
            roots: self.roots.within(env),
            ..self.clone()
        }
    }
}

impl Debug for ModuleContext {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModuleContext")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
