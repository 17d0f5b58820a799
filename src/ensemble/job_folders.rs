//! Connects the job engine to the ensemble's working folders: implements the port
//! [`crate::job::TaskFolders`].

use std::collections::HashSet;
use std::path::PathBuf;

use super::working_folders::{FolderKind, FolderPath, PlannedFile, WorkingFolders};
use crate::job::{FolderKey, PortError};
use crate::name::ChangeId;
use crate::task::{RenderedFile, WorkFolder};

/// An adapter that gives a job access to the working folders of its ensemble.
#[derive(Debug)]
pub(crate) struct JobFolders {
    folders: WorkingFolders,
    /// The names of instances for whose folder `tasks` files were rendered. It moves as a whole.
    moved_tasks: HashSet<String>,
}

impl JobFolders {
    pub(crate) fn new(folders: WorkingFolders) -> Self {
        Self {
            folders,
            moved_tasks: HashSet::new(),
        }
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

    /// Returns the folder `tasks` of a task's target, if it moves as a whole. Files that commands write there by themselves
    /// stay in `planned`.
    fn moved_tasks(&self, key: &FolderKey) -> Option<FolderPath> {
        let tasks = Self::folder(key, WorkFolder::Tasks);
        let moves = self.moved_tasks.contains(&key.instance);
        (moves && self.folders.has_own_files(&tasks)).then_some(tasks)
    }

    /// Returns the folders of a task. The operation's folder is first, because it lies within one of the
    /// others.
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

impl crate::job::TaskFolders for JobFolders {
    fn write(
        &mut self,
        key: &FolderKey,
        files: &[RenderedFile],
    ) -> Result<Vec<(String, PathBuf)>, PortError> {
        let mut written: Vec<(String, PathBuf)> = Vec::new();
        for file in files {
            if file.folder == WorkFolder::Tasks {
                self.moved_tasks.insert(key.instance.clone());
            }
            let folder = Self::folder(key, file.folder);
            let planned = PlannedFile {
                folder: folder.clone(),
                path: PathBuf::from(&file.path),
                bytes: file.bytes.clone(),
                mode: None,
                sensitive: file.sensitive,
            };
            self.folders.write(&planned).map_err(PortError::of)?;
            let name = match file.folder {
                WorkFolder::Operation => "operation".to_owned(),
                _ => folder.kind().as_str().to_owned(),
            };
            if !written.iter().any(|(known, _)| *known == name) {
                written.push((name, self.folders.planned(&folder)));
            }
        }
        Ok(written)
    }

    fn has_any(&self) -> bool {
        self.folders.has_any()
    }

    fn activate(&mut self, key: &FolderKey) -> Result<(), PortError> {
        if let Some(tasks) = self.moved_tasks(key) {
            // The folders of operations lie within it.
            self.folders.activate(&tasks).map_err(PortError::of)?;
        }
        for folder in Self::all(key) {
            self.folders.activate(&folder).map_err(PortError::of)?;
        }
        Ok(())
    }

    fn fail(&mut self, key: &FolderKey, task: &str) -> Result<(), PortError> {
        let task = ChangeId::parse(task).map_err(PortError::of)?;
        if let Some(tasks) = self.moved_tasks(key) {
            self.folders
                .move_to_failed(&tasks, task)
                .map_err(PortError::of)?;
        }
        for folder in Self::all(key) {
            self.folders
                .move_to_failed(&folder, task)
                .map_err(PortError::of)?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), PortError> {
        self.folders.sync().map_err(PortError::of)
    }
}
