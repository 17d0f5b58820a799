//! Checks operations: their configurators, inputs and files.

use std::collections::HashMap;
use std::sync::Arc;

use super::checker::Checker;
use super::input_names::{InputNames, input_names};
use super::members::Owner;
use super::narrow::{key_before, template_line};
use super::value_place::ValuePlace;
use crate::configurator::choose;
use crate::diagnostic::{Check, Diagnostic, Span};
use crate::expr::{is_template, raw_template_facts};
use crate::task::ChooseError;
use crate::text::most_similar;
use crate::tosca::{Implementation, ImplementationKind, NodeTemplate, Operation};
use crate::value::Value;

/// Inputs whose templates have variables of the finished task.
pub(super) const RESULT_INPUTS: [&str; 3] = ["resultTemplate", "outputsTemplate", "done"];

impl<'a> Checker<'a> {
    pub(super) fn operation(
        &mut self,
        operation: &'a Operation,
        owner: Owner<'a>,
        node: Option<&'a NodeTemplate>,
        of: &dyn Fn() -> String,
    ) {
        if !operation.is_implemented() {
            return;
        }
        let subject = || format!("operation `{}` of {}", operation.reference, of());
        let misspelt = misspelt_inputs(operation);
        let within = node.filter(|node| node.nested_in.is_some());
        for (name, value) in &operation.inputs {
            let meant = misspelt.get(name).copied().unwrap_or(name);
            let span = operation.input_place(name);
            if misspelt.contains_key(name) {
                let message = format!("the configurator of {} has no input `{name}`", subject());
                let hint = Some(format!("did you mean `{meant}`?"));
                let key = key_before(self.sources, span, name);
                self.error(Check::UnknownConfiguratorInput, message, key, "", hint);
            }
            let of_input = || format!("input `{name}` of {}", subject());
            let open_variables = RESULT_INPUTS.contains(&meant);
            let place = ValuePlace {
                open_variables,
                ..ValuePlace::new(owner, within, span, &of_input)
            };
            match value {
                Value::Str(text) if open_variables && is_template(text) => {
                    self.facts(raw_template_facts(text), place);
                }
                _ => self.value(value, place),
            }
        }
        let Some(implementation) = &operation.implementation else {
            return;
        };
        for (name, value) in &implementation.environment {
            let of_variable = || format!("variable `{name}` of {}", subject());
            let span = self.text_place(implementation.span, value);
            self.value(value, ValuePlace::new(owner, within, span, &of_variable));
        }
        self.implementation(
            operation,
            implementation,
            owner,
            node,
            misspelt.is_empty(),
            &subject,
        );
    }

    /// Returns the place of a value that is a text, within the place of the whole.
    fn text_place(&self, whole: Span, value: &Value) -> Span {
        let first = value.as_str().and_then(|text| text.trim().lines().next());
        let found = first.and_then(|line| template_line(self.sources, whole, line, 1));
        found.unwrap_or(whole)
    }

    /// Checks the configurator, the program and the host of an operation.
    fn implementation(
        &mut self,
        operation: &'a Operation,
        implementation: &'a Implementation,
        owner: Owner<'a>,
        node: Option<&'a NodeTemplate>,
        needs_inputs: bool,
        subject: &dyn Fn() -> String,
    ) {
        // Known configurators need no closer look, apart from `Task`, which runs on no other host.
        let is_usual = match &implementation.kind {
            ImplementationKind::Configurator(name) => {
                &**name != "Task" && input_names(name).is_some()
            }
            ImplementationKind::Command(_) | ImplementationKind::Artifact(_) => true,
            ImplementationKind::Unsupported(_) => false,
        };
        if !is_usual && let Err(error) = choose(operation) {
            let interface = operation.reference.interface.as_str();
            self.unusable(&error, interface, implementation, subject);
        }
        self.operation_host(implementation, node, subject);
        if let Some(problem) = self.machine.and_then(|it| it.source_problem(operation)) {
            let span = operation.input_spans.get(problem.input).copied();
            let message = format!("{}: {}", subject(), problem.message);
            let span = span.unwrap_or(implementation.span);
            self.error(
                Check::MissingSource,
                message,
                span,
                &problem.word,
                problem.hint,
            );
        }
        match &implementation.kind {
            // The properties of an artifact supply the inputs of its configurator.
            ImplementationKind::Configurator(name) if implementation.primary.is_none() => {
                if let Some(names) = input_names(name).filter(|_| needs_inputs) {
                    self.required_inputs(operation, names, subject);
                }
                if &**name == "Delegate" {
                    self.delegate(operation, owner, node, subject);
                }
            }
            ImplementationKind::Command(command) => {
                if is_template(command) {
                    let of_command = || format!("the command of {}", subject());
                    let within = node.filter(|node| node.nested_in.is_some());
                    let place = ValuePlace::new(owner, within, implementation.span, &of_command);
                    self.facts(raw_template_facts(command), place);
                }
                self.command(operation, implementation, command, subject);
            }
            _ => {}
        }
        if let Some(artifact) = &implementation.primary {
            self.arguments(operation, artifact, node, subject);
            self.artifact_file(artifact, subject);
        }
    }

