//! Creates a project in a new folder.

use std::path::{Path, PathBuf};

use super::age::{FirstReader, choice_of};
use super::model::{ENSEMBLE_TEMPLATE, EnsembleModel, FIRST_ENSEMBLE, entry_of, way_out};
use super::outside::{OuterRepository, exclude_pattern};
use super::recipe::{ENSEMBLE_MESSAGE, Recipe};
use super::registration::{enter_in_home, trust_created};
use super::report::{InitReport, Made};
use super::request::{InitRequest, Layout, SecretsChoice};
use super::shared::{create_in_shared, shared_project};
use super::staging::{Staging, write_files};
use super::{NewRepository, target};
use crate::ops::failure::{Failure, FailureKind};
use crate::project::{MANIFEST, PROJECT_FILE, Registration, register_ensemble};
use crate::skeleton::{
    EnsembleFile, NewFile, ProjectFiles, TemplateInclude, git_files, render_ensemble,
};
use crate::system::fs;

/// The message of the commit with the files of a project.
const PROJECT_MESSAGE: &str = "Create a new Unfurl project";
const HOME_MESSAGE: &str = "Create the unfurl home repository";

/// A project that is being built.
struct ProjectBuild<'a> {
    recipe: Recipe<'a>,
    layout: Layout,
    /// The final folder of the project.
    target: &'a Path,
    /// The folder in which the project is built.
    root: PathBuf,
    /// The folder of the ensemble, relative to the project.
    ensemble: Option<PathBuf>,
    /// The repository of the project, unless the files are written without one.
    repository: Option<NewRepository>,
    /// The repository of the ensemble, if it has one of its own.
    own: Option<NewRepository>,
    /// The first reader of the secrets, if they are encrypted with age.
    reader: Option<FirstReader>,
    files: Vec<NewFile>,
}

/// Creates a project in a folder that does not exist or is empty.
pub fn create_project(request: &InitRequest, folder: &Path) -> Result<InitReport, Failure> {
    let shared = shared_project(request, None)?;
    let Some(shared) = shared.filter(|_| !request.empty && !request.as_shared) else {
        return build_project(request, folder, Staging::begin(folder)?);
    };
    let without_ensemble = InitRequest {
        empty: true,
        ..request.clone()
    };
    let mut report = build_project(&without_ensemble, folder, Staging::begin(folder)?)?;
    let model = EnsembleModel::EnsembleTemplate(folder.join(ENSEMBLE_TEMPLATE));
    report.add_ensemble(create_in_shared(request, folder, &shared, model)?);
    Ok(report)
}

/// Creates the home project. If there is one, it is kept in `backup`.
pub fn build_home(
    request: &InitRequest,
    folder: &Path,
    backup: Option<&Path>,
) -> Result<InitReport, Failure> {
    let staging = match backup {
        Some(backup) => Staging::replacing(folder, backup)?,
        None => Staging::begin(folder)?,
    };
    build_project(request, folder, staging)
}

fn build_project(
    request: &InitRequest,
    folder: &Path,
    staging: Staging,
) -> Result<InitReport, Failure> {
    let recipe = Recipe::of(request)?;
    let outer = OuterRepository::of(fs::parent_of(folder))?;
    let mut build = ProjectBuild::begin(recipe, folder, staging.folder(), &outer)?;
    build.write_project()?;
    build.write_ensemble()?;
    build.commit()?;
    let project_file = folder.join(PROJECT_FILE);
    let command = if build.ensemble.is_some() {
        "unfurl deploy"
    } else {
        "unfurl init"
    };
    let mut report = InitReport::new(Made::Project(project_file), folder.to_owned(), command);
    staging.publish()?;
    build.finish(&outer, &mut report)?;
    Ok(report)
}

