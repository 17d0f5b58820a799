//! Finds the ensemble that the user means, from the command-line options and the current folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{LoadError, LoadErrorKind};
use super::involved_repository::{ignored_settings, repositories_of};
use super::options::SessionOptions;
use super::read_scope::check_manifest;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity, Sources, Span};
use crate::ensemble::{self, Manifest, Record};
use crate::git;
use crate::project::{
    self, FileLoader, LocateRequest, LocatedEnsemble, READ_PERMISSION, Trust, keys_of_environment,
};
use crate::secret::{Keys, finish_interrupted};
use crate::system::env::Env;
use crate::system::{env, fs};
use crate::yaml::{Limits, PatchError};

/// An ensemble that was found but not read yet.
#[derive(Debug, Clone)]
pub(crate) struct EnsembleLocation {
    pub(crate) located: LocatedEnsemble,
    /// The symbolic link through which the manifest was found, if it was one.
    pub(crate) link: Option<PathBuf>,
    pub(crate) sources: Sources,
    pub(crate) env: Env,
    /// The keys that decrypt the files of the ensemble.
    pub(crate) keys: Keys,
    /// The problems of values in the project files that could not be decrypted.
    pub(super) closed: Diagnostics,
    /// The folder of the home project, if the user has one.
    pub(super) home: Option<PathBuf>,
    /// The results of jobs that are not recorded on disk yet.
    pub(super) unsaved: UnsavedRecords,
}

/// Records of jobs in memory, which count as if they were saved.
#[derive(Debug, Clone, Default)]
pub(super) struct UnsavedRecords {
    /// The text of the manifest with the records. None without any.
    pub(super) manifest: Option<Arc<str>>,
    /// The lines of the jobs for `jobs.tsv`.
    pub(super) lines: String,
    /// The files of the records, by their paths relative to the ensemble's folder.
    pub(super) files: Vec<(String, String)>,
}

impl EnsembleLocation {
    /// Adds a record that is not saved. `manifest` is the manifest without it.
    pub(crate) fn add_unsaved(
        &mut self,
        record: &Record,
        manifest: &Manifest,
    ) -> Result<(), PatchError> {
        let text = manifest.with_sections(&record.sections)?;
        self.unsaved.manifest = Some(text.into());
        self.unsaved.lines.push_str(&record.lines);
        self.unsaved.files.extend(record.files.iter().cloned());
        Ok(())
    }

    /// Replaces the text of the manifest in memory, so that a change can be checked before it is written.
    pub(crate) fn replace_manifest(&mut self, text: &str) {
        self.unsaved.manifest = Some(text.into());
    }

    /// Returns the path through which the manifest was found.
    pub(crate) fn path(&self) -> &Path {
        self.link.as_deref().unwrap_or(&self.located.manifest)
    }
}

fn link_of(manifest: &Path) -> Option<PathBuf> {
    fs::is_symlink(manifest).then(|| manifest.to_path_buf())
}

/// Replaces a symbolic link by its target, because the record is stored beside the real manifest.
fn resolve_link(mut located: LocatedEnsemble) -> LocatedEnsemble {
    if fs::is_symlink(&located.manifest)
        && let Ok(manifest) = fs::canonicalize(&located.manifest)
    {
        located.manifest = manifest;
    }
    located
}

/// Fails if the manifest is a symbolic link that leads out of its project. A project that somebody else wrote
/// could make this program change any ensemble of the user.
///
/// Without a project, the folder in which the user works counts as the project, if it contains the link.
fn refuse_foreign_link(located: &LocatedEnsemble, cwd: &Path) -> Result<(), LoadError> {
    let link = &located.manifest;
    let around = if link.starts_with(cwd) {
        cwd
    } else {
        located.folder()
    };
    let root = located.root().unwrap_or(around);
    let (Ok(target), Ok(root)) = (fs::canonicalize(link), fs::canonicalize(root)) else {
        return Ok(());
    };
    if !fs::is_symlink(link) || target.starts_with(&root) {
        return Ok(());
    }
    let message = format!(
        "`{}` is a symbolic link to `{}`, which is outside of the project `{}`",
        link.display(),
        target.display(),
        root.display()
    );
    let hint = format!(
        "name the ensemble itself, `{}`, or remove the link",
        target.display()
    );
    Err(LoadError::new(LoadErrorKind::Refused, message, Some(hint)))
}

