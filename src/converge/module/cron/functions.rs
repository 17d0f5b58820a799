//! The functions of the `cron` module.

use super::file;
use super::job::{absent, present};
use super::variable::{env_absent, env_present};
use crate::converge::{Function, Module};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "cron",
    functions: &[
        Function::new("present", present)
            .options("user minute hour daymonth month dayweek comment commented identifier special")
            .reversed_by("absent"),
        Function::new("absent", absent)
            .options("user identifier special")
            .irreversible("when the job ran is not known any more"),
        Function::new("file", file::file)
            .options("source_hash source_hash_name user template context replace defaults backup")
            .irreversible("the crontab that was there before is not known any more"),
        Function::new("env_present", env_present)
            .options("value user")
            .reversed_by("env_absent"),
        Function::new("env_absent", env_absent)
            .options("user")
            .irreversible("the value of the variable is not known any more"),
    ],
    watch: None,
    aggregate: None,
};
