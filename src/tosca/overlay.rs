//! Overlays over the node templates of a file: blueprints, added templates and decorators.
//!
//! [`overrides`] merges them in order of priority. The evaluation of decorators happens outside of this
//! module.

use std::sync::Arc;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::text::did_you_mean;
use crate::yaml::{Mapping, Node};

use super::options::ReadOptions;
use super::scope::TypeScope;
use super::type_loader::LoadedFile;

/// A decorator: a patch for the templates that an expression selects.
#[derive(Debug, Clone)]
pub struct Decorator {
    pub expression: Arc<str>,
    pub span: Span,
    /// The unparsed properties to merge into the selected templates.
    pub patch: Node,
}

/// Returns the node templates that replace or extend those of the topology. `None` if there are none.
///
/// The order of priority, lowest first: added templates, the blueprint, decorated templates.
pub(super) fn overrides(
    scope: TypeScope<'_>,
    map: &Mapping,
    options: &ReadOptions,
) -> Option<Mapping> {
    let blueprint = blueprint(scope, map, options);
    let all = [
        Some(&options.added_templates),
        blueprint.as_ref(),
        Some(&options.decorated_templates),
    ];
    let mut all = all.into_iter().flatten().filter(|map| !map.is_empty());
    let mut overrides = all.next()?.clone();
    for (name, entry) in all.flatten() {
        overrides.insert(Arc::clone(name), entry.clone());
    }
    Some(overrides)
}

/// Returns the node templates of the blueprint that the options select.
fn blueprint(scope: TypeScope<'_>, map: &Mapping, options: &ReadOptions) -> Option<Mapping> {
    let (blueprint_name, span) = options.blueprint.as_ref()?;
    let sections = [
        options.blueprints.as_ref(),
        map.get("deployment_blueprints"),
    ];
    let sections = sections.into_iter().flatten().filter_map(Node::as_map);
    let Some(found) = sections.clone().find_map(|map| map.get(blueprint_name)) else {
        let message = format!("there is no deployment blueprint `{blueprint_name}`");
        let mut problem = Diagnostic::error(message)
            .check(Check::UnknownTemplate)
            .label(*span, "selected here");
        let names = sections.flatten().map(|(name, _)| &**name);
        problem.help = did_you_mean(blueprint_name, names);
        scope.report(problem);
        return None;
    };
    if let Some(names) = found.get("resourceTemplates").and_then(Node::as_seq) {
        let own = found.get("ResourceTemplate").and_then(Node::as_map)?;
        let named = names.iter().filter_map(Node::as_str);
        let named = named.filter_map(|name| Some((Arc::from(name), own.entry(name)?.clone())));
        return Some(named.collect());
    }
    let mut sections = ["resource_templates", "node_templates"]
        .into_iter()
        .filter_map(|key| found.get(key)?.as_map());
    sections.find(|templates| !templates.is_empty()).cloned()
}

/// Returns the node templates of the topology as written, including their replacements.
///
/// The result is empty if there are no decorators, because only they need it.
pub(super) fn written_node_templates(
    map: &Mapping,
    overrides: Option<&Mapping>,
    decorators: &[Decorator],
) -> Mapping {
    if decorators.is_empty() {
        return Mapping::default();
    }
    let topology = map.get("topology_template");
    let own = topology.and_then(|topology| topology.get("node_templates")?.as_map());
    let mut all = own.cloned().unwrap_or_default();
    for (name, entry) in overrides.into_iter().flatten() {
        all.insert(Arc::clone(name), entry.clone());
    }
    all
}

/// Returns the decorators of all files. Those of the service template itself come last.
pub(super) fn decorators(files: &[LoadedFile]) -> Vec<Decorator> {
    let sections = files
        .iter()
        .rev()
        .filter_map(|file| file.root.get("decorators")?.as_map());
    let decorator = |(expression, entry): (&Arc<str>, &crate::yaml::MapEntry)| Decorator {
        expression: Arc::clone(expression),
        span: entry.key_span,
        patch: entry.value.clone(),
    };
    sections.flatten().map(decorator).collect()
}
