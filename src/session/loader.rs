//! Reads an ensemble: manifest, environment and service template, with all checks.
//!
//! [`load`] is the entry point and returns a [`Session`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::blueprint;
use super::connections;
use super::ensemble_location::EnsembleLocation;
use super::error::{LoadError, LoadErrorKind};
use super::given_inputs::GivenInputs;
use super::imports::FileImporter;
use super::inputs::{InputLayers, ResolvedInputs, resolve};
use super::instances;
use super::literal_secrets::LiteralSecrets;
use super::options::SessionOptions;
use super::orphan_templates::OrphanTemplates;
use super::package_lock::PackageLock;
use super::packages::{self, PackageTarget};
use super::read_scope::{add_own_files, add_repositories_of_home, folder_of_repository};
use super::secret_source::exposed_credentials;
use super::service_reader::read_service;
use super::session::Session;
use super::tool_artifacts::{drop_idle_operations, templates_with_installers};
use super::unused_keys::unused_keys;
use super::used_package::UsedPackage;
use crate::diagnostic::{Diagnostic, Diagnostics, Source, SourceId, Sources, Span};
use crate::ensemble::{JobTemporaryFolder, Manifest, ManifestSource};
use crate::project::{Environment, FileLoader};
use crate::system::fs;
use crate::tosca::{self, ReadOptions, ServiceTemplate};
use crate::yaml::{self, Limits, Node, NodeKind};

/// The maximum number of attempts to read the model, each with fewer orphan templates.
const MAX_ATTEMPTS: usize = 8;

/// Reads an ensemble and checks it completely.
pub(crate) fn load(
    found: EnsembleLocation,
    options: &SessionOptions,
) -> Result<Session, LoadError> {
    load_with(found, options, &mut OrphanTemplates::default())
}

/// Reads only the manifest, without its service template.
pub(crate) fn manifest(found: &EnsembleLocation) -> Result<Manifest, LoadError> {
    manifest_and_sources(found).map(|(manifest, _)| manifest)
}

/// Like [`manifest`], and also returns the environment that applies to the ensemble.
pub(crate) fn manifest_with_environment(
    found: &EnsembleLocation,
) -> Result<(Manifest, Environment), LoadError> {
    let (manifest, sources) = manifest_and_sources(found)?;
    let environment = found.located.environment(manifest.environment());
    if environment.problems.has_errors() {
        let problems = environment.problems;
        return Err(LoadError::with_sources(
            LoadErrorKind::Invalid,
            problems,
            sources,
        ));
    }
    Ok((manifest, environment))
}

fn manifest_and_sources(found: &EnsembleLocation) -> Result<(Manifest, Sources), LoadError> {
    with_loader(found, |loader| {
        // The callers use no values of the model.
        loader.tolerate_closed_values();
        read_manifest(&found.located.manifest, loader, Limits::default())
    })
}

