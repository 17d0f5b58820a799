//! A check with the names and the kind that its findings have, and texts that all findings share.

use std::sync::Arc;

use crate::drift::{Difference, DriftKind, Finding, Subject};
use crate::job::check_run::CheckedInstance;
use crate::name::InstanceName;
use crate::topology::Topology;
use crate::value::{Handle, Value};

/// A check with the names and the kind that its findings have.
pub(super) struct Check<'a> {
    pub(super) checked: &'a CheckedInstance,
    pub(super) name: &'a InstanceName,
    /// The kind of the differences: outside, or pending if the model has changed what the check compares with.
    pub(super) kind: DriftKind,
    pub(super) place: Option<Arc<str>>,
}

impl Check<'_> {
    /// Returns a finding about an attribute, a state or a file of the instance.
    pub(super) fn finding(
        &self,
        attribute: &str,
        kind: DriftKind,
        difference: Difference,
    ) -> Finding {
        let subject = Subject {
            instance: Some(self.name.clone()),
            host: self.checked.host.clone(),
            attribute: attribute.into(),
        };
        let mut finding = Finding::new(subject, kind, difference);
        finding.place.clone_from(&self.place);
        finding
    }
}

/// Returns a finding about an instance as a whole.
pub(super) fn status_finding(name: &InstanceName, kind: DriftKind) -> Finding {
    let subject = Subject {
        instance: Some(name.clone()),
        host: None,
        attribute: "status".into(),
    };
    Finding::new(subject, kind, Difference::default())
}

/// Returns a value as text. Secrets are redacted already.
pub(super) fn text_of(value: &Value) -> Arc<str> {
    value.redacted().to_string().into()
}

/// Returns the name of an instance in a topology.
pub(super) fn name_of(topology: &Topology, of: Handle) -> InstanceName {
    topology.entity(of).name.clone()
}
