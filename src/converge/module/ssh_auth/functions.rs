//! The functions of the `ssh_auth` module.

use super::absent::absent;
use super::manage::manage;
use super::present::present;
use crate::converge::{Function, Module, Reverse};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "ssh_auth",
    functions: &[
        Function {
            name: "present",
            run: present,
            required: &["user"],
            optional: OPTIONS,
            reverse: Reverse::By("absent"),
        },
        Function {
            name: "absent",
            run: absent,
            required: &["user"],
            optional: OPTIONS,
            reverse: Reverse::By("present"),
        },
        Function {
            name: "manage",
            run: manage,
            required: &["ssh_keys", "user"],
            optional: OPTIONS,
            reverse: Reverse::Never("the keys that were there before are not known any more"),
        },
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &[&str] = &[
    "enc",
    "comment",
    "source",
    "options",
    "config",
    "fingerprint_hash_type",
];