/// Returns the folder in which the program was started.
pub(crate) fn current_dir() -> Result<PathBuf, LoadError> {
    env::current_dir().map_err(|error| {
        let message = format!("the current folder cannot be found: {error}");
        LoadError::new(LoadErrorKind::Refused, message, None)
    })
}

/// Returns an error if the project, and not the user, names a manifest outside of the project.
///
/// A link beside which the user works, and an entry for another project, must lead to an ensemble at least.
fn refuse_foreign(
    located: &LocatedEnsemble,
    options: &SessionOptions,
    cwd: &Path,
    loader: &mut FileLoader<'_>,
) -> Result<(), project::Error> {
    let manifest = &located.manifest;
    let named = fs::absolute(Path::new(&options.ensemble), cwd);
    let is_named = !options.ensemble.is_empty() && named == *manifest;
    if is_named || located.trust.permits(READ_PERMISSION) {
        return Ok(());
    }
    let start = if options.ensemble.is_empty() {
        cwd
    } else {
        &named
    };
    let here = manifest.parent();
    let here = here.filter(|folder| start.starts_with(folder));
    if let Some(folder) = here {
        loader.scope().add_folder(folder);
    }
    let entry = located.entry.as_ref();
    let is_of_other = entry.is_some_and(|entry| entry.project.is_some());
    let checked = if is_of_other || here.is_some() {
        check_manifest(loader.scope(), manifest)
    } else {
        let inside = loader.scope().resolve(manifest).map(drop);
        inside.map_err(|error| error.diagnostic(Span::NONE, ""))
    };
    checked.map_err(|problem| project::Error::Invalid(problem.into()))
}

/// Finds the ensemble that the options select.
pub(crate) fn find(options: &SessionOptions) -> Result<EnsembleLocation, LoadError> {
    let env = Env::of_this_process();
    let cwd = current_dir()?;
    let search_root = env.non_empty("UNFURL_SEARCH_ROOT").map(PathBuf::from);
    let request = LocateRequest {
        argument: &options.ensemble,
        cwd: &cwd,
        search_root: search_root.as_deref(),
        home: options.home.as_deref(),
        use_environment: options.environment.as_deref(),
        allowed: &options.allowed,
    };
    let Search {
        located,
        sources,
        keys,
        closed,
    } = search(&request, options, &env);
    let home = options.home.as_deref();
    let home = home.filter(|home| !home.as_os_str().is_empty());
    match located {
        Ok(located) => {
            refuse_foreign_link(&located, &cwd)?;
            let link = link_of(&located.manifest);
            let mut located = located;
            let mut errors = Diagnostics::default();
            for problem in closed {
                match problem.severity {
                    Severity::Error => errors.push(problem),
                    _ => located.warnings.push(problem),
                }
            }
            let located = check_repositories(resolve_link(located))?;
            let own_files = [link.as_ref(), Some(&located.manifest)];
            for manifest in own_files.into_iter().flatten() {
                ensemble::refuse_links(manifest).map_err(|error| {
                    let hint = error.hint();
                    LoadError::new(LoadErrorKind::Refused, error, hint)
                })?;
            }
            ensemble::refuse_foreign_folders(&located.manifest).map_err(|error| {
                let hint = error.hint();
                LoadError::new(LoadErrorKind::Refused, error, Some(hint))
            })?;
            Ok(EnsembleLocation {
                home: home.map(|home| project::home_project_folder(home, &cwd).0),
                link,
                located,
                sources,
                env,
                keys,
                closed: errors,
                unsaved: UnsavedRecords::default(),
            })
        }
        Err(error) => Err(LoadError::of_search(error, sources)),
    }
}

