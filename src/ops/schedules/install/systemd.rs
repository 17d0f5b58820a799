//! The units of systemd: a service and a timer for each schedule.

use std::path::{Path, PathBuf};

use super::installation::{FileChange, FileState, InstallRequest, InstallTarget, Installation};
use crate::ops::failure::{Failure, FailureKind};
use crate::schedule::{InstallPaths, ScheduleSpec, SystemdUnits, unit_mark};
use crate::system::clock;
use crate::system::env::Env;
use crate::system::fs::{self, FILE_MODE};

/// The folder of units that an administrator writes.
const SYSTEM_FOLDER: &str = "/etc/systemd/system";

/// The maximum size of a unit, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the folder of the units of the system or of this user.
pub(super) fn unit_folder(is_system: bool) -> Result<PathBuf, Failure> {
    if is_system {
        return Ok(PathBuf::from(SYSTEM_FOLDER));
    }
    let env = Env::of_this_process();
    let config = env.non_empty("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = env.non_empty("HOME").map(Path::new);
    let config = config.or_else(|| home.map(|home| home.join(".config")));
    let Some(config) = config.filter(|folder| folder.is_absolute()) else {
        let message = "the folder for units of this user is unknown: `HOME` is not set";
        let hint = "set `HOME`, or write units of the system with `--system`";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(hint.into()),
        ));
    };
    Ok(config.join("systemd/user"))
}

/// Writes the units of all schedules, and removes those of schedules that the project no longer has.
pub(super) fn install(
    specs: &[ScheduleSpec],
    paths: InstallPaths<'_>,
    folder: &Path,
    request: InstallRequest,
) -> Result<Installation, Failure> {
    let is_system = request.target == InstallTarget::Systemd { is_system: true };
    let units = specs.iter();
    let units = units.map(|spec| SystemdUnits::of(spec, paths, is_system, clock::now()));
    let units: Vec<SystemdUnits> = units.collect();
    let mark = unit_mark(paths.project);
    let files = units.iter().flat_map(|unit| {
        let path = |end: &str| folder.join(format!("{}.{end}", unit.name));
        [
            (path("service"), &unit.service),
            (path("timer"), &unit.timer),
        ]
    });
    let files: Vec<(PathBuf, &String)> = files.collect();
    let mut installation = Installation::default();
    for (path, text) in &files {
        let old = read(path)?;
        if old.as_ref().is_some_and(|old| !old.starts_with(&mark)) {
            return Err(foreign(path));
        }
        let is_new = old.as_ref() != Some(*text);
        installation.files.push(FileChange {
            path: Some(path.clone()),
            state: if is_new {
                FileState::Written
            } else {
                FileState::Unchanged
            },
            text: (*text).clone(),
        });
    }
    let mut stale = own_units(folder, &mark)?;
    stale.retain(|path| !files.iter().any(|(kept, _)| kept == path));
    let timers = units.iter().map(|unit| format!("{}.timer", unit.name));
    let timers: Vec<String> = timers.collect();
    let systemctl = systemctl(is_system);
    let mut commands = disable(&stale, systemctl);
    commands.push(format!("{systemctl} daemon-reload"));
    commands.push(format!("{systemctl} enable --now {}", timers.join(" ")));
    installation.commands = commands;
    installation
        .files
        .extend(stale.iter().map(|path| removal(path)));
    if !request.is_dry_run {
        apply(&installation.files)?;
    }
    Ok(installation)
}

/// Removes the units of a project.
pub(super) fn uninstall(
    project: &str,
    folder: &Path,
    request: InstallRequest,
) -> Result<Installation, Failure> {
    let is_system = request.target == InstallTarget::Systemd { is_system: true };
    let systemctl = systemctl(is_system);
    let own = own_units(folder, &unit_mark(project))?;
    let mut commands = disable(&own, systemctl);
    if !own.is_empty() {
        commands.push(format!("{systemctl} daemon-reload"));
    }
    let files: Vec<FileChange> = own.iter().map(|path| removal(path)).collect();
    if !request.is_dry_run {
        apply(&files)?;
    }
    Ok(Installation { files, commands })
}

fn systemctl(is_system: bool) -> &'static str {
    if is_system {
        "systemctl"
    } else {
        "systemctl --user"
    }
}

/// Returns the command that stops the timers among these units.
fn disable(units: &[PathBuf], systemctl: &str) -> Vec<String> {
    let names = units.iter().filter_map(|path| path.file_name()?.to_str());
    let timers: Vec<&str> = names.filter(|name| has_extension(name, "timer")).collect();
    if timers.is_empty() {
        return Vec::new();
    }
    vec![format!("{systemctl} disable --now {}", timers.join(" "))]
}

fn removal(path: &Path) -> FileChange {
    FileChange {
        path: Some(path.to_owned()),
        state: FileState::Removed,
        text: String::new(),
    }
}

/// Returns the units with this first line.
fn own_units(folder: &Path, mark: &str) -> Result<Vec<PathBuf>, Failure> {
    if !fs::is_dir(folder) {
        return Ok(Vec::new());
    }
    let mut own = Vec::new();
    for entry in fs::list(folder).map_err(failed)? {
        let name = &entry.name;
        let is_unit = has_extension(name, "service") || has_extension(name, "timer");
        if !is_unit || !name.starts_with("unfurl-") {
            continue;
        }
        let path = folder.join(name);
        if read(&path)?.is_some_and(|text| text.starts_with(mark)) {
            own.push(path);
        }
    }
    own.sort();
    Ok(own)
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_within(path, MAX_BYTES) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn apply(files: &[FileChange]) -> Result<(), Failure> {
    for FileChange { path, state, text } in files {
        let Some(path) = path else { continue };
        match state {
            FileState::Written => {
                fs::create_dir_all(fs::parent_of(path)).map_err(failed)?;
                fs::write_atomic(path, text.as_bytes(), Some(FILE_MODE)).map_err(failed)?;
            }
            FileState::Removed => {
                fs::remove_file_if_exists(path).map_err(failed)?;
            }
            FileState::Unchanged => {}
        }
    }
    Ok(())
}

fn failed(error: fs::Error) -> Failure {
    let hint = "units of the system need root; `--user` writes those of this user";
    let hint = error.is_permission_problem().then(|| hint.to_owned());
    Failure::new(FailureKind::Refused, error, hint)
}

fn foreign(path: &Path) -> Failure {
    let message = format!("`{}` was not written by this program", path.display());
    let hint = "remove or rename the file, and try again";
    Failure::new(FailureKind::Refused, message, Some(hint.to_owned()))
}

/// Returns true if the name of a unit ends in an extension. The names of units are case-sensitive.
fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|it| it == extension)
}
