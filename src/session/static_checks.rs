//! Runs the static checks of a loaded ensemble.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::local_system_context::LocalSystem;
use super::session::Session;
use crate::check::{Machine, ModelChecks, check_model};
use crate::configurator::{SourceProblem, source_problem};
use crate::diagnostic::Diagnostics;
use crate::expr::ReadFiles as _;
use crate::tosca::Operation;
use crate::yaml::Node;

/// Returns the problems of the model that need no execution to be found. Each error concerns the named part only.
pub(crate) fn static_problems(session: &Session) -> Diagnostics {
    let base_dir = session.manifest.base_dir();
    let system = session.system_context(base_dir.join("planned"));
    let root = session.manifest.root();
    let spec = root.get("spec");
    let sections = [
        root.get("status"),
        spec.and_then(|spec| spec.get("instances")),
    ];
    let recorded_names = || {
        let mut names = HashSet::new();
        for section in sections.into_iter().flatten() {
            add_keys(section, &mut names, 0);
        }
        names
    };
    let variables = session.options.vars.iter();
    let checks = ModelChecks {
        sources: &session.sources,
        given_inputs: session.inputs.values.keys().map(Arc::clone).collect(),
        recorded_names: &recorded_names,
        variables: variables.map(|var| Arc::from(var.name.as_str())).collect(),
        machine: Some(&ProjectMachine(&system)),
        base_dir,
        lenient: false,
    };
    check_model(&session.service, checks)
}

/// Adds the keys of a section and of all maps in it.
fn add_keys(node: &Node, names: &mut HashSet<Arc<str>>, depth: usize) {
    if depth > 64 {
        return;
    }
    for (key, entry) in node.as_map().into_iter().flatten() {
        names.insert(Arc::clone(key));
        add_keys(&entry.value, names, depth + 1);
    }
    for item in node.as_seq().into_iter().flatten() {
        add_keys(item, names, depth + 1);
    }
}

/// This machine, as far as the project may read it.
struct ProjectMachine<'a>(&'a LocalSystem);

impl Machine for ProjectMachine<'_> {
    fn exists(&self, path: &Path) -> Option<bool> {
        self.0.check_read(path).ok().map(|()| self.0.exists(path))
    }

    fn list(&self, folder: &Path) -> Vec<String> {
        let found = self.0.list(folder).unwrap_or_default().into_iter();
        let name = |path: std::path::PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        found.filter_map(name).collect()
    }

    fn source_problem(&self, operation: &Operation) -> Option<SourceProblem> {
        source_problem(operation, self.0, &self.0.base)
    }

    fn has_program(&self, name: &str) -> bool {
        self.0.which(name).is_some()
    }
}
