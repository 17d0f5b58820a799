//! Sections of the environment, evaluated.

use std::sync::Arc;

use super::error::{LoadError, LoadErrorKind};
use super::loaded::Session;
use super::world::RealWorld;
use crate::expr::{Context, Evaluator, Memo, Scope};
use crate::topology::Topology;
use crate::value::{Map, Value};

impl Session {
    /// A section of the environment with what the expressions in it give; none if there is none.
    pub(crate) fn section(
        &self,
        section: &str,
        topology: &Arc<Topology>,
        world: &Arc<RealWorld>,
    ) -> Result<Option<Value>, LoadError> {
        let Some(node) = self.environment.section(section) else {
            return Ok(None);
        };
        let scope: Arc<dyn Scope> = Arc::clone(topology) as _;
        let evaluator = Evaluator::new(scope, Arc::clone(world) as _, Arc::new(Memo::default()));
        let context = Context::new(topology.root());
        let one = |name: &str, raw: &Value| {
            evaluator.evaluate(raw, &context).map_err(|error| {
                let message = format!("`{name}` of the environment: {error}");
                LoadError::new(LoadErrorKind::Invalid, message, None)
            })
        };
        let raw = node.to_value();
        let Some(map) = raw.as_map() else {
            return one(section, &raw).map(Some);
        };
        let mut values = Map::new();
        for (name, raw) in map {
            let value = one(&format!("{section}: {name}"), raw)?;
            values.insert(Arc::clone(name), value);
        }
        Ok(Some(Value::from(values)))
    }
}
