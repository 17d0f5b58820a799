//! The table of the state functions of the module `pkg`, with their arguments and reversals.
//!
//! The functions are defined in the sibling files; the engine finds them by name through [`MODULE`].

use super::aggregate::aggregate;
use super::{download, hold, install, remove};
use crate::states::modules::decision::failure;
use crate::states::{FactCache, Halt, StateCall, StateDecision, StateFunction, StateModule};

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "pkg",
    functions: &[
        StateFunction::new("installed", install::installed)
            .about("Installs packages, also in given versions.")
            .accepts_more()
            .options(OPTIONS)
            .unsupported(UNSUPPORTED)
            .reversed_by("removed"),
        StateFunction::new("latest", install::latest)
            .about("Installs packages and updates them to the newest version.")
            .accepts_more()
            .options(OPTIONS)
            .unsupported(UNSUPPORTED)
            .reversed_by("removed"),
        StateFunction::new("downloaded", download::downloaded)
            .about("Downloads packages, and does not install them.")
            .accepts_more()
            .options(
                "version pkgs fromrepo ignore_epoch skip_suggestions skip_verify \
                 install_recommends normalize resolve_capabilities",
            )
            .irreversible("the installation of the package may need its file"),
        StateFunction::new("removed", remove::removed)
            .about("Removes packages and keeps their configuration.")
            .accepts_more()
            .options(OPTIONS)
            .unsupported(UNSUPPORTED)
            .irreversible("the removed packages and their versions are not recorded"),
        StateFunction::new("purged", remove::purged)
            .about("Removes packages with their configuration.")
            .accepts_more()
            .options(OPTIONS)
            .unsupported(UNSUPPORTED)
            .irreversible("the removed packages and their versions are not recorded"),
        StateFunction::new("uptodate", remove::uptodate)
            .about("Updates all packages of the system.")
            .accepts_more()
            .options("refresh pkgs dist_upgrade cache_valid_time")
            .unsupported(
                "force_conf_new force_yes skip_verify download_only downloadonly allow_downgrades",
            )
            .irreversible("packages cannot be downgraded to their earlier versions"),
        StateFunction::new("group_installed", download::group_installed)
            .about("Installs a group of packages in Salt; apt has no groups, so it fails.")
            .accepts_more()
            .options("skip include"),
        StateFunction::new("patch_installed", download::patched)
            .about("Installs patches of zypper in Salt; fails with apt.")
            .accepts_more()
            .options("advisory_ids downloadonly"),
        StateFunction::new("patch_downloaded", download::patched)
            .about("Downloads patches of zypper in Salt; fails with apt.")
            .accepts_more()
            .options("advisory_ids"),
        StateFunction::new("held", hold::held)
            .about("Prevents updates of packages.")
            .accepts_more()
            .options("version pkgs replace")
            .reversed_by("unheld"),
        StateFunction::new("unheld", hold::unheld)
            .about("Allows updates of packages again.")
            .accepts_more()
            .options("version pkgs all")
            .reversed_by("held"),
    ],
    watch: Some(watch),
    aggregate: Some(aggregate),
};

const UNSUPPORTED: &str = "force_yes download_only downloadonly";

const OPTIONS: &str = "version refresh fromrepo skip_verify skip_suggestions pkgs sources \
    allow_updates pkg_verify normalize ignore_epoch reinstall update_holds hold install_recommends \
    only_upgrade cache_valid_time resolve_capabilities watch_flags \
    force_conf_new allow_downgrades disablerepo enablerepo refresh_db";

/// Runs the state again when a watched state has changed (S23).
fn watch(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let function = call.text("sfun")?.unwrap_or_else(|| call.fun.to_owned());
    match function.as_str() {
        "installed" => install::installed(call, facts),
        "latest" => install::latest(call, facts),
        "removed" => remove::removed(call, facts),
        "purged" => remove::purged(call, facts),
        other => failure(format!(
            "pkg.{other} does not work with the watch requisite"
        )),
    }
}
