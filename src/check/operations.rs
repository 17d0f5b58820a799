//! Checks operations: their configurators, inputs and files.

use std::collections::HashMap;
use std::sync::Arc;

use super::input_names::{InputNames, input_names};
use super::members::{Owner, is_keyword};
use super::model::Checker;
use super::narrow::{key_before, narrow, template_line};
use super::values::ValuePlace;
use crate::configurator::choose;
use crate::diagnostic::{Check, Diagnostic, Span};
use crate::expr::{is_template, raw_template_facts};
use crate::task::ChooseError;
use crate::text::{did_you_mean, most_similar};
use crate::tosca::{
    Artifact, Implementation, ImplementationKind, NodeTemplate, Operation, configurator_names,
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
        let subject = || format!("operation `{}` of {}", operation.reference, of());
        let misspelt = self.misspelt_inputs(operation);
        let within = node.filter(|node| node.nested_in.is_some());
        for (name, value) in &operation.inputs {
            let meant = misspelt.get(name).copied().unwrap_or(name);
            let span = operation.input_spans.get(name).copied();
            let span = span.unwrap_or(operation.span);
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
        if let Err(error) = choose(operation) {
            let interface = operation.reference.interface.as_str();
            self.unusable(&error, interface, implementation, subject);
        }
        self.operation_host(implementation, node, subject);
        if let Some(problem) = self
            .surroundings
            .and_then(|it| it.source_problem(operation))
        {
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
            self.artifact_file(artifact, subject);
        }
    }

    /// Reports the file of an executed artifact that does not exist.
    fn artifact_file(&mut self, artifact: &Artifact, subject: &dyn Fn() -> String) {
        let Some(file) = artifact.file.as_str().filter(|file| !is_template(file)) else {
            return;
        };
        let is_script = artifact
            .definition
            .info
            .is_derived_from("tosca.artifacts.Implementation")
            || artifact
                .definition
                .info
                .is_derived_from("unfurl.artifacts.ShellExecutable");
        let is_plain =
            !file.is_empty() && !file.starts_with(['/', '~', '$']) && !file.contains(':');
        let has_contents = artifact.fields.contains_key("contents");
        if !is_script
            || !is_plain
            || artifact.repository.is_some()
            || has_contents
            || self.is_mentioned(file)
        {
            return;
        }
        let folders = [self.base_dir.to_path_buf(), artifact.base_dir.to_path_buf()];
        if let Some(hint) = self.missing_file(file, &mut folders.into_iter()) {
            let message = format!(
                "the file `{file}` of artifact `{}` for {} does not exist",
                artifact.name,
                subject()
            );
            let span = self.after(artifact.span, file);
            self.error(Check::MissingFile, message, span, file, Some(hint));
        }
    }

    /// Returns the place of a word at or after a place, within the next lines.
    fn after(&self, span: Span, word: &str) -> Span {
        let end = span.end.saturating_add(400);
        let wide = self.sources.get(span.source).map(|source| {
            let end = source.text.floor_char_boundary(end as usize);
            Span::new(
                span.source,
                span.start,
                u32::try_from(end).unwrap_or(span.end),
            )
        });
        let found = wide.map(|wide| narrow(self.sources, wide, word));
        found.filter(|found| Some(*found) != wide).unwrap_or(span)
    }

    /// Reports an `operation_host` that is neither a keyword nor a node.
    fn operation_host(
        &mut self,
        implementation: &Implementation,
        node: Option<&NodeTemplate>,
        subject: &dyn Fn() -> String,
    ) {
        let Some(host) = implementation.operation_host.as_deref() else {
            return;
        };
        let within = node.filter(|node| node.nested_in.is_some());
        let is_known = host.is_empty()
            || host == "localhost"
            || is_keyword(host)
            || is_template(host)
            || host.contains(['.', ':'])
            || self.node_seen(host, within).is_some()
            || self.settable.contains(host);
        if !is_known {
            let message = format!(
                "the `operation_host` `{host}` of {} is not a node template",
                subject()
            );
            let hint = did_you_mean(host, self.topology.nodes.keys().map(|name| name.as_str()));
            let hint = hint.unwrap_or_else(|| {
                "name a node template with an endpoint, or remove `operation_host` to run here"
                    .to_owned()
            });
            let span = self.after(implementation.span, host);
            self.error(Check::UnknownHost, message, span, host, Some(hint));
        }
    }

    /// Reports a target or an operation of a `Delegate` that does not exist.
    fn delegate(
        &mut self,
        operation: &Operation,
        owner: Owner<'a>,
        node: Option<&'a NodeTemplate>,
        subject: &dyn Fn() -> String,
    ) {
        let span = |name: &str| {
            operation
                .input_spans
                .get(name)
                .copied()
                .unwrap_or(operation.span)
        };
        let literal = |name: &str| match operation.inputs.get(name) {
            Some(Value::Str(text)) if !is_template(text) => Some(Arc::clone(text)),
            _ => None,
        };
        let target = match literal("target") {
            Some(target) if is_keyword(&target) || target.contains([':', '.']) => return,
            Some(target) => {
                let within = node.filter(|node| node.nested_in.is_some());
                let Some(found) = self.node_seen(&target, within) else {
                    if self.settable.contains(&target) {
                        return;
                    }
                    let message = format!(
                        "the target `{target}` of {} is not a node template",
                        subject()
                    );
                    let hint = did_you_mean(
                        &target,
                        self.topology.nodes.keys().map(|name| name.as_str()),
                    );
                    return self.error(
                        Check::UnknownTemplate,
                        message,
                        span("target"),
                        &target,
                        hint,
                    );
                };
                found
            }
            None if operation.inputs.contains_key("target") => return,
            None => match owner {
                Owner::Node(node) => node,
                _ => return,
            },
        };
        let Some(called) = literal("operation") else {
            return;
        };
        let Some((interface, name)) = called.rsplit_once('.') else {
            return;
        };
        let exists = target
            .operations
            .interface(interface)
            .is_some_and(|found| found.operations.contains_key(name) || found.default.is_some());
        if !exists {
            let message = format!(
                "{} calls `{called}`, which node template `{}` does not have",
                subject(),
                target.name
            );
            let names: Vec<_> = target
                .operations
                .iter()
                .map(|it| it.reference.to_string())
                .collect();
            let hint = did_you_mean(&called, names.iter().map(String::as_str));
            self.error(
                Check::UnknownOperation,
                message,
                span("operation"),
                &called,
                hint,
            );
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
            ChooseError::NoImplementation | ChooseError::Artifact(_) => return,
            ChooseError::Unknown { .. } | ChooseError::PythonClass { .. } => Check::Unsupported,
            ChooseError::TaskOnRemoteHost => Check::UnknownConfiguratorInput,
        };
        let message = format!("{} cannot run: {error}", subject());
        let problem = if interface == "Install" || self.lenient {
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

    /// Returns the misspelt inputs of an operation, with the inputs that are meant.
    fn misspelt_inputs(&self, operation: &Operation) -> HashMap<Arc<str>, &'static str> {
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
        if names.required.is_empty() || has_required || self.may_get_inputs(operation) {
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
        if !is_plain || first.starts_with('~') {
            return;
        }
        if first.starts_with('/') {
            if is_local(implementation)
                && !surroundings.has_program(first)
                && !self.is_written(first)
            {
                let message = format!(
                    "`{first}`, which implements {}, is not a program on this computer",
                    subject()
                );
                self.error(
                    Check::MissingFile,
                    message,
                    implementation.span,
                    first,
                    None,
                );
            }
            return;
        }
        if first.contains('/') {
            let cwd = operation
                .inputs
                .get("cwd")
                .is_some_and(|cwd| !cwd.is_null());
            let folders = [
                self.base_dir.to_path_buf(),
                operation.base_dir.to_path_buf(),
            ];
            if cwd || self.is_written(first) {
                return;
            }
            if let Some(hint) = self.missing_file(first, &mut folders.into_iter()) {
                let message = format!("the script `{first}` of {} does not exist", subject());
                self.error(
                    Check::MissingFile,
                    message,
                    implementation.span,
                    first,
                    Some(hint),
                );
            }
            return;
        }
        let is_here = surroundings.has_program(first)
            || surroundings.exists(&self.base_dir.join(first)) == Some(true)
            || !is_local(implementation);
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
}

/// Whether an operation runs on this computer.
fn is_local(implementation: &Implementation) -> bool {
    let host = implementation.operation_host.as_deref();
    matches!(host, None | Some("" | "localhost" | "ORCHESTRATOR"))
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
