//! Decides what `unfurl clone` does for a source and a destination.

use std::path::{Path, PathBuf};

use super::csar::{self, OpenArchive};
use super::local_config;
use super::model::{Model, has_ensembles, model_at};
use super::new_ensemble;
use super::report::{CloneReport, ClonedThing};
use super::repository::{clone_address, clone_local, repository_of};
use super::request::{CloneOptions, Destination};
use super::source::Source;
use crate::git::{Repository, place_clone, refuse_filled, unfinished_clone};
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::init::{self, EnsembleModel, InitRequest, NewRepository, project_around};
use crate::ops::packages::{exclude, record_clone, unique_folder};
use crate::package::SourceUrl;
use crate::project::{MANIFEST, PROJECT_FILE, PROJECT_FOLDER, base_name};
use crate::session::current_dir;
use crate::system::fs;

/// Clones a project, or creates an ensemble from what the source contains.
pub fn clone(options: &CloneOptions) -> Result<CloneReport, Failure> {
    let source = Source::of(&options.source)?;
    let destination = destination(options, &source)?;
    match source {
        Source::Git(url) => clone_into(options, &destination, &Origin::Address(url)),
        Source::Archive(path) => clone_archive(options, &destination, &path),
        Source::Path(path) => clone_path(options, &destination, &path),
    }
}

/// The repository that is cloned, with the path in it that the user means.
enum Origin {
    Address(SourceUrl),
    Local {
        repository: Repository,
        path: PathBuf,
    },
}

impl Origin {
    fn shown(&self) -> String {
        match self {
            Self::Address(url) => url.to_string(),
            Self::Local { repository, path } => repository.root().join(path).display().to_string(),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Address(url) => Path::new(&url.path),
            Self::Local { path, .. } => path,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Address(url) => base_name(&url.address),
            Self::Local { repository, .. } => base_name(&repository.root().display().to_string()),
        }
    }
}

fn destination(options: &CloneOptions, source: &Source) -> Result<Destination, Failure> {
    let name = match &*options.destination {
        "" => source.default_name(),
        named => named.to_owned(),
    };
    let folder = init::absolute(&name)?;
    let project = project_around(&folder);
    // The folder of an ensemble may have a project file of its own; it belongs to the project around it.
    let is_ensemble = project.as_ref() == Some(&folder) && fs::is_file(&folder.join(MANIFEST));
    let outer = is_ensemble.then(|| project_around(fs::parent_of(&folder)));
    Ok(Destination {
        project: outer.flatten().or(project),
        folder,
    })
}

/// Clones a path of this machine, or creates an ensemble if the destination is in the same project.
fn clone_path(
    options: &CloneOptions,
    destination: &Destination,
    path: &Path,
) -> Result<CloneReport, Failure> {
    let around = if fs::is_dir(path) {
        path
    } else {
        fs::parent_of(path)
    };
    let source_project = project_around(around);
    if let Some(project) = &destination.project {
        let whole = if project.ends_with(PROJECT_FOLDER) {
            fs::parent_of(project)
        } else {
            project
        };
        // An ensemble with a repository of its own is also in the project around it.
        if path.starts_with(whole) || source_project.as_ref() == Some(project) {
            return ensemble_in_project(options, destination, project, path);
        }
    }
    let Some(repository) = repository_of(path)? else {
        let message = format!(
            "`{}` is in no git repository, so it cannot be cloned",
            path.display()
        );
        let help = "create one there with `git init`, and commit the files; or copy the folder";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(help.to_owned()),
        ));
    };
    // An ensemble with a repository of its own belongs to the project around it.
    let outer = source_project
        .as_deref()
        .map(repository_of)
        .transpose()?
        .flatten();
    let repository = outer
        .filter(|outer| path.starts_with(outer.root()))
        .unwrap_or(repository);
    let path = repository.relative(path).unwrap_or_default();
    clone_into(options, destination, &Origin::Local { repository, path })
}

/// Creates an ensemble in the project of its source.
fn ensemble_in_project(
    options: &CloneOptions,
    destination: &Destination,
    project: &Path,
    path: &Path,
) -> Result<CloneReport, Failure> {
    let source = path.display().to_string();
    if options.init.empty || options.design {
        return Ok(CloneReport::new(
            ClonedThing::Project(project.to_owned()),
            source,
        ));
    }
    let Some(model) = model_at(path, project, &options.init.session)? else {
        return Err(nothing_found(&source));
    };
    let (folder, notes) = new_ensemble::create(options, project, &destination.inside(), model)?;
    let mut report = CloneReport::new(ClonedThing::Ensemble(folder), source);
    report.notes = notes;
    Ok(report)
}

fn nothing_found(source: &str) -> Failure {
    let message = format!("`{source}` contains neither a template nor an ensemble");
    let help = "name an `ensemble.yaml`, an `ensemble-template.yaml`, a `service_template.yaml`, or a folder with one";
    Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
}

