//! Warns about parts of an ensemble that are read and have no effect.

use crate::diagnostic::{Check, Diagnostic, Diagnostics};
use crate::ensemble::{MANIFEST_KEYS, Manifest, SPEC_KEYS};
use crate::project::Environment;
use crate::text::did_you_mean;
use crate::tosca::ServiceTemplate;
use crate::yaml::Node;

/// The file in which jobs are listed.
const JOBS_LOG: &str = "jobs.tsv";

/// Keys that jobs write and that have no entry in the tables of keys.
const WRITTEN_KEYS: [&str; 1] = ["discovered"];

/// Returns a warning for each part of an ensemble that has no effect.
pub(super) fn unused_keys(
    manifest: &Manifest,
    environment: &Environment,
    service: &ServiceTemplate,
) -> Diagnostics {
    let mut warnings = Diagnostics::default();
    misspelt_inputs(environment, service, &mut warnings);
    let root = manifest.root();
    misspelt_root_keys(root, &mut warnings);
    let Some(spec) = root.get("spec") else {
        return warnings;
    };
    unknown_spec_keys(spec, manifest.has_merges(), &mut warnings);
    undeclared_inputs(spec, service, &mut warnings);
    let log = root.get("jobsLog").filter(|log| !log.is_null());
    if let Some(log) = log.filter(|log| log.as_str() != Some(JOBS_LOG)) {
        let message = format!("`jobsLog` has no effect: jobs are listed in `{JOBS_LOG}`");
        let warning = Diagnostic::warning(message).label(log.span(), "ignored");
        let help = format!("rename that file to `{JOBS_LOG}`, and remove the key");
        warnings.push(warning.help(help).check(Check::UnusedKey));
    }
    warnings
}

/// Warns about keys that resemble a known one. Other keys may be there for merge directives or people.
fn misspelt_root_keys(root: &Node, warnings: &mut Diagnostics) {
    for (key, entry) in root.as_map().into_iter().flatten() {
        if MANIFEST_KEYS.has_key(key) {
            continue;
        }
        if let Some(similar) = did_you_mean(key, MANIFEST_KEYS.names()) {
            let message = format!("an ensemble has no key `{key}`");
            let warning = Diagnostic::warning(message).label(entry.key_span, "ignored");
            warnings.push(warning.help(similar).check(Check::UnknownKey));
        }
    }
}

/// Reports unknown keys under `spec`, as errors if they resemble a known one. If the file has merge directives, they may use such keys.
fn unknown_spec_keys(spec: &Node, has_merges: bool, warnings: &mut Diagnostics) {
    for (key, entry) in spec.as_map().into_iter().flatten() {
        if SPEC_KEYS.has_key(key) || WRITTEN_KEYS.contains(&&**key) {
            continue;
        }
        let similar = did_you_mean(key, SPEC_KEYS.names());
        if similar.is_some() || !has_merges {
            let message = format!("`spec` of an ensemble has no key `{key}`");
            let problem = match &similar {
                Some(_) => Diagnostic::error(message).contained(),
                None => Diagnostic::warning(message),
            };
            let problem = problem.label(entry.key_span, "ignored").help_if(similar);
            warnings.push(problem.check(Check::UnknownKey));
        }
    }
}

/// Warns about inputs of the environment that resemble one of the service template. Others may be for other ensembles.
fn misspelt_inputs(
    environment: &Environment,
    service: &ServiceTemplate,
    warnings: &mut Diagnostics,
) {
    let declared = &service.topology.inputs;
    let inputs = environment.section("inputs").and_then(Node::as_map);
    for (name, entry) in inputs.into_iter().flatten() {
        let similar = did_you_mean(name, declared.keys().map(|name| &**name));
        if let Some(similar) = similar.filter(|_| !declared.contains_key(name)) {
            let message =
                format!("the service template has no input `{name}`, which the environment sets");
            let warning = Diagnostic::warning(message).label(entry.key_span, "set here");
            warnings.push(warning.help(similar).check(Check::UndeclaredInput));
        }
    }
}

/// Reports values under `spec.inputs` that the service template does not use.
fn undeclared_inputs(spec: &Node, service: &ServiceTemplate, warnings: &mut Diagnostics) {
    let declared = &service.topology.inputs;
    let inputs = spec.get("inputs").and_then(Node::as_map);
    for (name, entry) in inputs.into_iter().flatten() {
        if declared.contains_key(name) {
            continue;
        }
        let message = format!("the service template has no input `{name}`");
        let similar = did_you_mean(name, declared.keys().map(|name| &**name));
        let help = similar.unwrap_or_else(|| {
            format!("declare it under `topology_template.inputs`, or remove `{name}`")
        });
        let problem = Diagnostic::error(message).label(entry.key_span, "set here");
        let problem = problem.help(help).check(Check::UndeclaredInput);
        warnings.push(problem.contained());
    }
}
