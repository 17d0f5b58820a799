//! An ensemble on disk: manifest, lock, journal, folders, records.

mod changes;
mod cut;
mod entry;
mod folders;
mod joblog;
mod jobs_tsv;
mod journal;
mod lock;
mod manifest;
mod merging;
mod publish;
mod record;
mod records;
mod rescue;
mod status;
mod store;
mod sweep;
mod templates;

pub use changes::{
    JobFacts, Stats, begun_record, intent_record, is_committed, job_record, stamp, task_record,
};
pub use cut::{CutOffError, CutOffJob};
pub use entry::{Began, Ended, Entry, InstanceState, Started};
pub use folders::{FolderError, FolderKind, FolderPath, Folders, PlannedFile, relationship_dir};
pub use joblog::{JobLog, LoggedJob, LoggedTask, is_about};
pub use jobs_tsv::RecordedHistory;
pub use journal::{Journal, JournalError, Recovered};
pub use lock::{Acquired, Lock, LockError, LockOwner, LockState, TakenOver};
pub use manifest::{MANIFEST_KEYS, Manifest, ManifestSource};
pub use merging::{MergedEnsemble, merge_ensembles, merge_job_lists};
pub use publish::PublishError;
pub use record::{Record, job_file_name};
pub use records::RecordFile;
pub use rescue::{Rescue, RescueError};
pub use status::{Values, route_to, snapshot, status_section};
pub use store::RecordStore;
pub use sweep::sweep;
pub use templates::{Kept, KeptIndex, KeptTemplates};
