//! Decides which files of an ensemble belong to its record and are committed after a job.

use std::path::{Path, PathBuf};

use crate::drift::DRIFT_FILE;
use crate::system::fs;

/// Folders with files that tasks produce permanently.
const TASK_OUTPUT_FOLDERS: [&str; 4] = [".secrets", "active", "artifacts", "spec"];
/// Subfolders with private or temporary files, which are never committed.
const PRIVATE_FOLDERS: [&str; 9] = [
    "failed",
    "jobs",
    "local",
    "operation",
    "planned",
    "secrets",
    "tasks",
    "tmp",
    "workflow",
];

/// The set of files that are committed after a job: the manifest, `jobs.tsv`, change records, and task output
/// under `active`, `artifacts` and `spec`, with the encrypted copies in `.secrets`.
#[derive(Debug, Clone)]
pub(crate) struct RecordFiles {
    manifest: PathBuf,
    base: PathBuf,
}

impl RecordFiles {
    /// Returns the record files of the ensemble with this manifest.
    pub(crate) fn of(manifest: &Path) -> Self {
        let parent = manifest.parent().unwrap_or(Path::new("."));
        let base = fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
        let name = manifest.file_name().unwrap_or_default();
        Self {
            manifest: base.join(name),
            base,
        }
    }

    pub(crate) fn manifest(&self) -> &Path {
        &self.manifest
    }

    /// Returns the ensemble's folder, without symbolic links.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// Returns true for the files that jobs and looks write themselves: the manifest, `jobs.tsv`, a change record or the
    /// drift record.
    pub(crate) fn is_record(&self, path: &Path) -> bool {
        path == self.manifest || self.is_job_log(path) || self.is_drift_record(path)
    }

    /// Returns the path of the drift record.
    pub(crate) fn drift_record(&self) -> PathBuf {
        self.base.join(DRIFT_FILE)
    }

    /// Returns true for the drift record, which the environment keeps out of commits unless it says otherwise.
    pub(crate) fn is_drift_record(&self, path: &Path) -> bool {
        path == self.drift_record()
    }

    /// Whether the file is `jobs.tsv` or a change record, which only jobs write.
    pub(crate) fn is_job_log(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(&self.base) else {
            return false;
        };
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        match parts.as_slice() {
            [name] => name == "jobs.tsv",
            [folder, name] => {
                let extension = Path::new(&**name).extension();
                folder == "changes"
                    && name.starts_with("job")
                    && extension.is_some_and(|extension| extension == "yaml")
            }
            _ => false,
        }
    }

    /// Whether the file is permanent output of a task.
    pub(crate) fn is_task_output(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(&self.base) else {
            return false;
        };
        let mut parts = inside.iter().map(|part| part.to_string_lossy());
        let first = parts.next().unwrap_or_default();
        TASK_OUTPUT_FOLDERS.contains(&&*first)
            && !parts.any(|part| PRIVATE_FOLDERS.contains(&&*part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_files_are_distinguished_from_other_files() {
        let files = RecordFiles::of(Path::new("/e/ensemble.yaml"));
        let all = |path: &str| {
            let path = Path::new("/e").join(path);
            (files.is_record(&path), files.is_task_output(&path))
        };
        for path in [
            "ensemble.yaml",
            "jobs.tsv",
            "drift.tsv",
            "changes/job2026-A.yaml",
        ] {
            assert_eq!(all(path), (true, false), "{path}");
        }
        for path in [
            "active/artifacts/a/x",
            "artifacts/x",
            "spec/a/x",
            ".secrets/a/x",
        ] {
            assert_eq!(all(path), (false, true), "{path}");
        }
        for path in [
            "active/tasks/a/configure/rendered.sh",
            "active/secrets/a/key",
            "changes/notes.md",
            "changes/job.yaml/x",
            "planned/artifacts/x",
            "other.yaml",
            "../jobs.tsv",
            "changes/drift.tsv",
        ] {
            assert_eq!(all(path), (false, false), "{path}");
        }
    }
}
