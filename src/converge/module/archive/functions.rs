//! The functions of the `archive` module.

use super::extracted::extracted;
use crate::converge::{Function, Module};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "archive",
    functions: &[Function::new("extracted", extracted)
        .requires("source")
        .options(
            "source_hash source_hash_name source_hash_update skip_verify \
                 skip_files_list_verify password options list_options force overwrite clean \
                 clean_parent user group if_missing trim_output use_cmd_unzip extract_perms \
                 enforce_toplevel enforce_ownership_on archive_format keep keep_source",
        )
        .irreversible("what was unpacked may have been there before; remove it with file.absent")],
    watch: None,
    aggregate: None,
};
