//! Instances and templates by the names that people give.

use std::sync::Arc;

use super::topology::Topology;
use crate::name::TemplateName;
use crate::text::did_you_mean;
use crate::value::{Handle, Value};

/// An instance, or a template that has none, which somebody asks about.
#[derive(Debug, Clone)]
pub enum QuerySubject {
    /// An instance that exists, or would after the job.
    Instance(Handle),
    /// A template without an instance.
    Template(TemplateName),
    /// A recorded instance whose template is not in the model any more: its name and record.
    Orphan(Arc<str>, Value),
}

/// An error in a name: it stands for nothing, or for several instances.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// Several instances of nested topologies have the name.
    #[error("{count} instances of nested topologies are named `{name}`")]
    Ambiguous {
        /// The name.
        name: String,
        /// The number of instances.
        count: usize,
        /// The whole name of the first.
        such_as: String,
    },
    /// Nothing has the name.
    #[error("there is no instance and no template `{name}`")]
    NotFound {
        /// The name.
        name: String,
        /// A name that resembles it.
        hint: Option<String>,
    },
}

impl SubjectError {
    /// A way out.
    pub fn hint(&self) -> String {
        match self {
            Self::Ambiguous { such_as, .. } => {
                format!("name one with the topologies around it, such as `{such_as}`")
            }
            Self::NotFound { hint, .. } => {
                let all = || "`unfurl status` lists all instances".to_owned();
                hint.clone().unwrap_or_else(all)
            }
        }
    }
}

impl QuerySubject {
    /// The subject of a name: the own one of an instance or of a template, one with those of the
    /// topologies around it, or a key.
    ///
    /// # Errors
    ///
    /// Nothing has the name, or several instances of nested topologies.
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
