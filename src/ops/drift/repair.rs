//! Implements `unfurl drift --repair`: deploys the drifted instances again with what a look found, and looks once more.

use std::collections::BTreeMap;

use super::run::{DriftRequest, drift};
use crate::drift::{DriftAnswer, DriftKind, Finding, OnDrift};
use crate::name::{InstanceName, Status};
use crate::ops::deploy::deploy;
use crate::ops::failure::Failure;
use crate::ops::frontend::{JobFrontend, JobReport};
use crate::ops::request::JobRequest;
use crate::plan::{JobGoal, Repair, WorkflowKind};

/// The attribute of a finding about an instance as a whole.
const STATUS: &str = "status";

/// The drift that a repair removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairScope {
    /// Drift from outside that no rule ignores.
    Alarms,
    /// Drift from outside, ignored or not.
    All,
    /// Drift from outside that no rule ignores, of instances whose policy says `repair`.
    ByPolicy,
}

/// The instances of an answer that have drifted, by what happens to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairChoice {
    /// The instances to repair.
    pub repair: Vec<InstanceName>,
    /// The instances about which people are asked: the policy says `ask`.
    pub ask: Vec<InstanceName>,
    /// The instances to repair whose model changed as well. A repair applies these changes too.
    pub pending: Vec<InstanceName>,
}

/// The repair of an ensemble.
#[derive(Debug)]
pub struct DriftRepair {
    pub choice: RepairChoice,
    /// The job. None if nothing was to be repaired.
    pub job: Option<JobReport>,
    /// The answer of the look after the job. None if no job ran.
    pub after: Option<DriftAnswer>,
}

/// Returns the instances of an answer to repair without a question, and those to ask about.
pub fn choose_repairs(answer: &DriftAnswer, scope: RepairScope) -> RepairChoice {
    let mut choice = RepairChoice::default();
    for (instance, finding) in drifted(answer, scope == RepairScope::All) {
        let names = match (scope, finding.on_drift) {
            (RepairScope::ByPolicy, OnDrift::Report) => continue,
            (RepairScope::ByPolicy, OnDrift::Ask) => &mut choice.ask,
            _ => &mut choice.repair,
        };
        if !names.contains(instance) {
            names.push(instance.clone());
        }
    }
    let pending = answer.findings.iter();
    let pending = pending.filter(|finding| finding.kind == DriftKind::Pending);
    for name in pending.filter_map(|finding| finding.subject.instance.as_ref()) {
        if choice.repair.contains(name) && !choice.pending.contains(name) {
            choice.pending.push(name.clone());
        }
    }
    choice
}

/// Returns the findings of drift from outside that belong to instances.
fn drifted(answer: &DriftAnswer, all: bool) -> impl Iterator<Item = (&InstanceName, &Finding)> {
    let findings = answer.findings.iter();
    let findings = findings.filter(move |finding| {
        finding.kind == DriftKind::Outside && (all || finding.ignored_by.is_none())
    });
    findings.filter_map(|finding| Some((finding.subject.instance.as_ref()?, finding)))
}

/// Repairs the chosen instances of an ensemble with a recorded job, and looks again.
///
/// `look` is the request of the look that found the drift, `job` the request of a job that records.
pub fn repair(
    answer: &DriftAnswer,
    choice: RepairChoice,
    look: &JobRequest,
    job: &JobRequest,
    view: &mut dyn JobFrontend,
) -> Result<DriftRepair, Failure> {
    if choice.repair.is_empty() {
        return Ok(DriftRepair {
            choice,
            job: None,
            after: None,
        });
    }
    let mut request = job.clone();
    request.goal = goal(answer, &choice, &job.goal);
    let report = deploy(&request, view)?;
    let ran = !report.declined && report.job.interrupted.is_none();
    let after = if ran && !request.goal.dry_run {
        look_again(look, view)?
    } else {
        None
    };
    Ok(DriftRepair {
        choice,
        job: Some(report),
        after,
    })
}

/// Returns the goal of the job that repairs the chosen instances.
fn goal(answer: &DriftAnswer, choice: &RepairChoice, base: &JobGoal) -> JobGoal {
    JobGoal {
        workflow: WorkflowKind::Deploy,
        template: None,
        instances: choice.repair.clone(),
        repair: Repair::Degraded,
        found: found_statuses(answer, &choice.repair),
        ..base.clone()
    }
}

