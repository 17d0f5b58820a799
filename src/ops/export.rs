//! Implements `unfurl export`: exports an ensemble as JSON, in the formats of Unfurl's user interface or as
//! the resolved model. Evaluates no expressions and runs nothing.

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

/// The formats in which an ensemble can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// The blueprint on which the ensemble is based.
    Blueprint,
    Environments,
    /// The ensemble with its recorded instances.
    Deployment,
    /// The ensembles of the project that have an environment.
    Deployments,
    /// The resolved model: types and templates.
    Model,
}

/// The conditions for overwriting an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Overwrite if the ensemble is newer than the file.
    Older,
    Never,
    Always,
    /// Always overwrite. Unfurl treats generated Python sources differently here.
    Auto,
}

impl EnumWords for Overwrite {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::Older,
            "older",
            "If the ensemble is newer than the file",
        ),
        (Self::Never, "never", "Never"),
        (Self::Always, "always", "Always"),
        (Self::Auto, "auto", "Always, except Python sources"),
    ];
}

/// An export with its warnings and the age of its inputs.
#[derive(Debug)]
pub struct Export {
    pub answer: Json,
    pub warnings: Diagnostics,
    /// The texts to which the warnings point.
    pub sources: Sources,
    /// The latest modification time of the files read.
    newest: Option<std::time::SystemTime>,
}

/// Exports an ensemble. With `local_names`, types keep the names from their files instead of globally unique
/// names.
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
        other => export_one(&mut session, &located, other, local_names)?,
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
    if session.warnings.has_errors() {
        let (problems, sources) = (session.warnings, session.sources);
        return Err(Failure::with_sources(
            FailureKind::Refused,
            problems,
            sources,
        ));
    }
    Ok((session, located))
}

fn export_one(
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

/// Exports every ensemble that the project lists with an environment. An ensemble that cannot be loaded
/// causes a warning.
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
            export_one(
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
    /// Refuses to overwrite an input file or anything but a regular file.
    fn check_target(&self, file: &Path) -> Result<(), Failure> {
        let real = fs::canonicalize(file).ok();
        let mut read = self.sources.iter().map(|(_, source)| &source.path);
        let is_source = real.is_some() && read.any(|path| fs::canonicalize(path).ok() == real);
        let problem = if is_source {
            "is one of the input files of the export"
        } else if fs::exists(file) && !fs::is_file(file) {
            "is not a regular file"
        } else {
            return Ok(());
        };
        let message = format!("`{}` {problem}, so it is not written", file.display());
        let hint = "choose another file, or omit `--file` to print the export";
        Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(hint.to_owned()),
        ))
    }

    /// Writes a text to a file atomically. Returns whether it was written.
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
