//! Implements `unfurl drift --log`: reads the drift record of an ensemble. Nothing is looked at, and no lock is taken.

use std::path::PathBuf;

use super::history::corrupt_lines;
use crate::drift::{DRIFT_FILE, DriftRecord, DriftState, KnownFinding, RecordEntry};
use crate::ensemble::read_drift_record;
use crate::ops::failure::{Failure, FailureKind};
use crate::project::DEFAULT_ENVIRONMENT;
use crate::session::{self, SessionOptions};

/// The drift record of an ensemble.
#[derive(Debug)]
pub struct DriftLog {
    pub manifest: PathBuf,
    record: DriftRecord,
    /// The environment whose entries are wanted. None for all.
    environment: Option<String>,
    /// Messages about lines that are not readable.
    pub problems: Vec<String>,
}

impl DriftLog {
    /// Returns the name under which people know the ensemble.
    pub fn name(&self) -> String {
        let folder = self.manifest.parent().and_then(std::path::Path::file_name);
        folder.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the findings that the last looks found.
    pub fn known_findings(&self) -> Vec<KnownFinding> {
        let environment = self.environment.as_deref();
        let environment = environment.filter(|name| *name != DEFAULT_ENVIRONMENT);
        DriftState::of(&self.record, environment).findings
    }

    /// Returns the entries, newest first.
    pub fn entries(&self) -> Vec<RecordEntry<'_>> {
        let wanted = self.environment.as_deref();
        let is_wanted = |own: Option<&str>| match wanted {
            None => true,
            Some(DEFAULT_ENVIRONMENT) => own.is_none(),
            Some(name) => own == Some(name),
        };
        let mut entries = self.record.entries();
        entries.retain(|entry| match entry {
            RecordEntry::Answer(answer) => is_wanted(answer.environment.as_deref()),
            RecordEntry::Finding(finding) => is_wanted(finding.environment.as_deref()),
        });
        entries.reverse();
        entries
    }
}

/// Reads the drift record of an ensemble.
pub fn read_log(options: &SessionOptions) -> Result<DriftLog, Failure> {
    let found = session::find(options)?;
    let manifest = found.located.manifest.clone();
    let record = read_drift_record(&manifest).map_err(|error| {
        let path = manifest.with_file_name(DRIFT_FILE);
        let hint = error.hint();
        let message = format!(
            "the drift record `{}` cannot be read: {error}",
            path.display()
        );
        Failure::new(FailureKind::Load, message, hint)
    })?;
    Ok(DriftLog {
        problems: corrupt_lines(&manifest, &record),
        manifest,
        record,
        environment: options.environment.clone(),
    })
}
