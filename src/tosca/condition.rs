//! Conditions of workflows: clauses over the attributes of a target (TOSCA 1.3, 3.6.25).
//!
//! [`all_clauses_hold`] is the entry. The caller passes a function that returns the value of an attribute.

use super::constraint::read_constraint;
use super::definition::DataKind;
use crate::diagnostic::Span;
use crate::value::Value;
use crate::yaml::Node;

/// The maximum depth of nested clauses. A deeper clause counts as false.
const MAX_DEPTH: usize = 100;

/// Whether all of the clauses hold for the values of the attributes.
///
/// A clause about an attribute without a value does not hold.
pub fn all_clauses_hold(clauses: &[Value], value_of: &dyn Fn(&str) -> Option<Value>) -> bool {
    clauses
        .iter()
        .all(|clause| clause_holds(clause, value_of, 0))
}

fn clause_holds(clause: &Value, value_of: &dyn Fn(&str) -> Option<Value>, depth: usize) -> bool {
    let entry = clause.as_map().and_then(|map| map.iter().next());
    let Some((name, definition)) = entry.filter(|_| depth < MAX_DEPTH) else {
        return false;
    };
    let items = match definition.as_list() {
        Some(items) => items.clone(),
        None => vec![definition.clone()],
    };
    let part = |item: &Value| clause_holds(item, value_of, depth + 1);
    match &**name {
        "and" | "assert" => items.iter().all(part),
        "or" => items.iter().any(part),
        "not" => !items.iter().all(part),
        attribute => {
            let Some(value) = value_of(attribute) else {
                return false;
            };
            let meets = |item: &Value| {
                let node = Node::from_value(item, Span::NONE);
                let constraint = node.and_then(|node| read_constraint(&node).ok());
                constraint.is_some_and(|it| it.rule.violation(DataKind::Any, &value).is_none())
            };
            items.iter().all(meets)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(clause: Value) -> bool {
        let value_of = |name: &str| match name {
            "mode" => Some(Value::from("fast")),
            "size" => Some(Value::Int(5)),
            _ => None,
        };
        all_clauses_hold(&[clause], &value_of)
    }

    fn clause(name: &str, constraint: &str, value: Value) -> Value {
        let constraint = Value::map([(constraint, value)]);
        Value::map([(name, Value::list([constraint]))])
    }

    #[test]
    fn clauses_compare_attributes_and_combine() {
        let fast = || clause("mode", "equal", Value::from("fast"));
        let big = || clause("size", "greater_than", Value::Int(7));
        assert!(check(fast()));
        assert!(!check(big()));
        assert!(!check(clause("nope", "equal", Value::Null)));
        assert!(check(Value::map([("or", Value::list([big(), fast()]))])));
        assert!(!check(Value::map([("and", Value::list([big(), fast()]))])));
        assert!(check(Value::map([("not", Value::list([big()]))])));
    }
}
