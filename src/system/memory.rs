//! Protects the memory of this process, which holds keys and passwords.

use nix::sys::prctl;

/// Hides the memory of this process from other processes of the same user, and keeps it out of core dumps.
///
/// A program that this process starts gets the usual setting back when it is executed. Limits, which it would
/// inherit, stay as they are: without the setting, the system writes no core dump, whatever the limit is.
pub fn protect() {
    // A system without the setting has no other protection either.
    prctl::set_dumpable(false).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_protected_once_it_is_asked_for() {
        protect();
        assert_eq!(prctl::get_dumpable(), Ok(false));
    }
}
