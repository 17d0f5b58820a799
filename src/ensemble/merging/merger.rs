//! Merges the records of two sides.

use super::three::Version;
use super::three::{Agreed, Three};
use crate::value::{Map, Value};

/// The sections that jobs write.
const SECTIONS: [&str; 6] = [
    "status",
    "lastJob",
    "changes",
    "jobsLog",
    "lock",
    "spec/discovered",
];

/// For which side a text is made: where both exclude each other, each keeps its own, and what was
/// before them has nothing, so that both show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Base,
    First,
    Second,
}

/// Whether one side's last job knew the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knows {
    Neither,
    FirstKnowsSecond,
    SecondKnowsFirst,
}

impl Knows {
    pub(super) fn of(first: &Version<'_>, second: &Version<'_>) -> Self {
        let after = |one: &Version<'_>, other: &Version<'_>| {
            other.last_job().is_some_and(|job| one.comes_after(&job))
        };
        if after(first, second) {
            Self::FirstKnowsSecond
        } else if after(second, first) {
            Self::SecondKnowsFirst
        } else {
            Self::Neither
        }
    }
}

/// Merges section by section, and notes what is in conflict.
pub(super) struct Merger {
    pub(super) knows: Knows,
    pub(super) later: Side,
    pub(super) side: Side,
    pub(super) conflicts: Vec<String>,
}

impl Merger {
    pub(super) fn sections(
        &mut self,
        base: &Version<'_>,
        first: &Version<'_>,
        second: &Version<'_>,
    ) -> Vec<(&'static str, Option<Value>)> {
        let mut merged = Vec::new();
        for name in SECTIONS {
            let [base, first, second] = [base, first, second].map(|it| it.section(name));
            let three = Three {
                base: base.as_ref(),
                first: first.as_ref(),
                second: second.as_ref(),
            };
            merged.push((name, self.section(name, three)));
        }
        merged
    }

    fn section(&mut self, name: &str, three: Three<'_>) -> Option<Value> {
        if let Agreed::On(agreed) = three.agreed() {
            return agreed.cloned();
        }
        match name {
            "status" if three.are_maps() => Some(self.topology(three, "")),
            "changes" => Some(all_records(three)),
            "spec/discovered" if three.are_maps() => Some(by_key(three, |part, key| {
                self.conflict(part, &format!("the discovered template `{key}`"))
            })),
            _ => self.of_later(three),
        }
    }

    /// The record of a topology: that of the later job, but for its instances, and with each input
    /// and output by itself.
    fn topology(&mut self, three: Three<'_>, path: &str) -> Value {
        by_key(three, |part, key| match key {
            "instances" => Some(self.instances(part, path)),
            "readyState" => self.of_later(part),
            _ if part.are_maps() => Some(by_key(part, |part, _| self.of_later(part))),
            _ => self.of_later(part),
        })
    }

    fn instances(&mut self, three: Three<'_>, path: &str) -> Value {
        by_key(three, |part, key| {
            self.instance(part, &format!("{path}::{key}"))
        })
    }

    /// An instance whose record differs on both sides, be it only in what follows from others or
    /// in what stands on it.
    fn instance(&mut self, three: Three<'_>, path: &str) -> Option<Value> {
        let own = Deeds::of(three);
        let conflict = format!("the instance `{}`", &path[2..]);
        let (Some(first), Some(second)) = (three.first, three.second) else {
            // One side removed it: what the other did to it must be nothing.
            let left = three.first.or(three.second);
            let same = |key: &str| {
                left.and_then(|it| it.get(key)) == three.base.and_then(|it| it.get(key))
            };
            let idle = same("attributes") && same("instances") && same("substitution");
            return match (own.first == own.base, own.second == own.base) {
                (_, true) if idle => three.first.cloned(),
                (true, false) if idle => three.second.cloned(),
                _ => self.conflict(three, &conflict),
            };
        };
        let winner = match (own.first == own.base, own.second == own.base) {
            (false, true) => first,
            (true, false) => second,
            (true, true) => self.of_later_of(first, second),
            (false, false) if own.first == own.second => self.of_later_of(first, second),
            (false, false) => return self.conflict(three, &conflict),
        };
        let attributes = three.within("attributes");
        let mut kept = Map::new();
        for key in attributes.keys() {
            let part = attributes.within(&key);
            let Agreed::On(agreed) = part.agreed() else {
                return self.conflict(three, &conflict);
            };
            kept.extend(agreed.map(|value| (key, value.clone())));
        }
        let mut merged = winner.as_map().cloned().unwrap_or_default();
        set(
            &mut merged,
            "attributes",
            Some(kept).filter(|kept| !kept.is_empty()).map(Value::from),
        );
        let within = three.within("substitution");
        let substitution = match within.agreed() {
            Agreed::On(agreed) => agreed.cloned(),
            Agreed::Not => Some(self.topology(within, path)),
        };
        set(&mut merged, "substitution", substitution);
        let on_it = three.within("instances");
        let children = match on_it.agreed() {
            Agreed::On(agreed) => agreed.cloned(),
            Agreed::Not => Some(self.instances(on_it, path)),
        };
        set(&mut merged, "instances", children);
        Some(Value::from(merged))
    }

