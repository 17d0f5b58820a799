//! An ensemble on disk: manifest, lock, journal, folders, records.

mod changes;
mod cut;
mod entry;
mod folders;
mod job_journal;
mod joblog;
mod jobs_tsv;
mod journal;
mod kept_out;
mod links;
mod locked;
mod manifest;
mod merging;
mod publish;
mod push;
mod record;
mod record_files;
mod records;
mod rescue;
mod store;
mod survivors;
mod sweep;
mod templates;

pub use changes::{Stats, stamp};
pub use cut::{CutOffError, CutOffJob};
pub use entry::{Began, Ended, Entry, InstanceState, Started};
pub use folders::{FolderError, FolderKind, FolderPath, Folders, PlannedFile, relationship_dir};
pub use job_journal::JobJournal;
pub use joblog::{JobLog, LoggedJob, LoggedTask, is_about};
pub use jobs_tsv::RecordedHistory;
pub use journal::{Journal, JournalError, Recovered};
pub(crate) use kept_out::keep_out_of_git;
pub(crate) use links::Linker;
pub use links::{Link, Links};
pub use locked::{LockedEnsemble, RecordError};
pub use manifest::{MANIFEST_KEYS, Manifest, ManifestSource, manifest_keys};
pub use merging::{MergedEnsemble, merge_ensembles, merge_job_lists};
pub use publish::PublishError;
pub(crate) use push::push as push_record;
pub use record::{Record, RecordFacts, job_file_name};
pub(crate) use record_files::RecordFiles;
pub use records::RecordFile;
pub use rescue::{Rescue, RescueError};
pub use store::RecordStore;
pub(crate) use survivors::end_survivors;
pub use templates::{Kept, KeptIndex, KeptTemplates};

#[cfg(test)]
mod tests;
