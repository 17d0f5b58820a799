//! The functions of the `pkg` module.

use super::aggregate::aggregate;
use super::{hold, install, remove};
use crate::converge::module::command::done;
use crate::converge::{Call, Facts, Function, Halt, Module, Outcome, Reverse, Verdict};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "pkg",
    functions: &[
        Function {
            name: "installed",
            run: install::installed,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::By("removed"),
        },
        Function {
            name: "latest",
            run: install::latest,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::By("removed"),
        },
        Function {
            name: "removed",
            run: remove::removed,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::Never(
                "what was removed, and at which version, is not known any more",
            ),
        },
        Function {
            name: "purged",
            run: remove::purged,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::Never(
                "what was removed, and at which version, is not known any more",
            ),
        },
        Function {
            name: "uptodate",
            run: remove::uptodate,
            required: &[],
            optional: &["refresh", "pkgs", "dist_upgrade", "cache_valid_time"],
            reverse: Reverse::Never("packages do not go back to older versions"),
        },
        Function {
            name: "held",
            run: hold::held,
            required: &[],
            optional: &["version", "pkgs", "replace"],
            reverse: Reverse::By("unheld"),
        },
        Function {
            name: "unheld",
            run: hold::unheld,
            required: &[],
            optional: &["version", "pkgs", "all"],
            reverse: Reverse::By("held"),
        },
    ],
    watch: Some(watch),
    aggregate: Some(aggregate),
};

const OPTIONS: &[&str] = &[
    "version",
    "refresh",
    "fromrepo",
    "skip_verify",
    "skip_suggestions",
    "pkgs",
    "sources",
    "allow_updates",
    "pkg_verify",
    "normalize",
    "ignore_epoch",
    "reinstall",
    "update_holds",
    "hold",
    "install_recommends",
    "only_upgrade",
    "cache_valid_time",
    "resolve_capabilities",
];

/// What is watched has changed: the state is done once more (S23).
fn watch(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let function = call.text("sfun")?.unwrap_or_else(|| call.fun.to_owned());
    match function.as_str() {
        "installed" => install::installed(call, facts),
        "latest" => install::latest(call, facts),
        "removed" => remove::removed(call, facts),
        "purged" => remove::purged(call, facts),
        other => done(Outcome::failed(format!(
            "pkg.{other} does not work with the watch requisite"
        ))),
    }
}
