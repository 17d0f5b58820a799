//! The findings about an ensemble, from its checks and from the plan of a deploy, in the order of the instances.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::check::status_finding;
use super::check_findings::{CheckContext, check_findings};
use super::pending::PendingChanges;
use crate::diagnostic::Span;
use crate::drift::{DriftKind, Finding};
use crate::job::check_run::CheckedInstance;
use crate::job::proposal::Proposal;
use crate::name::InstanceName;
use crate::plan::Plan;
use crate::topology::Topology;

/// Everything that is known about an ensemble after looking at it.
pub struct DriftInput<'a> {
    /// The recorded instances, before the checks ran.
    pub before: &'a Topology,
    /// The instances whose recorded status a check found, not the job that made them.
    pub found_by_checks: &'a BTreeSet<InstanceName>,
    /// The plan of the checks.
    pub plan: &'a Plan,
    pub checked: &'a [CheckedInstance],
    /// The plan of a deploy with the same filters.
    pub pending: &'a Proposal,
    /// Returns the place of a span as `file:line:column`.
    pub place: &'a dyn Fn(Span) -> Option<Arc<str>>,
}

impl std::fmt::Debug for DriftInput<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DriftInput").finish_non_exhaustive()
    }
}

/// The findings about an ensemble.
#[derive(Debug, Default)]
pub struct DriftFound {
    pub findings: Vec<Finding>,
    /// The names of the instances that a check found as they should be.
    pub clean: Vec<Arc<str>>,
    /// The number of instances whose state could be determined.
    pub looked_at: usize,
    /// The number of instances in question.
    pub total: usize,
}

impl DriftFound {
    /// Compares the results of the checks with the record and with the plan of a deploy.
    pub fn of(input: &DriftInput<'_>) -> Self {
        let mut found = Self::default();
        let pending = PendingChanges::of(input.pending, input.place);
        let context = CheckContext {
            before: input.before,
            found_by_checks: input.found_by_checks,
            pending: &pending,
            place: input.place,
        };
        for checked in input.checked {
            found.add_checked(checked, &context);
        }
        for (name, reason) in &input.plan.unchecked {
            found.total += 1;
            let place = input.before.find(name.as_str()).and_then(|of| {
                let node = input.before.entity(of).node()?;
                (input.place)(node.template.span)
            });
            found.findings.push(Finding {
                reason: Some(reason.as_str().into()),
                place,
                ..status_finding(name, DriftKind::CannotTell)
            });
        }
        found.add_pending(pending);
        found.add_unmanaged(input);
        found.sort(input.before);
        found
    }

    fn add_checked(&mut self, checked: &CheckedInstance, context: &CheckContext<'_>) {
        let Some(findings) = check_findings(checked, context) else {
            return;
        };
        self.total += 1;
        if findings.is_empty() {
            let name = &context.before.entity(checked.target).name;
            self.clean.push(name.as_str().into());
        }
        let cannot_tell = |it: &Finding| it.kind == DriftKind::CannotTell;
        self.looked_at += usize::from(!findings.iter().any(cannot_tell));
        self.findings.extend(findings);
    }

    /// Adds the changes of the model that no job has applied. A difference that a check has found is not repeated.
    fn add_pending(&mut self, pending: PendingChanges) {
        let known: HashSet<_> = self.findings.iter().map(Finding::id).collect();
        let new = pending.findings.into_iter();
        self.findings
            .extend(new.filter(|it| !known.contains(&it.id())));
    }

    /// Adds the recorded instances whose templates are missing from the model.
    fn add_unmanaged(&mut self, input: &DriftInput<'_>) {
        let goal = &input.pending.goal;
        if goal.template.is_some() {
            return;
        }
        for orphan in input.before.orphans().filter(|it| goal.admits(&it.name)) {
            let reason = format!("the model has no template `{}`", orphan.template);
            self.findings.push(Finding {
                reason: Some(reason.into()),
                ..status_finding(&orphan.name, DriftKind::Unmanaged)
            });
        }
    }

    /// Sorts the findings by their instances, in the order of the topology. Others come last.
    fn sort(&mut self, topology: &Topology) {
        let nodes = topology.nodes().into_iter().enumerate();
        let places: HashMap<&str, usize> = nodes
            .map(|(place, of)| (topology.entity(of).name.as_str(), place))
            .collect();
        self.findings.sort_by_key(|finding| {
            let name = finding.subject.instance.as_ref().map(InstanceName::as_str);
            name.and_then(|name| places.get(name).copied())
                .unwrap_or(usize::MAX)
        });
    }
}
