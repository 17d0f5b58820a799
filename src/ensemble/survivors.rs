//! Ends processes that crashed jobs left running, before a new job starts.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Duration;

use super::journal_entry::JournalEntry;
use super::journal_file::JournalFile;
use crate::lock::LockOwner;
use crate::system::fs;
use crate::system::survivors::{self, Survivor, TerminationReport};

/// The time between the request to end and the forced end of a process.
const GRACE: Duration = Duration::from_secs(5);

/// Ends the surviving processes of the job that left a stale lock and of all jobs with journals.
///
/// Processes of tasks that completed are spared, because such a task left them running on purpose. Returns a
/// message about the ended processes.
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

/// Returns a message about the ended processes; `None` if there were none.
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
        "ended {} that tasks of the crashed job had left running: {}",
        count(ended.found.len()),
        named(&ended.found)
    );
    if !ended.remaining.is_empty() {
        text.push_str("; these cannot be ended and still run: ");
        text.push_str(&named(&ended.remaining));
    }
    Some(text)
}

/// Returns the crashed jobs by token, each with its completed tasks. Tasks are numbered from 0, as in the
/// environment of processes.
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
