//! The private folder of a run that was cut off: its origin, its newest state, and the resources that the state
//! lacks.

use std::collections::HashSet;
use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::command_line::{BACKUP, ORIGIN, STATE, STREAM};
use super::settings::StateLocation;
use super::state_file::ToolState;
use super::stream::{ToolOutput, completed_of};
use crate::task::StateCipher;
use crate::value::Value;

/// The names of the files in a private folder.
#[derive(Debug, Clone, Copy)]
pub struct PrivateFiles {
    /// The description of the folder.
    pub origin: &'static str,
    /// The state, and the state before its last write.
    pub states: [&'static str; 2],
    /// The output of the tool.
    pub stream: &'static str,
}

/// The names of the files in a private folder.
pub const PRIVATE_FILES: PrivateFiles = PrivateFiles {
    origin: ORIGIN,
    states: [STATE, BACKUP],
    stream: STREAM,
};

/// The description of a private folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateOrigin {
    /// The folder of the ensemble.
    pub ensemble: PathBuf,
    /// The name of the instance's folders.
    pub instance: String,
    /// The file of the state between jobs, relative to the ensemble. None if a backend has the state.
    pub state: Option<PathBuf>,
    /// The value of `stateLocation`.
    pub location: String,
    /// The words that start the tool.
    pub tool: String,
}

impl PrivateOrigin {
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a description. None if the bytes are none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// Returns a state as its file has it, and a warning. `location` is the value of `stateLocation`.
pub fn sealed_state(
    cipher: &dyn StateCipher,
    location: &str,
    state: &[u8],
) -> Result<(String, Option<String>), String> {
    let is_open = StateLocation::parse(location).is_ok_and(|it| it == StateLocation::Artifacts);
    match ToolState::read(state).filter(|_| is_open) {
        Some(read) => cipher.seal_values(&Value::from(read.marked()), state),
        None => cipher.seal(state),
    }
}

/// Returns true if both texts are states that go on from the same beginning.
pub fn is_same_lineage(first: &[u8], second: &[u8]) -> bool {
    let lineage = |bytes: &[u8]| ToolState::read(bytes).map(|it| it.lineage().to_owned());
    lineage(first) == lineage(second)
}

/// Returns the newer of two states. One that cannot be read loses, and so does the second of two strangers.
pub fn newer_state(first: Vec<u8>, second: Vec<u8>) -> Vec<u8> {
    let (Some(one), Some(other)) = (ToolState::read(&first), ToolState::read(&second)) else {
        let is_readable = ToolState::read(&first).is_some();
        return if is_readable { first } else { second };
    };
    let is_same = one.lineage() == other.lineage() || one.lineage().is_empty();
    if is_same && other.serial() > one.serial() {
        second
    } else {
        first
    }
}

/// A resource that the tool has created and that its state lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostResource {
    pub address: String,
    pub id: Option<String>,
}

impl LostResource {
    /// Returns the resource as a text, with the command that brings it back into the state.
    pub fn text(&self, tool: &str) -> String {
        let address = &self.address;
        match &self.id {
            Some(id) => {
                let quoted = crate::text::shlex_quote(address);
                let id_word = crate::text::shlex_quote(id);
                format!("{address} (id {id}): `{tool} import {quoted} {id_word}`")
            }
            None => {
                format!("{address}: its id is not known; look for it with the provider's own tools")
            }
        }
    }
}

/// Returns the resources whose creation the output says to be complete, and that a state lacks.
pub fn lost_resources(stream: &[u8], state: &[u8]) -> Vec<LostResource> {
    let output = ToolOutput::read(&String::from_utf8_lossy(stream));
    let known = ToolState::read(state).map(|state| state.addresses());
    lost_of(&output, &known.unwrap_or_default())
}

/// Returns the resources that the messages of a job's journal say to be complete, and that a state lacks.
///
/// The journal is all that is left if the private folder is lost together with the machine.
pub fn lost_of_messages(messages: &[String], state: Option<&[u8]>) -> Vec<LostResource> {
    let known = state.and_then(ToolState::read).map(|it| it.addresses());
    let output = ToolOutput {
        completed: messages.iter().filter_map(|it| completed_of(it)).collect(),
        ..ToolOutput::default()
    };
    lost_of(&output, &known.unwrap_or_default())
}

/// Returns the files of an instance's state between jobs, relative to the ensemble. A job writes one of them.
pub fn state_files(instance: &str) -> [PathBuf; 2] {
    [StateLocation::Secrets, StateLocation::Artifacts].map(|location| {
        let file = location.file(instance, "active");
        file.unwrap_or_default()
    })
}

/// Returns the created resources of an output that are not among the known addresses.
pub(super) fn lost_of(output: &ToolOutput, known: &[String]) -> Vec<LostResource> {
    let known: HashSet<&str> = known.iter().map(String::as_str).collect();
    let mut lost: IndexMap<&str, LostResource> = IndexMap::new();
    for done in &output.completed {
        // The latest change of a resource counts, also for the order.
        lost.shift_remove(done.address.as_str());
        let exists = !matches!(done.action.as_str(), "delete" | "read");
        if exists && !known.contains(done.address.as_str()) {
            let resource = LostResource {
                address: done.address.clone(),
                id: done.id.clone(),
            };
            lost.insert(&done.address, resource);
        }
    }
    lost.into_values().collect()
}
