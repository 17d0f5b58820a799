//! The functions of the `git` module.

use super::{config, detached, latest, other};
use crate::converge::{Function, Module, Reverse};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "git",
    functions: &[
        Function {
            name: "latest",
            run: latest::latest,
            required: &["target"],
            optional: &[
                "rev",
                "branch",
                "user",
                "password",
                "update_head",
                "force_checkout",
                "force_clone",
                "force_fetch",
                "force_reset",
                "submodules",
                "bare",
                "mirror",
                "remote",
                "fetch_tags",
                "sync_tags",
                "depth",
                "identity",
                "https_user",
                "https_pass",
                "refspec_branch",
                "refspec_tag",
                "output_encoding",
            ],
            reverse: NEVER,
        },
        Function {
            name: "cloned",
            run: other::cloned,
            required: &["target"],
            optional: &[
                "branch",
                "user",
                "password",
                "identity",
                "https_user",
                "https_pass",
                "output_encoding",
            ],
            reverse: NEVER,
        },
        Function {
            name: "present",
            run: other::present,
            required: &[],
            optional: &[
                "force",
                "bare",
                "template",
                "separate_git_dir",
                "shared",
                "user",
                "password",
                "output_encoding",
            ],
            reverse: NEVER,
        },
        Function {
            name: "detached",
            run: detached::detached,
            required: &["rev", "target"],
            optional: &[
                "remote",
                "user",
                "password",
                "force_clone",
                "force_checkout",
                "fetch_remote",
                "hard_reset",
                "submodules",
                "identity",
                "https_user",
                "https_pass",
                "output_encoding",
            ],
            reverse: NEVER,
        },
        Function {
            name: "config_set",
            run: config::set,
            required: &[],
            optional: &[
                "value",
                "multivar",
                "repo",
                "user",
                "password",
                "global",
                "output_encoding",
            ],
            reverse: Reverse::By("config_unset"),
        },
        Function {
            name: "config_unset",
            run: config::unset,
            required: &[],
            optional: &[
                "value_regex",
                "repo",
                "user",
                "password",
                "global",
                "all",
                "output_encoding",
            ],
            reverse: Reverse::Never("the values that were there before are not known any more"),
        },
    ],
    watch: None,
    aggregate: None,
};

/// A repository may hold the only copy of what was done in it.
const NEVER: Reverse =
    Reverse::Never("a repository may hold work that is nowhere else; remove it with file.absent");
