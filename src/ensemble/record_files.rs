//! Which files of an ensemble are the record of its jobs.

use std::path::{Path, PathBuf};

use crate::system::fs;

/// Folders whose files tasks leave for keeps.
const TASK_OUTPUT_FOLDERS: [&str; 3] = ["active", "artifacts", "spec"];
/// Folders within them whose files are nobody else's business.
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

/// The files of an ensemble that are committed after a job: its own file, the list of jobs, the
/// records of changes, and what tasks leave under `active`, `artifacts` and `spec`.
#[derive(Debug, Clone)]
pub(crate) struct RecordFiles {
    manifest: PathBuf,
    base: PathBuf,
}

impl RecordFiles {
    /// Those of the ensemble with this file.
    pub(crate) fn of(manifest: &Path) -> Self {
        let parent = manifest.parent().unwrap_or(Path::new("."));
        let base = fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
        let name = manifest.file_name().unwrap_or_default();
        Self {
            manifest: base.join(name),
            base,
        }
    }

    /// The ensemble's own file.
    pub(crate) fn manifest(&self) -> &Path {
        &self.manifest
    }

    /// The folder of the ensemble.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// Whether a file is what a job itself writes.
    pub(crate) fn is_record(&self, path: &Path) -> bool {
        path == self.manifest || self.is_job_log(path)
    }

    /// Whether a file is a list of jobs or a record of changes, which nobody but jobs writes.
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

    /// Whether a file is what a task left for keeps.
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
    fn the_record_is_told_from_what_is_around_it() {
        let files = RecordFiles::of(Path::new("/e/ensemble.yaml"));
        let all = |path: &str| {
            let path = Path::new("/e").join(path);
            (files.is_record(&path), files.is_task_output(&path))
        };
        for path in ["ensemble.yaml", "jobs.tsv", "changes/job2026-A.yaml"] {
            assert_eq!(all(path), (true, false), "{path}");
        }
        for path in ["active/artifacts/a/x", "artifacts/x", "spec/a/x"] {
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
        ] {
            assert_eq!(all(path), (false, false), "{path}");
        }
    }
}
