//! The working folders of an ensemble.
//!
//! Planning renders files to `planned/`. If the task succeeds, they move to `active/`; if it fails, to
//! `failed/<task id>/`. [`WorkingFolders`] is the entry type.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::name::{ChangeId, InstanceName};
use crate::system::fs::{self, Beneath};

const PLANNED: &str = "planned";
const ACTIVE: &str = "active";
const FAILED: &str = "failed";
/// The folder in `planned` with the folders of the plan before.
const PREVIOUS: &str = "previous";

/// The kinds of working folders of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FolderKind {
    /// Files needed by later deployments, such as Terraform's state.
    Artifacts,
    /// Secret files needed by later deployments, readable only by the owner.
    Secrets,
    /// Files that are valid only on this computer, such as a process id.
    Local,
    /// Files rendered for the last task, for information only.
    Tasks,
}

impl FolderKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Artifacts => "artifacts",
            Self::Secrets => "secrets",
            Self::Local => "local",
            Self::Tasks => "tasks",
        }
    }

    /// Whether the folder of a new task starts with the content of the last one.
    pub fn is_persistent(self) -> bool {
        self != Self::Tasks
    }
}

/// A working folder: `<kind>/<instance>`, or `tasks/<instance>/<operation or workflow>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FolderPath {
    kind: FolderKind,
    relative: PathBuf,
}

impl FolderPath {
    /// Returns the folder that all operations of an instance share.
    pub fn of_instance(kind: FolderKind, instance: &InstanceName) -> Self {
        Self {
            kind,
            relative: Path::new(kind.as_str()).join(sanitized_path(instance.as_str())),
        }
    }

    /// Returns the tasks folder of an operation or workflow of an instance.
    pub fn of_operation(instance: &InstanceName, operation: &str) -> Self {
        let mut folder = Self::of_instance(FolderKind::Tasks, instance);
        folder.relative.push(sanitized_path(operation));
        folder
    }

    pub fn kind(&self) -> FolderKind {
        self.kind
    }
}

/// Converts a name to a relative path that cannot leave its parent folder.
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
    pub folder: FolderPath,
    /// The path relative to the folder.
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    /// The permission bits; `None` uses the default.
    pub mode: Option<u32>,
    /// Whether only the owner may read the file.
    pub sensitive: bool,
}

/// An error while using a working folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The path of a rendered file leaves its folder.
    #[error("the rendered file `{}` is outside of its folder `{}`", path.display(), folder.display())]
    Outside { path: PathBuf, folder: PathBuf },
    #[error(transparent)]
    File(#[from] fs::Error),
}

impl FolderError {
    /// Returns a hint on how to fix the problem, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Outside { .. } => None,
        }
    }
}

/// The working folders of an ensemble.
///
/// All changes go through the opened folder of the ensemble, in which no symbolic link is followed.
#[derive(Debug)]
pub struct WorkingFolders {
    base: PathBuf,
    planned: PathBuf,
    /// The folder of the ensemble, opened at the first use.
    folder: OnceCell<Beneath>,
    /// Whether files are written at all.
    writes: bool,
    /// Folders whose directory entries have changed and are not durable yet. Only persistent kinds are
    /// listed.
    unsynced: RefCell<BTreeSet<PathBuf>>,
}

