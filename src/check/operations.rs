//! Checks operations: their configurators, inputs and files.

use std::path::Path;
use std::sync::Arc;

use super::input_names::{InputNames, input_names};
use super::members::Owner;
use super::model::Checker;
use super::values::ValuePlace;
use crate::diagnostic::Check;
use crate::expr::{is_template, raw_template_facts};
use crate::text::most_similar;
use crate::tosca::{
    Implementation, ImplementationKind, NodeTemplate, Operation, configurator_names,
};
use crate::value::Value;

/// Inputs whose templates have variables of the finished task.
const RESULT_INPUTS: [&str; 3] = ["resultTemplate", "outputsTemplate", "done"];

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
        let within = node.filter(|node| node.nested_in.is_some());
        let subject = || format!("operation `{}` of {}", operation.reference, of());
        for (name, value) in &operation.inputs {
            let span = operation
                .input_spans
                .get(name)
                .copied()
                .unwrap_or(operation.span);
            let subject = || format!("input `{name}` of {}", subject());
            let open_variables = RESULT_INPUTS.contains(&&**name);
            let place = ValuePlace {
                owner,
                within,
                span,
                subject: &subject,
                open_variables,
            };
            match value {
                Value::Str(text) if open_variables && is_template(text) => {
                    for fact in raw_template_facts(text) {
                        self.fact(fact, place);
                    }
                }
                _ => self.value(value, place),
            }
        }
        let Some(implementation) = &operation.implementation else {
            return;
        };
        for value in implementation.environment.values() {
            let subject = || format!("the environment of {}", subject());
            let place = ValuePlace {
                owner,
                within,
                span: implementation.span,
                subject: &subject,
                open_variables: false,
            };
            self.value(value, place);
        }
        match &implementation.kind {
            ImplementationKind::Configurator(name) => {
                if let Some(names) = input_names(name) {
                    self.configurator_inputs(operation, names, &subject);
                }
            }
            ImplementationKind::Command(command) => {
                self.command(operation, implementation, command, &subject)
            }
            ImplementationKind::Artifact(_) | ImplementationKind::Unsupported(_) => {}
        }
    }

    /// Reports misspelt inputs of a configurator, and those that it needs and lacks.
    fn configurator_inputs(
        &mut self,
        operation: &Operation,
        names: InputNames,
        subject: &dyn Fn() -> String,
    ) {
        let mut misspelt = false;
        for name in operation.inputs.keys() {
            let is_known = names.known.contains(&&**name);
            if is_known || operation.input_defs.contains_key(name) || is_read(operation, name) {
                continue;
            }
            let similar = most_similar(name, names.known.iter().copied());
            // A similar input that has a value is meant by its own name.
            let Some(similar) = similar.filter(|similar| !operation.inputs.contains_key(*similar))
            else {
                continue;
            };
            misspelt = true;
            let span = operation
                .input_spans
                .get(name)
                .copied()
                .unwrap_or(operation.span);
            let message = format!("the configurator of {} has no input `{name}`", subject());
            let hint = Some(format!("did you mean `{similar}`?"));
            self.error(Check::UnknownConfiguratorInput, message, span, name, hint);
        }
        let has_required = names
            .required
            .iter()
            .any(|name| operation.inputs.contains_key(*name));
        if names.required.is_empty() || has_required || misspelt || self.may_get_inputs(operation) {
            return;
        }
        let message = format!(
            "{} has no input `{}`, which its configurator needs",
            subject(),
            names.required[0]
        );
        let hint = Some(format!("add `{}` to its `inputs`", names.required[0]));
        self.error(
            Check::MissingConfiguratorInput,
            message,
            operation.place(),
            "",
            hint,
        );
    }

    /// Whether a workflow or a delegate calls the operation with inputs of its own.
    fn may_get_inputs(&self, operation: &Operation) -> bool {
        self.called.contains(operation.reference.operation.as_str())
    }

    /// Reports a command that does not exist: a script of the ensemble, or a misspelt configurator.
    fn command(
        &mut self,
        operation: &Operation,
        implementation: &Implementation,
        command: &Arc<str>,
        subject: &dyn Fn() -> String,
    ) {
        let Some(surroundings) = self.surroundings else {
            return;
        };
        if self.names_no_file(operation, implementation) {
            self.no_file(implementation, command, &subject());
            return;
        }
        let host = implementation.operation_host.as_deref();
        let Some(first) = command
            .split_whitespace()
            .next()
            .filter(|_| !is_template(command))
        else {
            return;
        };
        let is_plain = first
            .chars()
            .all(|at| at.is_alphanumeric() || matches!(at, '_' | '.' | '-' | '/'));
        if !is_plain || first.starts_with(['/', '~']) {
            return;
        }
        if first.contains('/') {
            let places = [self.base_dir.join(first), operation.base_dir.join(first)];
            let cwd = operation
                .inputs
                .get("cwd")
                .is_some_and(|cwd| !cwd.is_null());
            let is_missing = |path: &std::path::PathBuf| surroundings.exists(path) == Some(false);
            if !cwd && places.iter().all(is_missing) && !self.may_be_written(first) {
                let message = format!("the script `{first}` of {} does not exist", subject());
                let hint = Some(similar_file(first));
                self.error(
                    Check::MissingFile,
                    message,
                    implementation.span,
                    first,
                    hint,
                );
            }
            return;
        }
        let is_local = matches!(host, None | Some("" | "localhost" | "ORCHESTRATOR"));
        let is_here = surroundings.has_program(first)
            || surroundings.exists(&self.base_dir.join(first)) == Some(true)
            || !is_local;
        if is_here || command.split_whitespace().nth(1).is_some() {
            return;
        }
        if let Some(similar) = most_similar(first, configurator_names()) {
            let message = format!(
                "`{first}`, which implements {}, is neither a configurator nor a program on the `PATH`",
                subject()
            );
            let hint = Some(format!("did you mean `{similar}`?"));
            self.error(
                Check::UnknownConfigurator,
                message,
                implementation.span,
                first,
                hint,
            );
        }
    }

    fn no_file(&mut self, implementation: &Implementation, command: &str, subject: &str) {
        let message = format!(
            "`{command}`, the `primary` of {subject}, is no artifact, configurator or file, so nothing runs"
        );
        let hint = format!(
            "for a command, write `implementation: {command}`, or `primary: Cmd` with the input `cmd`"
        );
        let span = implementation.span;
        self.error(Check::MissingFile, message, span, command, Some(hint));
    }

    /// Whether the text of `primary` is not the name of a file.
    fn names_no_file(&self, operation: &Operation, implementation: &Implementation) -> bool {
        let (Some(names), Some(system)) = (implementation.primary_files(), self.surroundings)
        else {
            return false;
        };
        let folders = [self.base_dir, operation.base_dir.as_path()];
        !names.iter().any(|name| {
            let is_there = |folder: &Path| system.exists(&folder.join(name)) != Some(false);
            implementation.may_be_remote_file(name) || folders.into_iter().any(is_there)
        })
    }

    /// Whether a task may write the file before another one runs it.
    fn may_be_written(&self, path: &str) -> bool {
        let name = Path::new(path).file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| self.settable.contains(name))
    }
}

/// Whether another part of an operation reads the input.
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

fn similar_file(path: &str) -> String {
    format!("create `{path}` in the folder of the ensemble, or correct the path")
}
