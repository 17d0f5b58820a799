//! Helpers for the tests of this module: service templates from texts in memory.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Sources};
use crate::yaml::{Limits, Node, parse};

use super::options::ReadOptions;
use super::reader::read;
use super::template::{NodeTemplate, ServiceTemplate};
use super::type_loader::{ImportRequest, Imported, Importer};

/// A service template read from a text, with its problems.
pub(super) struct TestTemplate {
    pub(super) service: ServiceTemplate,
    pub(super) problems: Diagnostics,
    sources: Sources,
}

/// An importer that finds files by name in memory.
struct MemoryImporter {
    files: Vec<(&'static str, SourceId, Node)>,
}

impl Importer for MemoryImporter {
    fn import(&mut self, request: &ImportRequest) -> Result<Imported, Diagnostic> {
        let found = self.files.iter().find(|(name, ..)| **name == *request.file);
        let Some((_, source, root)) = found else {
            let message = format!("there is no file `{}`", request.file);
            return Err(Diagnostic::error(message).label(request.span, ""));
        };
        Ok(Imported {
            source: *source,
            root: root.clone(),
            base_dir: PathBuf::from("/imported"),
        })
    }
}

/// Reads a service template that has no imports.
pub(super) fn read_template(text: &'static str) -> TestTemplate {
    read_template_with(text, &[], &ReadOptions::default())
}

/// Reads a service template that can import the files.
pub(super) fn read_template_with(
    text: &'static str,
    files: &[(&'static str, &'static str)],
    options: &ReadOptions,
) -> TestTemplate {
    let mut sources = Sources::default();
    let mut load = |name: &str, text: &str| {
        let source = sources.add(name, text, None);
        let node = parse(&sources, source, &Limits::default()).expect("the text is YAML");
        (source, node)
    };
    let (_, root) = load("service.yaml", text);
    let files = files.iter().map(|(name, text)| {
        let (source, node) = load(name, text);
        (*name, source, node)
    });
    let mut importer = MemoryImporter {
        files: files.collect(),
    };
    let (service, problems) = read(&root, Path::new("/project"), &mut importer, options);
    TestTemplate {
        service: service.expect("it is a map"),
        problems,
        sources,
    }
}

impl TestTemplate {
    /// Returns the location, the message and the hint of each problem.
    pub(super) fn report(&self) -> String {
        let line = |problem: &Diagnostic| {
            let place = problem.span().and_then(|span| self.sources.position(span));
            let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
            let help = problem
                .help
                .as_ref()
                .map(|help| format!("\n  hint: {help}"));
            format!("{place}{}{}", problem.message, help.unwrap_or_default())
        };
        let lines: Vec<_> = self.problems.iter().map(line).collect();
        lines.join("\n")
    }

    /// Returns the node template with the name. Panics if there is none.
    pub(super) fn node(&self, name: &str) -> &NodeTemplate {
        &self.service.topology.nodes[name]
    }

    /// Returns the targets of a node template's requirements, as lines of the form `name → target
    /// (relationship, capability)`.
    pub(super) fn targets(&self, name: &str) -> String {
        let shown = self.node(name).requirements.iter().map(|requirement| {
            let target = requirement
                .target
                .as_ref()
                .map_or("nothing", |it| it.as_str());
            let relationship = &requirement.relationship.type_name;
            let capability = requirement.capability.as_deref().unwrap_or("none");
            format!(
                "{} → {target} ({relationship}, {capability})",
                requirement.name
            )
        });
        shown.collect::<Vec<_>>().join("\n")
    }
}
