//! Joins a job to this machine: its driver, folders and keys.

use std::path::PathBuf;
use std::sync::Arc;

use super::request::JobRequest;
use crate::ensemble::{FolderKind, FolderPath, Folders, LockedEnsemble, PlannedFile};
use crate::exec::{Driver, Guarding, Limits, OnInterrupt, Output, Perform};
use crate::job::{FilesError, FolderKey};
use crate::name::ChangeId;
use crate::secret::{self, DigestKey, Keyring};
use crate::session::Session;
use crate::task::{RenderedFile, WorkFolder};

/// The driver of a job: of this machine unless `performer` performs its effects. The token tells
/// the processes of the job from all others: that of the lock if the job is journalled, so that
/// the next job can end what a crash left. Of a job that is not, nobody would know which of its
/// daemons may live.
pub(super) fn driver(
    request: &JobRequest,
    locked: &LockedEnsemble,
    performer: Option<Box<dyn Perform>>,
) -> Driver {
    let interrupts = request.interrupts.clone();
    let grace = OnInterrupt::Grace(request.run.grace);
    if let Some(performer) = performer {
        return Driver::new(interrupts, grace, || Ok(performer));
    }
    let token = if request.save.record && !request.goal.dry_run {
        locked.token().to_owned()
    } else {
        ulid::Ulid::generate().to_string()
    };
    let limits = Limits {
        running: request.run.parallel.max(1),
        guarding: Some(Guarding::by_this_program(&token)),
        ..Limits::default()
    };
    let output = Output::Sink(Box::new(super::log::Echo));
    Driver::here(interrupts, grace, limits, output)
}

/// The keys of the ensemble for digests of secrets, as a job sees them.
#[derive(Debug)]
pub(super) struct DigestKeys(Keyring);

impl DigestKeys {
    pub(super) fn of(session: &Session) -> Self {
        Self(Keyring::new(
            session.found.env.all(),
            session.manifest.base_dir(),
        ))
    }
}

impl crate::job::Keys for DigestKeys {
    fn for_records(&self, make: bool) -> Result<Option<Arc<DigestKey>>, secret::Error> {
        if make {
            self.0.current_or_new().map(Some)
        } else {
            self.0.current()
        }
    }

    fn of_id(&self, id: &str) -> Result<Option<Arc<DigestKey>>, secret::Error> {
        self.0.of_id(id)
    }
}

/// The working folders of the ensemble, as a job sees them.
#[derive(Debug)]
pub(super) struct JobFolders(Folders);

impl JobFolders {
    pub(super) fn new(folders: Folders) -> Self {
        Self(folders)
    }

    fn folder(key: &FolderKey, folder: WorkFolder) -> FolderPath {
        let instance = key.instance.as_str().into();
        let kind = match folder {
            WorkFolder::Operation => return FolderPath::of_operation(&instance, &key.operation),
            WorkFolder::Tasks => FolderKind::Tasks,
            WorkFolder::Artifacts => FolderKind::Artifacts,
            WorkFolder::Secrets => FolderKind::Secrets,
            WorkFolder::Local => FolderKind::Local,
        };
        FolderPath::of_instance(kind, &instance)
    }

    /// The folders of a task, those of its operation first: they lie within the others.
    fn all(key: &FolderKey) -> [FolderPath; 4] {
        [
            WorkFolder::Operation,
            WorkFolder::Artifacts,
            WorkFolder::Secrets,
            WorkFolder::Local,
        ]
        .map(|folder| Self::folder(key, folder))
    }
}

impl crate::job::Folders for JobFolders {
    fn write(
        &mut self,
        key: &FolderKey,
        files: &[RenderedFile],
    ) -> Result<Vec<(String, PathBuf)>, FilesError> {
        let mut written: Vec<(String, PathBuf)> = Vec::new();
        for file in files {
            let folder = Self::folder(key, file.folder);
            let planned = PlannedFile {
                folder: folder.clone(),
                path: PathBuf::from(&file.path),
                bytes: file.bytes.clone(),
                mode: None,
                sensitive: file.sensitive,
            };
            self.0.write(&planned).map_err(FilesError::of)?;
            let name = match file.folder {
                WorkFolder::Operation => "operation".to_owned(),
                _ => folder.kind().as_str().to_owned(),
            };
            if !written.iter().any(|(known, _)| *known == name) {
                written.push((name, self.0.planned(&folder)));
            }
        }
        Ok(written)
    }

    fn has_any(&self) -> bool {
        self.0.has_any()
    }

    fn activate(&mut self, key: &FolderKey) -> Result<(), FilesError> {
        for folder in Self::all(key) {
            self.0.activate(&folder).map_err(FilesError::of)?;
        }
        Ok(())
    }

    fn fail(&mut self, key: &FolderKey, task: &str) -> Result<(), FilesError> {
        let task = ChangeId::parse(task).map_err(FilesError::of)?;
        for folder in Self::all(key) {
            self.0.fail(&folder, task).map_err(FilesError::of)?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), FilesError> {
        self.0.sync().map_err(FilesError::of)
    }

    fn path(&self, key: &FolderKey, folder: WorkFolder) -> PathBuf {
        self.0.planned(&Self::folder(key, folder))
    }
}