/// Calls `read` with a loader for the ensemble's files. Also returns the texts read.
fn with_loader<T>(
    found: &EnsembleLocation,
    read: impl FnOnce(&mut FileLoader<'_>) -> Result<T, Diagnostics>,
) -> Result<(T, Sources), LoadError> {
    let located = &found.located;
    let mut sources = found.sources.clone();
    let mut loader = FileLoader::new(&mut sources, &found.env, Limits::default());
    loader.set_keys(found.keys.clone());
    loader.set_trust(&located.trust, located.folder());
    add_own_files(located, found.home.as_deref(), &mut loader);
    if let Some(text) = &found.unsaved.manifest {
        loader.replace_text(&located.manifest, Arc::clone(text));
    }
    let result = read(&mut loader);
    drop(loader);
    match result {
        Ok(read) => Ok((read, sources)),
        Err(problems) => Err(LoadError::with_sources(
            LoadErrorKind::Invalid,
            problems,
            sources,
        )),
    }
}

/// Like [`load`], with additional node templates that were removed from the model, as far as they are still
/// valid in it.
pub(super) fn load_with(
    found: EnsembleLocation,
    options: &SessionOptions,
    orphan_templates: &mut OrphanTemplates,
) -> Result<Session, LoadError> {
    let located = &found.located;
    let mut warnings = located.warnings.clone();
    let ((read, rules, scope), sources) = with_loader(&found, |loader| {
        if found.closed.has_errors() {
            return Err(found.closed.clone());
        }
        let read = read(&found, loader, options, orphan_templates)?;
        warnings.append(loader.take_warnings());
        let rules = loader.package_rules().to_vec();
        Ok((read, rules, loader.scope().clone()))
    })?;
    let ReadEnsemble {
        manifest,
        environment,
        model,
        packages,
    } = read;
    warnings.append(model.problems);
    warnings.append(exposed_credentials(&environment, &found.env));
    if found.keys.found_known_password() {
        let message =
            "some values or files are encrypted with the password `merge`, which everyone knows";
        let help = "Unfurl takes the directive `+%: merge` in `vault_secrets` for a password; change these \
                    secrets, and encrypt them again, files of `.secrets` with `ansible-vault rekey`";
        warnings.push(Diagnostic::warning(message).help(help));
    }
    let project = located.root().unwrap_or_else(|| located.folder());
    let own = fs::canonicalize(&located.manifest).unwrap_or_else(|_| located.manifest.clone());
    Ok(Session {
        sources,
        manifest,
        service: Arc::new(model.service),
        environment,
        warnings,
        project: project.to_path_buf(),
        options: options.clone(),
        scope,
        temporary: Arc::new(JobTemporaryFolder::of_ensemble(&own)),
        manifest_chain: vec![own],
        packages,
        package_rules: rules,
        inputs: model.inputs.inputs,
        input_sources: model.inputs.sources,
        location: found,
    })
}

/// The model that a manifest describes.
struct ServiceModel {
    service: ServiceTemplate,
    inputs: ResolvedInputs,
    /// The warnings about the model; errors are returned separately.
    problems: Diagnostics,
}

/// Everything that a loader reads of an ensemble.
struct ReadEnsemble {
    manifest: Manifest,
    environment: Environment,
    model: ServiceModel,
    packages: Vec<UsedPackage>,
}

/// Reads the manifest and then the model, and checks the packages that they use.
fn read(
    found: &EnsembleLocation,
    loader: &mut FileLoader<'_>,
    options: &SessionOptions,
    orphan_templates: &mut OrphanTemplates,
) -> Result<ReadEnsemble, Diagnostics> {
    let (manifest, environment) = read_head(found, loader, options, orphan_templates)?;
    let lock = PackageLock::of(&manifest);
    if loader.package_rules().is_empty() {
        loader.add_package_rules(lock.rules.clone());
    }
    let read = read_model(
        found,
        loader,
        options,
        orphan_templates,
        &manifest,
        &environment,
    );
    let (targets, mut problems) = packages::targets(loader.package_uses(), &lock);
    let packages = packages::check(&targets, options.locked, &mut problems);
    if options.locked {
        let located = &found.located;
        let own = [located.folder(), located.root().unwrap_or(located.folder())];
        problems.append(packages::unlocked_folders(
            loader.local_repository_uses(),
            &own,
        ));
    }
    match read {
        Ok(mut model) if !problems.stop_loading() => {
            model.problems.append(problems);
            Ok(ReadEnsemble {
                manifest,
                environment,
                model,
                packages,
            })
        }
        Ok(_) => Err(problems),
        Err(mut all) => {
            all.append(problems);
            Err(all)
        }
    }
}

/// Returns the packages that an ensemble uses, as far as it can be read, with the revisions that they must have.
pub(crate) fn package_targets(
    found: &EnsembleLocation,
    options: &SessionOptions,
) -> Result<Vec<PackageTarget>, LoadError> {
    let (targets, _) = with_loader(found, |loader| {
        loader.tolerate_closed_values();
        let orphans = &mut OrphanTemplates::default();
        let Ok((manifest, environment)) = read_head(found, loader, options, orphans) else {
            // Packages that the manifest includes come first.
            return Ok(packages::targets(loader.package_uses(), &PackageLock::default()).0);
        };
        let lock = PackageLock::of(&manifest);
        if loader.package_rules().is_empty() {
            loader.add_package_rules(lock.rules.clone());
        }
        // The problems are those that the packages are to solve.
        drop(read_model(
            found,
            loader,
            options,
            orphans,
            &manifest,
            &environment,
        ));
        let (targets, problems) = packages::targets(loader.package_uses(), &lock);
        if problems.has_errors() {
            Err(problems)
        } else {
            Ok(targets)
        }
    })?;
    Ok(targets)
}

/// Reads the manifest and its environment.
fn read_head(
    found: &EnsembleLocation,
    loader: &mut FileLoader<'_>,
    options: &SessionOptions,
    orphan_templates: &mut OrphanTemplates,
) -> Result<(Manifest, Environment), Diagnostics> {
    let located = &found.located;
    let base = located.folder();
    // Problems are reported below, where the environment is complete.
    drop(packages::declare(
        &located.environment(None),
        base,
        &found.env,
        loader,
    ));
    let manifest = read_manifest(&located.manifest, loader, Limits::default());
    let manifest = manifest.inspect_err(|problems| orphan_templates.discard_misfits(problems))?;
    let environment = located.environment(manifest.environment());
    add_repositories(&environment, base, loader);
    add_repositories_of_home(&environment, base, options, loader);
    let problems = packages::declare(&environment, base, &found.env, loader);
    if problems.has_errors() {
        return Err(problems);
    }
    Ok((manifest, environment))
}

/// Reads the model, dropping invalid orphan templates until it is valid.
fn read_model(
    found: &EnsembleLocation,
    loader: &mut FileLoader<'_>,
    options: &SessionOptions,
    orphan_templates: &mut OrphanTemplates,
    manifest: &Manifest,
    environment: &Environment,
) -> Result<ServiceModel, Diagnostics> {
    let given = GivenInputs::read(options, &found.env, loader)?;
    let warnings = loader.take_warnings();
    let mut attempts = 0;
    let mut model = loop {
        attempts += 1;
        let reading = ModelReader {
            found,
            manifest,
            environment,
            given: &given,
            options,
        };
        match reading.model(loader, orphan_templates) {
            // An error in the template of an orphan must not stop a job.
            Ok(model)
                if attempts == MAX_ATTEMPTS || !orphan_templates.discard_bad(&model.problems) =>
            {
                break model;
            }
            Ok(_) => drop(loader.take_warnings()),
            Err(problems) => {
                orphan_templates.discard_misfits(&problems);
                if orphan_templates.is_empty() || attempts == MAX_ATTEMPTS {
                    return Err(problems);
                }
                // The next attempt repeats these warnings.
                loader.take_warnings();
            }
        }
    };
    let mut problems = warnings;
    problems.append(loader.take_warnings());
    problems.append(std::mem::take(&mut model.problems));
    model.problems = problems;
    Ok(model)
}

/// The inputs for reading a model.
struct ModelReader<'a> {
    found: &'a EnsembleLocation,
    manifest: &'a Manifest,
    environment: &'a Environment,
    given: &'a GivenInputs,
    options: &'a SessionOptions,
}

