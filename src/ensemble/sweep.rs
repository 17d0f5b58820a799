//! What a crash leaves of files that were being written: they were not published, and go.

use std::path::Path;
use std::time::Duration;

use super::journal::Journal;
use crate::system::{clock, fs};

/// How old a file must be before it is removed where nothing else tells that its writer is gone.
const LEFT: Duration = Duration::from_hours(1);

/// Removes what was written beside the files of an ensemble that this process has locked, and never
/// took their place. Beside files that it shares with other ensembles in its folder only what a
/// crash or an age proves to be left.
pub(super) fn sweep(manifest: &Path) {
    let Some(base) = manifest.parent() else {
        return;
    };
    let jobs = base.join("jobs");
    let crashed = Journal::left_of(manifest).is_ok_and(|left| !left.is_empty());
    let name = manifest.file_name().unwrap_or_default().to_string_lossy();
    for folder in [base, &jobs, &base.join("changes"), &base.join("local")] {
        for entry in fs::list(folder).unwrap_or_default() {
            let is_file = entry.kind == fs::EntryKind::File;
            let Some((of, id)) = entry.name.rsplit_once(".tmp.").filter(|_| is_file) else {
                continue;
            };
            let Ok(id) = id.parse::<ulid::Ulid>() else {
                continue;
            };
            // Whoever waits for the lock may be about to make it.
            let is_lock = of.strip_suffix(".lock").is_some();
            let is_own = of == name || of.strip_suffix(".owner.lock") == Some(&*name);
            if is_own || (crashed && !is_lock) || age(id) > LEFT {
                // What cannot be removed does no harm.
                fs::remove_file_if_exists(&entry.path).ok();
            }
        }
    }
}

fn age(id: ulid::Ulid) -> Duration {
    let now = u64::try_from(clock::now().as_millisecond()).unwrap_or_default();
    Duration::from_millis(now.saturating_sub(id.timestamp_ms()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_after(names: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write_plain(&folder.path().join(name), b"", None).unwrap();
        }
        sweep(&folder.path().join("ensemble.yaml"));
        let all = fs::walk(folder.path(), fs::WalkLimits::default()).unwrap();
        let files = all.iter().filter(|e| e.kind == fs::EntryKind::File);
        let path = files.map(|e| e.path.strip_prefix(folder.path()).unwrap());
        path.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn what_was_never_published_goes_and_nothing_else() {
        let new = ulid::Ulid::generate().to_string();
        let old = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let own = format!("ensemble.yaml.tmp.{new}");
        let other = format!("other.yaml.tmp.{new}");
        let owner = format!("ensemble.yaml.owner.lock.tmp.{new}");
        let shared = format!("jobs/job.yaml.tmp.{new}");
        let left = format!("changes/job.yaml.tmp.{old}");
        let names = [
            &*own,
            &other,
            &owner,
            &shared,
            &left,
            "a.tmp.txt",
            "ensemble.yaml",
        ];
        let kept = names_after(&names);
        assert_eq!(kept.len(), 4, "{kept:?}");
        for name in [&*other, &*shared, "a.tmp.txt", "ensemble.yaml"] {
            assert!(kept.iter().any(|k| k == name), "{name}: {kept:?}");
        }
        let journal = format!("jobs/{old}.journal");
        let kept = names_after(&[&shared, &journal]);
        assert_eq!(kept, [journal]);
    }
}
