//! The functions of the `service` module.

use super::enabled::{disabled, enabled};
use super::masked::{masked, unmasked};
use super::running::{dead, running};
use super::watch::watch;
use crate::converge::{Function, Module, Reverse};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "service",
    functions: &[
        Function {
            name: "running",
            run: running,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::By("dead"),
        },
        Function {
            name: "dead",
            run: dead,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::By("running"),
        },
        Function {
            name: "enabled",
            run: enabled,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::By("disabled"),
        },
        Function {
            name: "disabled",
            run: disabled,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::By("enabled"),
        },
        Function {
            name: "masked",
            run: masked,
            required: &[],
            optional: &["runtime"],
            reverse: Reverse::By("unmasked"),
        },
        Function {
            name: "unmasked",
            run: unmasked,
            required: &[],
            optional: &["runtime"],
            reverse: Reverse::By("masked"),
        },
    ],
    watch: Some(watch),
    aggregate: None,
};

const OPTIONS: &[&str] = &[
    "enable",
    "sig",
    "init_delay",
    "no_block",
    "unmask",
    "unmask_runtime",
    "reload",
    "full_restart",
    "force",
    "timeout",
    "cmd",
];
