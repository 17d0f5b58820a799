//! The table of the state functions of the module `git`, with their arguments and reversals.
//!
//! The functions are defined in the sibling files; the engine finds them by name through [`MODULE`].

use super::{config, create, detached, latest};
use crate::states::{StateFunction, StateModule};

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "git",
    functions: &[
        StateFunction::new("latest", latest::latest).about("Clones a repository and keeps it at the newest commit of a branch, or at a revision.")
            .accepts_more()
            .requires("target")
            .options(
                "rev branch user password update_head force_checkout force_clone force_fetch \
                 force_reset submodules bare mirror remote fetch_tags sync_tags depth identity \
                 https_user https_pass refspec_branch refspec_tag output_encoding",
            )
            .irreversible(IRREVERSIBLE_REASON),
        StateFunction::new("cloned", create::cloned).about("Clones a repository unless the folder has it; updates nothing.")
            .requires("target")
            .options("branch user password identity https_user https_pass output_encoding")
            .irreversible(IRREVERSIBLE_REASON),
        StateFunction::new("present", create::present).about("Creates an empty repository.")
            .options("force bare template separate_git_dir shared user password output_encoding")
            .irreversible(IRREVERSIBLE_REASON),
        StateFunction::new("detached", detached::detached).about("Clones a repository and checks out a commit without a branch.")
            .accepts_more()
            .requires("rev target")
            .options(
                "remote user password force_clone force_checkout fetch_remote hard_reset \
                 submodules identity https_user https_pass output_encoding",
            )
            .irreversible(IRREVERSIBLE_REASON),
        StateFunction::new("config_set", config::set).about("Sets a value in the configuration of git.")
            .accepts_more()
            .options("value multivar repo user password global output_encoding")
            .reversed_by("config_unset"),
        StateFunction::new("config_unset", config::unset).about("Removes values from the configuration of git.")
            .accepts_more()
            .options("value_regex repo user password global all output_encoding")
            .irreversible("the previous values are not recorded"),
    ],
    watch: None,
    aggregate: None,
};

/// The reason why deploying a repository is not undone: it may hold the only copy of someone's work.
const IRREVERSIBLE_REASON: &str =
    "the repository may contain work that exists nowhere else; remove it with file.absent";
