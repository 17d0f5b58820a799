//! Merges whole files: an ensemble's, and its list of jobs.

use super::record_merger::{Causality, MergeSide, RecordMerger};
use super::three_way::EnsembleVersion;
use crate::git::merge_lines;

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
    let base = EnsembleVersion::read(base)?;
    let (first, second) = (
        EnsembleVersion::read(first)?,
        EnsembleVersion::read(second)?,
    );
    let mut merger = RecordMerger {
        causality: Causality::of(&first, &second),
        later: if second.last_job() > first.last_job() {
            MergeSide::Second
        } else {
            MergeSide::First
        },
        side: MergeSide::First,
        conflicts: Vec::new(),
    };
    let mut texts = Vec::new();
    for (version, side) in [
        (&base, MergeSide::Base),
        (&first, MergeSide::First),
        (&second, MergeSide::Second),
    ] {
        merger.side = side;
        merger.conflicts.clear();
        let sections = merger.sections(&base, &first, &second);
        texts.push(version.with(&sections)?);
    }
    let mut conflicts = merger.conflicts;
    let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let (merged, is_clean) = merge_lines(texts[0], texts[1], texts[2], labels)?;
    let text = String::from_utf8(merged).ok()?;
    if !is_clean && conflicts.is_empty() {
        conflicts.push("the text that people wrote".to_owned());
    }
    if conflicts.is_empty() {
        // What is merged must be what was meant, whatever the texts looked like.
        let read = EnsembleVersion::read(&text)?;
        merger.side = MergeSide::First;
        let mut merger = RecordMerger {
            conflicts: Vec::new(),
            ..merger
        };
        let expected = merger.sections(&base, &first, &second);
        if expected
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
