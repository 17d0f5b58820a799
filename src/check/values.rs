//! Judges the facts about a value: names that do not exist, and syntax errors.

use std::sync::Arc;

use super::members::{Owner, declared_names, is_keyword, may_have, relationship_may_have};
use super::model::Checker;
use super::narrow::narrow;
use crate::diagnostic::{Check, Diagnostic, Span};
use crate::expr::{Fact, MemberRead, facts, filter_hint, function_hint, needs_evaluation};
use crate::text::did_you_mean;
use crate::tosca::NodeTemplate;
use crate::value::Value;

/// Checks whose findings may be extensions of other TOSCA tools.
const OPEN_CHECKS: [Check; 6] = [
    Check::UnknownAttribute,
    Check::UnknownTemplate,
    Check::UnknownArtifact,
    Check::UnknownOperation,
    Check::InvalidWorkflow,
    Check::UnknownFunction,
];

/// The place of a value in the model.
#[derive(Clone, Copy)]
pub(super) struct ValuePlace<'a> {
    pub(super) owner: Owner<'a>,
    /// The node template in whose topology the value stands; `None` for the outermost topology.
    pub(super) within: Option<&'a NodeTemplate>,
    pub(super) span: Span,
    /// Names the value in messages, such as ``property `x` of node template `a` ``.
    pub(super) subject: &'a dyn Fn() -> String,
    /// Whether templates of the value have variables that are not known statically.
    pub(super) open_variables: bool,
    /// Whether the value is the default of a type.
    pub(super) is_default: bool,
}

impl<'a> ValuePlace<'a> {
    pub(super) fn new(
        owner: Owner<'a>,
        within: Option<&'a NodeTemplate>,
        span: Span,
        subject: &'a dyn Fn() -> String,
    ) -> Self {
        Self {
            owner,
            within,
            span,
            subject,
            open_variables: false,
            is_default: false,
        }
    }
}

impl<'a> Checker<'a> {
    /// Checks the expressions and templates of a value.
    pub(super) fn value(&mut self, raw: &Value, place: ValuePlace<'_>) {
        if !needs_evaluation(raw) {
            return;
        }
        for fact in facts(raw) {
            self.fact(fact, place);
        }
    }

    pub(super) fn fact(&mut self, fact: Fact, place: ValuePlace<'_>) {
        match fact {
            Fact::Input(name) => self.input(&name, place),
            Fact::Member(read) => self.member(&read, place),
            Fact::Instance(name) => self.instance(&name, place),
            Fact::Artifact { entity, name } => self.artifact(&entity, &name, place),
            Fact::UnknownFunction(name) => {
                let message = format!("`{name}` of {} is not a function", (place.subject)());
                let hint = function_hint(&name);
                self.error(Check::UnknownFunction, message, place.span, &name, hint);
            }
            Fact::Syntax { message, line } => {
                let line = if line > 1 {
                    format!(" (line {line} of it)")
                } else {
                    String::new()
                };
                let message = format!(
                    "the template of {} has a syntax error: {message}{line}",
                    (place.subject)()
                );
                self.error(Check::TemplateSyntax, message, place.span, "", None);
            }
            Fact::Variable(name) if !place.open_variables => self.variable(&name, place),
            Fact::UnknownFilter(name) => {
                let message = format!("`{name}` in {} is not a filter", (place.subject)());
                let hint = filter_hint(&name);
                self.error(Check::UnknownFilter, message, place.span, &name, hint);
            }
            Fact::UnknownTest(name) => {
                let message = format!("`{name}` in {} is not a test", (place.subject)());
                self.error(Check::UnknownFilter, message, place.span, &name, None);
            }
            Fact::Variable(_) | Fact::File(_) => {}
        }
    }

    /// Reports an error that concerns a part of the model only, at the place of a word.
    pub(super) fn error(
        &mut self,
        check: Check,
        message: String,
        span: Span,
        word: &str,
        hint: Option<String>,
    ) {
        let span = narrow(self.sources, span, word);
        let is_misspelt = hint
            .as_ref()
            .is_some_and(|hint| hint.starts_with("did you mean"));
        let problem = match check {
            Check::UndeclaredInput if self.lenient && !is_misspelt => Diagnostic::warning(message),
            check if self.lenient && OPEN_CHECKS.contains(&check) => Diagnostic::warning(message),
            _ => Diagnostic::error(message).contained(),
        };
        self.report(problem.label(span, "").help_if(hint).check(check));
    }

    fn input(&mut self, name: &Arc<str>, place: ValuePlace<'_>) {
        let declared = self.inputs_of(place.within);
        if declared.contains_key(name) || (place.within.is_none() && self.given.contains(name)) {
            return;
        }
        let message = format!(
            "{} reads the input `{name}`, which is not declared",
            (place.subject)()
        );
        let hint = did_you_mean(name, declared.keys().map(|name| &**name));
        let hint =
            hint.or_else(|| Some(format!("declare `{name}` under `topology_template.inputs`")));
        self.error(Check::UndeclaredInput, message, place.span, name, hint);
    }

