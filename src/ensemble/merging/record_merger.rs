//! Merges the sections of a manifest that jobs write, with rules for each section.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

use super::three_way::EnsembleVersion;
use super::three_way::{MergeResolution, ThreeWay};
use crate::value::{CanonicalWriter, Map, Value};

/// The sections that jobs write; the other sections are merged as text.
const SECTIONS: [&str; 6] = [
    "status",
    "lastJob",
    "changes",
    "jobsLog",
    "lock",
    "spec/discovered",
];

/// The side for which the merged sections are built.
///
/// In a conflict each side keeps its own value and the base has no value, so that the line-by-line merge
/// shows both sides as a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeSide {
    Base,
    First,
    Second,
}

/// The order of the two sides: whether the last job of one side knew the last job of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Causality {
    Concurrent,
    FirstIsNewer,
    SecondIsNewer,
}

impl Causality {
    pub(super) fn of(first: &EnsembleVersion<'_>, second: &EnsembleVersion<'_>) -> Self {
        let after = |one: &EnsembleVersion<'_>, other: &EnsembleVersion<'_>| {
            other.last_job().is_some_and(|job| one.comes_after(&job))
        };
        if after(first, second) {
            Self::FirstIsNewer
        } else if after(second, first) {
            Self::SecondIsNewer
        } else {
            Self::Concurrent
        }
    }
}

/// Merges section by section and collects the conflicts.
pub(super) struct RecordMerger {
    pub(super) causality: Causality,
    pub(super) later: MergeSide,
    pub(super) side: MergeSide,
    pub(super) conflicts: Vec<String>,
}

impl RecordMerger {
    pub(super) fn sections(
        &mut self,
        base: &EnsembleVersion<'_>,
        first: &EnsembleVersion<'_>,
        second: &EnsembleVersion<'_>,
    ) -> Vec<(&'static str, Option<Value>)> {
        let mut merged = Vec::new();
        for name in SECTIONS {
            let [base, first, second] = [base, first, second].map(|it| it.section(name));
            let three = ThreeWay {
                base: base.as_ref(),
                first: first.as_ref(),
                second: second.as_ref(),
            };
            merged.push((name, self.section(name, three)));
        }
        merged
    }

    fn section(&mut self, name: &str, three: ThreeWay<'_>) -> Option<Value> {
        if let MergeResolution::Resolved(agreed) = three.resolve() {
            return agreed.cloned();
        }
        match name {
            "status" if three.are_maps() => Some(self.topology(three, "")),
            "changes" => Some(all_records(three)),
            "spec/discovered" if three.are_maps() => Some(merge_maps(three, |part, key| {
                self.conflict(part, &format!("the discovered template `{key}`"))
            })),
            _ => self.pick_later(three),
        }
    }

    /// Merges the record of a topology: instances, inputs and outputs one by one, the rest from the later
    /// job.
    fn topology(&mut self, three: ThreeWay<'_>, path: &str) -> Value {
        merge_maps(three, |part, key| match key {
            "instances" => Some(self.instances(part, path)),
            "readyState" => self.pick_later(part),
            _ if part.are_maps() => Some(merge_maps(part, |part, _| self.pick_later(part))),
            _ => self.pick_later(part),
        })
    }

    fn instances(&mut self, three: ThreeWay<'_>, path: &str) -> Value {
        merge_maps(three, |part, key| {
            self.instance(part, &format!("{path}::{key}"))
        })
    }

