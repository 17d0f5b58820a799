//! Changes of several files that happen all or not at all, also if the process is killed.
//!
//! The new files are written to a folder beside the old ones. Then one journal file lists them: from that moment
//! on, the change is decided, and whoever finds the journal finishes it. Without a journal, nothing has changed.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use crate::system::fs::{self, SECRET_MODE};
use crate::value::hex;

/// The folder with the new files, in the folder of the project. Git ignores `local`.
const FOLDER: &str = "local/secret-rekey";
/// The file that lists the changes.
const JOURNAL: &str = "journal.json";

/// A reason why a change of several files cannot be made or finished.
#[derive(Debug, thiserror::Error)]
pub enum TransactionError {
    #[error(transparent)]
    File(#[from] fs::Error),
    #[error("the journal `{}` of a change of secrets cannot be read", path.display())]
    Journal { path: PathBuf },
    #[error("`{}` was edited before an interrupted change of secrets was finished", path.display())]
    Edited { path: PathBuf },
    #[error("`{}` was saved by another program at the same moment", path.display())]
    Overtaken { path: PathBuf },
}

impl TransactionError {
    /// Returns a hint about what to do.
    pub fn help(&self) -> String {
        match self {
            Self::File(error) => error.hint().unwrap_or_else(|| "try again".to_owned()),
            Self::Journal { path } => format!(
                "remove the folder `{}`, and check the values with `unfurl secret verify`",
                fs::parent_of(path).display()
            ),
            Self::Edited { .. } => {
                format!(
                    "undo the edit, or take the new files from the folder `{FOLDER}` and remove it"
                )
            }
            Self::Overtaken { .. } => "nothing was changed; try again".to_owned(),
        }
    }
}

/// A new content of a file.
#[derive(Debug, Clone)]
pub struct FileChange {
    pub path: PathBuf,
    pub old: Vec<u8>,
    pub new: Vec<u8>,
}

/// Writes all files or none of them. `project` is the folder that holds the files.
pub fn write_all_or_none(project: &Path, changes: &[FileChange]) -> Result<(), TransactionError> {
    if changes.is_empty() {
        return Ok(());
    }
    finish_interrupted(project)?;
    let folder = project.join(FOLDER);
    let staged = stage(project, &folder, changes);
    if staged.is_err() {
        // Without a journal, the folder has no meaning.
        fs::remove_dir_all(&folder).ok();
    }
    staged?;
    finish_interrupted(project)?;
    Ok(())
}

/// Finishes a change that was cut off after its journal was written, and discards one that was cut off before.
/// Returns the number of files of a finished change.
pub fn finish_interrupted(project: &Path) -> Result<Option<usize>, TransactionError> {
    let folder = project.join(FOLDER);
    if !fs::is_dir(&folder) {
        return Ok(None);
    }
    let journal = folder.join(JOURNAL);
    if !fs::is_file(&journal) {
        fs::remove_dir_all(&folder)?;
        return Ok(None);
    }
    let broken = || TransactionError::Journal {
        path: journal.clone(),
    };
    let text = fs::read(&journal)?;
    let listed: Json = serde_json::from_slice(&text).map_err(|_| broken())?;
    let listed = listed["files"].as_array().ok_or_else(broken)?;
    for (number, entry) in listed.iter().enumerate() {
        let name = entry["path"].as_str().ok_or_else(broken)?;
        let target = fs::normalize(&project.join(name));
        if !target.starts_with(project) {
            return Err(broken());
        }
        let now = fs::read(&target).unwrap_or_default();
        let now = digest(&now);
        if Some(&*now) == entry["new"].as_str() {
            continue;
        }
        if Some(&*now) != entry["old"].as_str() {
            return Err(TransactionError::Edited { path: target });
        }
        let new = fs::read(&folder.join(number.to_string()))?;
        fs::write_atomic(&target, &new, None)?;
    }
    fs::remove_file(&journal)?;
    fs::sync_dir(&folder)?;
    fs::remove_dir_all(&folder)?;
    Ok(Some(listed.len()))
}

fn stage(project: &Path, folder: &Path, changes: &[FileChange]) -> Result<(), TransactionError> {
    fs::create_dir_all(fs::parent_of(folder))?;
    // The folder is removed by its name: a killed process leaves it, too.
    fs::create_dir_all(folder)?;
    let mut listed = Vec::new();
    for (number, change) in changes.iter().enumerate() {
        let path = folder.join(number.to_string());
        fs::write_atomic(&path, &change.new, Some(SECRET_MODE))?;
        let name = change.path.strip_prefix(project).unwrap_or(&change.path);
        listed.push(json!({
            "path": name.to_string_lossy(),
            "old": digest(&change.old),
            "new": digest(&change.new),
        }));
    }
    for change in changes {
        if fs::read(&change.path).unwrap_or_default() != change.old {
            let path = change.path.clone();
            return Err(TransactionError::Overtaken { path });
        }
    }
    let journal = json!({ "files": listed }).to_string();
    fs::write_atomic(&folder.join(JOURNAL), journal.as_bytes(), Some(SECRET_MODE))?;
    Ok(())
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test prepares its own files")]
mod tests {
    use super::*;

    fn change(project: &Path, name: &str, new: &str) -> FileChange {
        let path = project.join(name);
        FileChange {
            old: std::fs::read(&path).unwrap(),
            path,
            new: new.into(),
        }
    }

    #[test]
    fn a_change_that_was_cut_off_is_finished_or_discarded() {
        let project = tempfile::tempdir().unwrap();
        let project = project.path();
        for name in ["a", "b"] {
            std::fs::write(project.join(name), "old").unwrap();
        }
        let changes = [change(project, "a", "new a"), change(project, "b", "new b")];
        let folder = project.join(FOLDER);
        stage(project, &folder, &changes).unwrap();
        std::fs::remove_file(folder.join(JOURNAL)).unwrap();
        assert_eq!(finish_interrupted(project).unwrap(), None);
        assert!(!folder.exists());
        stage(project, &folder, &changes).unwrap();
        std::fs::write(project.join("a"), "new a").unwrap();
        assert_eq!(finish_interrupted(project).unwrap(), Some(2));
        let read = |name| std::fs::read_to_string(project.join(name)).unwrap();
        assert_eq!([read("a"), read("b")], ["new a", "new b"]);
        assert!(!folder.exists());
    }

    #[test]
    fn an_edited_file_is_not_replaced() {
        let project = tempfile::tempdir().unwrap();
        let project = project.path();
        std::fs::write(project.join("a"), "old").unwrap();
        let changes = [change(project, "a", "new")];
        stage(project, &project.join(FOLDER), &changes).unwrap();
        std::fs::write(project.join("a"), "edited").unwrap();
        assert!(finish_interrupted(project).is_err());
        assert_eq!(
            std::fs::read_to_string(project.join("a")).unwrap(),
            "edited"
        );
    }
}
