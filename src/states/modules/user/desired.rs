//! The user that a `user` state describes, and the differences to an existing user.
//!
//! [`DesiredUser`] holds the parsed arguments; `states` turns the differences into commands.

use super::password_hash::{self, Password};
use crate::states::modules::accounts::{GECOS_FIELDS, Groups, User, check_name};
use crate::states::{Halt, StateCall, refuse};
use crate::value::{Map, Value};

/// The password aging arguments: the argument, the option of `chage`, and the index in the shadow
/// entry's days.
pub(super) const AGING_OPTIONS: [(&str, &str, usize); 6] = [
    ("date", "-d", 0),
    ("mindays", "-m", 1),
    ("maxdays", "-M", 2),
    ("warndays", "-W", 3),
    ("inactdays", "-I", 4),
    ("expire", "-E", 5),
];

/// A user as described by the arguments of `user.present`.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the fields are the arguments of the state"
)]
pub(super) struct DesiredUser {
    pub(super) name: String,
    pub(super) uid: Option<i64>,
    pub(super) gid: Option<String>,
    pub(super) groups: Option<Vec<String>>,
    pub(super) optional_groups: Vec<String>,
    pub(super) removes_groups: bool,
    pub(super) home: Option<String>,
    pub(super) creates_home: bool,
    pub(super) moves_home: bool,
    pub(super) shell: Option<String>,
    pub(super) gecos: [Option<String>; 5],
    pub(super) password: Option<Password>,
    pub(super) enforces_password: bool,
    pub(super) lock: Option<bool>,
    pub(super) days: [Option<i64>; 6],
    pub(super) uid_may_change: bool,
    pub(super) gid_may_change: bool,
    pub(super) has_own_group: Option<bool>,
    pub(super) is_unique: bool,
    pub(super) is_system: bool,
    pub(super) skips_log: bool,
}

impl DesiredUser {
    pub(super) fn from_call(call: &StateCall<'_>) -> Result<Self, Halt> {
        check_name(call.name)?;
        let texts = |key: &str| -> Result<Option<Vec<String>>, Halt> {
            let Some(_) = call.arg(key) else {
                return Ok(None);
            };
            let names = call.texts(key)?;
            names.iter().try_for_each(|name| check_name(name))?;
            Ok(Some(names))
        };
        let mut days = [None; 6];
        for (key, _, index) in AGING_OPTIONS {
            days[index] = call.int(key)?;
        }
        Ok(Self {
            name: call.name.to_owned(),
            uid: call.int("uid")?,
            gid: call.text("gid")?,
            groups: texts("groups")?,
            optional_groups: texts("optional_groups")?.unwrap_or_default(),
            removes_groups: call.flag("remove_groups", true),
            home: call.non_empty_text("home")?,
            creates_home: call.flag("createhome", true),
            moves_home: call.flag("persist_home", false),
            shell: call.text("shell")?,
            gecos: gecos(call)?,
            password: password(call)?,
            enforces_password: call.flag("enforce_password", true),
            lock: call.arg("password_lock").map(Value::is_truthy),
            days,
            uid_may_change: call.flag("allow_uid_change", false),
            gid_may_change: call.flag("allow_gid_change", false),
            has_own_group: call
                .arg("usergroup")
                .or_else(|| call.arg("gid_from_name"))
                .map(Value::is_truthy),
            is_unique: call.flag("unique", true),
            is_system: call.flag("system", false),
            skips_log: call.flag("nologinit", false),
        })
    }

    /// Returns the differences to an existing user, in Salt's order and form. Passwords are redacted.
    pub(super) fn differences(&self, user: &User, groups: &Groups) -> Map {
        let mut changes = Map::new();
        let mut put = |key: &str, value: Value| changes.insert(key.into(), value);
        if let Some(uid) = self.uid.filter(|uid| *uid != user.uid) {
            put("uid", uid.into());
        }
        if let Some(gid) = self
            .primary_group(groups)
            .filter(|gid| !is_gid(gid, user.gid, groups))
        {
            put("gid", number_or_text(&gid));
        }
        if let Some(desired) = self.group_difference(user, groups) {
            put(
                "groups",
                crate::states::modules::accounts::name_list(&desired),
            );
        }
        if let Some(home) = self.home.as_ref().filter(|home| **home != user.home) {
            put("home", home.as_str().into());
        }
        if self.creates_home {
            let home = self.home.as_ref().unwrap_or(&user.home);
            let is_there = *home == user.home && user.has_home;
            if !is_there {
                put("homeDoesNotExist", home.as_str().into());
            }
        }
        if let Some(shell) = self.shell.as_ref().filter(|shell| **shell != user.shell) {
            put("shell", shell.as_str().into());
        }
        self.shadow_differences(user, &mut changes);
        for ((key, desired), is) in GECOS_FIELDS.into_iter().zip(&self.gecos).zip(&user.gecos) {
            if let Some(desired) = desired.as_ref().filter(|desired| *desired != is) {
                changes.insert(key.into(), desired.as_str().into());
            }
        }
        changes
    }

