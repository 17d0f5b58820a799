//! The table of the state functions of the module `pip`.

use super::{install, states};
use crate::states::{StateFunction, StateModule};

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "pip",
    functions: &[
        StateFunction::new("installed", install::installed)
            .accepts_more()
            .about("Installs packages of Python.")
            .options(
                "pkgs pip_bin requirements bin_env use_wheel no_use_wheel log proxy timeout repo \
                 editable find_links index_url extra_index_url no_index mirrors build target \
                 download download_cache source upgrade force_reinstall ignore_installed \
                 exists_action no_deps no_install no_download install_options global_options user \
                 cwd pre_releases cert allow_all_external allow_external allow_unverified \
                 process_dependency_links env_vars use_vt trusted_host no_cache_dir cache_dir \
                 no_binary extra_args",
            )
            .reversed_by("removed"),
        StateFunction::new("removed", states::removed)
            .about("Removes packages of Python.")
            .options("requirements bin_env log proxy timeout user cwd use_vt")
            .irreversible("the version of the removed package is not recorded"),
        StateFunction::new("uptodate", states::uptodate)
            .about("Updates all packages of Python.")
            .options("bin_env user cwd use_vt")
            .irreversible("the versions before are not recorded"),
    ],
    watch: None,
    aggregate: None,
};
