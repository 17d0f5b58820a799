//! Judges the facts about a value: names that do not exist, and syntax errors.

use std::path::Path;
use std::sync::Arc;

use super::members::{
    Owner, capability_has, declared_names, hosts_of, is_keyword, is_part_only, may_have,
    relationship_may_have,
};
use super::model::Checker;
use super::narrow::{narrow, template_line};
use crate::diagnostic::{Check, Diagnostic, Span};
use crate::expr::{
    Fact, MemberRead, facts, filter_hint, function_hint, is_template, needs_evaluation, part_hint,
    test_hint,
};
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

/// The maximum number of problems of one value.
const MAX_OF_VALUE: usize = 20;

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
        // A list or map may have a misspelt function in it, which makes it no expression.
        if matches!(raw, Value::Str(_)) && !needs_evaluation(raw) {
            return;
        }
        self.facts(facts(raw), place);
    }

    /// Judges the facts about a value, the first ones if there are very many.
    pub(super) fn facts(&mut self, facts: Vec<Fact>, place: ValuePlace<'_>) {
        let before = self.problems.len();
        for fact in facts {
            if self.is_full() || self.problems.len() >= before + MAX_OF_VALUE {
                return;
            }
            self.fact(fact, place);
        }
    }

    pub(super) fn fact(&mut self, fact: Fact, place: ValuePlace<'_>) {
        match fact {
            Fact::Input(name) => self.input(&name, place),
            Fact::Member(read) => self.member(&read, place),
            Fact::Instance(name) => self.instance(&name, place),
            Fact::Requirement(name) => self.requirement_path(&name, place),
            Fact::Artifact { entity, name } => self.artifact(&entity, &name, place),
            Fact::File(path) => self.file(&path, place),
            Fact::UnknownFunction(name) => {
                let message = format!("`{name}` of {} is not a function", (place.subject)());
                let hint = function_hint(&name);
                self.error(Check::UnknownFunction, message, place.span, &name, hint);
            }
            Fact::UnknownPart(name) => {
                let subject = (place.subject)();
                let message =
                    format!("an expression has no key `{name}`, so {subject} is a plain map");
                self.error(
                    Check::UnknownKey,
                    message,
                    place.span,
                    &name,
                    part_hint(&name),
                );
            }
            Fact::Syntax {
                message,
                text,
                line,
            } => self.syntax(&message, &text, line, place),
            Fact::Variable { name, text, line } if !place.open_variables => {
                let line = template_line(self.sources, place.span, &text, line);
                let span = line.unwrap_or(place.span);
                self.variable(&name, ValuePlace { span, ..place });
            }
            Fact::ExpressionVariable { name, known } if !place.open_variables => {
                self.expression_variable(&name, &known, place);
            }
            Fact::UnknownFilter(name) => {
                let message = format!("`{name}` in {} is not a filter", (place.subject)());
                self.error(
                    Check::UnknownFilter,
                    message,
                    place.span,
                    &name,
                    filter_hint(&name),
                );
            }
            Fact::UnknownTest(name) => {
                let message = format!("`{name}` in {} is not a test", (place.subject)());
                self.error(
                    Check::UnknownFilter,
                    message,
                    place.span,
                    &name,
                    test_hint(&name),
                );
            }
            Fact::Variable { .. } | Fact::ExpressionVariable { .. } => {}
        }
    }

    fn syntax(&mut self, message: &str, text: &str, line: usize, place: ValuePlace<'_>) {
        let (message, hint) = explain_syntax(message);
        let kind = if is_template(text) {
            "template"
        } else {
            "path"
        };
        let message = format!(
            "the {kind} of {} has a syntax error: {message}",
            (place.subject)()
        );
        let line = template_line(self.sources, place.span, text, line.max(1));
        self.error(
            Check::TemplateSyntax,
            message,
            line.unwrap_or(place.span),
            "",
            hint,
        );
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
    pub(super) fn node_seen(
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
        let Some(nodes) = self.nodes_of(&read.entity, place) else {
            if let (Owner::Relationship { relationship, .. }, "SELF") = (place.owner, &*read.entity)
                && !relationship_may_have(relationship, &read.name, &self.settable)
            {
                let of = format!("relationship type `{}`", relationship.type_name);
                self.undeclared_member(read, &of, &[], place);
            } else if !is_keyword(&read.entity) && !read.entity.starts_with('.') {
                self.unknown_entity(read, place);
            }
            return;
        };
        let name = &read.name;
        let has = |node: &&NodeTemplate| {
            may_have(self.topology, node, name, &self.settable) || self.is_substitutable(node)
        };
        let is_part = |node: &&NodeTemplate| {
            read.function == "template" && !self.settable.contains(name) && is_part_only(node, name)
        };
        if nodes.iter().any(|node| has(node) && !is_part(node)) {
            return self.capability_member(read, &nodes, place);
        }
        let Some(node) = nodes.first() else {
            return;
        };
        if &*read.entity == "TARGET" && capability_has(node, name) {
            return;
        }
        if is_part(node) && has(node) {
            let message = format!(
                "{} reads `{name}`, which is a requirement or a capability and no attribute",
                (place.subject)()
            );
            let path = if node.capabilities.contains_key(name) {
                ".capabilities"
            } else {
                ".targets"
            };
            let hint = Some(format!("write `'{path}::{name}' | eval`"));
            return self.error(Check::UnknownAttribute, message, place.span, name, hint);
        }
        let of = format!("node template `{}` of type `{}`", node.name, node.type_name);
        // A topology that substitutes for the node has exactly the outputs that it declares.
        let lenient = self.lenient;
        self.lenient &=
            node.representative.is_none() && !self.substitutable.contains(&node.node_type.key);
        self.undeclared_member(read, &of, &declared_names(node), place);
        self.lenient = lenient;
    }

    /// Checks the property of a capability of a node.
    fn capability_member(
        &mut self,
        read: &MemberRead,
        nodes: &[&NodeTemplate],
        place: ValuePlace<'_>,
    ) {
        let ([node], [property, ..]) = (nodes, read.rest.as_slice()) else {
            return;
        };
        let Some(capability) = node.capabilities.get(&read.name) else {
            return;
        };
        let is_member =
            node.properties.contains_key(&read.name) || node.attributes.contains_key(&read.name);
        let own = &capability.capability_type;
        let has = own.open
            || own.properties.contains_key(property)
            || own.attributes.contains_key(property)
            || capability.properties.contains_key(property)
            || capability.attributes.contains_key(property)
            || property.starts_with('.')
            || self.settable.contains(property);
        if is_member || has {
            return;
        }
        let message = format!(
            "{} reads `{property}`, which capability `{}` of type `{}` does not declare",
            (place.subject)(),
            read.name,
            capability.type_name
        );
        let names = own.properties.keys().chain(own.attributes.keys());
        let hint = did_you_mean(property, names.map(|name| &**name));
        self.error(Check::UnknownAttribute, message, place.span, property, hint);
    }

    /// Returns the nodes that a name or keyword stands for. `None` if they are not known.
    fn nodes_of<'n>(&self, entity: &str, place: ValuePlace<'n>) -> Option<Vec<&'n NodeTemplate>>
    where
        'a: 'n,
    {
        match (entity, place.owner) {
            ("SELF", Owner::Node(node)) => Some(vec![node]),
            ("HOST", Owner::Node(node)) => hosts_of(self.topology, node),
            ("SOURCE", Owner::Relationship { source, .. }) => source.map(|node| vec![node]),
            ("TARGET", Owner::Relationship { target, .. }) => target.map(|node| vec![node]),
            (keyword, _) if is_keyword(keyword) || keyword.starts_with('.') => None,
            _ => self
                .node_seen(entity, place.within)
                .map(|node| vec![&**node]),
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
        self.warning(Check::EmptyPath, message, place.span, name, hint);
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
                        rest: Vec::new(),
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

    /// Reports a path through a requirement that the own node does not have.
    fn requirement_path(&mut self, name: &Arc<str>, place: ValuePlace<'_>) {
        let Owner::Node(node) = place.owner else {
            return;
        };
        let declared = &node.node_type.requirements;
        if declared.contains_key(name) || node.requirements.iter().any(|it| it.name == *name) {
            return;
        }
        let message = format!(
            "{} looks for the requirement `{name}`, which node template `{}` does not have",
            (place.subject)(),
            node.name
        );
        let names = declared
            .keys()
            .chain(node.requirements.iter().map(|it| &it.name));
        let hint = did_you_mean(name, names.map(|name| &**name));
        self.warning(Check::EmptyPath, message, place.span, name, hint);
    }

    /// Reports a warning at the place of a word.
    pub(super) fn warning(
        &mut self,
        check: Check,
        message: String,
        span: Span,
        word: &str,
        hint: Option<String>,
    ) {
        let span = narrow(self.sources, span, word);
        let problem = Diagnostic::warning(message).label(span, "");
        self.report(problem.help_if(hint).check(check));
    }

    /// Reports a file that an expression reads and that does not exist.
    fn file(&mut self, path: &Arc<str>, place: ValuePlace<'_>) {
        if path.starts_with(['/', '~', '$']) || self.is_mentioned(path) {
            return;
        }
        let own = self
            .sources
            .get(place.span.source)
            .and_then(|source| source.path.parent());
        let folders = [Some(self.base_dir), own];
        let mut folders = folders.into_iter().flatten().map(Path::to_path_buf);
        let hint = match self.missing_file(path, &mut folders) {
            None => return,
            Some(hint) => hint,
        };
        let message = format!(
            "{} reads the file `{path}`, which does not exist",
            (place.subject)()
        );
        self.error(Check::MissingFile, message, place.span, path, Some(hint));
    }

    fn expression_variable(&mut self, name: &Arc<str>, known: &[Arc<str>], place: ValuePlace<'_>) {
        if self.variables.contains(name) {
            return;
        }
        let message = format!(
            "the expression of {} uses the variable `${name}`, which nothing sets",
            (place.subject)()
        );
        let hint = did_you_mean(name, known.iter().map(|name| &**name));
        self.warning(Check::EmptyPath, message, place.span, name, hint);
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

/// Returns the message of the template engine in plain words, with a hint.
fn explain_syntax(message: &str) -> (String, Option<String>) {
    if let Some(word) = message.strip_prefix("unknown statement ") {
        if let Some(block) = word.strip_prefix("end") {
            let message = format!("`{word}` ends a block that is not open");
            return (
                message,
                Some(format!(
                    "begin the block with `{{% {block} … %}}`, or remove the tag"
                )),
            );
        }
        let message = format!("there is no statement `{word}`");
        return (message, did_you_mean(word, STATEMENTS));
    }
    let hint = match message {
        "unexpected end of input, expected end of variable block" => {
            Some("close the expression with `}}`")
        }
        "unexpected end of input, expected end of block" => {
            Some("close the tag with `%}`, and each block with its `end` tag")
        }
        _ => None,
    };
    (message.to_owned(), hint.map(str::to_owned))
}

/// The statements of templates.
const STATEMENTS: [&str; 14] = [
    "if", "elif", "else", "endif", "for", "endfor", "set", "endset", "with", "endwith", "macro",
    "endmacro", "filter", "do",
];