impl WorkingFolders {
    /// Returns the working folders of the ensemble in `base`.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        let base = base.into();
        Self {
            planned: base.join(PLANNED),
            base,
            folder: OnceCell::new(),
            writes: true,
            unsynced: RefCell::default(),
        }
    }

    /// Returns working folders in which nothing is written. Used for plans that must leave no files.
    pub fn without_writes(base: impl Into<PathBuf>) -> Self {
        Self {
            writes: false,
            ..Self::new(base)
        }
    }

    /// Returns the opened folder of the ensemble.
    fn folder(&self) -> Result<&Beneath, fs::Error> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        let opened = Beneath::open(&self.base)?;
        Ok(self.folder.get_or_init(|| opened))
    }

    /// Moves the folders of the last plan to `planned/previous`, replacing its content.
    pub fn archive_previous(&self) -> Result<(), FolderError> {
        if !self.writes {
            return Ok(());
        }
        let planned = Path::new(PLANNED);
        let folder = self.folder()?;
        let entries = match folder.list(planned) {
            Err(error) if error.is_not_found() => return Ok(()),
            entries => entries?,
        };
        let previous = planned.join(PREVIOUS);
        folder.remove_dir_if_exists(&previous)?;
        for entry in entries {
            if entry.kind == fs::EntryKind::Folder && entry.name != PREVIOUS {
                folder.move_dir(&planned.join(&entry.name), &previous.join(&entry.name))?;
            }
        }
        Ok(())
    }

    /// Returns the path of a folder before its task runs.
    pub fn planned(&self, folder: &FolderPath) -> PathBuf {
        self.planned.join(&folder.relative)
    }

    /// Returns the path of a folder after its task has succeeded.
    pub fn active(&self, folder: &FolderPath) -> PathBuf {
        self.base.join(ACTIVE).join(&folder.relative)
    }

    /// Returns the path of a folder after its task has failed.
    pub fn failed(&self, folder: &FolderPath, task: ChangeId) -> PathBuf {
        let failed = self.base.join(FAILED).join(task.to_string());
        failed.join(&folder.relative)
    }

    /// Returns true if a planned folder has files of its own, besides folders.
    pub fn has_own_files(&self, folder: &FolderPath) -> bool {
        let planned = Path::new(PLANNED).join(&folder.relative);
        let listed = self.folder().and_then(|root| root.list(&planned));
        let mut entries = listed.unwrap_or_default().into_iter();
        entries.any(|entry| entry.kind == fs::EntryKind::File)
    }

    /// Whether the current plan has any folder, not counting `previous`.
    pub fn has_any(&self) -> bool {
        let listed = self
            .folder()
            .and_then(|folder| folder.list(Path::new(PLANNED)));
        listed
            .unwrap_or_default()
            .iter()
            .any(|entry| entry.kind == fs::EntryKind::Folder && entry.name != PREVIOUS)
    }

    /// Returns the folder that contains all planned folders.
    pub fn planned_root(&self) -> &Path {
        &self.planned
    }

    /// Creates a planned folder. A persistent one starts as a copy of the active one.
    pub fn prepare(&self, folder: &FolderPath) -> Result<PathBuf, FolderError> {
        if !self.writes {
            return Ok(self.planned(folder));
        }
        let root = self.folder()?;
        let planned = Path::new(PLANNED).join(&folder.relative);
        let active = Path::new(ACTIVE).join(&folder.relative);
        if folder.kind.is_persistent()
            && root.info(&planned)?.is_none()
            && root.info(&active)?.is_some()
        {
            root.copy_dir(&active, root, &planned)?;
        } else {
            root.create_dir_all(&planned)?;
        }
        Ok(self.planned(folder))
    }

    /// Writes a rendered file to its planned folder and returns its path.
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
        if !self.writes {
            return Ok(path);
        }
        let planned = Path::new(PLANNED).join(&file.folder.relative);
        let planned = planned.join(&file.path);
        let private = file.sensitive || file.folder.kind == FolderKind::Secrets;
        let mode = match (file.mode, private) {
            (Some(mode), true) => Some(mode & 0o700),
            (None, true) => Some(0o600),
            (mode, false) => mode,
        };
        self.folder()?.write_plain(&planned, &file.bytes, mode)?;
        Ok(path)
    }

    /// Moves a planned folder to `active/`, replacing the old one. Returns the new path; `None` if the folder
    /// was not planned.
    pub fn activate(&self, folder: &FolderPath) -> Result<Option<PathBuf>, FolderError> {
        self.move_planned(folder, self.active(folder))
    }

    /// Moves a planned folder to `failed/<task id>/`. Returns the new path; `None` if the folder was not
    /// planned.
    pub fn move_to_failed(
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
        let root = self.folder()?;
        let planned = Path::new(PLANNED).join(&folder.relative);
        if !self.writes || root.info(&planned)?.is_none() {
            return Ok(None);
        }
        root.move_dir(&planned, to.strip_prefix(&self.base).unwrap_or(&to))?;
        let planned = self.planned(folder);
        if folder.kind.is_persistent() {
            let parents = [&planned, &to].map(|path| path.parent().map(Path::to_path_buf));
            self.unsynced
                .borrow_mut()
                .extend(parents.into_iter().flatten());
        }
        Ok(Some(to))
    }

    /// Makes the moves of persistent folders durable. The record written next relies on them.
    pub fn sync(&self) -> Result<(), FolderError> {
        for folder in std::mem::take(&mut *self.unsynced.borrow_mut()) {
            // The entries of newly created parent folders must be durable too.
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
        folders.move_to_failed(&folder, task()).unwrap().unwrap();
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
    fn a_plan_without_trace_writes_nothing() {
        let base = tempfile::tempdir().unwrap();
        let folders = WorkingFolders::without_writes(base.path());
        let folder = FolderPath::of_operation(&name("web"), "create");
        let path = folders.write(&script(folder.clone())).unwrap();
        assert!(path.starts_with(base.path()), "{path:?}");
        folders.archive_previous().unwrap();
        assert_eq!(folders.activate(&folder).unwrap(), None);
        assert!(files(base.path()).is_empty());
    }
}
