//! Merges the top files of several environments (option `top_file_merging_strategy`).

use std::sync::Arc;

use indexmap::IndexMap;

use super::top_sections::{TopEntry, TopSections};
use crate::states::BASE_ENV;

/// The top files of each environment: its own one, then those that it includes.
pub(super) type TopFiles = IndexMap<Arc<str>, Vec<TopSections>>;

/// The way in which top files of several environments become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TopMerging {
    /// The top file of `base` counts for all environments that it names, other ones only for their own environment.
    Merge,
    /// The entries of all top files are joined.
    MergeAll,
    /// Each environment has its own top file only, or that of `default_top`.
    Same,
}

impl TopMerging {
    pub(super) fn from_name(word: &str) -> Option<Self> {
        Some(match word {
            "merge" => Self::Merge,
            "merge_all" => Self::MergeAll,
            "same" => Self::Same,
            _ => return None,
        })
    }

    /// Makes one top file. `default_top` is the environment whose top file serves those that have none.
    pub(super) fn merge(self, tops: &TopFiles, default_top: &str) -> TopSections {
        match self {
            Self::Merge => merge_by_authority(tops),
            Self::MergeAll => merge_all(tops),
            Self::Same => merge_same(tops, default_top),
        }
    }
}

impl TopSections {
    /// Adds a section. A target that exists is replaced, and keeps its place.
    fn add(&mut self, env: &Arc<str>, from: &Self) {
        let Some(targets) = from.0.get(env) else {
            return;
        };
        let own = self.0.entry(Arc::clone(env)).or_default();
        for (pattern, entries) in targets {
            own.insert(Arc::clone(pattern), entries.clone());
        }
    }
}

fn merge_by_authority(tops: &TopFiles) -> TopSections {
    let mut merged = TopSections::default();
    for top in tops.get(BASE_ENV).into_iter().flatten() {
        for env in top.0.keys() {
            merged.add(env, top);
        }
    }
    for (env, own) in tops.iter().filter(|(env, _)| &***env != BASE_ENV) {
        for top in own {
            if !merged.0.contains_key(env) {
                merged.add(env, top);
            }
        }
    }
    merged
}

fn merge_same(tops: &TopFiles, default_top: &str) -> TopSections {
    let mut merged = TopSections::default();
    for (env, own) in tops {
        let is_absent = own.iter().all(|top| top.0.is_empty());
        let chosen = if is_absent {
            tops.get(default_top)
        } else {
            Some(own)
        };
        for top in chosen.into_iter().flatten() {
            merged.add(env, top);
        }
    }
    merged
}

fn merge_all(tops: &TopFiles) -> TopSections {
    let mut merged = TopSections::default();
    for top in tops.values().flatten() {
        for (env, targets) in &top.0 {
            let own = merged.0.entry(Arc::clone(env)).or_default();
            for (pattern, entries) in targets {
                let joined = match own.get(pattern) {
                    Some(first) => join_entries(first, entries),
                    None => entries.clone(),
                };
                own.insert(Arc::clone(pattern), joined);
            }
        }
    }
    merged
}

/// Joins the names of two targets with the same pattern. As in Salt, of the other entries only the last one stays.
fn join_entries(first: &[TopEntry], second: &[TopEntry]) -> Vec<TopEntry> {
    let is_name = |entry: &&TopEntry| matches!(entry, TopEntry::Sls(_));
    let last_other = |entries: &[TopEntry]| entries.iter().rfind(|it| !is_name(it)).cloned();
    let mut joined: Vec<TopEntry> = last_other(second)
        .or_else(|| last_other(first))
        .into_iter()
        .collect();
    joined.extend(first.iter().filter(is_name).cloned());
    let mut known: Vec<Arc<str>> = names(first).cloned().collect();
    known.sort_unstable();
    let added = names(second).filter(|name| known.binary_search(name).is_err());
    joined.extend(added.cloned().map(TopEntry::Sls));
    joined
}

fn names(entries: &[TopEntry]) -> impl Iterator<Item = &Arc<str>> {
    entries.iter().filter_map(|entry| match entry {
        TopEntry::Sls(name) => Some(name),
        _ => None,
    })
}
