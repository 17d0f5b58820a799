//! Ends what jobs that were killed left running.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Duration;

use super::journal_entry::JournalEntry;
use super::journal_file::JournalFile;
use crate::lock::LockOwner;
use crate::system::fs;
use crate::system::survivors::{self, Survivor, TerminationReport};

/// How long processes that a killed job left have between being asked to end and being killed.
const GRACE: Duration = Duration::from_secs(5);

/// Ends what jobs that were killed left running: that of a stale lock, and those whose journals are
/// there. What their tasks that ended left behind on purpose is spared. Says what was ended.
pub(crate) fn end_survivors(owner: Option<&LockOwner>, manifest: &Path) -> Option<String> {
    let real = fs::canonicalize(manifest);
    let mut jobs = crashed_jobs(real.as_deref().unwrap_or(manifest));
    if let Some(owner) = owner {
        jobs.entry(owner.token.clone()).or_default();
    }
    let mut all = TerminationReport::default();
    for (token, done) in jobs {
        let ended = survivors::terminate(&token, &|task| done.contains(&task), GRACE);
        all.found.extend(ended.found);
        all.remaining.extend(ended.remaining);
    }
    describe(&all)
}

/// What is told of processes that were ended; nothing if there were none.
fn describe(ended: &TerminationReport) -> Option<String> {
    let named = |survivors: &[Survivor]| {
        let names = survivors.iter().take(5);
        let mut names: Vec<_> = names
            .map(|it| format!("`{}` ({})", it.command, it.pid))
            .collect();
        if survivors.len() > names.len() {
            names.push("…".to_owned());
        }
        names.join(", ")
    };
    let count = |number| match number {
        1 => "1 process".to_owned(),
        number => format!("{number} processes"),
    };
    if ended.found.is_empty() {
        return None;
    }
    let mut text = format!(
        "ended {} that its tasks had left running: {}",
        count(ended.found.len()),
        named(&ended.found)
    );
    if !ended.remaining.is_empty() {
        text.push_str("; these cannot be ended and still run: ");
        text.push_str(&named(&ended.remaining));
    }
    Some(text)
}

/// The jobs whose journals are there, by their tokens: which of their tasks have ended, by the
/// numbers that runners know them by.
fn crashed_jobs(manifest: &Path) -> BTreeMap<String, HashSet<u64>> {
    let journals = JournalFile::list_for(manifest).unwrap_or_default();
    let read = journals
        .iter()
        .filter_map(|path| JournalFile::read::<Vec<JournalEntry>>(path).ok());
    let mut found = BTreeMap::new();
    for recovered in read {
        let mut token = None;
        let mut done = HashSet::new();
        for entry in recovered.entries.into_iter().flatten() {
            match entry {
                JournalEntry::JobStarted(began) => token = began.token,
                JournalEntry::TaskEnded(ended) => {
                    done.insert((ended.task as u64).wrapping_sub(1));
                }
                _ => {}
            }
        }
        if let Some(token) = token {
            found.insert(token, done);
        }
    }
    found
}
