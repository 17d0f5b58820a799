//! The phases of a job from plan to report: rendered, approved, running, ended, recorded.
//!
//! Each phase is a type ([`RenderedJob`], [`EndedJob`], [`ReportedJob`]); `deploy` calls them in order.

use std::path::Path;
use std::sync::Arc;

use super::event_watcher::{EventWatcher, open_log, open_log_of_plan};
use super::failure::{Failure, FailureKind};
use super::frontend::{Decision, JobFrontend, JobReport};
use super::ignored_files::ignored_files;
use super::input_digests;
use super::input_saving;
use super::job_commit;
use super::job_driver;
use super::job_lock;
use super::job_plan::{PlannedValues, complete_proposal};
use super::planned_job::{PlannedJob, circular_requirements, plan_job, unreported};
use super::request::JobRequest;
use super::rescue;
use super::resume;
use super::secret_files;
use crate::diagnostic::Diagnostic;
use crate::ensemble::{
    self, CommitReport, JobFolders, JobJournal, LockedEnsemble, Record, RecordCommit, RecordError,
    RecordFacts, WorkingFolders, exclude_from_git, include_drift_record,
};
use crate::exec::{self, Driver};
use crate::git::Repository;
use crate::job::{
    self, Engine, EventSink as _, FinishedJob, JobEvent, JobFacts, JobPorts, JobQueries,
    ProposalExtent, Recording, Report,
};
use crate::name::Status;
use crate::session::{SavedInputs, Session};
use crate::system::clock;

/// A job that was planned and rendered.
pub(super) struct RenderedJob<'a> {
    request: &'a JobRequest,
    session: Session,
    commit: Option<RecordCommit>,
    /// The inputs to save; None without the request to save them.
    inputs: Option<SavedInputs>,
    folders: JobFolders,
    watch: EventWatcher<'a>,
    /// The inputs that were saved.
    saved: Option<Vec<Arc<str>>>,
    /// The driver, present once tasks run.
    driver: Option<Driver>,
    job: PlannedJob,
}

/// The decision whether a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approval {
    /// The job runs and must then be completed in an orderly way.
    Approved,
    /// The plan is empty or cannot be executed.
    NoTasks,
    /// The user declined the plan, or a signal arrived.
    Declined,
}

/// A job that has ended and is not recorded yet.
pub(super) struct EndedJob<'a> {
    request: &'a JobRequest,
    session: Session,
    commit: Option<RecordCommit>,
    /// The inputs that were saved; None without the request to save them.
    saved: Option<Vec<Arc<str>>>,
    watch: EventWatcher<'a>,
    report_context: super::planned_job::ReportContext,
    job: FinishedJob,
    /// Kept until this value is dropped, so that connections are closed only after the record is saved.
    _driver: Option<Driver>,
}

/// A job whose locks may be released, with the data to answer the user's query.
pub(super) struct ReportedJob {
    report: JobReport,
    queries: JobQueries,
}

impl ReportedJob {
    /// Returns the report with the result of the requested query.
    pub(super) fn with_answer(self, request: &JobRequest) -> JobReport {
        let Self {
            mut report,
            queries: questions,
        } = self;
        let query = request.query.as_ref();
        let sources = &report.sources;
        report.query = query.map(|it| it.answer_after(&questions, &report.job, sources));
        report
    }
}

impl<'a> RenderedJob<'a> {
    /// Plans a job, evaluates the inputs of its tasks and writes their files.
    pub(super) fn of(
        mut session: Session,
        request: &'a JobRequest,
        view: &'a mut dyn JobFrontend,
    ) -> Result<Self, Failure> {
        let base = session.manifest.base_dir();
        let (log, folders) = if request.goal.drift {
            let log = open_log_of_plan(request)?;
            (log, WorkingFolders::without_writes(base))
        } else {
            (open_log(request)?, WorkingFolders::new(base))
        };
        let commit = job_commit::prepare_commit(request, &session, view)?;
        let inputs = input_saving::prepare(request, &session, view)?;
        let mut job = plan_job(request, &mut session, &folders)?;
        if let Some(circle) = circular_requirements(&job.engine) {
            let sources = session.sources.clone();
            return Err(Failure::with_sources(FailureKind::Load, circle, sources));
        }
        folders.archive_previous().map_err(|error| {
            let hint = error.hint();
            Failure::new(FailureKind::Refused, error, hint)
        })?;
        let mut folders = JobFolders::new(folders);
        job.engine.render(&mut folders);
        request.check_interrupt()?;
        session
            .warnings
            .append(ignored_files(&job.engine, &session));
        let events = job.engine.take_events();
        view.warnings(&unreported(&session.warnings, &events), &session.sources);
        let mut watch = EventWatcher::new(view, log, &session.sources);
        watch.handle_all(&events);
        Ok(Self {
            request,
            session,
            commit,
            inputs,
            saved: None,
            folders,
            watch,
            driver: None,
            job,
        })
    }

