//! Joins a job to this machine: its runner, folders and keys.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::request::JobRequest;
use crate::ensemble::{FolderKind, FolderPath, Folders, Lock, PlannedFile};
use crate::host::{ActionResult, Note, Request};
use crate::job::{FilesError, FolderKey};
use crate::name::ChangeId;
use crate::runner::{Guarding, Heard, Limits, Local};
use crate::secret::{self, DigestKey, Keyring};
use crate::session::Session;
use crate::system::signals::Interrupts;
use crate::task::{RenderedFile, WorkFolder};

/// The runner of this machine, as a job sees it.
#[derive(Debug)]
pub(super) struct LocalRunner {
    local: Option<Local>,
    limits: Limits,
    interrupts: Interrupts,
    notes: Vec<(u64, Note)>,
}

impl LocalRunner {
    /// The runner for a job. The token tells the processes of the job from all others: that of the
    /// lock if the job is journalled, so that the next job can end what a crash left. Of a job that
    /// is not, nobody would know which of its daemons may live.
    pub(super) fn new(request: &JobRequest, lock: &Lock) -> Self {
        let token = if request.save.record && !request.goal.dry_run {
            lock.owner().token.clone()
        } else {
            ulid::Ulid::generate().to_string()
        };
        Self {
            local: None,
            limits: Limits {
                running: request.run.parallel.max(1),
                patience: request.run.grace,
                guarding: Some(Guarding::by_this_program(&token)),
                ..Limits::default()
            },
            interrupts: request.interrupts.clone(),
            notes: Vec::new(),
        }
    }

    /// Started with the first action: many jobs have none.
    fn local(&mut self) -> Result<&Local, String> {
        if self.local.is_none() {
            let sink = Box::new(super::log::Echo);
            let local = Local::start(self.limits.clone(), Some(sink));
            let local = local.map_err(|error| error.to_string())?;
            let bell = local.bell();
            self.interrupts.listen(move |_, nth| bell.ring(nth));
            self.local = Some(local);
        }
        self.local
            .as_ref()
            .ok_or_else(|| "the runner did not start".to_owned())
    }
}

impl Drop for LocalRunner {
    fn drop(&mut self) {
        self.interrupts.unlisten();
    }
}

impl crate::job::Runner for LocalRunner {
    fn begin(&mut self, id: u64, request: Request) -> Result<(), String> {
        self.local()?.submit(id, request);
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(u64, ActionResult)>, String> {
        loop {
            match self.local()?.recv().map_err(|error| error.to_string())? {
                Heard::Ended(id, result) => return Ok(Some((id, result))),
                Heard::Note(id, note) => {
                    self.notes.push((id, note));
                    return Ok(None);
                }
                Heard::Interruption => return Ok(None),
                // A sink of its own hears that.
                Heard::Wrote(..) => {}
            }
        }
    }

    fn notes(&mut self) -> Vec<(u64, Note)> {
        std::mem::take(&mut self.notes)
    }

    fn interrupted(&self) -> Option<i32> {
        self.interrupts.first()
    }

    fn patience(&self) -> Duration {
        self.limits.patience
    }

    fn cancel(&mut self) {
        if let Some(local) = &self.local {
            local.cancel_all();
        }
    }
}

/// The keys of the ensemble for digests of secrets, as a job sees them.
#[derive(Debug)]
pub(super) struct DigestKeys(Keyring);

impl DigestKeys {
    pub(super) fn of(session: &Session) -> Self {
        Self(Keyring::new(session.env.all(), session.manifest.base_dir()))
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