impl<'a> ProjectBuild<'a> {
    /// Creates the repositories.
    fn begin(
        recipe: Recipe<'a>,
        target: &'a Path,
        root: &Path,
        outer: &OuterRepository,
    ) -> Result<Self, Failure> {
        let request = recipe.request;
        let layout = if request.as_shared {
            Layout::Mono
        } else {
            request.layout
        };
        let name = request.ensemble.as_deref();
        let is_empty = request.empty || (request.as_shared && name.is_none());
        let ensemble = if is_empty {
            None
        } else {
            Some(target::ensemble_folder(name.unwrap_or(FIRST_ENSEMBLE))?)
        };
        let mut files = Vec::new();
        let repository = if request.without_repository {
            None
        } else if request.existing {
            let Some(around) = outer.reopen()? else {
                let message = format!("`{}` is in no git repository", target.display());
                let help =
                    "leave out `--existing`, or create a repository with `git init`".to_owned();
                return Err(Failure::new(FailureKind::Refused, message, Some(help)));
            };
            let of_git = git_files(&recipe.skeleton)?;
            write_files(root, &of_git)?;
            files.extend(of_git);
            Some(NewRepository::existing(around))
        } else {
            let own = ensemble.as_deref().filter(|_| layout == Layout::Poly);
            let excluded: Vec<String> = own.map(exclude_pattern).into_iter().collect();
            let repository = NewRepository::create(root, &excluded, &recipe.skeleton)?;
            files.extend(repository.files.clone());
            Some(repository)
        };
        Ok(Self {
            recipe,
            layout,
            target,
            root: root.to_owned(),
            ensemble,
            repository,
            own: None,
            reader: None,
            files,
        })
    }

    fn write(&mut self, files: Vec<NewFile>) -> Result<(), Failure> {
        write_files(&self.root, &files)?;
        self.files.extend(files);
        Ok(())
    }

    /// Writes the files of the project without those of the ensemble.
    fn write_project(&mut self) -> Result<(), Failure> {
        let request = self.recipe.request;
        let keeps_ensemble = self.ensemble.is_some() && self.layout != Layout::Poly;
        if !self.recipe.has_vault_variables() && choice_of(request)? == SecretsChoice::Age {
            let repository = self.repository.as_ref();
            let name = repository.and_then(|made| made.repository.author_name());
            let reader = FirstReader::of_user(name.as_deref())?;
            self.recipe.notes.extend(reader.notes.iter().cloned());
            self.reader = Some(reader);
        }
        let needs_vault = keeps_ensemble && self.reader.is_none();
        let vault = if needs_vault || self.recipe.has_vault_variables() {
            Some(self.recipe.vault(self.target)?)
        } else {
            None
        };
        let name = self
            .target
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let environment = request.as_shared.then_some(&*name);
        let manifest = self
            .ensemble
            .as_ref()
            .map(|it| self.target.join(it).join(MANIFEST));
        let manifest = manifest.map(|path| path.display().to_string());
        let mut files = self.recipe.project_files(&ProjectFiles {
            manifest: manifest.as_deref(),
            vault: vault.as_ref(),
            default_environment: environment.or(request.environment.as_deref()),
            is_shared: request.as_shared,
            has_template: true,
            ..ProjectFiles::default()
        })?;
        files.extend(
            self.reader
                .as_ref()
                .map(FirstReader::policy_file)
                .transpose()?,
        );
        self.write(files)
    }

    /// Writes the ensemble, and registers it in the project.
    fn write_ensemble(&mut self) -> Result<(), Failure> {
        let Some(folder) = self.ensemble.clone() else {
            return Ok(());
        };
        let path = self.root.join(&folder);
        if self.layout != Layout::Mono && !self.recipe.request.without_repository {
            fs::create_dir_all(&path)?;
            let has_vault = self.layout == Layout::Poly;
            let policy = self.reader.as_ref().filter(|_| has_vault);
            let policy = policy.map(FirstReader::policy_file).transpose()?;
            let (own, files) = self.recipe.ensemble_repository(&path, has_vault, policy)?;
            self.files
                .extend(files.into_iter().map(|file| file.within(&folder)));
            self.own = Some(own);
        }
        let uri = match &self.own {
            Some(own) => own.url_of(&path.join(MANIFEST)),
            None => self.url_of(&self.place().join(&folder).join(MANIFEST)),
        };
        let spec_url = self.url_of(self.place());
        let manifest = render_ensemble(
            &self.recipe.skeleton,
            &EnsembleFile {
                uri: uri.as_deref(),
                spec_url: Some(&spec_url.unwrap_or_else(|| way_out(&folder))),
                template: TemplateInclude::OfProject,
                deployment_blueprint: None,
            },
            &self.recipe.variables,
        )?;
        self.write(vec![manifest.within(&folder)])?;
        let entry = entry_of(&folder, self.recipe.request.environment.as_deref());
        let registration = match self.layout {
            Layout::Mono => Registration::Shared,
            _ => Registration::Local,
        };
        register_ensemble(&self.root.join(PROJECT_FILE), &entry, registration)?;
        Ok(())
    }

