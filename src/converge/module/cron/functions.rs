//! The functions of the `cron` module.

use super::file;
use super::job::{absent, present};
use super::variable::{env_absent, env_present};
use crate::converge::{Function, Module, Reverse};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "cron",
    functions: &[
        Function {
            name: "present",
            run: present,
            required: &[],
            optional: &[
                "user",
                "minute",
                "hour",
                "daymonth",
                "month",
                "dayweek",
                "comment",
                "commented",
                "identifier",
                "special",
            ],
            reverse: Reverse::By("absent"),
        },
        Function {
            name: "absent",
            run: absent,
            required: &[],
            optional: &["user", "identifier", "special"],
            reverse: Reverse::Never("when the job ran is not known any more"),
        },
        Function {
            name: "file",
            run: file::file,
            required: &[],
            optional: &[
                "source_hash",
                "source_hash_name",
                "user",
                "template",
                "context",
                "replace",
                "defaults",
                "backup",
            ],
            reverse: Reverse::Never("the crontab that was there before is not known any more"),
        },
        Function {
            name: "env_present",
            run: env_present,
            required: &[],
            optional: &["value", "user"],
            reverse: Reverse::By("env_absent"),
        },
        Function {
            name: "env_absent",
            run: env_absent,
            required: &[],
            optional: &["user"],
            reverse: Reverse::Never("the value of the variable is not known any more"),
        },
    ],
    watch: None,
    aggregate: None,
};
