//! The working folders of an ensemble: what a plan renders goes to `planned/`, from there to
//! `active/` when its task succeeds and to `failed/<task id>/` when it fails.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::name::{ChangeId, InstanceName};
use crate::system::{env, fs};

/// Which of an instance's folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FolderKind {
    /// What a deployment needs to go on, such as Terraform's state.
    Artifacts,
    /// The same, but secret.
    Secrets,
    /// What means something on this machine only, such as a process id.
    Local,
    /// What was rendered for the last task; for information.
    Tasks,
}

impl FolderKind {
    /// The folder's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Artifacts => "artifacts",
            Self::Secrets => "secrets",
            Self::Local => "local",
            Self::Tasks => "tasks",
        }
    }

    /// Whether a task starts from what the one before left in it.
    pub fn is_persistent(self) -> bool {
        self != Self::Tasks
    }
}

/// One working folder: `<kind>/<instance>`, or `tasks/<instance>/<operation or workflow>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FolderPath {
    kind: FolderKind,
    relative: PathBuf,
}

impl FolderPath {
    /// A folder that all operations of an instance share.
    pub fn of_instance(kind: FolderKind, instance: &InstanceName) -> Self {
        Self {
            kind,
            relative: Path::new(kind.as_str()).join(sanitized_path(instance.as_str())),
        }
    }

    /// The tasks folder of one operation of an instance; also of one workflow.
    pub fn of_operation(instance: &InstanceName, operation: &str) -> Self {
        let mut folder = Self::of_instance(FolderKind::Tasks, instance);
        folder.relative.push(sanitized_path(operation));
        folder
    }

    /// Which kind of folder it is.
    pub fn kind(&self) -> FolderKind {
        self.kind
    }
}

/// Makes a path of a name that cannot leave the folder it is put in.
fn sanitized_path(name: &str) -> PathBuf {
    let parts = name.split('/').map(|part| match part {
        "" => "%00".to_owned(),
        "." | ".." => part.replace('.', "%2E"),
        other => other.replace('\0', "%00"),
    });
    parts.collect()
}

/// A file that was rendered for a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// The folder it goes to.
    pub folder: FolderPath,
    /// Its path in there.
    pub path: PathBuf,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// Its permission bits; those usual if none.
    pub mode: Option<u32>,
    /// Whether only its owner may read it.
    pub sensitive: bool,
}

/// Why a working folder could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A rendered file would be outside of its folder.
    #[error("the rendered file `{}` is outside of its folder `{}`", path.display(), folder.display())]
    Outside {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] fs::Error),
}

impl FolderError {
    /// Says what people can do about it, where something helps.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Outside { .. } => None,
        }
    }
}

/// The working folders of one ensemble.
#[derive(Debug)]
pub struct WorkingFolders {
    base: PathBuf,
    planned: PathBuf,
    /// Goes with this value.
    _temporary: Option<fs::TemporaryDir>,
    /// The folders in which names that must last have changed and are not durable yet.
    unsynced: RefCell<BTreeSet<PathBuf>>,
}

