//! Reads and writes the drift record `drift.tsv` beside `jobs.tsv`, and includes it in commits if the environment says so.

use std::path::Path;

use super::merge_rules::{drift_rule, escaped_pattern};
use super::own_files::open_folder;
use super::record_files::RecordFiles;
use crate::drift::{DRIFT_FILE, DriftRecord};
use crate::git::Repository;
use crate::system::fs;

/// Reads the drift record of the ensemble with this manifest. A missing file is an empty record.
///
/// # Errors
///
/// The file cannot be read. Nothing may be written over it then.
pub fn read_drift_record(manifest: &Path) -> Result<DriftRecord, fs::Error> {
    let folder = open_folder(manifest)?;
    match folder.read(Path::new(DRIFT_FILE), fs::MAX_READ_BYTES) {
        Ok(bytes) => Ok(DriftRecord::parse(&bytes)),
        Err(error) if error.is_not_found() => Ok(DriftRecord::default()),
        Err(error) => Err(error),
    }
}

/// Replaces the drift record atomically and durably. After a failure, the old one is still there.
pub fn write_drift_record(manifest: &Path, record: &DriftRecord) -> Result<(), fs::Error> {
    let folder = open_folder(manifest)?;
    folder.write_atomic(Path::new(DRIFT_FILE), &record.to_bytes(), None)
}

/// Includes the drift record in the commits of this clone, and tells git how to merge it. A repository that cannot be
/// written is left as it is.
///
/// Jobs do this: a look for drift changes no file but its record.
pub(crate) fn include_drift_record(manifest: &Path) {
    let record = RecordFiles::of(manifest);
    let Ok(Some(repository)) = Repository::discover(record.base()) else {
        return;
    };
    let path = record.drift_record();
    let Some(relative) = repository.relative(&path) else {
        return;
    };
    let pattern = escaped_pattern(&relative);
    repository.ensure_included(&pattern, &path).ok();
    let probe = relative.to_string_lossy();
    repository.ensure_attributes(&[drift_rule(&probe)]).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_record_is_empty_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("ensemble.yaml");
        let record = read_drift_record(&manifest).unwrap();
        assert!(record.to_bytes().is_empty());
        let outside = tempfile::tempdir().unwrap();
        let target = outside.path().join("x");
        fs::write_plain(&target, b"mine", None).unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join(DRIFT_FILE)).unwrap();
        read_drift_record(&manifest).unwrap_err();
        write_drift_record(&manifest, &record).unwrap_err();
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    }
}
