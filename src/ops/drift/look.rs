//! Looks at one ensemble: runs its checks without a record, and compares the results with model and record.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use super::place::{Places, describe};
use crate::drift::{DriftAnswer, LoadProblem};
use crate::ensemble::{JobTraces, LockedEnsemble, WorkingFolders};
use crate::job::drift::{DriftFound, DriftInput};
use crate::job::{Proposal, ProposalExtent};
use crate::name::{InstanceName, Status};
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::frontend::JobFrontend;
use crate::ops::job_run::RenderedJob;
use crate::ops::lock;
use crate::ops::packages::{self, FetchPermission};
use crate::ops::planned_job::plan_job;
use crate::ops::recover;
use crate::ops::request::JobRequest;
use crate::plan::{JobGoal, WorkflowKind};
use crate::session::{self, Session};
use crate::system::clock;
use crate::topology::{Creator, Topology};

/// An ensemble that was looked at.
#[derive(Debug)]
pub(super) struct Looked {
    pub(super) answer: DriftAnswer,
    /// The loaded ensemble. None if it cannot be loaded or is locked.
    pub(super) session: Option<Session>,
    /// The lock, held until the drift record is saved. None also if the folder is read-only.
    pub(super) held: Option<LockedEnsemble>,
}

/// Looks at the ensemble of a request.
///
/// An ensemble that cannot be loaded or that another job holds is an answer, too.
pub(super) fn look(job: &JobRequest, view: &mut dyn JobFrontend) -> Result<Looked, Failure> {
    let mut answer = DriftAnswer::empty(
        given_name(&job.session.ensemble),
        job.session.environment.as_deref().map(Into::into),
        clock::now(),
    );
    match look_inside(job, &mut answer, view) {
        Ok((session, held)) => Ok(Looked {
            answer,
            session: Some(session),
            held,
        }),
        Err(failure) => {
            let text: Arc<str> = describe(&failure).into();
            answer.problem = Some(match failure.kind {
                FailureKind::Load | FailureKind::NoEnsemble | FailureKind::Refused => {
                    LoadProblem::Invalid(text)
                }
                FailureKind::Locked => LoadProblem::Locked(text),
                FailureKind::Usage
                | FailureKind::JobFailed
                | FailureKind::Internal
                | FailureKind::Interrupted(_) => return Err(failure),
            });
            Ok(Looked {
                answer,
                session: None,
                held: None,
            })
        }
    }
}

fn look_inside(
    job: &JobRequest,
    answer: &mut DriftAnswer,
    view: &mut dyn JobFrontend,
) -> Result<(Session, Option<LockedEnsemble>), Failure> {
    let mut found = session::find(&job.session)?;
    let manifest = found.located.manifest.clone();
    answer.name = folder_name(&manifest);
    answer.manifest = Some(manifest.clone());
    // Recording the results of a crashed job is the task of the next job.
    if let Some(text) = recover::recover_unsaved(&mut found, job)? {
        view.notice(&text);
    }
    let held = lock::acquire_to_look(&manifest, job, view)?;
    job.check_interrupt()?;
    let notice = &mut |text: &str| view.notice(text);
    let mut session = packages::load(&found, &job.session, FetchPermission::Name, notice)?;
    answer.name = session.full_name().into();
    answer.environment = session.environment.name.as_deref().map(Into::into);
    let checked = found_by_checks(&mut session)?;
    let pending = deploy_plan(job, &checked, &mut session)?;
    let lookup = Lookup {
        pending: &pending,
        checked: &checked,
        held: held.as_ref(),
    };
    let session = run_checks(job, session, &lookup, answer, view)?;
    job.check_interrupt()?;
    Ok((session, held))
}

