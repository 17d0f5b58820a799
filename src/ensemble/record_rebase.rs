//! Rebases committed records onto those of others: merges the record files of both, and renames local jobs whose
//! ids the other side has used as well.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::id_renames::{IdRenames, records_in_job_list, records_in_yaml};
use super::merging::{merge_ensembles, merge_job_lists};
use super::own_files::open_folder;
use super::record_files::RecordFiles;
use crate::drift::merge_drift_records;
use crate::git::{Error, FileVersions, MergedFile, RebaseRules, Repository, Upstream};
use crate::system::fs;

/// The maximum size of a record of a job that is renamed.
const MAX_RECORD_BYTES: u64 = 256 << 20;

/// The rules for rebasing the records of a repository.
pub(super) struct RecordRebase<'r> {
    repository: &'r Repository,
    /// The ensemble of the current job.
    record: &'r RecordFiles,
    /// The renames of each ensemble, by its folder.
    renames: BTreeMap<PathBuf, (RecordFiles, IdRenames)>,
}

impl<'r> RecordRebase<'r> {
    /// Compares the ids of the local commits with those of the fetched ones.
    pub(super) fn prepare(
        repository: &'r Repository,
        record: &'r RecordFiles,
        upstream: &Upstream,
    ) -> Result<Self, Error> {
        let mut rebase = Self {
            repository,
            record,
            renames: BTreeMap::new(),
        };
        let mut ids: BTreeMap<PathBuf, (RecordFiles, NewIds)> = BTreeMap::new();
        let has_ids = |path: &Path| rebase.kind_of(path).is_some();
        for (path, versions) in repository.diverged_files(upstream, &has_ids)? {
            let Some((owner, kind)) = rebase.kind_of(&path) else {
                continue;
            };
            let entry = ids.entry(owner.base().to_owned());
            entry
                .or_insert_with(|| (owner, NewIds::default()))
                .1
                .add(kind, &versions);
        }
        for (base, (owner, ids)) in ids {
            let renames = IdRenames::new(&ids.ours, &ids.theirs, &ids.used);
            if !renames.is_empty() {
                rebase.renames.insert(base, (owner, renames));
            }
        }
        Ok(rebase)
    }

    /// Returns the ids of the renamed jobs, old and new.
    pub(super) fn renamed_jobs(&self) -> impl Iterator<Item = (String, String)> {
        self.renames
            .values()
            .flat_map(|(_, renames)| renames.jobs())
    }

    /// Renames the jobs in the files that are in this clone only. A failure leaves logs under the old id.
    pub(super) fn rename_local_files(&self) {
        for (owner, renames) in self.renames.values() {
            rename_in_folder(owner, renames).ok();
        }
    }

    /// Returns the ensemble that a record file belongs to, and the kind of the file.
    fn kind_of(&self, path: &Path) -> Option<(RecordFiles, RecordKind)> {
        let owner = self.record_at(path)?;
        let whole = self.repository.root().join(path);
        let kind = if whole == owner.manifest() {
            RecordKind::Manifest
        } else if !owner.is_record(&whole) {
            return None;
        } else if path.file_name().is_some_and(|name| name == "jobs.tsv") {
            RecordKind::JobList
        } else if owner.is_drift_record(&whole) {
            RecordKind::Drift
        } else {
            RecordKind::Changes
        };
        Some((owner, kind))
    }

    /// Returns the ensemble to whose record a file of the repository belongs.
    fn record_at(&self, path: &Path) -> Option<RecordFiles> {
        let root = self.repository.root();
        let path = root.join(path);
        let belongs =
            |record: &RecordFiles| record.is_record(&path) || record.is_task_output(&path);
        if belongs(self.record) {
            return Some(self.record.clone());
        }
        let folders = path.ancestors().skip(1);
        let mut folders = folders.take_while(|folder| folder.starts_with(root));
        let base = folders.find(|folder| fs::is_file(&folder.join("jobs.tsv")))?;
        let other = RecordFiles::of(&base.join("ensemble.yaml"));
        belongs(&other).then_some(other)
    }
}

