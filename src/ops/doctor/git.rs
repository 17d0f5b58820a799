//! Checks git and the repositories of the ensemble: whether jobs can commit, fetch and push there.

use std::time::Duration;

use super::check::{Check, CheckState, DoctorReport};
use super::subject::{Subject, install_command, quoted};
use crate::ensemble::has_merge_driver;
use crate::git::{Divergence, Error, Repository};
use crate::session::{distinct_repositories, repositories_of};
use crate::system::fs;
use crate::system::process::{self, Helper};

/// The time limit for the answer of a remote.
const LIMIT: Duration = Duration::from_secs(10);
/// The commands that give git a name and an e-mail address.
const SET_IDENTITY: &str = "git config --global user.name \"Your Name\" && git config --global user.email \
                            you@example.com";

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let Ok(found) = &subject.found else {
        check_program(CheckState::Warning, report);
        return;
    };
    let repositories = match repositories_of(&found.located) {
        Ok(repositories) => distinct_repositories(repositories),
        Err(error) => {
            report.push(of_error("git", &error, CheckState::Error));
            return;
        }
    };
    if repositories.is_empty() {
        let state = commit_state(subject, CheckState::Note);
        let message = "the ensemble is in no git repository, so `--commit` cannot record its jobs";
        let folder = found
            .located
            .root()
            .unwrap_or_else(|| found.located.folder());
        let check = Check::new("git", state, "git", message);
        report.push(check.fix(format!("git init {}", quoted(folder))));
        return;
    }
    let has_git = check_program(CheckState::Error, report);
    for repository in &repositories {
        check_repository(subject, repository, has_git, report);
    }
}

/// Checks the program git. Returns whether it can be started.
fn check_program(missing: CheckState, report: &mut DoctorReport) -> bool {
    let mut call = Helper::new(["git", "--version"]);
    call.time_limit = LIMIT;
    match process::run(&call) {
        Ok(output) if output.is_ok() => {
            report.push(Check::ok("git", "git", output.text().trim()));
            true
        }
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let message = format!("the program does not run: {}", text.trim());
            report.push(Check::new("git", missing, "git", message).fix(install_command("git")));
            false
        }
        Err(error) => {
            report.push(Check::new("git", missing, "git", error).fix(install_command("git")));
            false
        }
    }
}

/// Returns the state of a problem that matters only if the next job commits its record.
fn commit_state(subject: &Subject<'_>, otherwise: CheckState) -> CheckState {
    if subject.request.commit {
        CheckState::Error
    } else {
        otherwise
    }
}

fn of_error(subject: &str, error: &Error, state: CheckState) -> Check {
    let check = Check::new("git", state, subject, error).hint(error.hint());
    match error {
        Error::NoIdentity { .. } => check.fix(SET_IDENTITY),
        Error::Unfinished {
            path,
            resume_commands,
            ..
        } => {
            // Giving up loses nothing that is committed; going on may need a person.
            let abort = resume_commands.rsplit('`').next().unwrap_or_default();
            let abort = abort.strip_prefix("git ").unwrap_or(abort);
            check.fix(format!("git -C {} {abort}", quoted(path)))
        }
        _ => check,
    }
}

fn check_repository(
    subject: &Subject<'_>,
    repository: &Repository,
    has_git: bool,
    report: &mut DoctorReport,
) {
    let root = repository.root();
    let name = root.display().to_string();
    let before = report.checks.len();
    if let Err(error) = repository.check_unfinished() {
        let state = commit_state(subject, CheckState::Warning);
        report.push(of_error(&name, &error, state));
    } else if repository.is_detached() {
        let error = Error::Detached {
            path: root.to_owned(),
        };
        let state = commit_state(subject, CheckState::Note);
        // The name of the commit makes a name that no branch has yet.
        let head = repository.head().ok().flatten().unwrap_or_default();
        let name_of_branch = format!("from-{}", head.get(..8).unwrap_or("here"));
        let fix = format!("git -C {} switch -c {name_of_branch}", quoted(root));
        report.push(of_error(&name, &error, state).fix(fix));
    }
    if has_git && let Err(error) = repository.check_author() {
        report.push(of_error(
            &name,
            &error,
            commit_state(subject, CheckState::Note),
        ));
    }
    let lock = root.join(".git/index.lock");
    if fs::exists(&lock) {
        let message = "the lock file of git exists: a git program runs, or was killed";
        let help = "make sure that no git program runs there";
        let check = Check::new(
            "git",
            commit_state(subject, CheckState::Warning),
            &*name,
            message,
        );
        report.push(check.help(help).fix(format!("rm {}", quoted(&lock))));
    }
    check_upstream(subject, repository, &name, has_git, report);
    if report.checks.len() == before {
        let branch = repository.branch();
        let branch = branch.map_or_else(
            || "no commit yet".to_owned(),
            |branch| format!("branch `{branch}`"),
        );
        report.push(Check::ok("git", name, branch));
    }
}

/// Compares the branch with its upstream, as of the last fetch.
fn check_upstream(
    subject: &Subject<'_>,
    repository: &Repository,
    name: &str,
    has_git: bool,
    report: &mut DoctorReport,
) {
    let Some(upstream) = repository.upstream() else {
        return;
    };
    let root = quoted(repository.root());
    if !has_merge_driver(repository) {
        let message = "git merges records of other users line by line";
        let check = Check::note("git-merge", name, message);
        report.push(check.fix(subject.command("git-setup")));
    }
    match repository.divergence(&upstream) {
        Ok(Some(Divergence { ahead, behind })) if ahead > 0 && behind > 0 => {
            let message = format!(
                "the branch and `{upstream}` have diverged: commits only here: {ahead}, only there: {behind}"
            );
            let check = Check::error("git-upstream", name, message);
            report.push(check.fix(format!("git -C {root} pull --rebase")));
        }
        Ok(Some(Divergence { ahead: 0, behind })) if behind > 0 => {
            let message = format!("the next job adds commits of `{upstream}`: {behind}");
            let check = Check::note("git-upstream", name, message);
            report.push(check.fix(format!("git -C {root} merge --ff-only")));
        }
        Ok(Some(Divergence { ahead, .. })) if ahead > 0 => {
            let message = format!("commits that are not pushed to `{upstream}`: {ahead}");
            let check = Check::note("git-upstream", name, message);
            report.push(check.fix(format!("git -C {root} push")));
        }
        Ok(_) => {}
        Err(error) => report.push(of_error(name, &error, CheckState::Warning)),
    }
    if !subject.request.online || !has_git {
        return;
    }
    match repository.ask_remote(&upstream, LIMIT) {
        Ok(Some(id)) if repository.fetched_id(&upstream).as_deref() != Some(&id) => {
            let message = format!("`{upstream}` has commits that were not fetched yet");
            let check = Check::note("git-upstream", name, message);
            report.push(check.fix(format!("git -C {root} fetch")));
        }
        Ok(_) => report.push(Check::ok(
            "git-upstream",
            name,
            format!("`{upstream}` answers"),
        )),
        Err(error) => {
            let mut check = of_error(name, &error, CheckState::Warning);
            check.id = "git-upstream";
            report.push(check.fix(format!("git -C {root} fetch")));
        }
    }
}
