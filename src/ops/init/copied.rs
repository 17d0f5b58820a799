//! Creates an ensemble from an example in the program, or from the fewest files that deploy.

use std::path::{Path, PathBuf};

use super::model::{FIRST_ENSEMBLE, entry_of, unused_folder};
use super::new_repository::NewRepository;
use super::outside::OuterRepository;
use super::registration::trust_created;
use super::report::{InitReport, Made};
use super::request::{InitRequest, InitSource, Layout};
use super::staging::{Staging, write_files};
use super::target;
use crate::git::Repository;
use crate::ops::failure::{Failure, FailureKind};
use crate::project::{PROJECT_FILE, Registration, register_ensemble};
use crate::skeleton::{Example, NewFile, bare_files};

/// Creates a folder with the files of an example or of a bare ensemble, in the project around it if there is one.
pub(super) fn create_copy(
    request: &InitRequest,
    folder: &Path,
    project: Option<&Path>,
) -> Result<InitReport, Failure> {
    refuse_options(request, project.is_some())?;
    let example = match &request.source {
        InitSource::Example(name) => Some(Example::named(name)?),
        _ => None,
    };
    let files = example.map_or_else(bare_files, Example::files)?;
    let folder = match project {
        Some(project) => folder_in(project, folder, example)?,
        None => folder.to_owned(),
    };
    let outer = OuterRepository::of(&folder)?;
    let shares = request.existing || (project.is_some() && request.layout == Layout::Mono);
    let around = outer.reopen()?.filter(|_| shares);
    let title = match example {
        Some(example) => format!("Create the example {}", example.name),
        None => "Create a new ensemble".to_owned(),
    };
    let mut repository = build(&files, &folder, around, (!request.render).then_some(&title))?;
    let mut report = report_of(example, &folder);
    report.add_files(&files, &folder);
    if shares && !request.render {
        repository.commit_all(&folder, &title)?;
    } else if !shares {
        outer.exclude(&folder, &mut report)?;
    }
    let root = if shares {
        repository.repository.root().to_owned()
    } else {
        folder.clone()
    };
    if let Some(project) = project.filter(|_| matches!(report.made, Made::Ensemble(_))) {
        register(
            request,
            project,
            &folder,
            shares,
            &mut repository,
            &mut report,
        )?;
    }
    report.add_repository(&repository, &root);
    if !shares {
        trust_created(request, &[folder], None, &mut report)?;
    }
    Ok(report)
}

/// Builds and publishes the folder. Without a repository around it, it gets one of its own, with a commit if there
/// is a title.
fn build(
    files: &[NewFile],
    folder: &Path,
    around: Option<Repository>,
    title: Option<&String>,
) -> Result<NewRepository, Failure> {
    let staging = Staging::begin(folder)?;
    let built = staging.folder();
    write_files(built, files)?;
    let repository = match around {
        Some(around) => NewRepository::existing(around),
        None => {
            let mut own = NewRepository::empty(built)?;
            if let Some(title) = title {
                own.commit_all(built, title)?;
            }
            own
        }
    };
    staging.publish()?;
    Ok(repository)
}

fn report_of(example: Option<&Example>, folder: &Path) -> InitReport {
    let made = if example.is_none_or(Example::has_ensemble) {
        Made::Ensemble
    } else {
        Made::Folder
    };
    let command = example.map_or("unfurl deploy", |example| example.command);
    InitReport::new(made(folder.to_owned()), folder.to_owned(), command)
}

/// Lists the ensemble in its project.
fn register(
    request: &InitRequest,
    project: &Path,
    folder: &Path,
    shares: bool,
    repository: &mut NewRepository,
    report: &mut InitReport,
) -> Result<(), Failure> {
    let relative = folder.strip_prefix(project).unwrap_or(folder);
    let entry = entry_of(relative, request.environment.as_deref());
    let registration = if shares {
        Registration::Shared
    } else {
        Registration::Local
    };
    let changed = register_ensemble(&project.join(PROJECT_FILE), &entry, registration)?;
    report.add_change(changed.clone(), "lists the new ensemble");
    let is_committed = shares && !request.render;
    if is_committed && !Repository::is_ignored(&repository.repository, &changed)? {
        repository.commit(&[changed], "List the new ensemble")?;
    }
    Ok(())
}

/// Returns the folder of a new ensemble in a project.
fn folder_in(project: &Path, folder: &Path, example: Option<&Example>) -> Result<PathBuf, Failure> {
    let inside = folder.strip_prefix(project).unwrap_or(Path::new(""));
    if inside.as_os_str().is_empty() {
        let name = example.map_or(FIRST_ENSEMBLE, |example| example.name);
        return Ok(project.join(unused_folder(project, PathBuf::from(name))));
    }
    let inside = target::ensemble_folder(&inside.to_string_lossy())?;
    let folder = project.join(inside);
    target::check_is_free(&folder)?;
    Ok(folder)
}

/// Refuses options that have no meaning for a copy.
fn refuse_options(request: &InitRequest, in_project: bool) -> Result<(), Failure> {
    let given = [
        ("--empty", request.empty),
        ("--submodule", request.layout == Layout::Submodule),
        ("--as-shared-environment", request.as_shared),
        ("--shared-repository", request.shared_repository.is_some()),
        (
            "--use-deployment-blueprint",
            request.deployment_blueprint.is_some(),
        ),
        ("--var", !request.variables.is_empty()),
        ("--design", request.design),
        ("--secrets", request.secrets.is_some()),
        (
            "--use-environment",
            request.environment.is_some() && !in_project,
        ),
        ("ENSEMBLE", request.ensemble.is_some()),
    ];
    let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    let message = format!("`{name}` has no effect with `--template` and `--bare`");
    let help = "leave it out, or create a project without these options".to_owned();
    Err(Failure::new(FailureKind::Usage, message, Some(help)))
}
