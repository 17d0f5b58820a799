//! The key `copy`: a template that starts from the definition of another (TOSCA 1.3, 3.8.3 and 3.8.4).
//!
//! [`TypeScope::resolve_copy`] merges the YAML before a template is read.

use std::sync::Arc;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::text::did_you_mean;
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

use super::scope::TypeScope;

impl TypeScope<'_> {
    /// Returns the definition of a template merged over the one that it copies, recursively.
    ///
    /// Returns `None` if the template has no `copy`.
    pub(super) fn resolve_copy(
        self,
        subject: &str,
        map: &Mapping,
        all: &Mapping,
    ) -> Option<Mapping> {
        map.get("copy")?;
        let mut merged = map.clone();
        let mut seen: Vec<Arc<str>> = Vec::new();
        let mut next = map.get("copy").cloned();
        while let Some(node) = next.filter(|node| !node.is_null()) {
            let Some(name) = node.as_str() else {
                let message = format!("`copy` of {subject} must be the name of a template");
                self.problems()
                    .error(Check::WrongKind, message, node.span());
                break;
            };
            if seen.iter().any(|seen| **seen == *name) {
                let message = format!("{subject} copies `{name}`, which copies itself");
                self.problems()
                    .error(Check::RequirementCycle, message, node.span());
                break;
            }
            let Some(base) = all.get(name) else {
                let problem =
                    Diagnostic::error(format!("{subject} copies `{name}`, which does not exist"))
                        .check(Check::UnknownTemplate)
                        .label(node.span(), "");
                self.report(
                    problem.help_if(did_you_mean(name, all.iter().map(|(name, _)| &**name))),
                );
                break;
            };
            seen.push(name.into());
            let base = base.as_map();
            next = base.and_then(|base| base.get("copy").cloned());
            if let Some(base) = base {
                merged = merge_over(&merged, base);
            }
        }
        Some(merged)
    }
}

/// Merges two maps. Nested maps are merged, and any other value of `upper` replaces that of `lower`.
fn merge_over(upper: &Mapping, lower: &Mapping) -> Mapping {
    let mut merged = upper.clone();
    for (key, below) in lower {
        let joined = match upper.entry(key) {
            None => below.clone(),
            Some(above) => match (above.value.as_map(), below.value.as_map()) {
                (Some(one), Some(other)) => MapEntry::new(
                    above.key_span,
                    map_node(merge_over(one, other), above.value.span()),
                ),
                _ => continue,
            },
        };
        merged.insert(Arc::clone(key), joined);
    }
    merged
}

fn map_node(map: Mapping, span: Span) -> Node {
    Node::new(NodeKind::Map(map), span, None)
}

#[cfg(test)]
mod tests {
    use super::super::testing::read_template;
    use crate::value::Value;

    #[test]
    fn a_copy_overrides_what_it_says_and_keeps_the_rest() {
        let case = read_template(
            "
data_types: {Cpu: {properties: {arch: {type: string}, cores: {type: integer}}}}
node_types: {Machine: {properties: {cpu: {type: Cpu}, name: {type: string, default: x}}}}
topology_template:
  node_templates:
    c: {copy: b, properties: {cpu: {arch: arm}}}
    a: {type: Machine, properties: {cpu: {arch: x86, cores: 4}, name: one}}
    b: {copy: a, properties: {cpu: {cores: 8}}}
",
        );
        assert_eq!(case.report(), "");
        let cpu = case.node("c").properties["cpu"].value.to_string();
        assert_eq!(cpu, "{'arch': 'arm', 'cores': 8}");
        assert_eq!(case.node("c").properties["name"].value, Value::from("one"));
    }

    #[test]
    fn a_copy_of_nothing_or_in_a_circle_is_reported() {
        let case = read_template(
            "
topology_template:
  node_templates:
    a: {copy: b, type: tosca.nodes.Root}
    b: {copy: a, type: tosca.nodes.Root}
    c: {copy: aa, type: tosca.nodes.Root}
    d: {copy: [a], type: tosca.nodes.Root}
  relationship_templates:
    r: {type: tosca.relationships.ConnectsTo}
    s: {copy: r}
",
        );
        insta::assert_snapshot!(case.report(), @"
        service.yaml:4:15: node template `a` copies `b`, which copies itself
        service.yaml:5:15: node template `b` copies `a`, which copies itself
        service.yaml:6:15: node template `c` copies `aa`, which does not exist
          hint: did you mean `a`?
        service.yaml:7:15: `copy` of node template `d` must be the name of a template
        ");
    }
}