impl WorkingFolders {
    /// The folders of the ensemble in `base`.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        let base = base.into();
        Self {
            planned: base.join("planned"),
            base,
            _temporary: None,
            unsynced: RefCell::default(),
        }
    }

    /// The same, but what is planned goes to a temporary folder and then away: for a plan that
    /// must leave no trace.
    pub fn in_temporary_folder(base: impl Into<PathBuf>) -> Result<Self, FolderError> {
        let temporary = fs::TemporaryDir::create_in(&env::temporary_dir(), "unfurl-plan-")?;
        Ok(Self {
            base: base.into(),
            planned: temporary.path().to_owned(),
            _temporary: Some(temporary),
            unsynced: RefCell::default(),
        })
    }

    /// Puts the folders that an earlier plan left into `planned/previous`, whose own go.
    pub fn archive_previous(&self) -> Result<(), FolderError> {
        if !fs::is_dir(&self.planned) {
            return Ok(());
        }
        let previous = self.planned.join("previous");
        fs::remove_dir_if_exists(&previous)?;
        for entry in fs::list(&self.planned)? {
            if entry.kind == fs::EntryKind::Folder {
                fs::move_dir(&entry.path, &previous.join(&entry.name))?;
            }
        }
        Ok(())
    }

    /// Where a folder is before its task succeeds.
    pub fn planned(&self, folder: &FolderPath) -> PathBuf {
        self.planned.join(&folder.relative)
    }

    /// Where a folder is after its task succeeded.
    pub fn active(&self, folder: &FolderPath) -> PathBuf {
        self.base.join("active").join(&folder.relative)
    }

    /// Where a folder is after its task failed.
    pub fn failed(&self, folder: &FolderPath, task: ChangeId) -> PathBuf {
        let failed = self.base.join("failed").join(task.to_string());
        failed.join(&folder.relative)
    }

    /// Whether anything is planned, what an earlier plan left aside.
    pub fn has_any(&self) -> bool {
        let entries = fs::list(&self.planned).unwrap_or_default();
        entries
            .iter()
            .any(|entry| entry.kind == fs::EntryKind::Folder && entry.name != *"previous")
    }

    /// Where everything that is planned is.
    pub fn planned_root(&self) -> &Path {
        &self.planned
    }

    /// Creates a planned folder; a persistent one starts with what is active.
    pub fn prepare(&self, folder: &FolderPath) -> Result<PathBuf, FolderError> {
        let planned = self.planned(folder);
        let active = self.active(folder);
        if folder.kind.is_persistent() && !fs::is_dir(&planned) && fs::is_dir(&active) {
            fs::copy_dir(&active, &planned)?;
        } else {
            fs::create_dir_all(&planned)?;
        }
        Ok(planned)
    }

    /// Writes a rendered file into its planned folder; gives its path.
    pub fn write(&self, file: &PlannedFile) -> Result<PathBuf, FolderError> {
        let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let named = file.path.file_name().is_some();
        if !named || !file.path.components().all(stays) {
            return Err(FolderError::Outside {
                path: file.path.clone(),
                folder: file.folder.relative.clone(),
            });
        }
        let path = self.prepare(&file.folder)?.join(&file.path);
        let private = file.sensitive || file.folder.kind == FolderKind::Secrets;
        let mode = match (file.mode, private) {
            (Some(mode), true) => Some(mode & 0o700),
            (None, true) => Some(0o600),
            (mode, false) => mode,
        };
        fs::write_plain(&path, &file.bytes, mode)?;
        Ok(path)
    }

    /// Moves a planned folder to `active/`, whose own it replaces; gives where it is now, or
    /// nothing if it was not planned.
    pub fn activate(&self, folder: &FolderPath) -> Result<Option<PathBuf>, FolderError> {
        self.move_planned(folder, self.active(folder))
    }

    /// Moves a planned folder to `failed/<task id>/`; gives where it is now, or nothing if it was
    /// not planned.
    pub fn fail(
        &self,
        folder: &FolderPath,
        task: ChangeId,
    ) -> Result<Option<PathBuf>, FolderError> {
        self.move_planned(folder, self.failed(folder, task))
    }

    fn move_planned(
        &self,
        folder: &FolderPath,
        to: PathBuf,
    ) -> Result<Option<PathBuf>, FolderError> {
        let planned = self.planned(folder);
        if !fs::is_dir(&planned) {
            return Ok(None);
        }
        fs::move_dir(&planned, &to)?;
        if folder.kind.is_persistent() {
            let parents = [&planned, &to].map(|path| path.parent().map(Path::to_path_buf));
            self.unsynced
                .borrow_mut()
                .extend(parents.into_iter().flatten());
        }
        Ok(Some(to))
    }

    /// Makes durable where the folders are that tasks start from: the record that is written next
    /// relies on it.
    pub fn sync(&self) -> Result<(), FolderError> {
        for folder in std::mem::take(&mut *self.unsynced.borrow_mut()) {
            // The names of folders that were made on the way must last, too.
            let inside = folder
                .ancestors()
                .take_while(|it| it.starts_with(&self.base));
            for folder in inside.filter(|folder| fs::is_dir(folder)) {
                fs::sync_dir(folder)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> InstanceName {
        InstanceName::from(text)
    }

    fn task() -> ChangeId {
        ChangeId::parse("A6BL7ntS0001").unwrap()
    }

    fn script(folder: FolderPath) -> PlannedFile {
        PlannedFile {
            folder,
            path: "rendered.sh".into(),
            bytes: b"echo".to_vec(),
            mode: None,
            sensitive: false,
        }
    }

    fn files(base: &Path) -> Vec<String> {
        let found = fs::walk(base, fs::WalkLimits::default()).unwrap();
        let files = found
            .iter()
            .filter(|entry| entry.kind == fs::EntryKind::File);
        let mut paths: Vec<_> = files
            .map(|entry| entry.path.strip_prefix(base).unwrap().display().to_string())
            .collect();
        paths.sort();
        paths
    }

    #[test]
    fn a_rendered_file_goes_from_planned_to_active() {
        let base = tempfile::tempdir().unwrap();
        let folders = WorkingFolders::new(base.path());
        let folder = FolderPath::of_operation(&name("web"), "configure");
        folders.write(&script(folder.clone())).unwrap();
        assert_eq!(
            files(base.path()),
            ["planned/tasks/web/configure/rendered.sh"]
        );
        folders.activate(&folder).unwrap().unwrap();
        assert_eq!(
            files(base.path()),
            ["active/tasks/web/configure/rendered.sh"]
        );
        assert_eq!(folders.activate(&folder).unwrap(), None);
    }

    #[test]
    fn the_files_of_a_failed_task_go_to_its_own_folder() {
        let base = tempfile::tempdir().unwrap();
        let folders = WorkingFolders::new(base.path());
        let folder = FolderPath::of_operation(&name("web"), "create");
        folders.write(&script(folder.clone())).unwrap();
        folders.fail(&folder, task()).unwrap().unwrap();
        assert_eq!(
            files(base.path()),
            ["failed/A6BL7ntS0001/tasks/web/create/rendered.sh"]
        );
    }

    #[test]
    fn the_last_plan_is_set_aside_and_the_one_before_goes() {
        let base = tempfile::tempdir().unwrap();
        let folders = WorkingFolders::new(base.path());
        folders.archive_previous().unwrap();
        let mut file = script(FolderPath::of_operation(&name("web"), "create"));
        folders.write(&file).unwrap();
        folders.archive_previous().unwrap();
        file.path = "other.sh".into();
        folders.write(&file).unwrap();
        folders.archive_previous().unwrap();
        assert_eq!(
            files(base.path()),
            ["planned/previous/tasks/web/create/other.sh"]
        );
    }

    #[test]
    fn a_persistent_folder_starts_with_what_is_active() {
        let base = tempfile::tempdir().unwrap();
        let folders = WorkingFolders::new(base.path());
        let folder = FolderPath::of_instance(FolderKind::Artifacts, &name("web"));
        let mut file = script(folder.clone());
        folders.write(&file).unwrap();
        folders.activate(&folder).unwrap();
        file.path = "state/two".into();
        folders.write(&file).unwrap();
        folders.activate(&folder).unwrap();
        assert_eq!(
            files(base.path()),
            [
                "active/artifacts/web/rendered.sh",
                "active/artifacts/web/state/two"
            ]
        );
    }

    #[test]
    fn a_sensitive_file_is_for_its_owner_alone() {
        let base = tempfile::tempdir().unwrap();
        let folders = WorkingFolders::new(base.path());
        let mut file = script(FolderPath::of_operation(&name("web"), "create"));
        file.sensitive = true;
        file.mode = Some(0o755);
        let path = folders.write(&file).unwrap();
        assert_eq!(fs::mode_of(&path).unwrap(), 0o700);
        let secret = script(FolderPath::of_instance(FolderKind::Secrets, &name("web")));
        assert_eq!(
            fs::mode_of(&folders.write(&secret).unwrap()).unwrap(),
            0o600
        );
    }

    #[test]
    fn no_name_and_no_path_leaves_its_folder() {
        let base = tempfile::tempdir().unwrap();
        let folders = WorkingFolders::new(base.path());
        let folder = FolderPath::of_operation(&name("../../../etc"), "..");
        assert_eq!(
            folder.relative.display().to_string(),
            "tasks/%2E%2E/%2E%2E/%2E%2E/etc/%2E%2E"
        );
        for path in ["../x", "/etc/x", "a/../../x", "", ".."] {
            let mut file = script(folder.clone());
            file.path = path.into();
            assert!(
                matches!(folders.write(&file), Err(FolderError::Outside { .. })),
                "{path}"
            );
        }
    }

    #[test]
    fn a_plan_without_trace_leaves_none() {
        let base = tempfile::tempdir().unwrap();
        let folders = WorkingFolders::in_temporary_folder(base.path()).unwrap();
        let path = folders
            .write(&script(FolderPath::of_operation(&name("web"), "create")))
            .unwrap();
        assert!(path.exists());
        drop(folders);
        assert!(!path.exists());
        assert!(files(base.path()).is_empty());
    }
}
