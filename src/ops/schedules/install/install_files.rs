//! Installs the schedules of a project, or removes them.

use std::path::Path;

use super::super::project_schedules::ProjectSchedules;
use super::installation::{InstallRequest, InstallTarget, Installation};
use super::{cron, systemd};
use crate::ops::failure::{Failure, FailureKind};
use crate::schedule::InstallPaths;
use crate::system::env::{self, Env};
use crate::system::fs;

/// Writes the files that run the schedules of a project.
pub fn install(
    loaded: &ProjectSchedules,
    request: InstallRequest,
) -> Result<Installation, Failure> {
    let schedules = &loaded.schedules;
    if schedules.problems.has_errors() {
        let (problems, sources) = (schedules.problems.clone(), loaded.sources.clone());
        return Err(Failure::with_sources(FailureKind::Load, problems, sources));
    }
    if schedules.specs.is_empty() {
        let message = format!("`{}` has no schedules", loaded.file.display());
        let hint = "add one under `schedules`; `unfurl schedule uninstall` removes installed ones";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(hint.into()),
        ));
    }
    let project = project_folder(loaded)?;
    let executable = executable()?;
    let path = search_path();
    let paths = InstallPaths {
        executable: &executable,
        project: &project,
        globals: &loaded.globals,
        search_path: &path,
    };
    match request.target {
        InstallTarget::Cron => cron::install(&schedules.specs, paths, request.is_dry_run),
        InstallTarget::Systemd { is_system } => {
            let folder = systemd::unit_folder(is_system)?;
            systemd::install(&schedules.specs, paths, &folder, request)
        }
    }
}

/// Removes the files that run the schedules of a project.
pub fn uninstall(
    loaded: &ProjectSchedules,
    request: InstallRequest,
) -> Result<Installation, Failure> {
    let project = project_folder(loaded)?;
    match request.target {
        InstallTarget::Cron => cron::uninstall(&project, request.is_dry_run),
        InstallTarget::Systemd { is_system } => {
            let folder = systemd::unit_folder(is_system)?;
            systemd::uninstall(&project, &folder, request)
        }
    }
}

/// Returns the folder of the project as text that files can contain.
fn project_folder(loaded: &ProjectSchedules) -> Result<String, Failure> {
    let root = &loaded.project.root;
    // cron and systemd start in another folder.
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.clone());
    plain_path(&root)
}

fn executable() -> Result<String, Failure> {
    let path = env::current_exe().map_err(|error| {
        let message = format!("the path of this program is unknown: {error}");
        Failure::new(FailureKind::Internal, message, None)
    })?;
    let text = plain_path(&path)?;
    // A newer program of the same path has replaced this one.
    Ok(text.strip_suffix(" (deleted)").unwrap_or(&text).to_owned())
}

fn plain_path(path: &Path) -> Result<String, Failure> {
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => Ok(text.to_owned()),
        _ => {
            let message = format!(
                "the path {} has characters that crontabs and units cannot contain",
                path.display()
            );
            let hint = "move the folder to a path of plain text";
            Err(Failure::new(
                FailureKind::Refused,
                message,
                Some(hint.into()),
            ))
        }
    }
}

/// Returns the search path of programs, without folders that do not exist.
fn search_path() -> String {
    let env = Env::of_this_process();
    let mut folders: Vec<&str> = Vec::new();
    for folder in env.non_empty("PATH").unwrap_or_default().split(':') {
        let is_new = !folders.contains(&folder) && !folder.contains(char::is_control);
        if folder.starts_with('/') && is_new && fs::is_dir(Path::new(folder)) {
            folders.push(folder);
        }
    }
    folders.join(":")
}
