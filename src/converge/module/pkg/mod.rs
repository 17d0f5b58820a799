//! The `pkg` module: packages through apt (P15, P17).

mod hold;
mod install;
mod machine;
mod remove;
mod source;
mod version;
mod wish;

pub(super) use source::download;

use super::command::done;
use crate::converge::{Call, Facts, Function, Halt, Module, Outcome, Reverse, Verdict};
use crate::value::{Map, Value};

/// The module.
pub(super) static MODULE: Module = Module {
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

/// Makes one transaction of several (S40): the packages of all, for the first one. Those that
/// hold packages, or take them from other places, stay apart.
fn aggregate(all: &[&Map]) -> Option<Map> {
    let (first, rest) = all.split_first()?;
    let key = if first.contains_key("sources") {
        "sources"
    } else {
        "pkgs"
    };
    let mut items = entries(first, key)?;
    for args in rest {
        let same_place = args.get("fromrepo") == first.get("fromrepo");
        let same_kind = args.contains_key("sources") == (key == "sources");
        if args.contains_key("hold") || !same_place || !same_kind {
            return None;
        }
        for item in entries(args, key)? {
            if !items.contains(&item) {
                items.push(item);
            }
        }
    }
    let mut joined = (*first).clone();
    joined.shift_remove("version");
    joined.insert(key.into(), Value::list(items));
    Some(joined)
}

/// What a state installs, as `pkgs` or `sources` has it.
fn entries(args: &Map, key: &str) -> Option<Vec<Value>> {
    match args.get(key).map(Value::reveal) {
        Some(Value::List(items)) => return Some(items.to_vec()),
        Some(Value::Null) | None => {}
        Some(other) => return Some(vec![other.clone()]),
    }
    let name = args.get("name")?.reveal().as_str()?;
    Some(vec![match args.get("version") {
        Some(version) if !version.is_null() => Value::map([(name, version.clone())]),
        _ => Value::from(name),
    }])
}

#[cfg(test)]
mod tests;
