//! The user accounts of this computer.

use std::path::PathBuf;

use nix::unistd::{Uid, User};

/// Returns the numeric id of this process's user.
pub fn id() -> u32 {
    Uid::current().as_raw()
}

/// Returns the numeric id of the user whose rights this process has.
pub fn effective_id() -> u32 {
    Uid::effective().as_raw()
}

/// Returns the name of a user, or the numeric id if the user has no name.
pub fn name_of(id: u32) -> String {
    let user = User::from_uid(Uid::from_raw(id)).ok().flatten();
    user.map_or_else(|| id.to_string(), |user| user.name)
}

/// Returns the name of this process's user, or the numeric id if the user has no name.
pub fn name() -> String {
    name_of(id())
}

/// Returns the home folder of this process's user according to the user database, not `$HOME`.
pub fn home() -> Option<PathBuf> {
    let user = User::from_uid(Uid::current()).ok().flatten();
    user.map(|user| user.dir)
}

/// Returns the home folder of a user by name.
pub fn home_of(name: &str) -> Option<PathBuf> {
    let user = User::from_name(name).ok().flatten();
    user.map(|user| user.dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_home_that_its_name_has() {
        assert_eq!(home_of(&name()), home());
        assert_eq!(home_of("no such user"), None);
    }
}
