//! Evaluates an expression for a person and traces the attributes that it read.

use crate::expr::{Context, Error, Evaluator, Read};
use crate::topology::{EntityKind, Topology};
use crate::value::{Handle, Value};

/// The maximum number of values in a trace.
const MAX_TRACED_VALUES: usize = 1000;

/// Evaluates an expression and traces the attributes that it read, with secrets redacted.
///
/// The trace is empty if `depth` is 0. It lists the attributes that the expression names if `depth`
/// is 1, and also those they are computed from if `depth` is larger.
pub fn traced_query(
    evaluator: &Evaluator,
    topology: &Topology,
    expression: &str,
    depth: u8,
) -> Result<(Value, Vec<(String, Value)>), Error> {
    let context = Context::new(topology.root());
    let mut results = evaluator.query(&Value::from(expression), &context)?;
    let reads = evaluator.take_reads();
    let found = match results.len() {
        0 => Value::Null,
        1 => results.remove(0),
        _ => Value::from(results),
    };
    let named = |of, name: &str| attribute_key(topology, of, name);
    let mut traced: Vec<(String, Value)> = match depth {
        0 => Vec::new(),
        1 => {
            let direct = reads.iter().filter_map(|(read, value)| match read {
                Read::Attribute { of, name } => Some((named(*of, name)?, value.clone())),
                _ => None,
            });
            direct.collect()
        }
        _ => {
            let all = evaluator.closure(&reads, MAX_TRACED_VALUES).into_iter();
            all.filter_map(|(of, name, value)| Some((named(of, &name)?, value)))
                .collect()
        }
    };
    for (_, value) in &mut traced {
        *value = value.redacted();
    }
    Ok((found, traced))
}

/// Returns the record key of an attribute, such as `::web::port`. None if it is not recorded.
pub(super) fn attribute_key(topology: &Topology, of: Handle, name: &str) -> Option<String> {
    let of = topology.stand_in(of).unwrap_or(of);
    let entity = topology.get(of)?;
    match entity.kind {
        EntityKind::Outputs | EntityKind::Relationship { source: None, .. } => None,
        _ => Some(format!("{}::{name}", entity.key)),
    }
}
