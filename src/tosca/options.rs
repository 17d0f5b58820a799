//! Options for reading a service template.
//!
//! The ensemble loader fills them from the manifest; [`super::read`] takes them.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{SourceId, Span};
use crate::yaml::{Mapping, Node};

/// The metadata of relationship templates that are connections of the environment.
pub const FROM_ENVIRONMENT: &str = "from_environment";

/// An item of `imports` that is not part of the service template.
#[derive(Debug, Clone)]
pub struct ExtraImport {
    pub item: Node,
    /// The folder that its relative paths start from.
    pub base_dir: Arc<PathBuf>,
}

/// Options for reading a service template.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Whether to match a requirement by type if only the node type declares it.
    ///
    /// Ensembles with `apiVersion: unfurl/v1alpha1` expect this.
    pub match_declared: bool,
    /// Whether to check types that no template uses, too.
    pub check_unused: bool,
    /// Whether functions may only read properties and attributes that their nodes declare, as in TOSCA.
    ///
    /// In Unfurl, tasks can set attributes that no type declares.
    pub check_references: bool,
    /// The deployment blueprint whose node templates replace or extend those of the topology, and the
    /// location that names it.
    pub blueprint: Option<(Arc<str>, Span)>,
    /// Deployment blueprints that have priority over those of the service template.
    pub blueprints: Option<Node>,
    /// Additional node templates. They have priority over those of the topology, but not over the
    /// blueprint's.
    pub added_templates: Mapping,
    /// Node templates that are no longer in the model, kept so that their instances can be removed.
    ///
    /// Requirements of other templates do not match them.
    pub orphaned_templates: Mapping,
    /// Node templates as changed by decorators. They have priority over all others.
    pub decorated_templates: Mapping,
    /// The locations of imports to leave out.
    pub skipped_imports: HashSet<Span>,
    /// Relationship templates from outside: the connections of the environment. They have priority over those
    /// of the topology, and each has `default_for`.
    pub connections: Mapping,
    /// Imports from outside, which follow those of the service template.
    pub extra_imports: Vec<ExtraImport>,
    /// The directories of texts that merge directives included. Relative paths in them refer to these.
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
            connections: Mapping::default(),
            extra_imports: Vec::new(),
            directories: HashMap::new(),
        }
    }
}