/// Returns the created instances whose recorded status a check found, not the job that made them.
fn found_by_checks(session: &mut Session) -> Result<BTreeSet<InstanceName>, Failure> {
    let topology = session.topology()?;
    let created = topology.nodes().into_iter().filter_map(|handle| {
        let entity = topology.entity(handle);
        let is_created = entity.created.as_ref().is_some_and(Creator::is_truthy);
        (is_created && entity.local != Some(Status::Ok))
            .then(|| (topology.unique_key(handle), entity.name.clone()))
    });
    let created: HashMap<String, InstanceName> = created.collect();
    if created.is_empty() {
        return Ok(BTreeSet::new());
    }
    let manifest = &session.manifest;
    let traces = JobTraces::read(manifest.path(), manifest.base_dir());
    let last = traces.last_tasks(&created.keys().cloned().collect());
    let checked = last.into_iter().filter(|(_, tasks)| tasks.was_checked);
    Ok(checked.map(|(key, _)| created[&key].clone()).collect())
}

/// Plans a deploy with the same filters, which shows the changes of the model.
///
/// `checked` are instances whose status a check found. They count as ok, so that the plan shows what has changed in the
/// model, not what happened to the instance.
fn deploy_plan(
    job: &JobRequest,
    checked: &BTreeSet<InstanceName>,
    session: &mut Session,
) -> Result<Proposal, Failure> {
    let found = checked.iter().map(|name| (name.clone(), Status::Ok));
    let request = JobRequest {
        goal: JobGoal {
            workflow: WorkflowKind::Deploy,
            drift: false,
            found: found.collect(),
            ..job.goal.clone()
        },
        ..job.clone()
    };
    let warnings = session.warnings.clone();
    let folders = WorkingFolders::without_writes(session.manifest.base_dir());
    let mut planned = plan_job(&request, session, &folders)?;
    // The checks give the same warnings.
    session.warnings = warnings;
    let mut folders = crate::ensemble::JobFolders::new(folders);
    planned.engine.render(&mut folders);
    Ok(planned.engine.proposal(ProposalExtent::Full))
}

/// The knowledge with which the results of checks are compared.
struct Lookup<'a> {
    /// The plan of a deploy.
    pending: &'a Proposal,
    /// The instances whose recorded status a check found.
    checked: &'a BTreeSet<InstanceName>,
    held: Option<&'a LockedEnsemble>,
}

/// Runs the checks and adds the findings to the answer.
fn run_checks(
    job: &JobRequest,
    session: Session,
    lookup: &Lookup<'_>,
    answer: &mut DriftAnswer,
    view: &mut dyn JobFrontend,
) -> Result<Session, Failure> {
    let mut run = RenderedJob::of(session, job, view)?;
    let before = Topology::clone(&run.engine().topology);
    run.begin_run()?;
    let result = run.run(None, lookup.held);
    let (finished, session) = run.end()?.unrecorded();
    result.map_err(|error| {
        let message = format!("looking for drift had to stop: {error}");
        Failure::new(FailureKind::Internal, message, None)
    })?;
    if let Some(signal) = finished.report.interrupted {
        return Err(Failure::interrupted(signal));
    }
    let places = Places::of(&session.sources);
    let found = DriftFound::of(&DriftInput {
        before: &before,
        plan: &finished.report.plan,
        checked: &finished.checked,
        found_by_checks: lookup.checked,
        pending: lookup.pending,
        place: &|span| places.of_span(span),
    });
    answer.findings = found.findings;
    answer.clean = found.clean;
    answer.looked_at = found.looked_at;
    answer.total = found.total;
    Ok(session)
}

/// Returns the name by which the user knows an ensemble that cannot be loaded: as it was given, or else that of the
/// current folder.
fn given_name(ensemble: &str) -> Arc<str> {
    if !ensemble.is_empty() {
        return ensemble.into();
    }
    let here = session::current_dir().unwrap_or_default();
    here.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into()
}

fn folder_name(manifest: &Path) -> Arc<str> {
    let folder = manifest.parent().and_then(Path::file_name);
    folder.unwrap_or_default().to_string_lossy().into()
}
