//! Exports an ensemble for other programs: as the objects of Unfurl's user interface, or as the
//! resolved model. Evaluates nothing and runs nothing.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::failure::{Failure, FailureKind};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::export::{EnsembleExport, LoadedEnsemble, deployment_paths, model};
use crate::name::EnumWords;
use crate::project::LocatedEnsemble;
use crate::session::SessionOptions;
use crate::session::{self, Session};
use crate::system::fs;

/// What is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// The blueprint that the ensemble is made from.
    Blueprint,
    /// The environments of the project.
    Environments,
    /// The ensemble with what is recorded of it.
    Deployment,
    /// All ensembles of the project that have an environment.
    Deployments,
    /// The resolved model.
    Model,
}

/// Whether a file that is there gives way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// If the ensemble was written after it.
    Older,
    /// No.
    Never,
    /// Yes.
    Always,
    /// Yes; Unfurl distinguishes more for the sources that it writes.
    Auto,
}

impl EnumWords for Overwrite {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Older, "older", "If the ensemble was written after it"),
        (Self::Never, "never", "Never"),
        (Self::Always, "always", "Always"),
        (Self::Auto, "auto", "Always, but sources in Python"),
    ];
}

/// What was exported.
#[derive(Debug)]
pub struct Export {
    /// The answer.
    pub answer: Json,
    /// What people should know.
    pub warnings: Diagnostics,
    /// The texts that the warnings point into.
    pub sources: Sources,
    /// The newest of the files that were read, by the time it was written.
    newest: Option<std::time::SystemTime>,
}

/// Exports an ensemble. With `local_names`, types go by the names that their files give them.
pub fn export(
    options: &SessionOptions,
    format: ExportFormat,
    local_names: bool,
) -> Result<Export, Failure> {
    let options = SessionOptions {
        incomplete: true,
        ..options.clone()
    };
    let (mut session, located) = load(&options)?;
    let answer = match format {
        ExportFormat::Deployments => deployments(&located, &options, local_names, &mut session),
        other => one(&mut session, &located, other, local_names)?,
    };
    let times = session.sources.iter();
    let newest = times
        .filter_map(|(_, source)| fs::modified_time(&source.path))
        .max();
    Ok(Export {
        answer,
        newest,
        warnings: session.warnings,
        sources: session.sources,
    })
}

fn load(options: &SessionOptions) -> Result<(Session, LocatedEnsemble), Failure> {
    let found = session::find(options)?;
    let located = found.located.clone();
    let session = session::load(found, options)
        .map_err(|failure| failure.map_kind(|_| FailureKind::Refused))?;
    Ok((session, located))
}

fn one(
    session: &mut Session,
    located: &LocatedEnsemble,
    format: ExportFormat,
    local_names: bool,
) -> Result<Json, Failure> {
    let topology = session.topology()?;
    let service = Arc::clone(&session.service);
    if format == ExportFormat::Model {
        let base = session.manifest.base_dir();
        return Ok(model(&service, &session.sources, base));
    }
    let loaded = LoadedEnsemble {
        manifest: &session.manifest,
        service: &service,
        environment: &session.environment,
        sources: &session.sources,
        located,
    };
    let exported = EnsembleExport::new(loaded, local_names);
    Ok(match format {
        ExportFormat::Blueprint => exported.blueprint(),
        ExportFormat::Environments => exported.environments(),
        _ => exported.deployment(&topology),
    })
}

/// Every ensemble that the project lists with an environment; one that cannot be loaded is told.
fn deployments(
    located: &LocatedEnsemble,
    options: &SessionOptions,
    local_names: bool,
    session: &mut Session,
) -> Json {
    let paths = deployment_paths(located.project.as_ref());
    let mut found = Vec::new();
    for entry in paths.values().map(|path| path.entry) {
        let Some(project) = &located.project else {
            break;
        };
        let path = fs::absolute(Path::new(&entry.file), &project.root);
        let options = SessionOptions {
            ensemble: path.display().to_string(),
            environment: entry.environment.clone(),
            ..options.clone()
        };
        let exported = load(&options).and_then(|(mut session, located)| {
            one(
                &mut session,
                &located,
                ExportFormat::Deployment,
                local_names,
            )
        });
        match exported {
            Ok(answer) => found.push(answer),
            Err(failure) => {
                let message = format!(
                    "the ensemble `{}` cannot be exported: {failure}",
                    entry.file
                );
                session.warnings.push(Diagnostic::warning(message));
            }
        }
    }
    let objects = paths
        .iter()
        .map(|(name, path)| (name.clone(), path.object.clone()));
    let objects: serde_json::Map<String, Json> = objects.collect();
    json!({ "DeploymentPath": objects, "deployments": found })
}

impl Export {
    /// Refuses to write over what was read, and over what is no plain file.
    fn check_target(&self, file: &Path) -> Result<(), Failure> {
        let real = fs::canonicalize(file).ok();
        let mut read = self.sources.iter().map(|(_, source)| &source.path);
        let is_source = real.is_some() && read.any(|path| fs::canonicalize(path).ok() == real);
        let problem = if is_source {
            "is one of the files that the export is made from"
        } else if fs::exists(file) && !fs::is_file(file) {
            "is no plain file"
        } else {
            return Ok(());
        };
        let message = format!("`{}` {problem}, so it is not written", file.display());
        let hint = "choose another file, or leave out `--file` to print the export";
        Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(hint.to_owned()),
        ))
    }

    /// Writes a text to a file, whole or not at all; says whether it did.
    pub fn write(&self, text: &str, file: &Path, overwrite: Overwrite) -> Result<bool, Failure> {
        let may_overwrite = match overwrite {
            _ if !fs::exists(file) => true,
            Overwrite::Always | Overwrite::Auto => true,
            Overwrite::Never => false,
            Overwrite::Older => fs::modified_time(file) < self.newest,
        };
        if !may_overwrite {
            return Ok(false);
        }
        self.check_target(file)?;
        fs::write_atomic(file, text.as_bytes(), None).map_err(|error| {
            let hint = error.hint();
            Failure::new(FailureKind::Refused, error, hint)
        })?;
        Ok(true)
    }
}
