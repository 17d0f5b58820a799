//! The users of this machine.

use std::path::PathBuf;

use nix::unistd::{Uid, User};

/// Gives the number of the user of this process.
pub fn id() -> u32 {
    Uid::current().as_raw()
}

/// Gives the name of the user of this process; its number where it has no name.
pub fn name() -> String {
    let user = User::from_uid(Uid::current()).ok().flatten();
    user.map_or_else(|| id().to_string(), |user| user.name)
}

/// Gives the home of the user of this process, as the system's list of users has it.
pub fn home() -> Option<PathBuf> {
    let user = User::from_uid(Uid::current()).ok().flatten();
    user.map(|user| user.dir)
}

/// Gives the home of a user by name.
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
