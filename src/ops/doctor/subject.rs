//! The subject of the checks: the ensemble as far as it can be found and loaded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::request::DoctorRequest;
use crate::diagnostic::Diagnostics;
use crate::ensemble::WorkingFolders;
use crate::expr::{Evaluator, Memo, Scope};
use crate::ops::planned_job::plan_job;
use crate::ops::request::JobRequest;
use crate::project::Trust;
use crate::session::{
    self, EnsembleLocation, LoadError, LoadErrorKind, LocalSystem, Session, SessionOptions,
};
use crate::system::env::{self, Env};
use crate::system::{fs, user};
use crate::text::quote_word;
use crate::topology::Topology;

/// An ensemble with everything that the checks need.
pub(super) struct Subject<'r> {
    pub(super) request: &'r DoctorRequest,
    pub(super) env: Env,
    pub(super) found: Result<EnsembleLocation, LoadError>,
    /// The loaded ensemble. Only set if it was found.
    pub(super) loaded: Option<Result<LoadedEnsemble, LoadError>>,
}

/// An ensemble that was loaded completely.
pub(super) struct LoadedEnsemble {
    pub(super) session: Session,
    pub(super) topology: Arc<Topology>,
    pub(super) system: Arc<LocalSystem>,
    /// The warnings about the files.
    pub(super) warnings: Diagnostics,
    /// The problems because of which no job can be planned.
    pub(super) plan_problems: Diagnostics,
}

impl<'r> Subject<'r> {
    /// Finds and loads the ensemble that the options select.
    pub(super) fn find(request: &'r DoctorRequest) -> Self {
        let found = session::find(&request.session);
        let loaded = found.as_ref().ok();
        let loaded = loaded.map(|found| LoadedEnsemble::load(found, &request.session));
        Self {
            request,
            env: Env::of_this_process(),
            found,
            loaded,
        }
    }

    /// Whether there is an ensemble, even if it cannot be used.
    pub(super) fn has_ensemble(&self) -> bool {
        let found = self.found.as_ref();
        !found.is_err_and(|error| error.kind == LoadErrorKind::NoEnsemble)
    }

    /// Returns the ensemble if it could be loaded.
    pub(super) fn ensemble(&self) -> Option<&LoadedEnsemble> {
        self.loaded.as_ref()?.as_ref().ok()
    }

    /// Returns the folder of the ensemble, or else the folder in which the user works.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        match &self.found {
            Ok(found) => Some(found.located.folder().to_owned()),
            Err(_) => env::current_dir().ok(),
        }
    }

    /// Returns the home folder of the user.
    pub(super) fn user_home(&self) -> Option<PathBuf> {
        self.env.non_empty("HOME").map(PathBuf::from)
    }

    /// Returns a command of this program for the ensemble that the user named.
    pub(super) fn command(&self, words: &str) -> String {
        match self.request.session.ensemble.as_str() {
            "" => format!("unfurl {words}"),
            ensemble => format!("unfurl {words} {}", quote_word(ensemble)),
        }
    }
}

impl LoadedEnsemble {
    fn load(found: &EnsembleLocation, options: &SessionOptions) -> Result<Self, LoadError> {
        let options = SessionOptions {
            check_unused: true,
            incomplete: true,
            ..options.clone()
        };
        let mut session = session::load(found.clone(), &options)?;
        // Expressions must run nothing here, even if the project may do so in a job.
        session.location.located.trust = Trust::default();
        let warnings = session.warnings.clone();
        let folders = WorkingFolders::without_writes(session.manifest.base_dir());
        let request = JobRequest {
            session: options,
            ..JobRequest::default()
        };
        let (topology, plan_problems) = match plan_job(&request, &mut session, &folders) {
            Ok(job) => (job.engine.topology, Diagnostics::default()),
            Err(failure) => (Arc::new(session.topology_of_job()?), failure.problems),
        };
        let planned = session.manifest.base_dir().join("planned");
        Ok(Self {
            system: Arc::new(session.system_context(planned)),
            topology,
            warnings,
            plan_problems,
            session,
        })
    }

    /// Returns an evaluator of expressions in the ensemble.
    pub(super) fn evaluator(&self) -> Evaluator {
        let scope: Arc<dyn Scope> = Arc::clone(&self.topology) as _;
        let system = Arc::clone(&self.system) as _;
        Evaluator::new(scope, system, Arc::new(Memo::default()))
    }
}

/// Returns a path as a word of a shell command.
pub(super) fn quoted(path: &Path) -> String {
    quote_word(&path.to_string_lossy())
}

/// The maximum number of names in a message.
const MAX_NAMES: usize = 3;

/// Lists the first names for a message.
pub(super) fn names(all: &BTreeSet<String>) -> String {
    let shown: Vec<String> = all
        .iter()
        .take(MAX_NAMES)
        .map(|name| format!("`{name}`"))
        .collect();
    match all.len().saturating_sub(MAX_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Package managers, each with its command to install a package.
const INSTALLERS: [(&str, &str); 6] = [
    ("/usr/bin/apt-get", "apt-get install"),
    ("/usr/bin/dnf", "dnf install"),
    ("/sbin/apk", "apk add"),
    ("/usr/bin/pacman", "pacman -S"),
    ("/usr/bin/zypper", "zypper install"),
    ("/opt/homebrew/bin/brew", "brew install"),
];

/// Returns the command that installs a program, whose package is assumed to have the same name.
pub(super) fn install_command(program: &str) -> String {
    let found = INSTALLERS
        .iter()
        .find(|(file, _)| fs::is_program(Path::new(file)));
    let install = found.map_or("apt-get install", |(_, install)| install);
    let sudo = if user::effective_id() == 0 || install.starts_with("brew") {
        ""
    } else {
        "sudo "
    };
    format!("{sudo}{install} {}", quote_word(program))
}