    /// Reports an operation that no configurator of this program can perform.
    fn unusable(
        &mut self,
        error: &ChooseError,
        interface: &str,
        implementation: &Implementation,
        subject: &dyn Fn() -> String,
    ) {
        let check = match error {
            // Artifacts have operations of their own, which say how to run them.
            ChooseError::NoImplementation | ChooseError::Artifact(_) | ChooseError::NoFile(_) => {
                return;
            }
            ChooseError::Unknown { .. } | ChooseError::PythonClass { .. } => Check::Unsupported,
            ChooseError::TaskOnRemoteHost => Check::UnknownConfiguratorInput,
        };
        let message = format!("{} cannot run: {error}", subject());
        let problem =
            if interface == "Install" || self.lenient || self.is_built_in(implementation.span) {
                // Only a check or a discovery runs such an operation.
                Diagnostic::warning(message)
            } else {
                Diagnostic::error(message)
            };
        self.report(
            problem
                .label(implementation.span, "")
                .check(check)
                .contained(),
        );
    }

    /// Reports an operation that lacks what its configurator needs.
    fn required_inputs(
        &mut self,
        operation: &Operation,
        names: InputNames,
        subject: &dyn Fn() -> String,
    ) {
        let has_required = names
            .required
            .iter()
            .any(|name| operation.inputs.contains_key(*name));
        if names.required.is_empty()
            || has_required
            || self.is_called(operation.reference.operation.as_str())
        {
            return;
        }
        let required = names.required[0];
        let message = format!(
            "{} has no input `{required}`, which its configurator needs",
            subject()
        );
        let hint = Some(format!("add `{required}` to its `inputs`"));
        self.error(
            Check::MissingConfiguratorInput,
            message,
            operation.place(),
            "",
            hint,
        );
    }
}

/// Returns true if another part of an operation reads the input.
fn is_read(operation: &Operation, name: &str) -> bool {
    let reads = |value: &Value| mentions(value, name, 0);
    let others = operation
        .inputs
        .iter()
        .filter(|(other, _)| &***other != name);
    let environment = operation
        .implementation
        .iter()
        .flat_map(|it| it.environment.values());
    others.map(|(_, value)| value).chain(environment).any(reads)
}

fn mentions(value: &Value, name: &str, depth: usize) -> bool {
    depth < 64
        && match value.reveal() {
            Value::Str(text) => text.contains(name),
            Value::List(items) => items.iter().any(|item| mentions(item, name, depth + 1)),
            Value::Map(map) => map
                .iter()
                .any(|(key, item)| key.contains(name) || mentions(item, name, depth + 1)),
            _ => false,
        }
}

/// Returns the misspelt inputs of an operation, with the inputs that are meant.
fn misspelt_inputs(operation: &Operation) -> HashMap<Arc<str>, &'static str> {
    let configurator = operation.implementation.as_ref().map(|it| &it.kind);
    let Some(ImplementationKind::Configurator(configurator)) = configurator else {
        return HashMap::new();
    };
    let Some(names) = input_names(configurator) else {
        return HashMap::new();
    };
    let unknown = operation.inputs.keys().filter(|name| {
        !names.known.contains(&&***name)
            && !operation.input_defs.contains_key(*name)
            && !is_read(operation, name)
    });
    let meant = unknown.filter_map(|name| {
        let similar = most_similar(name, names.known.iter().copied())?;
        // A similar input that has a value is meant by its own name.
        let is_free = !operation.inputs.contains_key(similar);
        is_free.then(|| (Arc::clone(name), similar))
    });
    meant.collect()
}