/// Clones a repository to the destination, or into the project around it. Creates an ensemble if it has none.
fn clone_into(
    options: &CloneOptions,
    destination: &Destination,
    origin: &Origin,
) -> Result<CloneReport, Failure> {
    let mut report = CloneReport::new(ClonedThing::Project(PathBuf::new()), origin.shown());
    let place = match &destination.project {
        Some(project) => unique_folder(project, &origin.name()),
        None => destination.folder.clone(),
    };
    make_room(options, &place, &mut report)?;
    let parent = fs::parent_of(&place);
    let temporary = unfinished_clone(existing(parent))?;
    let built = temporary.path().join(place.file_name().unwrap_or_default());
    match origin {
        Origin::Address(url) => clone_address(url, &built, &mut report)?,
        Origin::Local { repository, .. } => clone_local(repository, &built, &mut report)?,
    }
    let found = Found::in_clone(&built, origin)?;
    // In a new folder, the ensemble is created before the folder appears at its place.
    if destination.project.is_none() {
        let variables = &options.init.variables;
        local_config::create(&found.project, variables, &mut report)?;
        for nested in report.nested.clone() {
            local_config::create(&built.join(nested), variables, &mut report)?;
        }
        local_config::register_nested(&found.project, &report)?;
        let made = found.complete(options, &found.project, Path::new(""), &mut report)?;
        report.made = moved(made, &built, &place);
        finish(options, &built, &place, &mut report)?;
        return Ok(report);
    }
    finish(options, &built, &place, &mut report)?;
    let project = destination.project.as_deref().unwrap_or(&place);
    let found = Found::in_clone(&place, origin);
    let made = found
        .and_then(|found| found.complete(options, project, &destination.inside(), &mut report));
    report.made = made.inspect_err(|_| {
        // Nothing of an unsuccessful command stays in the project.
        fs::remove_dir_all(&place).ok();
    })?;
    Ok(report)
}

/// The content of a clone at the path that the user means.
struct Found {
    /// The folder with the project file, or the clone itself.
    project: PathBuf,
    path: PathBuf,
    /// Whether the path is the project, and nothing in it.
    is_whole: bool,
}

impl Found {
    fn in_clone(clone: &Path, origin: &Origin) -> Result<Self, Failure> {
        let path = fs::normalize(&clone.join(origin.path()));
        let refused = |what: &str, help: &str| {
            let message = format!("`{}` {what}", origin.shown());
            Err(Failure::new(
                FailureKind::Refused,
                message,
                Some(help.to_owned()),
            ))
        };
        let is_inside = fs::canonicalize(&path)
            .is_ok_and(|real| fs::canonicalize(clone).is_ok_and(|clone| real.starts_with(clone)));
        if !is_inside {
            return refused(
                "does not exist in that revision",
                "correct the path after `#REVISION:`",
            );
        }
        let folder = if fs::is_dir(&path) {
            &*path
        } else {
            fs::parent_of(&path)
        };
        let project = project_around(folder).filter(|project| project.starts_with(clone));
        let is_whole = project
            .as_deref()
            .is_none_or(|project| path == project || project.parent() == Some(&path))
            || path.file_name().is_some_and(|name| name == PROJECT_FILE);
        let has_ensemble = fs::is_file(&folder.join(MANIFEST));
        match project {
            Some(project) => Ok(Self {
                project,
                path,
                is_whole,
            }),
            None if has_ensemble => Ok(Self {
                project: folder.to_owned(),
                path,
                is_whole: true,
            }),
            None => refused(
                "contains no Unfurl project",
                "clone it with `git clone`, and run `unfurl init` there",
            ),
        }
    }

    /// Creates an ensemble in a project if the clone is to be completed by one.
    fn complete(
        &self,
        options: &CloneOptions,
        project: &Path,
        inside: &Path,
        report: &mut CloneReport,
    ) -> Result<ClonedThing, Failure> {
        if options.design {
            return Ok(ClonedThing::Blueprint(self.path.clone()));
        }
        if options.init.empty {
            return Ok(ClonedThing::Project(self.project.clone()));
        }
        let session = &options.init.session;
        if self.is_whole && has_ensembles(&self.project, session) {
            return Ok(ClonedThing::ProjectWithEnsembles(self.project.clone()));
        }
        let model = model_at(&self.path, &self.project, session)?;
        match model {
            Some(Model::Ensemble(_)) if project == self.project => {
                Ok(ClonedThing::ProjectWithEnsembles(self.project.clone()))
            }
            Some(model) => {
                let (folder, notes) = new_ensemble::create(options, project, inside, model)?;
                report.notes.extend(notes);
                Ok(ClonedThing::Ensemble(folder))
            }
            None if self.is_whole => Ok(ClonedThing::EmptyProject(self.project.clone())),
            None => Err(nothing_found(&report.source)),
        }
    }
}

