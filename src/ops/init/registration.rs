//! Enters a new project in the home project of the user: its place, and the trust in it.

use std::path::{Path, PathBuf};

use super::report::InitReport;
use super::request::InitRequest;
use crate::git::Repository;
use crate::ops::failure::Failure;
use crate::project::{
    NewProject, PROJECT_FILE, Project, home_project_folder, record_created, register_project,
    unused_project_name,
};
use crate::session::current_dir;
use crate::system::env::Env;
use crate::system::fs;
use crate::text::without_logins;

/// Returns the folder and the file of the user's home project, if it exists.
pub(super) fn home_of(request: &InitRequest) -> Result<Option<(PathBuf, PathBuf)>, Failure> {
    let Some(home) = &request.session.home else {
        return Ok(None);
    };
    let (folder, file) = home_project_folder(home, &current_dir()?);
    Ok(fs::is_file(&file).then_some((folder, file)))
}

/// Registers a new project in the home project, if there is one. A failure is a note: the project exists already.
pub(super) fn enter_in_home(
    request: &InitRequest,
    project: &Path,
    environment: Option<&str>,
    report: &mut InitReport,
) -> Result<(), Failure> {
    let Some((_, file)) = home_of(request)? else {
        return Ok(());
    };
    match register_in(&file, project, environment) {
        Ok(changed) => {
            for path in changed {
                report.add_change(path, "lists the new project in the home project");
            }
        }
        Err(error) => {
            let note = format!("the home project does not list the new project: {error}");
            report.notes.push(note);
        }
    }
    Ok(())
}

/// Trusts folders that were created from files of this program, or of the home project.
pub(super) fn trust_created(
    request: &InitRequest,
    folders: &[PathBuf],
    source: Option<&Path>,
    report: &mut InitReport,
) -> Result<(), Failure> {
    let Some((home, _)) = home_of(request)? else {
        return Ok(());
    };
    let is_own = source
        .is_none_or(|source| fs::canonicalize(&home).is_ok_and(|home| source.starts_with(home)));
    for folder in folders.iter().filter(|_| is_own) {
        if let Err(error) = record_created(&home, folder) {
            report
                .notes
                .push(format!("the new folder is not trusted: {error}"));
            return Ok(());
        }
    }
    Ok(())
}

/// Registers a project in the project of a file. Returns the files that were changed.
pub(in crate::ops) fn register_in(
    file: &Path,
    project: &Path,
    environment: Option<&str>,
) -> Result<Vec<PathBuf>, Failure> {
    let repository = Repository::discover(project)?;
    let known = Project {
        root: project.to_owned(),
        ..Project::default()
    };
    let name = known.name();
    let origin = repository.as_ref().and_then(Repository::origin);
    let first = repository.as_ref().and_then(Repository::first_commit);
    let root = repository.as_ref().map_or(project, Repository::root);
    let url = match (&origin, &first) {
        (Some(origin), _) => without_logins(origin),
        (None, Some(first)) => format!("git-local://{first}:{name}/."),
        (None, None) => format!("file://{}", root.display()),
    };
    let inside = project.strip_prefix(root).unwrap_or(Path::new(""));
    let inside = inside.display().to_string();
    let new = NewProject {
        name: unused_project_name(file, &name, &url)?,
        folder: root.to_owned(),
        url,
        initial: first,
        commit: repository.as_ref().and_then(|it| it.head().ok().flatten()),
        branch: repository.as_ref().and_then(Repository::branch),
        file: Some(inside).filter(|inside| !inside.is_empty()),
        is_local: origin.is_none_or(|url| url.starts_with(['/', '.']) || url.starts_with("file:")),
        environments: environment.map(str::to_owned).into_iter().collect(),
    };
    Ok(register_project(file, &new)?)
}

/// Returns the folder with the project file of the project at a path.
pub(in crate::ops) fn project_around(path: &Path) -> Option<PathBuf> {
    let env = Env::of_this_process();
    let search_root = env.non_empty("UNFURL_SEARCH_ROOT").map(PathBuf::from);
    let folder = crate::project::enclosing_project(path, search_root.as_deref())?;
    let is_direct = fs::is_file(&folder.join(PROJECT_FILE));
    let inner = folder.join(crate::project::PROJECT_FOLDER);
    let found = if is_direct { folder } else { inner };
    // A folder `.unfurl` without a project file cannot list anything.
    fs::is_file(&found.join(PROJECT_FILE)).then_some(found)
}