impl ModelReader<'_> {
    fn model(
        &self,
        loader: &mut FileLoader<'_>,
        orphan_templates: &OrphanTemplates,
    ) -> Result<ServiceModel, Diagnostics> {
        let Self {
            manifest,
            environment,
            ..
        } = *self;
        let root = manifest.service_template().cloned();
        let without = root.is_none();
        let null = || Node::new(NodeKind::Null, manifest.root().span(), None);
        let root = root.unwrap_or_else(null);
        let mut chosen = Diagnostics::default();
        let sources = loader.sources();
        let read_options = self.read_options(&root, sources, orphan_templates, &mut chosen);
        let mut importer = FileImporter {
            loader,
            document: manifest.root().clone(),
            limits: Limits::default(),
            lenient: false,
        };
        let (service, mut problems) =
            self.read_with_installers(&root, &mut importer, &read_options);
        problems.append(chosen);
        problems.append(environment.problems.clone());
        let sources = importer.loader.sources();
        let secrets = LiteralSecrets::find(
            manifest.root(),
            Some(environment),
            service.as_ref(),
            sources,
        );
        importer.loader.hide(&secrets.spans);
        problems = secrets.hide_in(problems);
        let Some(service) = service.filter(|_| !problems.stop_loading()) else {
            return Err(problems);
        };
        connections::check_operations(&service, &mut problems);
        let inputs = self.inputs(&service, &mut problems);
        // A misspelt key of `spec` is reported, and this would be a consequence of it.
        if without && !problems.has_errors() {
            let message = "the ensemble has no service template, so there is nothing to deploy";
            let help = "describe what to deploy under `spec: {service_template: …}`";
            problems.push(Diagnostic::warning(message).help(help));
        }
        if problems.stop_loading() {
            return Err(problems);
        }
        Ok(ServiceModel {
            service,
            inputs,
            problems,
        })
    }

    /// Reads the model, and reads it again with the installers of the artifacts that its operations need, if there are any.
    fn read_with_installers(
        &self,
        root: &Node,
        importer: &mut FileImporter<'_, '_>,
        options: &ReadOptions,
    ) -> (Option<ServiceTemplate>, Diagnostics) {
        let env = &self.found.env;
        let base = self.found.located.folder();
        let (service, problems) = read_service(root, base, importer, options, env);
        // A model with errors is kept: it says which values are secret, and messages must not show these.
        let Some(service) = service else {
            return (None, problems);
        };
        if problems.stop_loading() {
            return (Some(service), problems);
        }
        let path = env.get("PATH").unwrap_or_default();
        let installers = templates_with_installers(&service, path);
        let (mut service, problems) = if installers.is_empty() {
            (Some(service), problems)
        } else {
            let mut options = options.clone();
            for (name, entry) in &installers {
                options
                    .added_templates
                    .insert(Arc::clone(name), entry.clone());
            }
            importer.loader.take_warnings();
            read_service(root, base, importer, &options, env)
        };
        service.iter_mut().for_each(drop_idle_operations);
        (service, problems)
    }

    /// Determines the inputs and checks their values.
    fn inputs(&self, service: &ServiceTemplate, problems: &mut Diagnostics) -> ResolvedInputs {
        let layers = InputLayers {
            manifest: self.manifest,
            environment: self.environment,
            service,
            given: self.given,
        };
        let resolved = resolve(&layers, problems);
        if !self.options.is_external {
            problems.append(unused_keys(self.manifest, self.environment, service));
        }
        if !self.options.incomplete {
            let values = &resolved.inputs.values;
            let origins = resolved.origins(service);
            let found = tosca::check_inputs(&service.types, &service.topology, values, &origins);
            problems.append(found);
        }
        resolved
    }

    /// Returns the options for reading the service template `root`.
    fn read_options(
        &self,
        root: &Node,
        sources: &Sources,
        orphan_templates: &OrphanTemplates,
        problems: &mut Diagnostics,
    ) -> ReadOptions {
        let manifest = self.manifest;
        let of_spec = manifest.blueprints().cloned();
        ReadOptions {
            check_unused: self.options.check_unused,
            blueprint: blueprint::choose_blueprint(
                root,
                of_spec.as_ref(),
                self.environment,
                problems,
            ),
            blueprints: of_spec,
            added_templates: instances::templates(manifest.root().get("spec"), root),
            orphaned_templates: orphan_templates.mapping(),
            connections: connections::relationship_templates(self.environment),
            extra_imports: connections::imports(
                self.environment,
                sources,
                self.found.located.folder(),
            ),
            directories: directories_of_includes(sources),
            ..ReadOptions::default()
        }
    }
}

