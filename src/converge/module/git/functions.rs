//! The functions of the `git` module.

use super::{config, detached, latest, other};
use crate::converge::{Function, Module};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "git",
    functions: &[
        Function::new("latest", latest::latest)
            .requires("target")
            .options(
                "rev branch user password update_head force_checkout force_clone force_fetch \
                 force_reset submodules bare mirror remote fetch_tags sync_tags depth identity \
                 https_user https_pass refspec_branch refspec_tag output_encoding",
            )
            .irreversible(NEVER),
        Function::new("cloned", other::cloned)
            .requires("target")
            .options("branch user password identity https_user https_pass output_encoding")
            .irreversible(NEVER),
        Function::new("present", other::present)
            .options("force bare template separate_git_dir shared user password output_encoding")
            .irreversible(NEVER),
        Function::new("detached", detached::detached)
            .requires("rev target")
            .options(
                "remote user password force_clone force_checkout fetch_remote hard_reset \
                 submodules identity https_user https_pass output_encoding",
            )
            .irreversible(NEVER),
        Function::new("config_set", config::set)
            .options("value multivar repo user password global output_encoding")
            .reversed_by("config_unset"),
        Function::new("config_unset", config::unset)
            .options("value_regex repo user password global all output_encoding")
            .irreversible("the values that were there before are not known any more"),
    ],
    watch: None,
    aggregate: None,
};

/// A repository may hold the only copy of what was done in it.
const NEVER: &str = "a repository may hold work that is nowhere else; remove it with file.absent";