    fn shadow_differences(&self, user: &User, changes: &mut Map) {
        let Some(shadow) = &user.shadow else {
            return;
        };
        let is_unset = ["!", "*", "!!"].contains(&shadow.hash.as_str());
        match &self.password {
            Some(Password::Empty) if !shadow.hash.is_empty() => {
                changes.insert("empty_password".into(), true.into());
            }
            Some(desired @ (Password::Hash(_) | Password::Plain(_))) => {
                let may_change = is_unset || self.enforces_password;
                if may_change && !password_hash::matches_hash(desired, &shadow.hash) {
                    changes.insert("passwd".into(), REDACTED_PASSWORD.into());
                }
            }
            _ => {}
        }
        for (key, _, index) in AGING_OPTIONS {
            let Some(desired) = self.days[index] else {
                continue;
            };
            let is_off = key == "expire" && desired == 0;
            if desired != shadow.days[index] && !is_off {
                changes.insert(key.into(), desired.into());
            }
        }
        if let Some(lock) = self
            .lock
            .filter(|lock| *lock != shadow.hash.starts_with('!'))
        {
            changes.insert("password_lock".into(), lock.into());
        }
    }

    /// Returns the desired primary group, if the state names one.
    fn primary_group(&self, groups: &Groups) -> Option<String> {
        if self.has_own_group == Some(true) && groups.by_name(&self.name).is_some() {
            return Some(self.name.clone());
        }
        self.gid.clone()
    }

    /// Returns the desired supplementary groups; None if the user is already in them.
    fn group_difference(&self, user: &User, groups: &Groups) -> Option<Vec<String>> {
        let is_there = |name: &&String| groups.by_name(name).is_some();
        let optional = self.optional_groups.iter().filter(is_there);
        let mut desired: Vec<String> = self
            .groups
            .iter()
            .flatten()
            .chain(optional)
            .cloned()
            .collect();
        let mut current = groups.of_user(user);
        if !self.removes_groups || (self.groups.is_none() && desired.is_empty()) {
            desired.extend(current.iter().cloned());
        }
        desired.sort();
        desired.dedup();
        let own = self
            .primary_group(groups)
            .and_then(|gid| groups.find(&gid))
            .or_else(|| groups.by_gid(user.gid))
            .map(|group| group.name.clone());
        let old = groups.by_gid(user.gid).map(|group| group.name.clone());
        desired.retain(|name| Some(name) != own.as_ref());
        current.retain(|name| Some(name) != own.as_ref() && Some(name) != old.as_ref());
        let is_missing = desired.iter().any(|name| !current.contains(name));
        let is_more = current.iter().any(|name| !desired.contains(name));
        (is_missing || (is_more && self.removes_groups)).then_some(desired)
    }

    /// Returns why a difference may not be applied: a change of uid or gid needs explicit permission.
    pub(super) fn forbidden_change(&self, user: &User, differences: &Map) -> Option<String> {
        let listed = |key: &str, old: i64| {
            let new = differences.get(key)?;
            Some(format!(
                "Changing {key} ({old} -> {new}) not permitted, set allow_{key}_change to True to force this change. Note that this will not change file ownership."
            ))
        };
        let uid = listed("uid", user.uid).filter(|_| !self.uid_may_change);
        let gid = listed("gid", user.gid).filter(|_| !self.gid_may_change);
        let errors: Vec<String> = uid.into_iter().chain(gid).collect();
        if errors.is_empty() {
            return None;
        }
        let errors = errors.join("\n");
        Some(format!(
            "Encountered error checking for needed changes\n{errors}"
        ))
    }
}

/// The text that replaces passwords in results, as in Salt.
pub(super) const REDACTED_PASSWORD: &str = "XXX-REDACTED-XXX";

fn number_or_text(text: &str) -> Value {
    text.parse::<i64>()
        .map_or_else(|_| Value::from(text), Value::from)
}

fn is_gid(desired: &str, gid: i64, groups: &Groups) -> bool {
    desired.parse() == Ok(gid)
        || groups
            .by_name(desired)
            .is_some_and(|group| group.gid == gid)
}

fn gecos(call: &StateCall<'_>) -> Result<[Option<String>; 5], Halt> {
    let mut all: [Option<String>; 5] = Default::default();
    for (index, key) in GECOS_FIELDS.into_iter().enumerate() {
        let text = call.text(key)?;
        let is_last = index == 4;
        if let Some(text) = text.as_ref().filter(|text| !is_last && text.contains(',')) {
            return refuse(format!("Unsupported char ',' in {text}"));
        }
        if let Some(text) = text.as_ref().filter(|text| text.contains([':', '\n'])) {
            return refuse(format!("Unsupported char ':' in {text}"));
        }
        all[index] = text;
    }
    Ok(all)
}

fn password(call: &StateCall<'_>) -> Result<Option<Password>, Halt> {
    if call.flag("empty_password", false) {
        return Ok(Some(Password::Empty));
    }
    let Some(text) = call.non_empty_text("password")? else {
        return Ok(None);
    };
    if text.contains(['\n', '\0']) {
        return refuse("the `password` must be a single line");
    }
    if call.flag("hash_password", false) {
        return Ok(Some(Password::Plain(text)));
    }
    if text.contains(':') {
        return refuse(
            "`password` is not a hash, because it contains a colon: for plain text, set `hash_password: True`",
        );
    }
    Ok(Some(Password::Hash(text)))
}