    /// Returns the engine of the job.
    pub(super) fn engine(&self) -> &Engine {
        &self.job.engine
    }

    /// Asks the user to approve the plan, if it has tasks. A signal received while asking counts as "no".
    pub(super) fn approve(&mut self) -> Result<Approval, Failure> {
        let engine = &mut self.job.engine;
        let settled = engine.has_no_work() || engine.abort_if_unrenderable();
        self.watch.handle_all(&engine.take_events());
        if settled {
            return Ok(Approval::NoTasks);
        }
        let (engine, secrets) = (&self.job.engine, &self.job.report_context.changed_secrets);
        let (session, extent) = (&self.session, self.request.extent);
        let plan = || complete_proposal(engine, session, secrets, extent);
        let decision = self.watch.approve(&plan, &session.display_name());
        let engine = &mut self.job.engine;
        engine.interrupt(self.request.interrupts.acknowledge());
        if decision == Decision::Decline || engine.interrupted().is_some() {
            return Ok(Approval::Declined);
        }
        self.refuse_doubtful_tasks()?;
        Ok(Approval::Approved)
    }

    /// Refuses to repeat operations that may have been completed already, unless the user allows it.
    ///
    /// On success, changes are declared as started: signals from now on only end the job in an orderly way.
    fn refuse_doubtful_tasks(&mut self) -> Result<(), Failure> {
        let engine = &self.job.engine;
        let doubts = engine.operations_in_doubt();
        let goal = &engine.options.goal;
        let may_run = doubts.is_empty() || goal.dry_run || goal.redo_in_doubt;
        if may_run || self.watch.view.confirm_redo(&doubts) {
            self.request.check_interrupt()?;
            self.request.interrupts.mark_started();
            return Ok(());
        }
        self.request.check_interrupt()?;
        let message = format!(
            "an earlier job crashed, and it is unknown whether {} completed, so it is not run \
             again",
            doubts.join(", ")
        );
        let hint = "check the actual state; `--redo-in-doubt` runs it again; an operation `check` \
                    of the instance would determine the state automatically";
        Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(hint.to_owned()),
        ))
    }

    /// Saves the inputs that the user gave, if requested and if the job is not declined or aborted.
    ///
    /// Happens before the first task, so that the next job uses the same values even if this one is killed.
    pub(super) fn save_inputs(&mut self, locked: &LockedEnsemble) -> Result<(), Failure> {
        let engine = &self.job.engine;
        let Some(inputs) = self.inputs.as_ref().filter(|_| !engine.is_aborted()) else {
            return Ok(());
        };
        let id = engine.id().map_err(|error| internal_failure(&error))?;
        input_saving::save(inputs, id, locked, &mut self.session)?;
        if !inputs.names.is_empty() {
            let names = inputs.names.join("`, `");
            let text = format!("saved in `spec.inputs` of the ensemble: `{names}`");
            self.watch.view.notice(&text);
        }
        self.saved = Some(inputs.names.clone());
        Ok(())
    }

    /// Starts the job. If the job is journaled, the journal is on disk when this returns.
    pub(super) fn begin(&mut self, locked: &LockedEnsemble) -> Result<Option<JobJournal>, Failure> {
        if self.begin_run()? != Recording::Journal {
            return Ok(None);
        }
        self.begin_journal(locked).map(Some)
    }

    /// Starts the job in memory.
    pub(super) fn begin_run(&mut self) -> Result<Recording, Failure> {
        let recording = self.request.recording();
        let manifest = &self.session.manifest;
        let PlannedJob {
            engine,
            report_context: around,
        } = &mut self.job;
        let facts = JobFacts {
            previous: around.last_recorded_job.clone(),
            options: self.request.recorded_options.clone(),
            start_commit: head_commit(manifest.base_dir()),
            spec_digest: manifest.spec_digest(),
        };
        let result = engine.begin_run(recording, facts);
        result.map_err(|error| internal_failure(&error))?;
        around.has_run = true;
        Ok(recording)
    }

    fn begin_journal(&mut self, locked: &LockedEnsemble) -> Result<JobJournal, Failure> {
        let manifest = &self.session.manifest;
        let PlannedJob {
            engine,
            report_context: around,
        } = &mut self.job;
        // From now on files exist that must not be committed.
        let is_drift_committed = self.session.environment.commits_drift_record();
        exclude_from_git(manifest.base_dir(), !is_drift_committed);
        if is_drift_committed {
            include_drift_record(manifest.path());
        }
        let start = engine
            .job_start()
            .map_err(|error| internal_failure(&error))?;
        around.planned.clone_from(&start.planned);
        let start = JobEvent::JobStarted(Box::new(start));
        let journal = locked.begin_journal(manifest, &start);
        journal.map_err(|error| {
            let message =
                format!("the job was not started, because its journal cannot be written: {error}");
            Failure::new(FailureKind::Refused, message, error.hint())
        })
    }

    /// Runs the tasks of the job.
    pub(super) fn run(
        &mut self,
        journal: Option<&mut JobJournal>,
        locked: Option<&LockedEnsemble>,
    ) -> Result<(), job::Error> {
        let performer = self.watch.view.performer();
        if !self.request.goal.dry_run {
            let recent = &self.job.report_context.recent_records;
            let engine = &self.job.engine;
            let forecast = || engine.forecast(recent.clone().runs());
            self.watch.view.estimate(&forecast);
        }
        let driver = job_driver::create_driver(self.request, locked, performer);
        let driver = self.driver.insert(driver);
        let mut ports = JobPorts {
            folders: &mut self.folders,
            journal: match journal {
                Some(journal) => journal,
                None => &mut job::NullJournal,
            },
            sinks: vec![&mut self.watch],
        };
        exec::run_job(&mut self.job.engine, &mut ports, driver)
    }

    /// Ends the job and computes its report.
    pub(super) fn end(self) -> Result<EndedJob<'a>, Failure> {
        let Self {
            request,
            session,
            commit,
            saved,
            watch,
            driver,
            job:
                PlannedJob {
                    engine,
                    report_context: around,
                },
            ..
        } = self;
        // A dry run shows its plan at the end, as complete as `unfurl plan` does.
        let values = (request.goal.dry_run && !around.has_run).then(|| {
            let plan = engine.proposal(ProposalExtent::Brief);
            PlannedValues::of(&plan, &engine, &session, &around.changed_secrets)
        });
        let extent = (!around.has_run).then_some(request.extent);
        let mut job = engine
            .into_finished(extent)
            .map_err(|error| internal_failure(&error))?;
        if let (Some(values), Some(proposal)) = (values, &mut job.proposal) {
            values.add_to(proposal);
        }
        Ok(EndedJob {
            request,
            session,
            commit,
            saved,
            watch,
            report_context: around,
            job,
            _driver: driver,
        })
    }
}