    fn url_of(&self, path: &Path) -> Option<String> {
        self.repository.as_ref()?.url_of(path)
    }

    /// The folder of the project as its repository sees it.
    fn place(&self) -> &Path {
        if self.recipe.request.existing {
            self.target
        } else {
            &self.root
        }
    }

    /// The message of the commit with the files of the project.
    fn message(&self) -> &'static str {
        if self.recipe.request.is_home {
            HOME_MESSAGE
        } else {
            PROJECT_MESSAGE
        }
    }

    /// Commits everything in new repositories.
    fn commit(&mut self) -> Result<(), Failure> {
        if self.recipe.request.render {
            return Ok(());
        }
        let mut paths = Vec::new();
        if let (Some(own), Some(folder)) = (&mut self.own, &self.ensemble) {
            let path = self.root.join(folder);
            own.commit_all(&path, ENSEMBLE_MESSAGE)?;
            if self.layout == Layout::Submodule {
                refuse_without_commit(own)?;
                if let Some(repository) = &self.repository {
                    repository.repository.declare_submodule(folder)?;
                }
                paths.push(path);
            }
        }
        let message = self.message();
        if let Some(repository) = self
            .repository
            .as_mut()
            .filter(|_| !self.recipe.request.existing)
        {
            repository.commit_with(&self.root, paths, message)?;
        }
        Ok(())
    }

    /// Does the rest when the project is at its place.
    fn finish(mut self, outer: &OuterRepository, report: &mut InitReport) -> Result<(), Failure> {
        let request = self.recipe.request;
        report.add_files(&self.files, self.target);
        if request.existing {
            let own = self.ensemble.as_ref().filter(|_| self.own.is_some());
            if let Some(folder) = own.filter(|_| self.layout == Layout::Poly) {
                outer.exclude(&self.target.join(folder), report)?;
            }
            if let Some(repository) = self.repository.as_mut().filter(|_| !request.render) {
                repository.commit_with(self.target, Vec::new(), PROJECT_MESSAGE)?;
            }
        } else if !request.without_repository {
            outer.exclude(self.target, report)?;
        }
        let mut roots = vec![self.target.to_owned()];
        if let Some(repository) = &self.repository {
            let root = repository.repository.root();
            let root = if request.existing { root } else { self.target };
            report.add_repository(repository, root);
        }
        if let (Some(own), Some(folder)) = (&self.own, &self.ensemble) {
            report.add_repository(own, &self.target.join(folder));
            roots.push(self.target.join(folder));
        }
        report.notes.extend(self.recipe.notes.iter().cloned());
        if request.is_home {
            return Ok(());
        }
        if request.design {
            let note = "`--design` has nothing to fetch: the model uses no other repository";
            report.notes.push(note.to_owned());
        }
        let name = self
            .target
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        enter_in_home(
            request,
            self.target,
            request.as_shared.then_some(&*name),
            report,
        )?;
        trust_created(request, &roots, self.recipe.skeleton.folder(), report)
    }
}

/// Fails if the repository has no commit that a submodule could record.
fn refuse_without_commit(repository: &NewRepository) -> Result<(), Failure> {
    let Some(reason) = &repository.refusal else {
        return Ok(());
    };
    let message = format!("a submodule needs a commit, but {reason}");
    let help = "run `git config --global user.name NAME` and `git config --global user.email ADDRESS`, or leave out \
                `--submodule`";
    Err(Failure::new(
        FailureKind::Refused,
        message,
        Some(help.to_owned()),
    ))
}