    /// Returns the node template with a name, seen from a template of the same topology.
    fn node_seen(
        &self,
        name: &str,
        within: Option<&NodeTemplate>,
    ) -> Option<&'a Arc<NodeTemplate>> {
        let nodes = &self.topology.nodes;
        let qualified = within.and_then(|node| node.nested_in.as_ref());
        let qualified = qualified.map(|outer| format!("{outer}:{name}"));
        qualified
            .and_then(|name| nodes.get(name.as_str()))
            .or_else(|| nodes.get(name))
    }

    fn member(&mut self, read: &MemberRead, place: ValuePlace<'_>) {
        let MemberRead { entity, name, .. } = read;
        let found = match (&**entity, place.owner) {
            ("SELF", Owner::Node(node)) => Some(node),
            ("SELF", Owner::Relationship(relationship)) => {
                if !relationship_may_have(relationship, name, &self.settable) {
                    let of = format!("relationship type `{}`", relationship.type_name);
                    self.undeclared_member(read, &of, &[], place);
                }
                return;
            }
            (keyword, _) if is_keyword(keyword) || keyword.starts_with('.') => return,
            _ => {
                let Some(node) = self.node_seen(entity, place.within) else {
                    return self.unknown_entity(read, place);
                };
                Some(&**node)
            }
        };
        let Some(node) = found else { return };
        if !may_have(self.topology, node, name, &self.settable) && !self.is_substitutable(node) {
            let of = format!("node template `{}` of type `{}`", node.name, node.type_name);
            // A topology that substitutes for the node has exactly the outputs that it declares.
            let lenient = self.lenient;
            self.lenient &= node.representative.is_none()
                && !self.substitutable.contains(&node.node_type.key);
            self.undeclared_member(read, &of, &declared_names(node), place);
            self.lenient = lenient;
        }
    }

    fn undeclared_member(
        &mut self,
        read: &MemberRead,
        of: &str,
        names: &[&str],
        place: ValuePlace<'_>,
    ) {
        let name = &read.name;
        let message = format!(
            "{} reads `{name}`, which {of} does not declare",
            (place.subject)()
        );
        let hint = did_you_mean(name, names.iter().copied());
        self.error(Check::UnknownAttribute, message, place.span, name, hint);
    }

    fn unknown_entity(&mut self, read: &MemberRead, place: ValuePlace<'_>) {
        let entity = &read.entity;
        if self.is_other_entity(entity) || place.within.is_some() {
            return;
        }
        let message = format!(
            "{} reads `{}` of `{entity}`, which is not a node template",
            (place.subject)(),
            read.name
        );
        let hint = did_you_mean(entity, self.topology.nodes.keys().map(|name| name.as_str()));
        self.error(Check::UnknownTemplate, message, place.span, entity, hint);
    }

    /// Whether a name is that of an entity other than a node template, or of an instance that a task may add.
    fn is_other_entity(&self, name: &str) -> bool {
        let topology = self.topology;
        topology.relationships.contains_key(name)
            || topology.groups.contains_key(name)
            || topology.policies.contains_key(name)
            || self.settable.contains(name)
            || matches!(name, "localhost" | "root" | "inputs" | "outputs" | "*")
    }

    fn instance(&mut self, name: &Arc<str>, place: ValuePlace<'_>) {
        if self.node_seen(name, place.within).is_some()
            || self.is_other_entity(name)
            || place.within.is_some()
            || name.contains(':')
        {
            return;
        }
        let message = format!(
            "{} looks for the instance `{name}`, which does not exist",
            (place.subject)()
        );
        let hint = did_you_mean(name, self.topology.nodes.keys().map(|name| name.as_str()));
        let span = narrow(self.sources, place.span, name);
        let problem = Diagnostic::warning(message).label(span, "").help_if(hint);
        self.report(problem.check(Check::EmptyPath));
    }

    fn artifact(&mut self, entity: &Arc<str>, name: &Arc<str>, place: ValuePlace<'_>) {
        let node = match (&**entity, place.owner) {
            ("SELF", Owner::Node(node)) => Some(node),
            (keyword, _) if is_keyword(keyword) => None,
            _ => match self.node_seen(entity, place.within) {
                Some(node) => Some(&**node),
                None => {
                    let read = MemberRead {
                        function: "get_artifact",
                        entity: Arc::clone(entity),
                        name: Arc::clone(name),
                        ends: true,
                    };
                    return self.unknown_entity(&read, place);
                }
            },
        };
        // The default of a type may read an artifact that only some templates have.
        let node = node.filter(|_| !place.is_default);
        let Some(node) = node.filter(|node| !node.artifacts.contains_key(name)) else {
            return;
        };
        if node.is_selected() || self.is_substitutable(node) || self.settable.contains(name) {
            return;
        }
        let message = format!(
            "{} reads the artifact `{name}`, which node template `{}` does not have",
            (place.subject)(),
            node.name
        );
        let hint = did_you_mean(name, node.artifacts.keys().map(|name| &**name));
        self.error(Check::UnknownArtifact, message, place.span, name, hint);
    }

    fn variable(&mut self, name: &Arc<str>, place: ValuePlace<'_>) {
        if self.variables.contains(name) {
            return;
        }
        let message = format!(
            "the template of {} uses `{name}`, which no scope has",
            (place.subject)()
        );
        let known = [
            "SELF",
            "NODES",
            "TOPOLOGY",
            "HOST",
            "SOURCE",
            "TARGET",
            "ORCHESTRATOR",
            "inputs",
        ];
        let hint = did_you_mean(name, known).or_else(|| {
            let is_node = self.topology.nodes.contains_key(&**name);
            is_node.then(|| format!("write `NODES.{name}` or `'::{name}' | eval`"))
        });
        self.error(Check::UnknownVariable, message, place.span, name, hint);
    }
}