impl EndedJob<'_> {
    /// Returns the finished job and its session without saving anything.
    pub(super) fn unrecorded(mut self) -> (FinishedJob, Session) {
        self.watch.handle_all(&self.job.events);
        (self.job, self.session)
    }

    /// Saves the record and removes the journal. Also called if the job stopped early.
    pub(super) fn record(
        &mut self,
        journal: Option<JobJournal>,
        locked: &LockedEnsemble,
    ) -> Result<(), Failure> {
        if !self.request.save.record {
            return Ok(());
        }
        let manifest = &self.session.manifest;
        let facts = RecordFacts {
            saved_templates: Arc::clone(&self.report_context.saved_templates),
            // A job that follows another one quickly may have a start time in the future.
            ended: clock::now().max(self.job.report.head.start),
            secret_inputs: input_digests::secret_inputs(
                &self.job.report,
                &self.report_context.digest_keys,
            ),
        };
        exclude_from_git(manifest.base_dir(), false);
        if let Some(mut record) = Record::of(manifest, &self.job.report, &facts) {
            record.sections.extend(self.session.package_lock());
            let previous = self.job.report.head.facts.previous.clone();
            locked
                .record(&record, manifest)
                .map_err(|error| match error {
                    RecordError::LockBroken => job_lock::lock_broken_failure(&error),
                    RecordError::Publish(error) => {
                        rescue::save_rescue_file(&record, &self.session, previous, &error)
                    }
                })?;
        }
        drop_journal(journal, &mut self.watch);
        Ok(())
    }

    /// Warns about unsaved changes. Saves the goal of an interrupted job for `--resume`.
    pub(super) fn settle(&mut self) {
        warn_unsaved(&self.job.report, &mut self.watch);
        resume::update(
            &self.job.report,
            &self.session,
            &self.report_context.planned,
        );
    }

    /// Creates the report, moves the log to its final folder, and commits the record on request.
    pub(super) fn report(mut self, approval: Approval) -> ReportedJob {
        self.watch.handle_all(&self.job.events);
        let declined = approval == Approval::Declined;
        let FinishedJob {
            report: job,
            proposal,
            queries: questions,
            ..
        } = self.job;
        let name = ensemble::job_file_name(job.head.start, job.head.id.as_str());
        let folder = if declined || job.is_dry_run() {
            "planned"
        } else if job.status == Status::Error {
            "failed"
        } else {
            "jobs"
        };
        let base = self.session.manifest.base_dir();
        self.watch.log.move_to(base, folder, &name);
        let last = self.report_context.last_recorded_job.as_deref();
        let saved = self.saved.as_deref().unwrap_or_default();
        if self.commit.is_some() && self.report_context.has_run {
            let saved = secret_files::save_of_ensemble(base, &self.session.location.keys);
            if let Err(problem) = saved {
                self.watch.problems.push(problem);
            }
        }
        let commits = match self.commit {
            Some(commit) if self.report_context.has_run => {
                let message = self.watch.view.commit_message(&job);
                commit.commit_job(job.head.id.as_str(), message.as_deref())
            }
            Some(commit) if !saved.is_empty() => commit.commit_inputs(saved),
            Some(commit) if !declined => commit.commit_pending(last),
            Some(_) | None => CommitReport::default(),
        };
        let mut problems = self.report_context.warnings;
        problems.append(self.watch.problems);
        let report = JobReport {
            job,
            plan: proposal,
            query: None,
            problems,
            sources: self.watch.sources,
            elapsed: self.report_context.started_at.elapsed(),
            declined,
            saved_inputs: self.saved,
            commits,
        };
        ReportedJob {
            report,
            queries: questions,
        }
    }
}

/// Removes the journal of a saved job. If this fails, the next job removes it.
fn drop_journal(journal: Option<JobJournal>, watch: &mut EventWatcher<'_>) {
    if let Some(Err(error)) = journal.map(JobJournal::remove) {
        let help = "the record is saved; the next job removes the journal";
        let warning = Diagnostic::warning(error).help(help);
        watch.event(&JobEvent::Problem(Box::new(warning)));
    }
}

/// Warns about instances that the run changed without saving a record.
fn warn_unsaved(report: &Report, watch: &mut EventWatcher<'_>) {
    let changed = &report.unrecorded;
    if changed.is_empty() {
        return;
    }
    let message = format!(
        "the run changed {}, but its record is not saved",
        changed.join(", ")
    );
    let help = "`unfurl run --save` saves it; `unfurl check` determines the current state";
    let warning = Diagnostic::warning(message).help(help);
    watch.event(&JobEvent::Problem(Box::new(warning)));
}

fn internal_failure(error: &dyn std::error::Error) -> Failure {
    Failure::new(FailureKind::Internal, error, None)
}

fn head_commit(base: &Path) -> Option<String> {
    Repository::discover(base)
        .ok()
        .flatten()?
        .head()
        .ok()
        .flatten()
}
