//! Lookup of instances and templates by the names that users give.

use std::sync::Arc;

use super::topology::Topology;
use crate::name::TemplateName;
use crate::text::did_you_mean;
use crate::value::{Handle, Value};

/// The subject of a user's query: an instance, a template without an instance, or an orphan.
#[derive(Debug, Clone)]
pub enum QuerySubject {
    /// An instance that exists, or that the job would create.
    Instance(Handle),
    Template(TemplateName),
    /// The name and record of an orphan: a recorded instance whose template is missing from the model.
    Orphan(Arc<str>, Value),
}

/// An error in a name that a user gave: it matches nothing, or several instances.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// Several instances of nested topologies have the name.
    #[error("{count} instances of nested topologies are named `{name}`")]
    Ambiguous {
        name: String,
        /// The number of instances with the name.
        count: usize,
        /// The full name of the first match.
        such_as: String,
    },
    #[error("there is no instance and no template `{name}`")]
    NotFound {
        name: String,
        /// A "did you mean" suggestion, if a similar name exists.
        hint: Option<String>,
    },
}

impl SubjectError {
    /// Returns advice on how to correct the name.
    pub fn hint(&self) -> String {
        match self {
            Self::Ambiguous { such_as, .. } => {
                format!("use the full name of one of them, for example `{such_as}`")
            }
            Self::NotFound { hint, .. } => {
                let all = || "`unfurl status` lists all instances".to_owned();
                hint.clone().unwrap_or_else(all)
            }
        }
    }
}

impl QuerySubject {
    /// Finds the subject that a name denotes.
    ///
    /// The name is an instance's or template's own name, a full name with the enclosing topologies, or a
    /// key.
    ///
    /// # Errors
    ///
    /// No subject has the name, or several instances of nested topologies have it.
    pub fn find(topology: &Topology, name: &str) -> Result<Self, SubjectError> {
        let bare = name.strip_prefix("::").unwrap_or(name);
        let nested = bare.replace(":::", ":");
        if let Some(handle) = topology.find(&nested) {
            return Ok(Self::Instance(handle));
        }
        let nodes = topology.nodes();
        let local = nodes.iter().copied();
        let local: Vec<Handle> = local
            .filter(|node| topology.entity(*node).local_name() == bare)
            .collect();
        match local.as_slice() {
            [one] => return Ok(Self::Instance(*one)),
            [] => {}
            [first, ..] => {
                return Err(SubjectError::Ambiguous {
                    name: bare.to_owned(),
                    count: local.len(),
                    such_as: topology.entity(*first).name.to_string(),
                });
            }
        }
        if let Some((template, _)) = topology.template().nodes.get_key_value(nested.as_str()) {
            return Ok(Self::Template(template.clone()));
        }
        let mut orphans = topology.orphans();
        if let Some(orphan) = orphans.find(|orphan| orphan.name.as_str() == nested) {
            return Ok(Self::Orphan(orphan.name.shared(), orphan.record()));
        }
        let instances = nodes
            .iter()
            .map(|node| topology.entity(*node).name.as_str());
        let templates = topology.template().nodes.keys().map(TemplateName::as_str);
        Err(SubjectError::NotFound {
            name: name.to_owned(),
            hint: did_you_mean(bare, instances.chain(templates)),
        })
    }
}
