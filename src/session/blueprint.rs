//! Chooses the deployment blueprint of an ensemble: the one that its environment names, or the one for the
//! cloud that its environment connects to.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::project::Environment;
use crate::yaml::Node;

/// Returns the name of the blueprint to use and its source position, if there is one.
///
/// Warns if blueprints exist but none is chosen.
pub(crate) fn choose_blueprint(
    template: &Node,
    of_spec: Option<&Node>,
    environment: &Environment,
    problems: &mut Diagnostics,
) -> Option<(Arc<str>, Span)> {
    let sections = [of_spec, template.get("deployment_blueprints")];
    let all = sections.into_iter().flatten().filter_map(Node::as_map);
    let mut all = all.flatten().peekable();
    let (_, first) = all.peek()?;
    let place = first.key_span;
    if let Some(node) = environment.section("deployment_blueprint") {
        if let Some(name) = node.as_str() {
            return Some((name.into(), node.span()));
        }
        problems.push(node.type_mismatch("`deployment_blueprint`", "a name"));
        return None;
    }
    let is_named = environment
        .name
        .as_ref()
        .is_some_and(|name| name != "defaults");
    let cloud = environment.cloud().filter(|_| is_named);
    let found = cloud.and_then(|cloud| {
        all.find(|(_, entry)| entry.value.get("cloud").and_then(Node::as_str) == Some(cloud))
    });
    if let Some((name, entry)) = found {
        return Some((Arc::clone(name), entry.key_span));
    }
    let message = "the ensemble has deployment blueprints, but none is selected";
    let help = "select one with `deployment_blueprint` in the environment";
    problems.push(Diagnostic::warning(message).label(place, "").help(help));
    None
}
