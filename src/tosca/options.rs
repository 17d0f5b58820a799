//! How to read a service template.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{SourceId, Span};
use crate::yaml::{Mapping, Node};

/// How to read a service template.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Whether a requirement that only the type declares looks for its target by type, as
    /// ensembles of `unfurl/v1alpha1` expect.
    pub match_declared: bool,
    /// Whether types that no template uses are checked too.
    pub check_unused: bool,
    /// Whether functions may only read what their nodes declare, as in TOSCA; in Unfurl tasks can
    /// set attributes that nothing declares.
    pub check_references: bool,
    /// The deployment blueprint whose node templates replace or join those of the topology, and
    /// where it is named.
    pub blueprint: Option<(Arc<str>, Span)>,
    /// Deployment blueprints that go before those of the service template.
    pub blueprints: Option<Node>,
    /// More node templates; they go before those of the topology, after those of the blueprint.
    pub added_templates: Mapping,
    /// Node templates that have left the model, for what was made of them to be removed. No
    /// requirement of other templates finds them.
    pub orphaned_templates: Mapping,
    /// Node templates as decorators have changed them; they go before all others.
    pub decorated_templates: Mapping,
    /// Imports that are left out, by the places where they are stated.
    pub skipped_imports: HashSet<Span>,
    /// The directories of texts that merge directives included, for names relative to them.
    pub directories: HashMap<SourceId, Arc<PathBuf>>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            match_declared: true,
            check_unused: false,
            check_references: false,
            blueprint: None,
            blueprints: None,
            added_templates: Mapping::default(),
            orphaned_templates: Mapping::default(),
            decorated_templates: Mapping::default(),
            skipped_imports: HashSet::new(),
            directories: HashMap::new(),
        }
    }
}
