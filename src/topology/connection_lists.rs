//! The lists of the connections of a topology. `connections.rs` fills and reads them.

use crate::value::{FoldMap, Handle};

/// The connections of all topologies of an ensemble.
#[derive(Debug, Clone, Default)]
pub(super) struct Connections {
    /// The relationship templates with `default_for`, by the root of their topology.
    pub(super) declared: FoldMap<Handle, Vec<Handle>>,
    /// Relationships stated inline by requirements, except those for their own node.
    pub(super) inline: FoldMap<Handle, Vec<Handle>>,
    /// Relationships stated inline that are only for their own node.
    pub(super) own: FoldMap<Handle, Vec<Handle>>,
    /// Connections of other ensembles.
    pub(super) imported: Vec<Handle>,
}
