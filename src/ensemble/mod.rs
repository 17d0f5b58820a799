//! An ensemble on disk: manifest, lock, journal, folders, records.

mod changes;
mod commits;
mod cut;
mod entry;
mod folders;
pub mod history;
mod job_folders;
mod job_journal;
mod joblog;
mod jobs_tsv;
mod journal;
mod links;
mod locked;
mod log_file;
mod manifest;
mod merge_rules;
mod merging;
mod publish;
mod push;
mod record;
mod record_commit;
mod record_files;
mod records;
mod rescue;
mod start_time;
mod store;
mod survivors;
mod templates;

pub use commits::{Commits, NotInGit};
pub use cut::CutOffJob;
pub use folders::Folders;
pub(crate) use job_folders::JobFolders;
pub use job_journal::JobJournal;
pub use jobs_tsv::RecordedHistory;
pub use journal::Journal;
pub(crate) use links::Linker;
pub use links::{Link, Links};
pub use locked::{LockedEnsemble, RecordError};
pub(crate) use log_file::LogFile;
pub use manifest::{MANIFEST_KEYS, Manifest, ManifestSource, manifest_keys};
pub use merging::merge_ensembles;
pub use publish::PublishError;
pub use record::{Record, RecordFacts, job_file_name};
pub use record_commit::{CommitRefusal, CommitRequest};
pub(crate) use record_commit::{RecordCommit, default_message, keep_out_of_git};
pub(crate) use record_files::RecordFiles;
pub use rescue::Rescue;
pub(crate) use start_time::start_time;
pub(crate) use survivors::end_survivors;
pub use templates::{KeptIndex, KeptTemplates};

#[cfg(test)]
mod tests;
