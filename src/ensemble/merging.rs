//! Brings two people's records of one ensemble together: instance by instance and job by job. What
//! people wrote around the records is merged line by line.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::Sources;
use crate::git::merge_lines;
use crate::value::{Map, Value};
use crate::yaml::{self, Limits, Node, Patch, Route};

/// The sections that jobs write.
const SECTIONS: [&str; 6] = [
    "status",
    "lastJob",
    "changes",
    "jobsLog",
    "lock",
    "spec/discovered",
];

/// What a merge gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedEnsemble {
    /// The text; where both sides exclude each other, both stand in it between git's markers.
    pub text: String,
    /// What both sides changed in ways that exclude each other.
    pub conflicts: Vec<String>,
}

/// Merges two versions of an ensemble's file. `None` if one of them is no ensemble whose records
/// can be told apart from its text.
///
/// An instance that only one side changed is as that side has it. One that both changed differently
/// is in conflict, unless one side's last job already knew the other's.
pub fn merge_ensembles(
    base: &str,
    first: &str,
    second: &str,
    labels: [&str; 2],
) -> Option<MergedEnsemble> {
    let base = Version::read(base)?;
    let (first, second) = (Version::read(first)?, Version::read(second)?);
    let mut merger = Merger {
        knows: Knows::of(&first, &second),
        later: if second.last_job() > first.last_job() {
            Side::Second
        } else {
            Side::First
        },
        side: Side::First,
        conflicts: Vec::new(),
    };
    let mut texts = Vec::new();
    for (version, side) in [
        (&base, Side::Base),
        (&first, Side::First),
        (&second, Side::Second),
    ] {
        merger.side = side;
        merger.conflicts.clear();
        let sections = merger.sections(&base, &first, &second);
        texts.push(version.with(&sections)?);
    }
    let mut conflicts = merger.conflicts;
    let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let (merged, clean) = merge_lines(texts[0], texts[1], texts[2], labels)?;
    let text = String::from_utf8(merged).ok()?;
    if !clean && conflicts.is_empty() {
        conflicts.push("the text that people wrote".to_owned());
    }
    if conflicts.is_empty() {
        // What is merged must be what was meant, whatever the texts looked like.
        let read = Version::read(&text)?;
        merger.side = Side::First;
        let mut merger = Merger {
            conflicts: Vec::new(),
            ..merger
        };
        let meant = merger.sections(&base, &first, &second);
        if meant
            .iter()
            .any(|(name, value)| read.section(name) != *value)
        {
            return None;
        }
    }
    Some(MergedEnsemble { text, conflicts })
}

/// Merges two versions of a list of jobs: the lines of both, those that one side alone has in the
/// order of their jobs.
pub fn merge_job_lists(base: &str, first: &str, second: &str) -> String {
    let known: std::collections::HashSet<&str> = base.lines().collect();
    let mut seen = known.clone();
    let is_new = |line: &&str| !known.contains(line);
    let mut new: Vec<&str> = first
        .lines()
        .chain(second.lines())
        .filter(is_new)
        .filter(|line| seen.insert(line))
        .collect();
    new.sort_by_key(|line| line.get(..8).unwrap_or_default());
    let old = first.lines().filter(|line| known.contains(line));
    let mut text = String::with_capacity(first.len() + second.len());
    for line in old.chain(new) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// One version of an ensemble's file.
struct Version<'t> {
    text: &'t str,
    root: Node,
}

impl<'t> Version<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let mut sources = Sources::default();
        let source = sources.add(PathBuf::from("ensemble.yaml"), text, None);
        let root = yaml::parse(&sources, source, &Limits::default()).ok()?;
        root.as_map()?;
        Some(Self { text, root })
    }

    fn section(&self, name: &str) -> Option<Value> {
        let found = Route::keys(name.split('/')).find(&self.root)?;
        Some(found.to_value())
    }

    fn last_job(&self) -> Option<String> {
        let id = self.section("lastJob")?;
        id.get("changeId")?.as_str().map(str::to_owned)
    }

    /// Whether this side's last job, or a record in its text, has this job before it.
    fn comes_after(&self, job: &str) -> bool {
        let previous = self.section("lastJob");
        let previous = previous
            .as_ref()
            .and_then(|last| last.get("previousId")?.as_str());
        let changes = self.section("changes").unwrap_or_default();
        let records = changes.as_list().into_iter().flatten();
        let mut ids = records.filter_map(|record| record.get("changeId")?.as_str());
        previous == Some(job) || ids.any(|id| id.get(..8) == job.get(..8))
    }

    /// The text with these sections.
    fn with(&self, sections: &[(&str, Option<Value>)]) -> Option<String> {
        let differing = sections
            .iter()
            .filter(|(name, value)| self.section(name) != *value);
        let patches = differing.map(|(name, value)| {
            let route = Route::keys(name.split('/'));
            match value {
                Some(value) => Patch::set(route, value.clone()),
                None => Patch::remove(route),
            }
        });
        yaml::apply(self.text, &self.root, &patches.collect::<Vec<_>>()).ok()
    }
}

