//! The functions of the `pkgrepo` module.

use super::absent::absent;
use super::managed::managed;
use crate::converge::{Function, Module, Reverse};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "pkgrepo",
    functions: &[
        Function {
            name: "managed",
            run: managed,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::By("absent"),
        },
        Function {
            name: "absent",
            run: absent,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::By("managed"),
        },
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &[&str] = &[
    "humanname",
    "file",
    "key_url",
    "key_text",
    "keyid",
    "keyserver",
    "comps",
    "dist",
    "uri",
    "uris",
    "types",
    "architectures",
    "clean_file",
    "refresh",
    "refresh_db",
    "consolidate",
    "comments",
    "aptkey",
    "signedby",
    "disabled",
    "enabled",
    "allow_insecure_key",
];
