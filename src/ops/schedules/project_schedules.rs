//! The schedules of a project, with the folder of their state.

use std::path::{Path, PathBuf};

use super::state_folder::StateFolder;
use crate::diagnostic::{Diagnostic, Sources};
use crate::ops::failure::{Failure, FailureKind};
use crate::project::{FileLoader, PROJECT_FILE, Project, enclosing_project, keys_of_folder};
use crate::schedule::{ScheduleSpec, Schedules, secret_spans};
use crate::session::current_dir;
use crate::system::env::Env;
use crate::system::fs;
use crate::text::did_you_mean;
use crate::yaml::Limits;

/// A request about the schedules of a project.
#[derive(Debug, Clone, Default)]
pub struct SchedulesRequest {
    /// The project's folder or file; None for the project around the current folder.
    pub project: Option<PathBuf>,
    /// The global options that commands of schedules get, too.
    pub globals: Vec<String>,
    /// The folder of the home project, whose environments the project inherits.
    pub home: Option<PathBuf>,
    /// The permissions given to the project by name.
    pub allowed: Vec<String>,
}

/// The schedules of a project.
#[derive(Debug, Clone)]
pub struct ProjectSchedules {
    pub project: Project,
    /// The project file.
    pub file: PathBuf,
    pub schedules: Schedules,
    /// The texts that the problems of schedules point into.
    pub sources: Sources,
    pub(super) state: StateFolder,
    pub(super) globals: Vec<String>,
    pub(super) home: Option<PathBuf>,
    pub(super) allowed: Vec<String>,
}

impl ProjectSchedules {
    /// Loads the project around the current folder and its schedules. Wrong schedules are problems of the result.
    pub fn load(request: &SchedulesRequest) -> Result<Self, Failure> {
        let env = Env::of_this_process();
        let cwd = current_dir()?;
        let search_root = env.non_empty("UNFURL_SEARCH_ROOT").map(PathBuf::from);
        let start = request.project.as_ref();
        let start = start.map_or_else(|| cwd.clone(), |project| fs::absolute(project, &cwd));
        let file = if fs::is_file(&start) {
            Some(start)
        } else {
            // A project may be in a folder `.unfurl`.
            enclosing_project(&start, search_root.as_deref()).and_then(|folder| {
                let files = [
                    folder.join(PROJECT_FILE),
                    folder.join(".unfurl").join(PROJECT_FILE),
                ];
                files.into_iter().find(|file| fs::is_file(file))
            })
        };
        let Some(file) = file else {
            let hint = "change to the folder of the project, or create one with `unfurl init`";
            let message =
                "schedules belong to a project, and no `unfurl.yaml` is here or in a folder above";
            return Err(Failure::new(
                FailureKind::Refused,
                message,
                Some(hint.into()),
            ));
        };
        let mut sources = Sources::default();
        let limits = Limits::default();
        let mut loader = FileLoader::new(&mut sources, &env, limits);
        loader.tolerate_closed_values();
        let folder = file.parent().unwrap_or(Path::new("/"));
        loader.set_keys(keys_of_folder(folder, request.home.as_deref(), None, &env));
        let loaded = Project::load(&file, &mut loader, &limits);
        let sections = loaded.iter().flat_map(|project| &project.schedules);
        for section in sections {
            loader.hide(&secret_spans(&section.node));
        }
        drop(loader);
        let project = match loaded {
            Ok(project) => project,
            Err(error) => return Err(Failure::with_sources(FailureKind::Load, error, sources)),
        };
        Ok(Self {
            schedules: Schedules::read_all(&project.schedules),
            state: StateFolder::of(&project.root),
            globals: request.globals.clone(),
            home: request.home.clone(),
            allowed: request.allowed.clone(),
            project,
            file,
            sources,
        })
    }

    /// Returns the path of a schedule's log.
    pub fn log_file(&self, name: &str) -> PathBuf {
        self.state.log_file(name)
    }

    /// Returns the valid schedule of a name, or the reason why there is none.
    pub fn get(&self, name: &str) -> Result<&ScheduleSpec, Failure> {
        if let Some(spec) = self.schedules.get(name) {
            return Ok(spec);
        }
        if self
            .schedules
            .invalid
            .iter()
            .any(|invalid| &**invalid == name)
        {
            let problems = self.schedules.problems.clone();
            return Err(Failure::with_sources(
                FailureKind::Load,
                problems,
                self.sources.clone(),
            ));
        }
        let names = || self.schedules.specs.iter().map(|spec| &*spec.name);
        let hint = did_you_mean(name, names()).unwrap_or_else(|| match names().next() {
            Some(_) => format!(
                "its schedules are `{}`",
                names().collect::<Vec<_>>().join("`, `")
            ),
            None => "add it under `schedules` of `unfurl.yaml`".to_owned(),
        });
        let message = format!("the project has no schedule `{name}`");
        Err(Failure::with_sources(
            FailureKind::Refused,
            Diagnostic::error(message).help(hint),
            Sources::default(),
        ))
    }
}
