//! An ensemble on disk: manifest, lock, journal, working folders and records.
//!
//! Entry types: [`Manifest`] (reading), [`LockedEnsemble`] (writing), [`Record`] (the data a job saves),
//! [`RecordedHistory`] (earlier jobs) and [`CrashedJob`] (recovery). The module knows nothing about how jobs
//! run; `job` does that.

mod change_records;
mod commits;
mod drift_record;
mod foreign_folders;
pub mod history;
mod id_renames;
mod instance_links;
mod job_folders;
mod job_journal;
mod job_log;
mod job_traces;
mod jobs_tsv;
mod journal_entry;
mod journal_file;
mod journal_recovery;
mod last_failures;
mod locked_ensemble;
mod log_file;
mod manifest;
mod merge_rules;
mod merging;
mod own_files;
mod past_runs;
mod past_task;
mod publish;
mod push;
mod record;
mod record_commit;
mod record_file;
mod record_files;
mod record_rebase;
mod record_store;
mod record_time;
mod rescue;
mod saved_templates;
mod start_time;
mod survivors;
mod temporary_folder;
mod working_folders;

pub use commits::{CommitReport, NotInGit};
pub(crate) use drift_record::include_drift_record;
pub use drift_record::{read_drift_record, write_drift_record};
pub use foreign_folders::refuse_foreign_folders;
pub(crate) use instance_links::LinkFinder;
pub use instance_links::{InstanceLink, InstanceLinks};
pub(crate) use job_folders::JobFolders;
pub use job_journal::JobJournal;
pub use job_traces::{JobTrace, JobTraces};
pub use jobs_tsv::{RecordedHistory, SecretInputs};
pub use journal_file::{JournalFile, JournalFileError};
pub use journal_recovery::CrashedJob;
pub use last_failures::{RecordedFailure, last_failures, not_run_reason};
pub use locked_ensemble::{LockedEnsemble, RecordError};
pub(crate) use log_file::LogFile;
pub use manifest::{
    MANIFEST_KEYS, Manifest, ManifestSource, SPEC_KEYS, input_section, manifest_keys,
};
pub(crate) use merge_rules::{has_merge_driver, set_up_merging};
pub use merging::merge_ensembles;
pub use own_files::{open_folder, refuse_links};
pub use past_runs::RecentRecords;
pub use publish::PublishError;
pub use record::{Record, RecordFacts, job_file_name};
pub use record_commit::{CommitError, CommitRequest};
pub(crate) use record_commit::{RecordCommit, default_message, exclude_from_git};
pub(crate) use record_files::RecordFiles;
pub use record_time::parse_stamp;
pub use rescue::RescueFile;
pub use saved_templates::{SavedTemplateIndex, SavedTemplates};
pub(crate) use start_time::job_start;
pub(crate) use survivors::end_survivors;
pub use temporary_folder::JobTemporaryFolder;
pub use working_folders::WorkingFolders;

#[cfg(test)]
mod tests;
