//! Checks `Delegate`: its target and the operation that it calls.

use std::sync::Arc;

use super::checker::Checker;
use super::members::{Owner, is_keyword};
use crate::diagnostic::{Check, Span};
use crate::expr::is_template;
use crate::text::did_you_mean;
use crate::tosca::{NodeTemplate, Operation};
use crate::value::Value;

impl Checker<'_> {
    /// Reports a target or an operation of a `Delegate` that does not exist.
    pub(super) fn delegate(
        &mut self,
        operation: &Operation,
        owner: Owner<'_>,
        node: Option<&NodeTemplate>,
        subject: &dyn Fn() -> String,
    ) {
        if let Some(target) = literal(operation, "target") {
            if is_keyword(&target) || target.contains([':', '.']) {
                return;
            }
            let within = node.filter(|node| node.nested_in.is_some());
            match self.node_seen(&target, within).map(Arc::clone) {
                Some(target) => self.delegated(operation, &target, subject),
                None if self.settable().contains(&target) => {}
                None => {
                    let message = format!(
                        "the target `{target}` of {} is not a node template",
                        subject()
                    );
                    let hint = self.node_hint(&target);
                    let span = operation.input_place("target");
                    self.error(Check::UnknownTemplate, message, span, &target, hint);
                }
            }
        } else if !operation.inputs.contains_key("target")
            && let Owner::Node(node) = owner
        {
            self.delegated(operation, node, subject);
        }
    }

    fn delegated(
        &mut self,
        operation: &Operation,
        target: &NodeTemplate,
        subject: &dyn Fn() -> String,
    ) {
        if let Some(called) = literal(operation, "operation") {
            let span = operation.input_place("operation");
            self.call(&called, target, span, subject);
        }
    }

    /// Reports the call of an operation that a node does not have, with or without an implementation.
    pub(super) fn call(
        &mut self,
        called: &str,
        target: &NodeTemplate,
        span: Span,
        subject: &dyn Fn() -> String,
    ) {
        let Some((interface, name)) = called.rsplit_once('.') else {
            return;
        };
        let found = target.operations.interface(interface);
        if found.is_some_and(|it| it.operations.contains_key(name) || it.default.is_some()) {
            return;
        }
        let message = format!(
            "{} calls `{called}`, which node template `{}` does not have",
            subject(),
            target.name
        );
        let names = target.operations.iter().map(|it| it.reference.to_string());
        let names: Vec<_> = names.collect();
        let hint = did_you_mean(called, names.iter().map(String::as_str));
        self.error(Check::UnknownOperation, message, span, called, hint);
    }
}

/// Returns an input that is a text without tags.
fn literal(operation: &Operation, name: &str) -> Option<Arc<str>> {
    match operation.inputs.get(name) {
        Some(Value::Str(text)) if !is_template(text) => Some(Arc::clone(text)),
        _ => None,
    }
}
