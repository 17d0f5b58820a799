//! The topology: the instances that exist, with their attributes, statuses and node states.
//!
//! [`Topology`] is the entry; it implements the `Scope` that expressions evaluate against. Loading and
//! recording of the `status` section are here too. This module decides nothing and runs nothing.

mod artifact;
mod connection_lists;
mod connections;
mod endpoint;
mod entity;
mod external_ensemble;
mod host_variables;
mod inventory_host;
mod load;
mod nested;
mod orphan;
mod orphans;
mod query_subject;
mod record;
mod recorded_value;
mod scope;
mod spans;
mod status;
mod status_cache;
mod topology;

pub use endpoint::Endpoint;
pub use entity::{Creator, Entity, EntityKind, TopologyInputs};
pub use external_ensemble::ExternalEnsemble;
pub use host_variables::AttributeReader;
pub use inventory_host::InventoryHost;
pub use load::{load, load_on};
pub use orphan::Orphan;
pub use query_subject::{QuerySubject, SubjectError};
pub use record::{SectionValues, snapshot, status_section};
pub use recorded_value::{to_record_map as recorded_map, without_directives};
pub use topology::{Topology, is_computed};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
