//! Applies TOSCA decorators: merges each one into the node templates that its expression selects.

use std::sync::Arc;

use crate::diagnostic::{Check, Diagnostic, Diagnostics, Span};
use crate::expr::{Context, Evaluator};
use crate::topology::Topology;
use crate::tosca::{Decorator, NodeTemplate, ServiceTemplate};
use crate::value::{Handle, Value};
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

/// The maximum nesting depth of a merged template.
const MAX_DEPTH: usize = 128;

/// Returns the node templates that decorators change, in their changed form. Errors go to `problems`.
pub(crate) fn decorated_templates(
    service: &ServiceTemplate,
    topology: &Topology,
    evaluator: &Evaluator,
    problems: &mut Diagnostics,
) -> Mapping {
    let mut changed = Mapping::default();
    for decorator in &service.decorators {
        if let Some(name) = unknown_name(&decorator.expression, service) {
            let message = format!("the decorator `{name}` has no effect");
            let warning = Diagnostic::warning(message).check(Check::UnknownTemplate);
            let warning = warning.label(decorator.span, "there is no such node template or type");
            problems.push(warning.help("correct the name, or remove the decorator"));
        }
        let result = apply(decorator, service, topology, evaluator, &mut changed);
        if let Err(message) = result {
            let message = format!("the decorator `{}`: {message}", decorator.expression);
            problems.push(Diagnostic::error(message).label(decorator.span, "defined here"));
        }
    }
    changed
}

fn apply(
    decorator: &Decorator,
    service: &ServiceTemplate,
    topology: &Topology,
    evaluator: &Evaluator,
    changed: &mut Mapping,
) -> Result<(), String> {
    let mut entities = Vec::new();
    for expression in expressions(&decorator.expression, service) {
        let found = evaluator.query(&Value::from(expression), &Context::new(topology.root()));
        for value in &found.map_err(|error| error.to_string())? {
            collect(value, &mut entities);
        }
    }
    for of in entities {
        let Some(node) = topology.get(of).and_then(|entity| entity.node()) else {
            continue;
        };
        let name = node.template.name.as_str();
        let stated = changed
            .entry(name)
            .or_else(|| service.written_node_templates.entry(name));
        let Some(stated) = stated.cloned() else {
            continue;
        };
        let context = Context::new(of).with("template", stated.value.to_value());
        let patch = evaluator.evaluate(&decorator.patch.to_value(), &context);
        let patch = patch.map_err(|error| error.to_string())?;
        let value = merge(&stated.value, &patch, decorator.patch.span(), 0)
            .ok_or_else(|| format!("its result is nested more than {MAX_DEPTH} levels deep"))?;
        let key_span = stated.key_span;
        changed.insert(name, MapEntry { key_span, value });
    }
    Ok(())
}

/// Returns the expressions that stand for the one of a decorator.
///
/// A name at its beginning means the template of that name, or else each template of that type or of a type derived
/// from it.
fn expressions(expression: &str, service: &ServiceTemplate) -> Vec<String> {
    let nodes = &service.topology.nodes;
    let Some(name) = first_name(expression) else {
        return vec![expression.to_owned()];
    };
    if nodes.contains_key(name) {
        return vec![format!("::{expression}")];
    }
    let rest = &expression[name.len()..];
    let is_meant = |node: &NodeTemplate| node.nested_in.is_none() && node.is_a(name);
    let templates = nodes.iter().filter(|(_, node)| is_meant(node));
    templates
        .map(|(template, _)| format!("::{template}{rest}"))
        .collect()
}

/// Returns the name at the beginning of an expression. None if the expression begins otherwise.
fn first_name(expression: &str) -> Option<&str> {
    let end = expression.find(['[', '?', '=', '!', ':']);
    let name = &expression[..end.unwrap_or(expression.len())];
    (!name.is_empty() && !name.starts_with(['.', '$', '*'])).then_some(name)
}

/// Returns the name at the beginning of an expression if neither a template nor a type has it.
fn unknown_name<'e>(expression: &'e str, service: &ServiceTemplate) -> Option<&'e str> {
    let name = first_name(expression)?;
    let is_known =
        !expressions(expression, service).is_empty() || service.types.is_derived_from(name, name);
    // A file with types alone has decorators for the templates of others.
    (!is_known && !service.topology.nodes.is_empty()).then_some(name)
}

/// Collects the entities of a result, which can be an entity or a list of entities.
fn collect(value: &Value, entities: &mut Vec<Handle>) {
    match value {
        Value::Entity(of) => entities.push(of.handle()),
        Value::List(items) => {
            entities.extend(items.iter().filter_map(Value::as_entity));
        }
        _ => {}
    }
}

/// Merges a value into a node: maps key by key; lists get the items they lack. Returns `None` if the result
/// is nested too deeply.
fn merge(base: &Node, over: &Value, span: Span, depth: usize) -> Option<Node> {
    match (base.as_map(), base.as_seq(), over) {
        (Some(map), _, Value::Map(fields)) => {
            let mut map = map.clone();
            for (key, value) in fields.iter() {
                let known = map.entry(key);
                let key_span = known.map_or(span, |known| known.key_span);
                let value = match known {
                    Some(known) => merge(&known.value, value, span, next_depth(depth)?)?,
                    None => node_of(value, span, next_depth(depth)?)?,
                };
                map.insert(Arc::clone(key), MapEntry { key_span, value });
            }
            Some(Node::new(
                NodeKind::Map(map),
                base.span(),
                base.tag().map(Arc::from),
            ))
        }
        (_, Some(items), Value::List(more)) => {
            let known: Vec<Value> = items.iter().map(Node::to_value).collect();
            let mut items = items.to_vec();
            for item in more.iter().filter(|item| !known.contains(item)) {
                items.push(node_of(item, span, next_depth(depth)?)?);
            }
            Some(Node::new(NodeKind::Seq(items), base.span(), None))
        }
        _ => node_of(over, span, depth),
    }
}

fn next_depth(depth: usize) -> Option<usize> {
    (depth < MAX_DEPTH).then_some(depth + 1)
}

fn node_of(value: &Value, span: Span, depth: usize) -> Option<Node> {
    Node::from_value(value, span).filter(|node| node.depth() + depth <= MAX_DEPTH)
}
