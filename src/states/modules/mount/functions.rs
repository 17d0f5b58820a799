//! The table of the state functions of the module `mount`.

use super::{mounted, states};
use crate::states::{StateFunction, StateModule};

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "mount",
    functions: &[
        StateFunction::new("mounted", mounted::mounted)
            .accepts_more()
            .about("Mounts a device, now and at boot.")
            .requires("device fstype")
            .options(
                "mkmnt opts dump pass_num config persist mount user match_on device_name_regex \
                 extra_mount_invisible_options extra_mount_invisible_keys \
                 extra_mount_ignore_fs_keys extra_mount_translate_options hidden_opts \
                 bind_mount_copy_active_opts",
            )
            .irreversible("the state of the mount point before is not recorded"),
        StateFunction::new("unmounted", states::unmounted)
            .accepts_more()
            .about("Unmounts a device.")
            .options("device config persist user")
            .irreversible("the options of the removed mount are not recorded"),
        StateFunction::new("swap", states::swap)
            .about("Activates a swap device.")
            .options("persist config")
            .irreversible("swap space before is not recorded"),
        StateFunction::new("fstab_present", states::fstab_present)
            .about("Adds an entry to `/etc/fstab`.")
            .requires("fs_file fs_vfstype")
            .options(
                "fs_mntops fs_freq fs_passno mount_by config mount match_on not_change fs_mount",
            )
            .reversed_by("fstab_absent"),
        StateFunction::new("fstab_absent", states::fstab_absent)
            .about("Removes an entry from `/etc/fstab`.")
            .requires("fs_file")
            .options("mount_by config")
            .irreversible("the removed entry is not recorded"),
    ],
    watch: Some(mounted::watch),
    aggregate: None,
};
