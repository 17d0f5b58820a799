//! Builds the topology of a session from the service template and the recorded status.

use std::sync::Arc;

use super::error::{LoadError, LoadErrorKind};
use super::externals;
use super::instances;
use super::session::Session;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::topology::{self, Topology};
use crate::yaml::Node;

impl Session {
    /// Returns the topology with recorded instances and with selected instances of external ensembles.
    pub(crate) fn topology_of_job(&mut self) -> Result<Topology, LoadError> {
        let mut topology = self.topology()?;
        let mut problems = Diagnostics::default();
        externals::add_selected_instances(self, &mut topology, &mut problems);
        if problems.is_empty() {
            return Ok(topology);
        }
        let sources = self.sources.clone();
        Err(LoadError::with_sources(
            LoadErrorKind::Invalid,
            problems,
            sources,
        ))
    }

    /// Returns the topology with recorded instances.
    pub(crate) fn topology(&mut self) -> Result<Topology, LoadError> {
        let mut topology = Topology::new(Arc::clone(&self.service), self.inputs.clone());
        let mut problems = Diagnostics::default();
        externals::add_external_ensembles(self, &mut topology, &mut problems);
        let errors = topology::load(&mut topology, &self.manifest.status());
        let span = self.manifest.root().get("status").map(Node::span);
        for error in errors {
            let span = span.unwrap_or(Span::NONE);
            problems.push(Diagnostic::error(error).label(span, "recorded here"));
        }
        let spec = self.manifest.root().get("spec");
        instances::add_instances(&mut topology, spec, &mut problems);
        for (name, imported) in topology.link_imported_nodes() {
            let message = format!(
                "the recorded instance `{name}` represents `{imported}`, which no external \
                 ensemble has"
            );
            let span = span.unwrap_or(Span::NONE);
            problems.push(externals::missing_instance(message, span, &imported));
        }
        if problems.is_empty() {
            Ok(topology)
        } else {
            Err(LoadError::with_sources(
                LoadErrorKind::Invalid,
                problems,
                self.sources.clone(),
            ))
        }
    }
}
