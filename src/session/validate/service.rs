//! Validates service templates without an ensemble, as a file or in a CSAR.

use std::collections::HashSet;
use std::path::Path;

use super::csar_files::missing_files;
use crate::check::{ModelChecks, check_model};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::project::{Csar, FileLoader};
use crate::session::FileImporter;
use crate::session::directories_of_includes;
use crate::session::literal_secrets::LiteralSecrets;
use crate::session::read_service;
use crate::system::env::Env;
use crate::tosca::{ReadOptions, ServiceTemplate};
use crate::yaml::{self, Limits, Node};

/// Validates a service template with its imports.
pub(super) fn service_template(file: &Path, loader: &mut FileLoader<'_>, env: &Env) -> Diagnostics {
    let read = read(file, loader, env);
    let problems = read.map(|(template, problems)| {
        // Freeing the template piece by piece takes long; the process ends soon and frees all memory at once.
        std::mem::forget(template);
        problems
    });
    collect_problems(problems, loader)
}

/// Validates a CSAR: its service template and the presence of all named files.
pub(super) fn csar(csar: &Csar, loader: &mut FileLoader<'_>, env: &Env) -> Diagnostics {
    let problems = read_csar(csar, loader, env);
    collect_problems(problems, loader)
}

/// Returns the problems of a successful or failed read, with the loader's warnings.
fn collect_problems(
    read: Result<Diagnostics, Diagnostics>,
    loader: &mut FileLoader<'_>,
) -> Diagnostics {
    let (Ok(mut problems) | Err(mut problems)) = read;
    problems.append(loader.take_warnings());
    problems
}

fn read_csar(
    csar: &Csar,
    loader: &mut FileLoader<'_>,
    env: &Env,
) -> Result<Diagnostics, Diagnostics> {
    if csar.archive {
        loader.open_archive(&csar.root)?;
    }
    let entry = csar.entry_file(loader)?;
    let (template, mut problems) = read(&entry, loader, env)?;
    if let Some(template) = template.filter(|_| csar.archive) {
        problems.append(missing_files(&template, loader));
    }
    Ok(problems)
}

/// The service template, if it could be read, and the problems found.
type ServiceRead = (Option<ServiceTemplate>, Diagnostics);

fn read(file: &Path, loader: &mut FileLoader<'_>, env: &Env) -> Result<ServiceRead, Diagnostics> {
    let limits = Limits::default();
    let (_, text) = loader.read(file, None)?;
    let root = yaml::expand(&text, loader, &limits)?.root;
    if root.get("tosca_definitions_version").is_none() {
        return Err(missing_version_problem(&root).into());
    }
    let options = ReadOptions {
        check_unused: true,
        check_references: !is_unfurl(&root),
        directories: directories_of_includes(loader.sources()),
        ..ReadOptions::default()
    };
    let mut importer = FileImporter {
        loader,
        document: root.clone(),
        limits,
        lenient: true,
    };
    let base = file.parent().unwrap_or(Path::new("."));
    let (service, problems) = read_service(&root, base, &mut importer, &options, env);
    let sources = importer.loader.sources();
    let secrets = LiteralSecrets::find(&root, None, service.as_ref(), sources);
    importer.loader.hide(&secrets.spans);
    let mut problems = secrets.hide_in(problems);
    if let Some(service) = service.as_ref().filter(|_| !problems.stop_loading()) {
        problems.append(check_model(
            service,
            ModelChecks {
                sources: importer.loader.sources(),
                given_inputs: HashSet::new(),
                recorded_names: &HashSet::new,
                variables: HashSet::new(),
                machine: None,
                base_dir: base,
                lenient: !is_unfurl(&root),
            },
        ));
    }
    Ok((service, problems))
}

/// Whether the template uses Unfurl's own TOSCA version.
fn is_unfurl(root: &Node) -> bool {
    let version = root.get("tosca_definitions_version");
    version.and_then(Node::as_str) == Some("tosca_simple_unfurl_1_0_0")
}

/// Returns the error for a text that is neither an ensemble nor a service template.
fn missing_version_problem(root: &Node) -> Diagnostic {
    let Some(map) = root.as_map() else {
        let message = format!(
            "this file is not an ensemble, project or service template: it contains {}",
            root.kind_name()
        );
        return Diagnostic::error(message)
            .label(root.span(), "")
            .help("write a map that begins with `tosca_definitions_version`");
    };
    let similar = map
        .iter()
        .find(|(key, _)| key.starts_with("tosca_definition"));
    let first = map.iter().next();
    let problem = Diagnostic::error("the service template has no `tosca_definitions_version`");
    match (similar, first) {
        (Some((_, entry)), _) => problem
            .label(entry.key_span, "")
            .help("write `tosca_definitions_version`"),
        (None, Some((_, entry))) => problem
            .label(entry.key_span, "")
            .help("add `tosca_definitions_version: tosca_simple_yaml_1_3` as its first line"),
        (None, None) => problem.label(root.span(), ""),
    }
}