/// The result of searching for an ensemble.
struct Search {
    located: Result<LocatedEnsemble, project::Error>,
    sources: Sources,
    keys: Keys,
    closed: Diagnostics,
}

/// Searches for the ensemble, with the keys that its project files have.
///
/// Project files may contain values that are encrypted with passwords which these files contain. So the files
/// are read again with the passwords found, as long as this gives more passwords.
fn search(request: &LocateRequest<'_>, options: &SessionOptions, env: &Env) -> Search {
    let mut keys = Keys::of_variables(env);
    let rekeyed = finish_rekey(request);
    loop {
        let mut sources = Sources::default();
        let mut loader = FileLoader::new(&mut sources, env, Limits::default());
        loader.set_keys(keys.clone());
        loader.tolerate_closed_values();
        // Whether the whole project is trusted is known only after it is found, so only explicit permissions
        // count here.
        let allowed = Trust::new(options.allowed.iter().cloned(), false);
        loader.set_trust(&allowed, request.cwd);
        let located = project::locate(request, &mut loader);
        let more = located.as_ref().map(|located| {
            let environment = located.environment(None);
            keys_of_environment(&environment, env, &keys)
        });
        let more = more.unwrap_or_else(|_| keys.clone());
        let located = located.and_then(|located| {
            refuse_foreign(&located, options, request.cwd, &mut loader)?;
            Ok(located)
        });
        let mut closed = loader.take_closed_values();
        drop(loader);
        if closed.is_empty() || more.passwords() == keys.passwords() {
            if rekeyed.has_errors() {
                closed.append(rekeyed);
                return Search {
                    located,
                    sources,
                    keys: more,
                    closed,
                };
            }
            let located = located.map(|mut located| {
                located.warnings.append(rekeyed);
                located
            });
            return Search {
                located,
                sources,
                keys: more,
                closed,
            };
        }
        keys = more;
    }
}

/// Finishes a `secret rekey` that was cut off, so that all files of the project have the same keys.
fn finish_rekey(request: &LocateRequest<'_>) -> Diagnostics {
    let start = fs::absolute(Path::new(request.argument), request.cwd);
    let project = project::enclosing_project(&start, request.search_root);
    match project.map(|project| finish_interrupted(&project)) {
        None | Some(Ok(None)) => Diagnostics::default(),
        Some(Ok(Some(_))) => {
            let message = "an interrupted `unfurl secret rekey` was finished: all files have their new content";
            Diagnostic::warning(message).into()
        }
        Some(Err(error)) => Diagnostic::error(&error).help(error.help()).into(),
    }
}

/// Refuses repositories of other users, and reports git settings that are ignored.
fn check_repositories(mut located: LocatedEnsemble) -> Result<LocatedEnsemble, LoadError> {
    match repositories_of(&located) {
        Ok(repositories) => located.warnings.append(ignored_settings(&repositories)),
        Err(error @ (git::Error::ForeignOwner { .. } | git::Error::ForeignWorkTree { .. })) => {
            let hint = error.hint();
            return Err(LoadError::new(LoadErrorKind::Refused, error, hint));
        }
        // An unreadable repository is reported where it is needed.
        Err(_) => {}
    }
    Ok(located)
}

/// Returns the permissions of a folder that belongs to no ensemble.
pub(crate) fn trust_of_folder(options: &SessionOptions, folder: &Path) -> Trust {
    let env = Env::of_this_process();
    let mut sources = Sources::default();
    let mut loader = FileLoader::new(&mut sources, &env, Limits::default());
    let request = LocateRequest {
        argument: "",
        cwd: folder,
        search_root: None,
        home: options.home.as_deref(),
        use_environment: None,
        allowed: &options.allowed,
    };
    // Without a readable home project, nothing is trusted.
    project::trust_for_file(&request, folder, &mut loader).unwrap_or_default()
}
