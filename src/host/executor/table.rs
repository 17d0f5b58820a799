//! The options of the built-in executors, and who may set them (spec/hosts.md X6).

/// The options that a request may set, and the configuration where it does not.
pub(super) const OF_REQUEST: [&str; 5] = ["splaytime", "spread", "timeout", "attempts", "interval"];

/// The options that the configuration alone may set: it decides what those who ask are allowed.
pub(super) const OF_CONFIGURATION: [&str; 7] = [
    "sudo_user",
    "sudo_password",
    "su_user",
    "su_password",
    "container",
    "container_engine",
    "chroot",
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

/// The names of all options.
pub(super) fn options() -> impl Iterator<Item = &'static str> {
    OF_REQUEST.into_iter().chain(OF_CONFIGURATION)
}