/// For which side a text is made: where both exclude each other, each keeps its own, and what was
/// before them has nothing, so that both show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Base,
    First,
    Second,
}

/// Whether one side's last job knew the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Knows {
    Neither,
    FirstKnowsSecond,
    SecondKnowsFirst,
}

impl Knows {
    fn of(first: &Version<'_>, second: &Version<'_>) -> Self {
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

/// A value before both sides' changes, and after each.
#[derive(Clone, Copy)]
struct Three<'v> {
    base: Option<&'v Value>,
    first: Option<&'v Value>,
    second: Option<&'v Value>,
}

impl<'v> Three<'v> {
    fn within(self, key: &str) -> Self {
        let part = |whole: Option<&'v Value>| whole.and_then(|whole| whole.get(key));
        Self {
            base: part(self.base),
            first: part(self.first),
            second: part(self.second),
        }
    }

    /// The value, if one side alone changed it, or both alike.
    fn agreed(self) -> Option<Option<&'v Value>> {
        if self.first == self.second || self.second == self.base {
            Some(self.first)
        } else if self.first == self.base {
            Some(self.second)
        } else {
            None
        }
    }

    /// The keys of all maps, those of the first side first.
    fn keys(self) -> Vec<Arc<str>> {
        let mut keys: Vec<Arc<str>> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for value in [self.first, self.second, self.base].into_iter().flatten() {
            for key in value
                .as_map()
                .into_iter()
                .flat_map(indexmap::IndexMap::keys)
            {
                if seen.insert(Arc::clone(key)) {
                    keys.push(Arc::clone(key));
                }
            }
        }
        keys
    }

    fn are_maps(self) -> bool {
        let all = [self.first, self.second];
        all.iter()
            .all(|value| value.is_some_and(|value| value.as_map().is_some()))
    }
}

/// What jobs did to an instance, without what follows from others and what stands on it.
struct Deeds {
    base: Option<Value>,
    first: Option<Value>,
    second: Option<Value>,
}

impl Deeds {
    fn of(three: Three<'_>) -> Self {
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

/// Sets or removes a part; one that was there keeps its place.
fn set(map: &mut Map, key: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(map.insert(key.into(), value)),
        None => drop(map.shift_remove(key)),
    }
}

struct Merger {
    knows: Knows,
    later: Side,
    side: Side,
    conflicts: Vec<String>,
}

impl Merger {
    fn sections(
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
        if let Some(agreed) = three.agreed() {
            return agreed.cloned();
        }
        match name {
            "status" if three.are_maps() => Some(self.topology(three, "")),
            "changes" => Some(all_records(three)),
            "spec/discovered" if three.are_maps() => {
                let mut merged = Map::new();
                for key in three.keys() {
                    let part = three.within(&key);
                    let value = match part.agreed() {
                        Some(agreed) => agreed.cloned(),
                        None => self.conflict(part, &format!("the discovered template `{key}`")),
                    };
                    merged.extend(value.map(|value| (key, value)));
                }
                Some(Value::from(merged))
            }
            _ => self.of_later(three),
        }
    }

    /// The record of a topology: that of the later job, but for its instances.
    fn topology(&mut self, three: Three<'_>, path: &str) -> Value {
        let mut merged = Map::new();
        for key in three.keys() {
            let part = three.within(&key);
            let value = match part.agreed() {
                Some(agreed) => agreed.cloned(),
                None if &*key == "instances" => Some(self.instances(part, path)),
                None if part.are_maps() && &*key != "readyState" => Some(self.parts(part)),
                None => self.of_later(part),
            };
            merged.extend(value.map(|value| (key, value)));
        }
        Value::from(merged)
    }

    /// Inputs or outputs, each by itself.
    fn parts(&self, three: Three<'_>) -> Value {
        let mut merged = Map::new();
        for key in three.keys() {
            let part = three.within(&key);
            let value = part
                .agreed()
                .map_or_else(|| self.of_later(part), |it| it.cloned());
            merged.extend(value.map(|value| (key, value)));
        }
        Value::from(merged)
    }

