//! Checks that a CSAR archive contains the files that its service template names.

use std::path::Path;

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::project::FileLoader;
use crate::tosca::{
    Artifact, Dependency, ImplementationKind, NodeTemplate, Operation, ServiceTemplate,
};

/// Reports artifacts and implementations whose files are missing in the archive.
pub(super) fn missing_files(template: &ServiceTemplate, loader: &FileLoader<'_>) -> Diagnostics {
    let mut files = FileChecker {
        loader,
        problems: Diagnostics::default(),
    };
    for node in template.topology.nodes.values() {
        files.node(node);
    }
    files.problems
}

/// Visits the node templates and collects missing files.
struct FileChecker<'l, 's> {
    loader: &'l FileLoader<'s>,
    problems: Diagnostics,
}

impl FileChecker<'_, '_> {
    fn node(&mut self, node: &NodeTemplate) {
        for artifact in node.artifacts.values() {
            self.artifact(artifact);
        }
        for operation in node.operations.iter() {
            self.operation(node, operation);
        }
    }

    fn artifact(&mut self, artifact: &Artifact) {
        let Some(file) = artifact.file.as_str() else {
            return;
        };
        let has_contents = artifact.fields.contains_key("contents");
        if artifact.repository.is_none() && !has_contents {
            self.file(file, &artifact.base_dir, artifact.span);
        }
    }

    fn operation(&mut self, node: &NodeTemplate, operation: &Operation) {
        let Some(implementation) = &operation.implementation else {
            return;
        };
        if let ImplementationKind::Command(command) = &implementation.kind
            && implementation.primary.is_none()
        {
            self.file(command, &operation.base_dir, implementation.span);
        }
        for dependency in &implementation.dependencies {
            match dependency {
                Dependency::Named(name) if !node.artifacts.contains_key(name) => {
                    self.file(name, &operation.base_dir, implementation.span);
                }
                Dependency::Named(_) => {}
                Dependency::Inline(artifact) => self.artifact(artifact),
            }
        }
    }

    /// Checks that a file exists. URLs, command lines and expressions are skipped.
    fn file(&mut self, file: &str, folder: &Path, span: Span) {
        let is_other = file.contains("://") || file.contains(char::is_whitespace);
        if is_other || file.is_empty() || file.contains("{{") {
            return;
        }
        if !self.loader.is_file(&folder.join(file)) {
            let problem = Diagnostic::error(format!("the archive has no file `{file}`"))
                .label(span, "named here")
                .help("add it; its path is relative to the folder of the file that names it");
            self.problems.push(problem);
        }
    }
}
