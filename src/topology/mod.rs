//! What exists now: instances with their attributes, status and node states, and what expressions
//! see of them. Decides nothing and runs nothing.

mod artifact;
mod endpoint;
mod entity;
mod foreign;
mod load;
mod nested;
mod orphan;
mod orphans;
mod places;
mod record;
mod scope;
mod status;
mod status_cache;
mod subject;
mod topology;

pub use endpoint::Endpoint;
pub use entity::{Created, Entity, Inputs, Kind};
pub use foreign::Foreign;
pub use load::{load, load_on};
pub use orphan::Orphan;
pub use record::{SectionValues, snapshot, status_section};
pub use subject::Subject;
pub use topology::{Topology, is_computed};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
