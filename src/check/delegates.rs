//! Checks `Delegate`: its target and the operation that it calls.

use std::sync::Arc;

use super::members::{Owner, is_keyword};
use super::model::Checker;
use crate::diagnostic::Check;
use crate::expr::is_template;
use crate::text::did_you_mean;
use crate::tosca::{NodeTemplate, Operation};
use crate::value::Value;

impl<'a> Checker<'a> {
    /// Reports a target or an operation of a `Delegate` that does not exist.
    pub(super) fn delegate(
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
}