    /// Merges an instance whose records differ. The difference can also be in derived values or in hosted
    /// instances only.
    fn instance(&mut self, three: ThreeWay<'_>, path: &str) -> Option<Value> {
        let own = JobChanges::of(three);
        let conflict = format!("the instance `{}`", &path[2..]);
        let (Some(first), Some(second)) = (three.first, three.second) else {
            // A side removed the instance. This is no conflict only if the other side did not change it.
            let remaining = three.first.or(three.second);
            let same = |key: &str| {
                remaining.and_then(|it| it.get(key)) == three.base.and_then(|it| it.get(key))
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
            (true, true) => self.later_value(first, second),
            (false, false) if own.first == own.second => self.later_value(first, second),
            (false, false) => return self.conflict(three, &conflict),
        };
        let attributes = three.child("attributes");
        let mut merged_attributes = Map::new();
        for key in attributes.keys() {
            let part = attributes.child(&key);
            let MergeResolution::Resolved(agreed) = part.resolve() else {
                return self.conflict(three, &conflict);
            };
            merged_attributes.extend(agreed.map(|value| (key, value.clone())));
        }
        let mut merged = winner.as_map().cloned().unwrap_or_default();
        set(
            &mut merged,
            "attributes",
            Some(merged_attributes)
                .filter(|merged_attributes| !merged_attributes.is_empty())
                .map(Value::from),
        );
        let within = three.child("substitution");
        let substitution = match within.resolve() {
            MergeResolution::Resolved(agreed) => agreed.cloned(),
            MergeResolution::Conflict => Some(self.topology(within, path)),
        };
        set(&mut merged, "substitution", substitution);
        let on_it = three.child("instances");
        let children = match on_it.resolve() {
            MergeResolution::Resolved(agreed) => agreed.cloned(),
            MergeResolution::Conflict => Some(self.instances(on_it, path)),
        };
        set(&mut merged, "instances", children);
        Some(Value::from(merged))
    }

    fn later_value<'v>(&self, first: &'v Value, second: &'v Value) -> &'v Value {
        if self.later == MergeSide::Second {
            second
        } else {
            first
        }
    }

    /// Resolves a part that both sides changed. The side that knew the other wins; otherwise the part is a
    /// conflict.
    fn conflict(&mut self, three: ThreeWay<'_>, subject: &str) -> Option<Value> {
        match self.causality {
            Causality::FirstIsNewer => return three.first.cloned(),
            Causality::SecondIsNewer => return three.second.cloned(),
            Causality::Concurrent => {}
        }
        self.conflicts.push(subject.to_owned());
        match self.side {
            MergeSide::Base => None,
            MergeSide::First => three.first.cloned(),
            MergeSide::Second => three.second.cloned(),
        }
    }

    fn pick_later(&self, three: ThreeWay<'_>) -> Option<Value> {
        match self.later {
            MergeSide::Second => three.second.cloned(),
            MergeSide::Base | MergeSide::First => three.first.cloned(),
        }
    }
}

/// Merges maps key by key. `settle` returns the value for a key that both sides changed.
fn merge_maps(
    three: ThreeWay<'_>,
    mut settle: impl FnMut(ThreeWay<'_>, &str) -> Option<Value>,
) -> Value {
    let mut merged = Map::new();
    for key in three.keys() {
        let part = three.child(&key);
        let value = match part.resolve() {
            MergeResolution::Resolved(agreed) => agreed.cloned(),
            MergeResolution::Conflict => settle(part, &key),
        };
        merged.extend(value.map(|value| (key, value)));
    }
    Value::from(merged)
}

/// Sets or removes a key. An existing key keeps its position.
fn set(map: &mut Map, key: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(map.insert(key.into(), value)),
        None => drop(map.shift_remove(key)),
    }
}

/// Returns the change records of both sides without duplicates, ordered by id.
fn all_records(three: ThreeWay<'_>) -> Value {
    let id = |record: &Value| {
        let id = record.get("changeId").and_then(Value::as_str);
        id.unwrap_or_default().to_owned()
    };
    let sides = [three.first, three.second].into_iter().flatten();
    let all = sides.flat_map(|side| side.as_list().into_iter().flatten());
    let mut seen = HashSet::new();
    let mut records: Vec<Value> = all
        .filter(|record| seen.insert(digest(record)))
        .cloned()
        .collect();
    records.sort_by_key(id);
    Value::list(records)
}

/// Returns a digest that equal values share, so that duplicates are found without comparing all pairs.
fn digest(value: &Value) -> [u8; 32] {
    let mut writer = CanonicalWriter::keyed(Sha256::new());
    writer.value(value);
    writer.into_inner().finalize().into()
}

/// The part of an instance's record that jobs change directly, without derived values and hosted instances.
pub(super) struct JobChanges {
    pub(super) base: Option<Value>,
    pub(super) first: Option<Value>,
    pub(super) second: Option<Value>,
}

impl JobChanges {
    pub(super) fn of(three: ThreeWay<'_>) -> Self {
        let [base, first, second] =
            [three.base, three.first, three.second].map(|value| job_changes(value?));
        Self {
            base,
            first,
            second,
        }
    }
}

/// Returns the part of an instance's record that jobs change; `None` if the instance is only pending.
fn job_changes(record: &Value) -> Option<Value> {
    let mut job_changes = record.as_map()?.clone();
    for key in [
        "attributes",
        "instances",
        "priority",
        "properties",
        "substitution",
    ] {
        job_changes.shift_remove(key);
    }
    if let Some(ready) = job_changes.get("readyState").and_then(Value::as_map) {
        let mut ready = ready.clone();
        ready.shift_remove("effective");
        let waits =
            ready.len() == 1 && ready.get("local").and_then(Value::as_str) == Some("pending");
        if waits
            && job_changes
                .keys()
                .all(|key| matches!(&**key, "template" | "readyState"))
        {
            return None;
        }
        job_changes.insert("readyState".into(), Value::from(ready));
    }
    Some(Value::from(job_changes))
}
