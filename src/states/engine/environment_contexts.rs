//! The contexts of state functions, one for each environment of the states.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::states::{LowData, ModuleContext};

/// The context of the environment that the compiler started with, and those of the other environments.
pub(super) struct EnvironmentContexts {
    own: Arc<ModuleContext>,
    others: BTreeMap<Arc<str>, ModuleContext>,
}

impl EnvironmentContexts {
    /// Makes a context for each environment of the states.
    pub(super) fn new(low: &LowData, own: Arc<ModuleContext>) -> Self {
        let mut others = BTreeMap::new();
        for chunk in &low.chunks {
            if chunk.env != *own.roots.env() && !others.contains_key(&chunk.env) {
                others.insert(Arc::clone(&chunk.env), own.within(&chunk.env));
            }
        }
        Self { own, others }
    }

    /// Returns the context of an environment.
    pub(super) fn of(&self, env: &str) -> &ModuleContext {
        self.others.get(env).unwrap_or(&self.own)
    }
}
