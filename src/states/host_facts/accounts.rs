//! Named facts about users, groups, authorized keys and crontabs.

use super::named_fact::{FactArguments, NamedFact, number_or_text, printed, shell};
use crate::host::fact::{Domain, Fact, FactReading};
use crate::states::probe_sections::{ProbeSections, sectioned_probe};
use crate::value::{Map, Value};

pub(super) static FACTS: &[NamedFact] = &[
    NamedFact::new("server.Users", |_| {
        let text = "_s passwd; getent passwd || cat /etc/passwd\n\
                        _s group; getent group || cat /etc/group";
        Fact::Probe(Box::new(sectioned_probe(text, Domain::Accounts)))
    })
    .about("users, by name")
    .parse_with(users),
    NamedFact::new("server.Groups", |_| {
        let text = "getent group 2>/dev/null || cat /etc/group";
        shell(text, Domain::Accounts)
    })
    .about("the names of groups")
    .parse_with(|_, reading| {
        let text = printed(reading).unwrap_or_default();
        let names = text.lines().filter_map(|line| line.split(':').next());
        Value::list(names.map(Value::from))
    }),
    NamedFact::new("server.AuthorizedKeys", |words| {
        let home = match words.get("user") {
            "" => "_h=$HOME".to_owned(),
            _ => format!("_h=$(getent passwd {} | cut -d: -f6)", words.quoted("user")),
        };
        let text = format!("{home}; cat \"$_h/.ssh/authorized_keys\" 2>/dev/null || :");
        shell(text, Domain::All)
    })
    .about("the authorized SSH keys of a user")
    .arguments(&[("user", Some(""))])
    .parse_with(|_, reading| {
        let text = printed(reading).unwrap_or_default();
        let keys = text.lines().map(str::trim);
        let keys = keys.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Value::list(keys.map(Value::from))
    }),
    NamedFact::new("crontab.Crontab", |words| {
        let user = match words.get("user") {
            "" => String::new(),
            _ => format!(" -u {}", words.quoted("user")),
        };
        shell(format!("crontab -l{user} 2>/dev/null || :"), Domain::All)
    })
    .about("the crontab of a user")
    .arguments(&[("user", Some(""))])
    .parse_with(crontab),
];

fn users(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    let sections = ProbeSections::of(&text);
    let groups = sections.get("group").lines().filter_map(|line| {
        let parts: Vec<&str> = line.split(':').collect();
        let (name, id) = (parts.first()?, parts.get(2)?);
        let members = parts.get(3).copied().unwrap_or_default();
        Some((*name, *id, members.split(',').collect::<Vec<&str>>()))
    });
    let groups: Vec<(&str, &str, Vec<&str>)> = groups.collect();
    let user = |line: &str| {
        let parts: Vec<&str> = line.split(':').collect();
        let [name, _, uid, gid, comment, home, shell] = parts.as_slice() else {
            return None;
        };
        let own = groups.iter().find(|(_, id, _)| id == gid);
        let own = own.map(|(name, _, _)| *name);
        let others = groups
            .iter()
            .filter(|(group, _, members)| members.contains(name) && Some(*group) != own);
        let others = others.map(|(group, _, _)| Value::from(*group));
        let mut map = Map::new();
        map.insert("home".into(), (*home).into());
        map.insert("comment".into(), (*comment).into());
        map.insert("shell".into(), (*shell).into());
        map.insert("group".into(), own.unwrap_or(gid).into());
        map.insert("groups".into(), Value::list(others));
        map.insert("uid".into(), uid.parse::<i64>().ok().into());
        map.insert("gid".into(), gid.parse::<i64>().ok().into());
        Some(((*name).to_owned(), Value::from(map)))
    };
    Value::map(sections.get("passwd").lines().filter_map(user))
}

/// Parses a crontab: settings and jobs in order, each job with the comments above it.
fn crontab(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    let mut comments: Vec<Value> = Vec::new();
    let mut all = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            continue;
        }
        if line.starts_with('#') {
            comments.push(line.into());
            continue;
        }
        let mut entry = Map::new();
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_setting = line
            .split_once('=')
            .is_some_and(|(name, _)| name.trim().chars().all(|c| c.is_alphanumeric() || c == '_'));
        if let Some(special) = line.strip_prefix('@') {
            let (time, command) = special
                .split_once(char::is_whitespace)
                .unwrap_or((special, ""));
            entry.insert("command".into(), command.trim().into());
            entry.insert("special_time".into(), format!("@{time}").into());
        } else if is_setting {
            entry.insert("env".into(), line.into());
        } else if let [minute, hour, day, month, weekday, ..] = words.as_slice() {
            let mut rest = line;
            for _ in 0..5 {
                rest = rest.trim_start();
                rest = rest.find(char::is_whitespace).map_or("", |at| &rest[at..]);
            }
            entry.insert("command".into(), rest.trim().into());
            let times = [
                ("minute", minute),
                ("hour", hour),
                ("day_of_month", day),
                ("month", month),
                ("day_of_week", weekday),
            ];
            for (name, time) in times {
                entry.insert(name.into(), number_or_text(time));
            }
        } else {
            continue;
        }
        if !is_setting {
            let comments = std::mem::take(&mut comments);
            entry.insert("comments".into(), comments.into());
        }
        all.push(entry.into());
    }
    Value::List(all.into())
}