    fn of_later_of<'v>(&self, first: &'v Value, second: &'v Value) -> &'v Value {
        if self.later == Side::Second {
            second
        } else {
            first
        }
    }

    /// Both sides changed the same: the one that knew the other wins, else both stay.
    fn conflict(&mut self, three: Three<'_>, what: &str) -> Option<Value> {
        match self.knows {
            Knows::FirstKnowsSecond => return three.first.cloned(),
            Knows::SecondKnowsFirst => return three.second.cloned(),
            Knows::Neither => {}
        }
        self.conflicts.push(what.to_owned());
        match self.side {
            Side::Base => None,
            Side::First => three.first.cloned(),
            Side::Second => three.second.cloned(),
        }
    }

    fn of_later(&self, three: Three<'_>) -> Option<Value> {
        match self.later {
            Side::Second => three.second.cloned(),
            Side::Base | Side::First => three.first.cloned(),
        }
    }
}

/// Merges maps key by key; `settle` gives what becomes of a part that both sides changed.
fn by_key(three: Three<'_>, mut settle: impl FnMut(Three<'_>, &str) -> Option<Value>) -> Value {
    let mut merged = Map::new();
    for key in three.keys() {
        let part = three.within(&key);
        let value = match part.agreed() {
            Agreed::On(agreed) => agreed.cloned(),
            Agreed::Not => settle(part, &key),
        };
        merged.extend(value.map(|value| (key, value)));
    }
    Value::from(merged)
}

/// Sets or removes a part; one that was there keeps its place.
fn set(map: &mut Map, key: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(map.insert(key.into(), value)),
        None => drop(map.shift_remove(key)),
    }
}

/// The records of both sides, in the order of their ids.
fn all_records(three: Three<'_>) -> Value {
    let id = |record: &Value| {
        let id = record.get("changeId").and_then(Value::as_str);
        id.unwrap_or_default().to_owned()
    };
    let mut records: Vec<Value> = Vec::new();
    for side in [three.first, three.second].into_iter().flatten() {
        for record in side.as_list().into_iter().flatten() {
            if !records.contains(record) {
                records.push(record.clone());
            }
        }
    }
    records.sort_by_key(id);
    Value::list(records)
}

/// What jobs did to an instance, without what follows from others and what stands on it.
pub(super) struct Deeds {
    pub(super) base: Option<Value>,
    pub(super) first: Option<Value>,
    pub(super) second: Option<Value>,
}

impl Deeds {
    pub(super) fn of(three: Three<'_>) -> Self {
        let [base, first, second] =
            [three.base, three.first, three.second].map(|value| deeds(value?));
        Self {
            base,
            first,
            second,
        }
    }
}

/// What jobs did to an instance; nothing if it only is to be.
fn deeds(record: &Value) -> Option<Value> {
    let mut deeds = record.as_map()?.clone();
    for key in [
        "attributes",
        "instances",
        "priority",
        "properties",
        "substitution",
    ] {
        deeds.shift_remove(key);
    }
    if let Some(ready) = deeds.get("readyState").and_then(Value::as_map) {
        let mut ready = ready.clone();
        ready.shift_remove("effective");
        let waits =
            ready.len() == 1 && ready.get("local").and_then(Value::as_str) == Some("pending");
        if waits
            && deeds
                .keys()
                .all(|key| matches!(&**key, "template" | "readyState"))
        {
            return None;
        }
        deeds.insert("readyState".into(), Value::from(ready));
    }
    Some(Value::from(deeds))
}
