//! The functions of the `ssh_auth` module.

use super::absent::absent;
use super::manage::manage;
use super::present::present;
use crate::converge::{Function, Module};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "ssh_auth",
    functions: &[
        Function::new("present", present)
            .requires("user")
            .options(OPTIONS)
            .reversed_by("absent"),
        Function::new("absent", absent)
            .requires("user")
            .options(OPTIONS)
            .reversed_by("present"),
        Function::new("manage", manage)
            .requires("ssh_keys user")
            .options(OPTIONS)
            .irreversible("the keys that were there before are not known any more"),
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &str = "enc comment source options config fingerprint_hash_type";