    fn instances(&mut self, three: Three<'_>, path: &str) -> Value {
        let mut merged = Map::new();
        for key in three.keys() {
            let part = three.within(&key);
            let value = match part.agreed() {
                Some(agreed) => agreed.cloned(),
                None => self.instance(part, &format!("{path}::{key}")),
            };
            merged.extend(value.map(|value| (key, value)));
        }
        Value::from(merged)
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
            let Some(agreed) = part.agreed() else {
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
            Some(agreed) => agreed.cloned(),
            None => Some(self.topology(within, path)),
        };
        set(&mut merged, "substitution", substitution);
        let on_it = three.within("instances");
        let children = match on_it.agreed() {
            Some(agreed) => agreed.cloned(),
            None => Some(self.instances(on_it, path)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ensemble(description: &str, job: &str, instances: &[(&str, &str)]) -> String {
        let mut text = format!(
            "apiVersion: unfurl/v1.0.0\nkind: Ensemble\n# Mine.\nspec:\n  service_template:\n    \
             description: {description}\nstatus:\n  inputs: {{}}\n  instances:\n"
        );
        for (name, id) in instances {
            text.push_str(&format!(
                "    {name}:\n      template: {name}\n      readyState:\n        local: ok\n      \
                 lastConfigChange: {id}\n"
            ));
        }
        text.push_str(&format!(
            "lastJob:\n  changeId: {job}\n  previousId: A0000\njobsLog: jobs.tsv\n"
        ));
        text
    }

    fn merge(base: &str, first: &str, second: &str) -> MergedEnsemble {
        merge_ensembles(base, first, second, ["first", "second"]).unwrap()
    }

    #[test]
    fn what_one_side_changed_is_as_that_side_has_it() {
        let base = ensemble("x", "A1", &[("a", "A1"), ("b", "A1")]);
        let first = ensemble("x", "A2", &[("a", "A2"), ("b", "A1")]);
        let second = ensemble("y", "A3", &[("a", "A1"), ("b", "A3"), ("c", "A3")]);
        let expected = ensemble("y", "A3", &[("a", "A2"), ("b", "A3"), ("c", "A3")]);
        let merged = merge(&base, &first, &second);
        assert_eq!(merged.conflicts, Vec::<String>::new());
        assert_eq!(merged.text, expected);
        assert_eq!(merge(&base, &second, &first).text, expected);
    }

    #[test]
    fn an_instance_that_both_changed_is_a_conflict_and_both_versions_stay() {
        let base = ensemble("x", "A1", &[("a", "A1"), ("b", "A1")]);
        let first = ensemble("x", "A2", &[("a", "A2"), ("b", "A2")]);
        let second = ensemble("x", "A3", &[("a", "A1"), ("b", "A3")]);
        let merged = merge(&base, &first, &second);
        assert_eq!(merged.conflicts, ["the instance `b`"]);
        let conflict = "<<<<<<< first\n      lastConfigChange: A2\n=======\n      \
                        lastConfigChange: A3\n>>>>>>> second\n";
        assert!(merged.text.contains(conflict), "{}", merged.text);
        assert!(
            merged.text.contains("lastConfigChange: A2\n    b:"),
            "{}",
            merged.text
        );
    }

    #[test]
    fn a_side_that_knew_the_other_wins() {
        let base = ensemble("x", "A1", &[("a", "A1")]);
        let first = ensemble("x", "A2", &[("a", "A2")]);
        let second =
            ensemble("x", "A3", &[("a", "A3")]).replace("previousId: A0000", "previousId: A2");
        let merged = merge(&base, &first, &second);
        assert_eq!(
            merged,
            MergedEnsemble {
                text: second,
                conflicts: Vec::new()
            }
        );
    }

    #[test]
    fn an_instance_that_one_side_removed_and_the_other_left_alone_is_gone() {
        let base = ensemble("x", "A1", &[("a", "A1"), ("b", "A1")]);
        let first = ensemble("x", "A2", &[("a", "A1")]);
        let second = ensemble("x", "A3", &[("a", "A3"), ("b", "A1")]);
        let merged = merge(&base, &first, &second);
        assert_eq!(merged.text, ensemble("x", "A3", &[("a", "A3")]));
        let second = ensemble("x", "A3", &[("a", "A1"), ("b", "A3")]);
        assert_eq!(
            merge(&base, &first, &second).conflicts,
            ["the instance `b`"]
        );
    }

    #[test]
    fn what_follows_from_others_or_only_waits_is_no_change() {
        let waits = "lastConfigChange: A2";
        let base = ensemble("x", "A1", &[]);
        let first = ensemble("x", "A2", &[("a", "A2"), ("b", "A2")]);
        // On each side the other instance only waits.
        let at = first.rfind("local: ok").unwrap();
        let first = format!(
            "{}local: pending{}",
            &first[..at],
            &first[at + "local: ok\n      lastConfigChange: A2".len()..]
        );
        assert_eq!(first.matches(waits).count(), 1);
        let second = ensemble("x", "A3", &[("a", "A3"), ("b", "A3")]);
        let second = second.replacen(
            "local: ok\n      lastConfigChange: A3",
            "effective: error\n        local: pending",
            1,
        );
        let merged = merge(&base, &first, &second);
        assert_eq!(merged.conflicts, Vec::<String>::new());
        assert_eq!(
            merged.text,
            ensemble("x", "A3", &[("a", "A2"), ("b", "A3")])
        );
        assert_eq!(merge(&base, &second, &first).text, merged.text);
    }

    #[test]
    fn attributes_are_merged_one_by_one() {
        let with = |job: &str, attributes: &str| {
            ensemble("x", job, &[("a", "A1")]).replace(
                "template: a\n",
                &format!("template: a\n      attributes:\n{attributes}"),
            )
        };
        let base = with("A1", "        x: 1\n        v: 1\n");
        let first = with("A2", "        x: 2\n        v: 1\n");
        let second = with("A3", "        x: 1\n        v: 3\n        z: 3\n");
        let merged = merge(&base, &first, &second);
        assert_eq!(
            merged.text,
            with("A3", "        x: 2\n        v: 3\n        z: 3\n")
        );
        let other = with("A3", "        x: 3\n        v: 1\n");
        assert_eq!(merge(&base, &first, &other).conflicts, ["the instance `a`"]);
    }

    #[test]
    fn people_who_changed_the_same_line_see_both() {
        let base = ensemble("x", "A1", &[]);
        let merged = merge(&base, &ensemble("y", "A1", &[]), &ensemble("z", "A1", &[]));
        assert_eq!(merged.conflicts, ["the text that people wrote"]);
        assert!(merged.text.contains("<<<<<<< first\n    description: y\n"));
    }

    #[test]
    fn first_records_of_both_sides_come_together() {
        let spec = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: {}\n";
        let first = ensemble("x", "A2", &[("a", "A2")]);
        let at = first.find("status:").unwrap();
        let first = format!("{spec}{}", &first[at..]);
        let second = ensemble("x", "A3", &[("b", "A3")]);
        let second = format!("{spec}{}", &second[at..]);
        let merged = merge(spec, &first, &second);
        assert_eq!(merged.conflicts, Vec::<String>::new());
        let both = ensemble("x", "A3", &[("a", "A2"), ("b", "A3")]);
        assert_eq!(merged.text, format!("{spec}{}", &both[at..]));
    }

    #[test]
    fn records_within_the_ensemble_are_put_in_order() {
        let text = |ids: &[&str]| {
            let records: String = ids.iter().map(|id| format!("- changeId: {id}\n")).collect();
            format!("kind: Ensemble\nchanges:\n{records}")
        };
        let merged = merge(
            &text(&["A1"]),
            &text(&["A1", "A3"]),
            &text(&["A1", "A2", "A4"]),
        );
        assert_eq!(merged.text, text(&["A1", "A2", "A3", "A4"]));
    }

    #[test]
    fn lists_of_jobs_have_the_lines_of_both() {
        let (base, a, b) = (
            "# x\nA0000001\n",
            "# x\nA0000001\nA0000003\n\tx\n",
            "# x\nA0000001\nA0000002\n",
        );
        let merged = merge_job_lists(base, a, b);
        assert_eq!(merged, "# x\nA0000001\n\tx\nA0000002\nA0000003\n");
        assert_eq!(merge_job_lists(base, b, &merged), merged);
    }

    #[test]
    fn what_is_no_ensemble_is_left_to_git() {
        for text in ["[1]", "a: [", "<<<<<<< x\n"] {
            assert!(
                merge_ensembles(text, "a: 1", "b: 1", ["", ""]).is_none(),
                "{text}"
            );
        }
    }
}
