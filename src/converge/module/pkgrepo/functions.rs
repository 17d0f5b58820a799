//! The functions of the `pkgrepo` module.

use super::absent::absent;
use super::managed::managed;
use crate::converge::{Function, Module};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "pkgrepo",
    functions: &[
        Function::new("managed", managed)
            .options(OPTIONS)
            .reversed_by("absent"),
        Function::new("absent", absent)
            .options(OPTIONS)
            .reversed_by("managed"),
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &str = "humanname file key_url key_text keyid keyserver comps dist uri uris types \
    architectures clean_file refresh refresh_db consolidate comments aptkey signedby disabled \
    enabled allow_insecure_key";
