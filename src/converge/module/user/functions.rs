//! The functions of the `user` module.

use super::absent::absent;
use super::present::present;
use crate::converge::{Function, Module};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "user",
    functions: &[
        Function::new("present", present)
            .options(OPTIONS)
            .reversed_by("absent"),
        Function::new("absent", absent)
            .options("purge force local")
            .irreversible("its number, groups and files are not known any more"),
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &str = "uid gid usergroup gid_from_name groups optional_groups remove_groups home \
    createhome persist_home password hash_password enforce_password empty_password password_lock \
    shell unique system fullname roomnumber workphone homephone other loginclass date mindays \
    maxdays inactdays warndays expire nologinit allow_uid_change allow_gid_change local";
