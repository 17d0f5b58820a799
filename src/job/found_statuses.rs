//! The statuses that a look for drift found, laid over the recorded ones before a repair is planned.

use std::collections::BTreeMap;

use super::finish::state_of_status;
use crate::name::{InstanceName, Status};
use crate::topology::Topology;

/// Sets the statuses that a look found, with the node states that a check would set. A look itself records nothing.
pub fn apply_found_statuses(topology: &mut Topology, found: &BTreeMap<InstanceName, Status>) {
    for (name, status) in found {
        let Some(handle) = topology.find(name.as_str()) else {
            continue;
        };
        let entity = topology.entity(handle);
        if entity.local == Some(*status) {
            continue;
        }
        let state = state_of_status(Some(*status), entity.state).or(entity.state);
        topology.set_local(handle, Some(*status));
        topology.set_state(handle, state);
    }
}
