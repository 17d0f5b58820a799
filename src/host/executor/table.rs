//! The options of the built-in executors, and who may set them (spec/hosts.md X6).

/// Who may set an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// The request, and the configuration where it does not.
    Request,
    /// The configuration alone: it decides what those who ask are allowed.
    Configuration,
}

/// An option of an executor.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) trust: Trust,
}

const fn safe(name: &'static str) -> Known {
    Known {
        name,
        trust: Trust::Request,
    }
}

const fn unsafe_(name: &'static str) -> Known {
    Known {
        name,
        trust: Trust::Configuration,
    }
}

/// All options.
pub(super) const OPTIONS: &[Known] = &[
    safe("splaytime"),
    safe("spread"),
    safe("timeout"),
    safe("attempts"),
    safe("interval"),
    unsafe_("sudo_user"),
    unsafe_("sudo_password"),
    unsafe_("su_user"),
    unsafe_("su_password"),
    unsafe_("container"),
    unsafe_("container_engine"),
    unsafe_("chroot"),
];

/// The names of the built-in executors, without their aliases.
pub(super) const BUILT_IN: &[&str] = &[
    "splay",
    "timeout",
    "retry",
    "direct",
    "sudo",
    "su",
    "container",
    "chroot",
    "dryrun",
];

/// The option of a name.
pub(super) fn known(name: &str) -> Option<&'static Known> {
    OPTIONS.iter().find(|known| known.name == name)
}
