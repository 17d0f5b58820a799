//! The lines of `.gitignore` without which git leaves out the tasks of roles.

use std::path::{Path, PathBuf};

use crate::git::Repository;
use crate::ops::failure::Failure;
use crate::ops::ignored_files::ROLES_LINE;
use crate::ops::replaced_text::replace_text;
use crate::session::{Session, distinct_repositories, involved_repositories};
use crate::system::fs;

/// The name of the file.
const FILE: &str = ".gitignore";

/// The lines that an existing `.gitignore` needs.
#[derive(Debug)]
pub(super) struct IgnoreLines {
    folder: PathBuf,
    old: String,
    lines: Vec<String>,
}

impl IgnoreLines {
    /// Returns the lines that keep the tasks of roles, and those in the folder `tasks` beside a playbook. None if git
    /// ignores none of them, or the project has no `.gitignore`.
    pub(super) fn needed(
        session: &Session,
        playbook: Option<&Path>,
    ) -> Result<Option<Self>, Failure> {
        let repositories = distinct_repositories(involved_repositories(session)?);
        let base = fs::canonicalize(session.manifest.base_dir())?;
        let around = repositories.iter().find(|it| base.starts_with(it.root()));
        let Some(repository) = around else {
            return Ok(None);
        };
        let project = fs::canonicalize(&session.project)?;
        let mut folders = [project.as_path(), repository.root()].into_iter();
        let has_file = |folder: &&Path| {
            folder.starts_with(repository.root()) && fs::is_file(&folder.join(FILE))
        };
        let Some(folder) = folders.find(has_file) else {
            return Ok(None);
        };
        let lines = missing_lines(repository, folder, &base, playbook)?;
        if lines.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            folder: folder.to_owned(),
            old: fs::read_to_string(&folder.join(FILE))?,
            lines,
        }))
    }

    /// Returns what to tell the user.
    pub(super) fn note(&self) -> String {
        let lines: Vec<_> = self.lines.iter().map(|it| format!("`{it}`")).collect();
        format!(
            "`{}` gets {}, because git would leave out tasks of playbooks",
            self.folder.join(FILE).display(),
            lines.join(" and ")
        )
    }

    /// Appends the lines, unless another program changes the file at the same moment: then nothing is written.
    pub(super) fn append(&self) -> Result<(), Failure> {
        let mut text = self.old.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        replace_text(&self.folder.join(FILE), &text, &self.old)
    }
}

fn missing_lines(
    repository: &Repository,
    folder: &Path,
    base: &Path,
    playbook: Option<&Path>,
) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    if repository.is_ignored(&base.join("roles/role/tasks"))? {
        lines.push(ROLES_LINE.to_owned());
    }
    let beside = playbook.and_then(|it| fs::canonicalize(it).ok());
    let beside = beside.map(|it| fs::parent_of(&it).join("tasks"));
    let beside = beside.filter(|tasks| fs::is_dir(tasks));
    if let Some(tasks) = beside
        && let Ok(within) = tasks.strip_prefix(folder)
        && repository.is_ignored(&tasks)?
    {
        lines.push(format!("!/{}", within.display()));
    }
    Ok(lines)
}