/// Returns the folders of included files, for the relative file names in them.
pub(crate) fn directories_of_includes(sources: &Sources) -> HashMap<SourceId, Arc<PathBuf>> {
    let included = sources
        .iter()
        .filter(|(_, source)| source.included_from.is_some());
    let directory = |(id, source): (SourceId, &Source)| {
        let parent = source.path.parent()?;
        Some((id, Arc::new(parent.to_path_buf())))
    };
    included.filter_map(directory).collect()
}

/// Reads a manifest and expands its merge directives.
pub(crate) fn read_manifest(
    path: &Path,
    loader: &mut FileLoader<'_>,
    limits: Limits,
) -> Result<Manifest, Diagnostics> {
    if path.extension().is_some_and(|extension| extension == "py") {
        let message = format!(
            "`{}` is a service template, not an ensemble",
            path.display()
        );
        let help = "include it in an `ensemble.yaml`: `spec: {service_template: {+include: …}}`";
        return Err(Diagnostic::error(message).help(help).into());
    }
    let (source, root) = loader.read(path, None)?;
    if loader.is_decrypted(source) {
        let message = "an ensemble cannot be encrypted as a whole, because jobs write into it";
        let help = "run `ansible-vault decrypt` for the file, and encrypt single values with \
                    `ansible-vault encrypt_string`";
        let start = Span::new(source, 0, 0);
        return Err(Diagnostic::error(message)
            .label(start, "")
            .help(help)
            .into());
    }
    let expanded = yaml::expand(&root, loader, &limits)?;
    let text = loader
        .sources()
        .get(source)
        .map(|source| Arc::clone(&source.text));
    let text = text.unwrap_or_else(|| Arc::from(""));
    Manifest::read(ManifestSource {
        path: path.to_path_buf(),
        text,
        source,
        expanded,
        writer: Arc::new(loader.keys().clone()),
    })
}

fn add_repositories(environment: &Environment, base: &Path, loader: &mut FileLoader<'_>) {
    let repositories = environment.repositories().and_then(Node::as_map);
    for (name, entry) in repositories.into_iter().flatten() {
        if let Some(folder) = folder_of_repository(&entry.value, base) {
            loader.add_repository(&**name, folder);
        }
    }
}
