//! The functions of the `service` module.

use super::enabled::{disabled, enabled};
use super::masked::{masked, unmasked};
use super::running::{dead, running};
use super::watch::watch;
use crate::converge::{Function, Module};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "service",
    functions: &[
        Function::new("running", running)
            .options(OPTIONS)
            .reversed_by("dead"),
        Function::new("dead", dead)
            .options(OPTIONS)
            .reversed_by("running"),
        Function::new("enabled", enabled)
            .options(OPTIONS)
            .reversed_by("disabled"),
        Function::new("disabled", disabled)
            .options(OPTIONS)
            .reversed_by("enabled"),
        Function::new("masked", masked)
            .options("runtime")
            .reversed_by("unmasked"),
        Function::new("unmasked", unmasked)
            .options("runtime")
            .reversed_by("masked"),
    ],
    watch: Some(watch),
    aggregate: None,
};

const OPTIONS: &str =
    "enable sig init_delay no_block unmask unmask_runtime reload full_restart force timeout cmd";
