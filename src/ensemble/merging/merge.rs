//! Merges whole files: two versions of a manifest, or of `jobs.tsv`.

use super::record_merger::{Causality, MergeSide, RecordMerger};
use super::three_way::EnsembleVersion;
use crate::git::merge_lines;

/// The result of merging two versions of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedEnsemble {
    /// The merged text. Conflicting parts appear between git's conflict markers.
    pub text: String,
    /// Descriptions of the parts that both sides changed differently.
    pub conflicts: Vec<String>,
}

/// Merges two versions of a manifest. Returns `None` if one of them cannot be parsed as a manifest.
///
/// An instance changed on one side only is taken from that side. An instance changed differently on both
/// sides is a conflict, unless the last job of one side already knew the other side's last job.
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
        conflicts.push("the text outside of the record".to_owned());
    }
    if conflicts.is_empty() {
        // Check that the merged text parses to the intended sections, because a line-by-line merge of YAML
        // can yield a different structure.
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

/// Merges two versions of `jobs.tsv`: keeps the lines of both. New lines are sorted by job.
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
