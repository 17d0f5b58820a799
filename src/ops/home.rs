//! Implements `unfurl home`: shows, creates and renews the home project, and registers projects in it.

use std::path::{Path, PathBuf};

use super::failure::{Failure, FailureKind};
use super::init::{
    InitReport, InitRequest, InitSource, Layout, build_home, project_around, register_in,
};
use crate::project::home_project_folder;
use crate::session::{SessionOptions, current_dir};
use crate::system::env::Env;
use crate::system::{clock, fs};

/// The folder of the home project in the user's home folder.
const HOME_FOLDER: &str = ".unfurl_home";

/// The way in which the home project is created.
#[derive(Debug, Clone, Default)]
pub struct HomeRequest {
    /// The home project of `--home` or `UNFURL_HOME`; empty for none.
    pub home: Option<String>,
    /// Whether to replace a home project that exists; the old one is kept under another name.
    pub replace: bool,
    /// Whether to write the files without a repository.
    pub render: bool,
    /// Whether the ensemble of the home project gets a repository of its own.
    pub poly: bool,
    /// The skeleton; `home` by default.
    pub skeleton: Option<String>,
    /// The variables for the templates of the skeleton.
    pub variables: Vec<(String, String)>,
}

/// The result of creating the home project.
#[derive(Debug, Clone)]
pub struct CreatedHome {
    pub report: InitReport,
    /// The folder that holds the old home project.
    pub backup: Option<PathBuf>,
}

/// Returns the folder of the home project, which need not exist.
pub fn folder(home: Option<&str>) -> Result<PathBuf, Failure> {
    match home {
        Some("") => {
            let message = "there is no home project, because `--home` or `UNFURL_HOME` is empty";
            Err(refused(
                message,
                "name its folder: `unfurl --home ~/.unfurl_home home`",
            ))
        }
        Some(path) => Ok(home_project_folder(Path::new(path), &current_dir()?).0),
        None => {
            let env = Env::of_this_process();
            let Some(user) = env.non_empty("HOME") else {
                let message =
                    "the home project cannot be found, because the variable `HOME` is not set";
                return Err(refused(
                    message,
                    "set `HOME`, or name the folder with `--home`",
                ));
            };
            Ok(fs::absolute(
                &Path::new(user).join(HOME_FOLDER),
                &current_dir()?,
            ))
        }
    }
}

/// Creates the home project.
pub fn create(request: &HomeRequest) -> Result<CreatedHome, Failure> {
    let folder = folder(request.home.as_deref())?;
    if request
        .home
        .as_deref()
        .is_some_and(|home| !fs::absolute(Path::new(home), &folder).starts_with(&folder))
    {
        let message = "a new home project is a folder, not a file";
        return Err(refused(message, "name the folder with `--home`"));
    }
    let is_taken = fs::is_symlink(&folder) || (fs::exists(&folder) && !is_empty_folder(&folder));
    if is_taken && !request.replace {
        let message = format!("the home project `{}` exists already", folder.display());
        let help = "`--replace` creates it anew and keeps the old one under another name";
        return Err(refused(message, help));
    }
    let backup = is_taken.then(|| {
        let time = clock::now().strftime("%Y-%m-%d-%H-%M-%S");
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        folder.with_file_name(format!("{name}.{time}"))
    });
    let init = InitRequest {
        source: InitSource::Skeleton(
            request
                .skeleton
                .clone()
                .unwrap_or_else(|| "home".to_owned()),
        ),
        layout: if request.poly {
            Layout::Poly
        } else {
            Layout::Mono
        },
        without_repository: request.render,
        is_home: true,
        variables: request.variables.clone(),
        ..InitRequest::default()
    };
    let report = build_home(&init, &folder, backup.as_deref())?;
    Ok(CreatedHome { report, backup })
}

/// Registers the project at a path in the home project. Returns its folder, and the files that were changed.
pub fn register(options: &SessionOptions, path: &str) -> Result<(PathBuf, Vec<PathBuf>), Failure> {
    let Some(home) = &options.home else {
        let message = "there is no home project in which a project could be registered";
        return Err(refused(message, "create it with `unfurl home --init`"));
    };
    let cwd = current_dir()?;
    let (_, file) = home_project_folder(home, &cwd);
    if !fs::is_file(&file) {
        let message = format!("the home project `{}` does not exist", file.display());
        return Err(refused(message, "create it with `unfurl home --init`"));
    }
    let named = fs::absolute(Path::new(path), &cwd);
    let Some(project) = project_around(&named).filter(|_| fs::exists(&named)) else {
        let message = format!("there is no project at `{}`", named.display());
        return Err(refused(message, "name the folder of a project"));
    };
    let project = fs::canonicalize(&project)?;
    let changed = register_in(&file, &project, None)?;
    Ok((project, changed))
}

fn is_empty_folder(folder: &Path) -> bool {
    fs::is_dir(folder) && fs::list(folder).is_ok_and(|entries| entries.is_empty())
}

fn refused(message: impl ToString, help: &str) -> Failure {
    Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
}
