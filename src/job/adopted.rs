//! Instances that exist already and are taken over.

use crate::value::{Map, Value};

/// An instance that is taken over, with its outputs as they are.
#[derive(Debug, Clone)]
pub struct Adopted {
    /// The name of the instance.
    pub instance: String,
    /// The outputs that its operations would have returned.
    pub outputs: Map,
    /// The result for the record.
    pub result: Value,
}
