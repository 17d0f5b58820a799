//! A cache of user and group names and their ids.

use std::collections::HashMap;

use nix::unistd::{Gid, Group, Uid, User};

use crate::host::change::ModeAndOwner;

/// The names and ids looked up so far.
///
/// A look-up can be slow, as the accounts may be on a directory server.
#[derive(Debug, Default)]
pub(crate) struct AccountNames {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
    user_ids: HashMap<String, u32>,
    group_ids: HashMap<String, u32>,
}

/// The ids of a new owner and group. `None` keeps the present one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OwnerIds {
    pub(super) user: Option<u32>,
    pub(super) group: Option<u32>,
}

impl AccountNames {
    /// Returns the name of a user, or the id as text if it has no name.
    pub(super) fn user(&mut self, id: u32) -> &str {
        self.users.entry(id).or_insert_with(|| {
            let user = User::from_uid(Uid::from_raw(id)).ok().flatten();
            user.map_or_else(|| id.to_string(), |user| user.name)
        })
    }

    /// Returns the name of a group, or the id as text if it has no name.
    pub(super) fn group(&mut self, id: u32) -> &str {
        self.groups.entry(id).or_insert_with(|| {
            let group = Group::from_gid(Gid::from_raw(id)).ok().flatten();
            group.map_or_else(|| id.to_string(), |group| group.name)
        })
    }

    /// Returns the ids of the owner and group to set.
    ///
    /// Fails if a name is unknown.
    pub(super) fn owner(&mut self, like: &ModeAndOwner) -> Result<OwnerIds, String> {
        let user = like.user.as_deref().filter(|name| !name.is_empty());
        let group = like.group.as_deref().filter(|name| !name.is_empty());
        Ok(OwnerIds {
            user: user.map(|name| self.user_id(name)).transpose()?,
            group: group.map(|name| self.group_id(name)).transpose()?,
        })
    }

    fn user_id(&mut self, name: &str) -> Result<u32, String> {
        let user = || User::from_name(name).ok().flatten();
        let id = || user().map(|user| user.uid.as_raw());
        id_of(&mut self.user_ids, "user", name, id)
    }

    fn group_id(&mut self, name: &str) -> Result<u32, String> {
        let group = || Group::from_name(name).ok().flatten();
        let id = || group().map(|group| group.gid.as_raw());
        id_of(&mut self.group_ids, "group", name, id)
    }
}

/// Returns the id of a name. The name may also be the id itself.
fn id_of(
    known: &mut HashMap<String, u32>,
    kind: &str,
    name: &str,
    look_up: impl FnOnce() -> Option<u32>,
) -> Result<u32, String> {
    if let Some(id) = known.get(name) {
        return Ok(*id);
    }
    let id = look_up().or_else(|| name.parse().ok());
    let id = id.ok_or_else(|| format!("invalid {kind}: `{name}`"))?;
    known.insert(name.to_owned(), id);
    Ok(id)
}
