//! Checks the home folder and the home project, whose environments all projects inherit.

use super::check::{Check, DoctorReport};
use super::subject::{Subject, quoted};
use crate::project::{TrustStore, home_project_folder};
use crate::system::env::current_dir;
use crate::system::fs;

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    match subject.user_home() {
        None => {
            let message = "the variable `HOME` is not set, so there are no settings of the user";
            let check = Check::warning("home", "home", message);
            report.push(check.fix("export HOME=\"$(getent passwd \"$(id -u)\" | cut -d: -f6)\""));
        }
        Some(home) if !fs::is_dir(&home) => {
            let message = format!("the home folder `{}` does not exist", home.display());
            let check = Check::warning("home", "home", message);
            report.push(check.fix(format!("mkdir -p {}", quoted(&home))));
        }
        Some(_) => {}
    }
    let home = subject.request.session.home.as_ref();
    let Some(home) = home.filter(|home| !home.as_os_str().is_empty()) else {
        let message = "there is none, so only the project's own environments apply";
        report.push(Check::ok("home-project", "home project", message));
        return;
    };
    let cwd = current_dir().unwrap_or_default();
    let (folder, file) = home_project_folder(home, &cwd);
    if !fs::is_file(&file) {
        // With an ensemble, the search has reported it.
        if subject.found.is_err() {
            let message = format!("`{}` does not exist", file.display());
            report.push(Check::warning("home-project", "home project", message));
        }
        return;
    }
    let store = TrustStore::of(&folder);
    let problem = match (store.read(), store.exposure()) {
        (Err(error), _) => Some(error.to_string()),
        (Ok(_), exposure) => exposure,
    };
    report.push(match problem {
        Some(message) => Check::warning("home-project", "home project", message)
            .fix(format!("chmod -R go-w {}", quoted(&folder))),
        None => Check::ok("home-project", "home project", file.display()),
    });
}