impl RebaseRules for RecordRebase<'_> {
    fn may_move(&self, path: &Path) -> bool {
        self.record_at(path).is_some()
    }

    fn merge(&mut self, path: &Path, versions: &FileVersions) -> MergedFile {
        let kind = self.kind_of(path).map(|(_, kind)| kind);
        let text = |version: &Option<Vec<u8>>| {
            let bytes = version.clone().unwrap_or_default();
            String::from_utf8(bytes).ok()
        };
        let (Some(base), Some(theirs), Some(ours)) = (
            text(&versions.base),
            text(&versions.theirs),
            text(&versions.ours),
        ) else {
            return MergedFile::Conflict;
        };
        if versions.theirs.is_none() || versions.ours.is_none() {
            return MergedFile::Conflict;
        }
        match kind {
            Some(RecordKind::JobList) => {
                MergedFile::Text(merge_job_lists(&base, &theirs, &ours).into_bytes())
            }
            Some(RecordKind::Drift) => {
                MergedFile::Text(merge_drift_records(&base, &theirs, &ours).into_bytes())
            }
            Some(RecordKind::Manifest) => {
                match merge_ensembles(&base, &theirs, &ours, ["theirs", "ours"]) {
                    Some(merged) if merged.conflicts.is_empty() => {
                        MergedFile::Text(merged.text.into_bytes())
                    }
                    Some(_) | None => MergedFile::Conflict,
                }
            }
            Some(RecordKind::Changes) | None => MergedFile::LineByLine,
        }
    }

    fn rewrite(&self, path: &Path, content: &[u8]) -> Option<(PathBuf, Vec<u8>)> {
        if self.renames.is_empty() {
            return None;
        }
        let (owner, kind) = self.kind_of(path)?;
        let (_, renames) = self.renames.get(owner.base())?;
        let text = std::str::from_utf8(content).ok()?;
        let new = match kind {
            RecordKind::JobList => renames.job_list(text),
            RecordKind::Manifest | RecordKind::Changes => renames.yaml(text),
            // The ids of jobs in findings are for people; the id of a renamed job is no longer found.
            RecordKind::Drift => return None,
        };
        let new_path = renames.path(path);
        if new == text && new_path.is_none() {
            return None;
        }
        Some((
            new_path.unwrap_or_else(|| path.to_owned()),
            new.into_bytes(),
        ))
    }

    fn message(&self, message: &str) -> String {
        let all = self.renames.values();
        all.fold(message.to_owned(), |message, (_, renames)| {
            renames.words(&message)
        })
    }
}

/// The kinds of files that contain change ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordKind {
    Manifest,
    /// The file `jobs.tsv`.
    JobList,
    /// The record of a job's changes.
    Changes,
    /// The file `drift.tsv`.
    Drift,
}

/// The prefixes of the ids that each side has added since they separated. Records that both sides have are left out.
#[derive(Debug, Default)]
struct NewIds {
    ours: BTreeSet<String>,
    theirs: BTreeSet<String>,
    /// All prefixes of the other side, also those from before the two separated.
    used: BTreeSet<String>,
}

impl NewIds {
    fn add(&mut self, kind: RecordKind, versions: &FileVersions) {
        let records = |version: &Option<Vec<u8>>| {
            let text = String::from_utf8_lossy(version.as_deref().unwrap_or_default());
            match kind {
                RecordKind::JobList => records_in_job_list(&text),
                RecordKind::Manifest => records_in_yaml(&text),
                // The jobs of change records are in `jobs.tsv` as well.
                RecordKind::Changes | RecordKind::Drift => BTreeSet::new(),
            }
        };
        let known: BTreeSet<String> = prefixes(records(&versions.base));
        let (ours, theirs) = (records(&versions.ours), records(&versions.theirs));
        let new_ours = prefixes(ours.difference(&theirs).cloned());
        let new_theirs = prefixes(theirs.difference(&ours).cloned());
        self.ours.extend(new_ours.difference(&known).cloned());
        self.theirs.extend(new_theirs.difference(&known).cloned());
        self.used.extend(prefixes(theirs));
    }
}

fn prefixes(records: impl IntoIterator<Item = (String, String)>) -> BTreeSet<String> {
    records.into_iter().map(|(prefix, _)| prefix).collect()
}

/// Renames the files of jobs in the folder `jobs`, and the ids in them.
fn rename_in_folder(owner: &RecordFiles, renames: &IdRenames) -> Result<(), fs::Error> {
    let folder = open_folder(owner.manifest())?;
    let jobs = Path::new("jobs");
    for entry in folder.list(jobs)? {
        let path = jobs.join(&entry.name);
        let Some(new_path) = renames.path(&path) else {
            continue;
        };
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            let content = folder.read(&path, MAX_RECORD_BYTES)?;
            let text = renames.yaml(&String::from_utf8_lossy(&content));
            folder.write_atomic(&new_path, text.as_bytes(), None)?;
            folder.remove_file(&path)?;
        } else {
            folder.rename(&path, &new_path)?;
        }
    }
    Ok(())
}