/// Returns the status that a look found for each instance. An instance that differs from its specification in
/// attributes or files alone is degraded.
fn found_statuses(
    answer: &DriftAnswer,
    instances: &[InstanceName],
) -> BTreeMap<InstanceName, Status> {
    let mut found = BTreeMap::new();
    for (instance, finding) in drifted(answer, true) {
        if !instances.contains(instance) {
            continue;
        }
        let status = found.entry(instance.clone()).or_insert(Status::Degraded);
        let seen = finding.difference.to.as_deref().and_then(Status::parse);
        if let (STATUS, Some(seen)) = (&*finding.subject.attribute, seen)
            && seen != Status::Ok
        {
            *status = seen;
        }
    }
    found
}

fn look_again(
    look: &JobRequest,
    view: &mut dyn JobFrontend,
) -> Result<Option<DriftAnswer>, Failure> {
    let request = DriftRequest {
        jobs: vec![look.clone()],
        record: true,
    };
    Ok(drift(&request, view)?.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::{Difference, Subject};

    fn finding(instance: &str, kind: DriftKind, attribute: &str, to: &str) -> Finding {
        let subject = Subject {
            instance: Some(instance.into()),
            host: None,
            attribute: attribute.into(),
        };
        let difference = Difference {
            to: Some(to.into()),
            ..Difference::default()
        };
        Finding::new(subject, kind, difference)
    }

    fn answer(findings: Vec<Finding>) -> DriftAnswer {
        let at = "2026-06-15T12:00:00Z".parse().unwrap();
        DriftAnswer {
            looked_at: findings.len(),
            total: findings.len(),
            findings,
            ..DriftAnswer::empty("web".into(), None, at)
        }
    }

    fn names(list: &[InstanceName]) -> Vec<&str> {
        list.iter().map(InstanceName::as_str).collect()
    }

    #[test]
    fn drift_from_outside_is_repaired_unless_a_rule_ignores_it() {
        let mut ignored = finding("b", DriftKind::Outside, "status", "error");
        ignored.ignored_by = Some("instance: b, reason: known".into());
        let answer = answer(vec![
            finding("a", DriftKind::Outside, "status", "error"),
            finding("a", DriftKind::Pending, "port", "81"),
            ignored,
            finding("c", DriftKind::Pending, "port", "81"),
            finding("d", DriftKind::CannotTell, "status", ""),
        ]);
        let choice = choose_repairs(&answer, RepairScope::Alarms);
        assert_eq!(names(&choice.repair), ["a"]);
        assert_eq!(names(&choice.pending), ["a"]);
        let choice = choose_repairs(&answer, RepairScope::All);
        assert_eq!(names(&choice.repair), ["a", "b"]);
    }

    #[test]
    fn a_policy_decides_which_drift_is_repaired_unasked() {
        let mut findings = Vec::new();
        for (name, on_drift) in [
            ("a", OnDrift::Repair),
            ("b", OnDrift::Ask),
            ("c", OnDrift::Report),
        ] {
            let mut finding = finding(name, DriftKind::Outside, "status", "error");
            finding.on_drift = on_drift;
            findings.push(finding);
        }
        let choice = choose_repairs(&answer(findings), RepairScope::ByPolicy);
        assert_eq!(names(&choice.repair), ["a"]);
        assert_eq!(names(&choice.ask), ["b"]);
    }

    #[test]
    fn a_repair_begins_with_the_statuses_that_were_found() {
        let answer = answer(vec![
            finding("a", DriftKind::Outside, "url", "x"),
            finding("b", DriftKind::Outside, "conf (file.managed)", "error"),
            finding("c", DriftKind::Outside, "status", "absent"),
            finding("c", DriftKind::Outside, "url", "x"),
        ]);
        let choice = choose_repairs(&answer, RepairScope::Alarms);
        let goal = goal(&answer, &choice, &JobGoal::default());
        let found: Vec<_> = goal
            .found
            .iter()
            .map(|(name, it)| (name.as_str(), *it))
            .collect();
        assert_eq!(
            found,
            [
                ("a", Status::Degraded),
                ("b", Status::Degraded),
                ("c", Status::Absent)
            ]
        );
        assert_eq!(goal.repair, Repair::Degraded);
    }
}
