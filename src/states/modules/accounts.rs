//! Users and groups of a machine, read with `getent`.
//!
//! The state modules `user`, `group`, `cron` and `ssh_auth` share these readings. This file only reads
//! accounts; the modules build the commands that change them.

use super::decision::{c_locale_probe, require_facts, run_probe, stdout_text};
use crate::host::fact::{Domain, Fact};
use crate::states::{FactCache, Halt, refuse};
use crate::text::quote_word;
use crate::value::{Map, Value};

/// A group: one line of `getent group`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) gid: i64,
    pub(super) members: Vec<String>,
}

/// A user: one line of `getent passwd`, with the shadow entry if it is readable.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) uid: i64,
    pub(super) gid: i64,
    pub(super) gecos: [String; 5],
    pub(super) home: String,
    pub(super) shell: String,
    /// Whether the home directory exists on the machine.
    pub(super) has_home: bool,
    /// The password hash and the password aging; None if the login user may not read the shadow file.
    pub(super) shadow: Option<Shadow>,
}

/// The shadow entry of a user: the password hash and the password aging.
#[derive(Clone, PartialEq, Eq, Default)]
pub(super) struct Shadow {
    pub(super) hash: String,
    /// Last change, minimum, maximum, warning, inactive and expiry, in days; -1 for an empty field.
    pub(super) days: [i64; 6],
}

/// The keys of the aging fields in results, in the order of [`Shadow::days`].
pub(super) const AGING_FIELDS: [&str; 6] = ["lstchg", "min", "max", "warn", "inact", "expire"];

/// The keys of the comma-separated GECOS fields, in the order of [`User::gecos`].
pub(super) const GECOS_FIELDS: [&str; 5] =
    ["fullname", "roomnumber", "workphone", "homephone", "other"];

/// The list of all groups of a machine.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups(pub(super) Vec<Group>);

impl Groups {
    /// Reads all groups of the machine.
    pub(super) fn probe(facts: &FactCache) -> Result<Self, Halt> {
        let probed = run_probe(facts, GROUPS_PROBE, Domain::Accounts)?;
        let text = stdout_text(probed);
        Ok(Self(text.lines().filter_map(parse_group).collect()))
    }

    pub(super) fn by_name(&self, name: &str) -> Option<&Group> {
        self.0.iter().find(|group| group.name == name)
    }

    /// Finds a group by its name, else by its number written as text.
    pub(super) fn find(&self, name: &str) -> Option<&Group> {
        self.by_name(name)
            .or_else(|| self.by_gid(name.parse().ok()?))
    }

    pub(super) fn by_gid(&self, gid: i64) -> Option<&Group> {
        self.0.iter().find(|group| group.gid == gid)
    }

    /// Returns the sorted names of a user's groups: those that list the user as a member, and the primary
    /// group.
    pub(super) fn of_user(&self, user: &User) -> Vec<String> {
        let has = |group: &&Group| group.gid == user.gid || group.members.contains(&user.name);
        let mut names: Vec<String> = self
            .0
            .iter()
            .filter(has)
            .map(|group| group.name.clone())
            .collect();
        names.sort();
        names.dedup();
        names
    }
}

