//! Reports requirements without a target, with too many targets, or without a suitable capability.
//!
//! The methods belong to [`RequirementResolver`], which calls them while it matches.

use crate::diagnostic::{Check, Diagnostic};

use super::requirement_resolver::{MergedRequirement, RequirementResolver};
use super::scope::TypeScope;
use super::section::TypeSection;
use super::template::{NodeTemplate, RelationshipTemplate};

impl RequirementResolver<'_> {
    pub(super) fn report_no_target(
        &self,
        template: &NodeTemplate,
        merged: &MergedRequirement<'_>,
        relationship: &RelationshipTemplate,
    ) {
        let is_needed = merged.occurrences().min > 0
            && relationship.default_for.is_none()
            && !template.has_directive("default");
        let names_node = merged.stated.is_some_and(|def| def.node.is_some());
        // The type prescribes a node, but the template itself names none: no error for the template.
        if !is_needed || (merged.node().is_some() && !names_node) {
            return;
        }
        let subject = merged.node().map_or_else(
            || "no node template fits".to_owned(),
            |node| format!("no node template of type `{}` fits", node.name),
        );
        let message = format!(
            "{subject} requirement `{}` of node template `{}`",
            merged.name(),
            template.name
        );
        let problem = Diagnostic::error(message).check(Check::MissingRequirement);
        self.types
            .problems
            .report(problem.contained().label(merged.span(), ""));
    }

    /// Reports a requirement that only the node type declares and that has no target.
    ///
    /// The problem is an error if the node has operations to run, and a warning otherwise.
    pub(super) fn report_missing(&self, template: &NodeTemplate, merged: &MergedRequirement<'_>) {
        let exempt = ["select", "substitute", "default", "conditional"];
        if exempt
            .iter()
            .any(|directive| template.has_directive(directive))
        {
            return;
        }
        let message = format!(
            "node template `{}` is missing requirement `{}`",
            template.name,
            merged.name()
        );
        let acts = template
            .operations
            .iter()
            .any(|operation| operation.is_implemented());
        // The requirements of built-in types stand in no file, and many templates leave them out. Other TOSCA tools may
        // find a target by its capability.
        let is_own = merged.span().is_some() && !self.types.strict;
        let problem = if acts || is_own {
            Diagnostic::error(message).contained()
        } else {
            Diagnostic::warning(message)
        };
        let help = match merged.node() {
            Some(node) => format!("add a node template of type `{}`", node.name),
            None => format!("add `{}` to its `requirements`", merged.name()),
        };
        let problem = problem
            .check(Check::MissingRequirement)
            .label(template.span, "")
            .label(merged.span(), "declared here")
            .help(help);
        self.types.problems.report(problem);
    }

    pub(super) fn report_unspecified_target(
        &self,
        template: &NodeTemplate,
        merged: &MergedRequirement<'_>,
    ) {
        let message = format!(
            "requirement `{}` of node template `{}` does not state its target",
            merged.name(),
            template.name
        );
        self.types.problems.report(
            Diagnostic::error(message)
                .check(Check::MissingRequirement)
                .label(merged.span(), "")
                .help("add a `node`, a `capability` or a `node_filter`"),
        );
    }

    pub(super) fn report_ambiguous(
        &self,
        template: &NodeTemplate,
        merged: &MergedRequirement<'_>,
        found: &[usize],
    ) {
        let max = merged.occurrences().max.unwrap_or(u32::MAX);
        let names: Vec<_> = found
            .iter()
            .take(5)
            .map(|place| format!("`{}`", self.index.template(*place).name))
            .collect();
        let message = format!(
            "requirement `{}` of node template `{}` takes at most {max} {}, but {} fit",
            merged.name(),
            template.name,
            if max == 1 { "target" } else { "targets" },
            found.len(),
        );
        self.types.problems.report(
            Diagnostic::error(message)
                .check(Check::UnknownTarget)
                .label(merged.span(), "")
                .help(format!(
                    "name one of them with `node:`, for example {}",
                    names.join(", ")
                )),
        );
    }

    /// Whether the node type of a requirement's declaration is none that the target has.
    fn is_of_another_type(&self, merged: &MergedRequirement<'_>, target: &NodeTemplate) -> bool {
        let declared = merged.declared.and_then(|def| def.node.as_ref());
        let expected = declared.and_then(|node| {
            let scope = TypeScope::of(self.types, node.namespace);
            scope.find(&node.name, TypeSection::Node)
        });
        expected.is_some_and(|key| !self.types.lineage(target.node_type.key).contains(&key))
    }

    pub(super) fn report_no_capability(
        &self,
        template: &NodeTemplate,
        merged: &MergedRequirement<'_>,
        relationship: &RelationshipTemplate,
        target: &NodeTemplate,
    ) {
        let expected = match merged.capability() {
            Some(capability) => format!("capability `{}`", capability.name),
            None => format!("a capability that `{}` can use", relationship.type_name),
        };
        let own: Vec<_> = target
            .node_type
            .capabilities
            .keys()
            .map(|it| format!("`{it}`"))
            .collect();
        let message = format!(
            "requirement `{}` of node template `{}` needs {expected}, which `{}` does not have",
            merged.name(),
            template.name,
            target.name
        );
        // Published templates often ignore capabilities that only the type prescribes, and run without them. A
        // target that is of another node type as well is a mistake.
        let problem = if merged.states_capability() || self.is_of_another_type(merged, target) {
            Diagnostic::error(message).contained()
        } else {
            Diagnostic::warning(message)
        };
        let problem = problem.check(Check::MissingCapability);
        let help = (!own.is_empty()).then(|| {
            format!(
                "the capabilities of `{}` are {}",
                target.name,
                own.join(", ")
            )
        });
        self.types.problems.report(
            problem
                .check(Check::MissingCapability)
                .label(merged.span(), "")
                .label(target.span, "the target")
                .help_if(help),
        );
    }
}