/// Returns what was made, with its path after the folder has been renamed.
fn moved(made: ClonedThing, from: &Path, to: &Path) -> ClonedThing {
    let place = |path: PathBuf| {
        path.strip_prefix(from).map_or(path.clone(), |rest| {
            if rest.as_os_str().is_empty() {
                to.to_owned()
            } else {
                to.join(rest)
            }
        })
    };
    match made {
        ClonedThing::Ensemble(path) => ClonedThing::Ensemble(place(path)),
        ClonedThing::ProjectWithEnsembles(path) => ClonedThing::ProjectWithEnsembles(place(path)),
        ClonedThing::Project(path) => ClonedThing::Project(place(path)),
        ClonedThing::EmptyProject(path) => ClonedThing::EmptyProject(place(path)),
        ClonedThing::Blueprint(path) => ClonedThing::Blueprint(place(path)),
    }
}

/// Puts a finished clone to its place.
fn finish(
    options: &CloneOptions,
    built: &Path,
    place: &Path,
    report: &mut CloneReport,
) -> Result<(), Failure> {
    fs::create_dir_all(fs::parent_of(place))?;
    place_clone(built, place)?;
    exclude(fs::parent_of(place), place)?;
    record_clone(&options.init.session, place);
    report.folder = Some(place.to_owned());
    Ok(())
}

/// Makes sure that nothing is at a place.
fn make_room(
    options: &CloneOptions,
    place: &Path,
    report: &mut CloneReport,
) -> Result<(), Failure> {
    let checked = refuse_filled(place);
    if checked.is_ok() || !options.overwrite {
        return Ok(checked?);
    }
    if current_dir()?.starts_with(place) {
        let message = format!(
            "`{}` is the current folder, so it cannot be moved aside",
            place.display()
        );
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some("run the command in another folder".to_owned()),
        ));
    }
    let aside = new_ensemble::move_aside(place)?;
    report.notes.push(format!(
        "`{}` was moved to `{}`",
        place.display(),
        aside.display()
    ));
    Ok(())
}

/// Returns the innermost folder above a path that exists.
fn existing(folder: &Path) -> &Path {
    folder
        .ancestors()
        .find(|folder| fs::is_dir(folder))
        .unwrap_or(Path::new("/"))
}

/// Unpacks a CSAR into a new project or into a folder of a project, and creates an ensemble for it.
fn clone_archive(
    options: &CloneOptions,
    destination: &Destination,
    archive: &Path,
) -> Result<CloneReport, Failure> {
    let opened = csar::open(archive)?;
    let mut report = CloneReport::new(
        ClonedThing::Project(PathBuf::new()),
        archive.display().to_string(),
    );
    let Some(project) = &destination.project else {
        let place = &destination.folder;
        make_room(options, place, &mut report)?;
        let temporary = unfinished_clone(existing(fs::parent_of(place)))?;
        let built = temporary.path().join(place.file_name().unwrap_or_default());
        report.made = new_project(options, &opened, &built, &mut report)?;
        report.made = moved(report.made, &built, place);
        finish(options, &built, place, &mut report)?;
        return Ok(report);
    };
    let name = base_name(&archive.with_extension("").display().to_string());
    let inside = if destination.is_project() {
        PathBuf::from(name)
    } else {
        destination.inside()
    };
    let folder = project.join(&inside);
    make_room(options, &folder, &mut report)?;
    opened.unpack(&folder)?;
    report.folder = Some(folder.clone());
    report.made = if options.init.empty {
        ClonedThing::Project(folder)
    } else {
        let model = Model::Template(EnsembleModel::ServiceTemplate(
            folder.join(&opened.template),
        ));
        let (ensemble, notes) =
            new_ensemble::create(options, project, &inside.join("ensemble"), model)?;
        report.notes.extend(notes);
        ClonedThing::Ensemble(ensemble)
    };
    Ok(report)
}

/// Creates a project with the files of a CSAR.
fn new_project(
    options: &CloneOptions,
    opened: &OpenArchive,
    folder: &Path,
    report: &mut CloneReport,
) -> Result<ClonedThing, Failure> {
    let request = InitRequest {
        empty: true,
        ensemble: None,
        ..options.init.clone()
    };
    let made = init::create_project(&request, folder)?;
    report.notes.extend(made.notes);
    opened.unpack(folder)?;
    if let Some(repository) = Repository::discover(folder)? {
        let mut repository = NewRepository::existing(repository);
        repository.commit_all(folder, "Add the files of a TOSCA CSAR")?;
    }
    if options.init.empty {
        return Ok(ClonedThing::Project(folder.to_owned()));
    }
    let model = Model::Template(EnsembleModel::ServiceTemplate(
        folder.join(&opened.template),
    ));
    let (ensemble, notes) = new_ensemble::create(options, folder, Path::new(""), model)?;
    report.notes.extend(notes);
    Ok(ClonedThing::Ensemble(ensemble))
}