fn parse_group(line: &str) -> Option<Group> {
    let mut parts = line.splitn(4, ':');
    let (name, _, gid) = (parts.next()?, parts.next()?, parts.next()?);
    let members = parts.next().unwrap_or_default();
    Some(Group {
        name: name.to_owned(),
        gid: gid.parse().ok()?,
        members: members
            .split(',')
            .map(str::trim)
            .filter(|member| !member.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}

impl Group {
    /// Returns the group in the form of Salt's `group.info`.
    pub(super) fn info(&self) -> Map {
        Map::from_iter([
            ("name".into(), Value::from(self.name.as_str())),
            ("passwd".into(), "x".into()),
            ("gid".into(), self.gid.into()),
            ("members".into(), name_list(&self.members)),
        ])
    }
}

/// Converts texts to a list value.
pub(super) fn name_list(items: &[String]) -> Value {
    Value::list(items.iter().map(|item| Value::from(item.as_str())))
}

const GROUPS_PROBE: &str = "getent group || true";

/// Reads a user of the machine; None if no user has this name.
pub(super) fn find_user(facts: &FactCache, name: &str) -> Result<Option<User>, Halt> {
    let probed = run_probe(facts, user_probe_script(name), Domain::Accounts)?;
    Ok(parse_user(&stdout_text(probed)))
}

/// Requests the facts for a user and for all groups in one round trip.
pub(super) fn prefetch_user(facts: &FactCache, name: &str) -> Result<(), Halt> {
    let texts = [GROUPS_PROBE.to_owned(), user_probe_script(name)];
    let fact = |text| Fact::Probe(Box::new(c_locale_probe(text, Domain::Accounts)));
    require_facts(facts, texts.map(fact))
}

fn user_probe_script(name: &str) -> String {
    let name = quote_word(name);
    format!(
        "u=$(getent passwd {name}) || exit 0; echo \"$u\"; getent shadow {name} || echo; \
         h=${{u%:*}}; [ -d \"${{h##*:}}\" ] && echo home; exit 0"
    )
}

fn parse_user(text: &str) -> Option<User> {
    let mut lines = text.lines();
    let parts: Vec<&str> = lines.next()?.split(':').collect();
    let [name, _, uid, gid, gecos, home, shell] = parts.as_slice() else {
        return None;
    };
    let shadow = lines.next().and_then(parse_shadow);
    let mut gecos = gecos.splitn(5, ',').map(str::to_owned);
    Some(User {
        name: (*name).to_owned(),
        uid: uid.parse().ok()?,
        gid: gid.parse().ok()?,
        gecos: std::array::from_fn(|_| gecos.next().unwrap_or_default()),
        home: (*home).to_owned(),
        shell: (*shell).to_owned(),
        has_home: lines.any(|line| line == "home"),
        shadow,
    })
}

fn parse_shadow(line: &str) -> Option<Shadow> {
    let mut parts = line.split(':').skip(1);
    let hash = parts.next()?.to_owned();
    let mut next = || parts.next().and_then(|days| days.parse().ok());
    let days = std::array::from_fn(|_| next().unwrap_or(-1));
    Some(Shadow { hash, days })
}

impl User {
    /// Returns the user in the form of Salt's `user.info`.
    pub(super) fn info(&self, groups: &Groups) -> Map {
        let mut info = Map::from_iter([
            ("gid".into(), Value::from(self.gid)),
            ("groups".into(), name_list(&groups.of_user(self))),
            ("home".into(), self.home.as_str().into()),
            ("name".into(), self.name.as_str().into()),
            ("passwd".into(), "x".into()),
            ("shell".into(), self.shell.as_str().into()),
            ("uid".into(), self.uid.into()),
        ]);
        for (key, text) in GECOS_FIELDS.into_iter().zip(&self.gecos) {
            info.insert(key.into(), text.as_str().into());
        }
        info
    }
}

/// Refuses a text that cannot be the name of a user or group, so that none reaches a command line.
pub(super) fn check_name(name: &str) -> Result<(), Halt> {
    let is_bad =
        |sign: char| sign.is_control() || sign.is_whitespace() || ":,/'\"\\".contains(sign);
    if name.is_empty() || name.starts_with('-') || name.contains(is_bad) {
        return refuse(format!("`{name}` is not a valid name of a user or group"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_read_with_its_password_and_home() {
        let text = "ann:x:1000:1001:Ann A,12,,555:/home/ann:/bin/sh\nann:$6$s$h:19000:0:99999:7:::\nhome\n";
        let user = parse_user(text).unwrap();
        assert_eq!((user.uid, user.gid, user.has_home), (1000, 1001, true));
        assert_eq!(user.gecos, ["Ann A", "12", "", "555", ""]);
        let shadow = user.shadow.unwrap();
        assert_eq!(shadow.hash, "$6$s$h");
        assert_eq!(shadow.days, [19000, 0, 99999, 7, -1, -1]);
        assert!(parse_user("").is_none());
        assert!(
            parse_user("a:x:1:1::/:/bin/sh\n\n")
                .unwrap()
                .shadow
                .is_none()
        );
    }

    #[test]
    fn groups_of_a_user_are_its_own_and_those_that_name_it() {
        let lines = "root:x:0:\nann:x:1001:\nsudo:x:27:bob,ann\n";
        let groups = Groups(lines.lines().filter_map(parse_group).collect());
        let user = parse_user("ann:x:1000:1001::/home/ann:/bin/sh\n\n").unwrap();
        assert_eq!(groups.of_user(&user), ["ann", "sudo"]);
        assert_eq!(groups.find("27").unwrap().name, "sudo");
    }
}
