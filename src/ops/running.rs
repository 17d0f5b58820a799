//! A job between its plan and its report: rendered, approved, run, and put on record.

use std::path::Path;
use std::sync::Arc;

use super::committing;
use super::failure::{Failure, FailureKind};
use super::hands;
use super::locked;
use super::prepared::{Prepared, prepare};
use super::request::JobRequest;
use super::rescue;
use super::resume;
use super::view::{Decision, JobReport, View};
use super::watch::{Watch, open_log};
use crate::diagnostic::Diagnostic;
use crate::ensemble::{
    self, Commits, Folders, JobFolders, JobJournal, LockedEnsemble, Record, RecordCommit,
    RecordError, RecordFacts, keep_out_of_git,
};
use crate::exec::{self, Driver};
use crate::git::Repository;
use crate::job::{
    self, Event, FinishedJob, JobFacts, Ports, Questions, Recording, Report, Sink as _,
};
use crate::name::Status;
use crate::session::Session;
use crate::system::clock;

/// A job that was planned and rendered.
pub(super) struct RenderedJob<'a> {
    request: &'a JobRequest,
    session: Session,
    commit: Option<RecordCommit>,
    folders: JobFolders,
    watch: Watch<'a>,
    /// The driver, once tasks run.
    driver: Option<Driver>,
    job: Prepared,
}

/// Whether a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approval {
    /// The job is to be run, and must be brought to an end.
    Approved,
    /// There is nothing to do, or what is planned cannot be done.
    NothingToRun,
    /// The plan is not to be run.
    Declined,
}

/// A job that has ended.
pub(super) struct EndedJob<'a> {
    request: &'a JobRequest,
    session: Session,
    commit: Option<RecordCommit>,
    watch: Watch<'a>,
    around: super::prepared::Around,
    job: FinishedJob,
    /// The driver is kept: connections are closed once the record is saved.
    _driver: Option<Driver>,
}

/// A job whose locks may be freed, with what answers the question that the user asks.
pub(super) struct ReportedJob {
    report: JobReport,
    questions: Questions,
}

impl ReportedJob {
    /// The report, with the answer to the question of the request.
    pub(super) fn answered(self, request: &JobRequest) -> JobReport {
        let Self {
            mut report,
            questions,
        } = self;
        let query = request.query.as_ref();
        let sources = &report.sources;
        report.query = query.map(|it| it.answer_after(&questions, &report.job, sources));
        report
    }
}

impl<'a> RenderedJob<'a> {
    /// Plans a job, evaluates the inputs of its tasks, and writes their files.
    pub(super) fn of(
        mut session: Session,
        request: &'a JobRequest,
        view: &'a mut dyn View,
    ) -> Result<Self, Failure> {
        let log = open_log(request)?;
        let folders = Folders::new(session.manifest.base_dir());
        let commit = committing::prepare(request, &session, view)?;
        let mut job = prepare(request, &mut session, &folders)?;
        view.warnings(&session.warnings, &session.sources);
        folders.set_previous_aside().map_err(|error| {
            let hint = error.hint();
            Failure::new(FailureKind::Refused, error, hint)
        })?;
        let mut folders = JobFolders::new(folders);
        job.engine.render(&mut folders);
        request.go_on()?;
        let watch = Watch::new(view, log, &session.sources);
        Ok(Self {
            request,
            session,
            commit,
            folders,
            watch,
            driver: None,
            job,
        })
    }

    /// Asks whether the plan is to be run, where there is anything to run. A signal while it asks
    /// counts as no.
    pub(super) fn approve(&mut self) -> Result<Approval, Failure> {
        let engine = &mut self.job.engine;
        let settled = engine.has_nothing_to_do() || engine.gives_up();
        self.watch.all(&engine.take_events());
        if settled {
            return Ok(Approval::NothingToRun);
        }
        let decision = self.watch.approve(engine);
        engine.interrupt(self.request.interrupts.heed());
        if decision == Decision::Decline || engine.interrupted().is_some() {
            return Ok(Approval::Declined);
        }
        self.refuse_in_doubt()?;
        Ok(Approval::Approved)
    }

    /// Fails if an operation that may have been done already would be done again, unless somebody
    /// says so. From here on the job must be brought to an end.
    fn refuse_in_doubt(&mut self) -> Result<(), Failure> {
        let engine = &self.job.engine;
        let doubts = engine.in_doubt();
        let goal = &engine.options.goal;
        let may_run = doubts.is_empty() || goal.dry_run || goal.redo_in_doubt;
        if may_run || self.watch.view.redo(&doubts) {
            self.request.go_on()?;
            self.request.interrupts.starts();
            return Ok(());
        }
        self.request.go_on()?;
        let message = format!(
            "a job was cut off, and nobody knows whether {} was done, so that it is not run again",
            doubts.join(", ")
        );
        let hint = "look whether it was; `--redo-in-doubt` runs it again, and an operation `check` \
                    of the instance would find out by itself";
        Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(hint.to_owned()),
        ))
    }

    /// Begins to run the job. The journal, if there is one, is on disk then.
    pub(super) fn begin(&mut self, locked: &LockedEnsemble) -> Result<Option<JobJournal>, Failure> {
        let recording = self.request.recording();
        let manifest = &self.session.manifest;
        let Prepared { engine, around } = &mut self.job;
        let facts = JobFacts {
            previous: around.history_last.clone(),
            options: self.request.recorded_options.clone(),
            start_commit: head_of(manifest.base_dir()),
            spec_digest: manifest.spec_digest(),
        };
        let begun = engine.begin_run(recording, facts);
        begun.map_err(|error| internal(&error))?;
        around.ran = true;
        if recording != Recording::Journal {
            return Ok(None);
        }
        // From here on there are files that must never be committed.
        keep_out_of_git(manifest.base_dir());
        let start = engine.started().map_err(|error| internal(&error))?;
        around.planned.clone_from(&start.planned);
        let start = Event::JobStarted(Box::new(start));
        let journal = locked.begin_journal(manifest, &start);
        journal.map(Some).map_err(|error| {
            let message =
                format!("nothing was done, for the job's journal cannot be written: {error}");
            Failure::new(FailureKind::Refused, message, error.hint())
        })
    }

    /// Runs the tasks of the job.
    pub(super) fn run(
        &mut self,
        journal: Option<&mut JobJournal>,
        locked: &LockedEnsemble,
    ) -> Result<(), job::Error> {
        let performer = self.watch.view.performer();
        let driver = hands::driver(self.request, locked, performer);
        let driver = self.driver.insert(driver);
        let mut ports = Ports {
            folders: &mut self.folders,
            journal: match journal {
                Some(journal) => journal,
                None => &mut job::NoJournal,
            },
            sinks: vec![&mut self.watch],
        };
        exec::run_job(&mut self.job.engine, &mut ports, driver)
    }

    /// Ends the job.
    pub(super) fn end(self) -> Result<EndedJob<'a>, Failure> {
        let Self {
            request,
            session,
            commit,
            watch,
            driver,
            job: Prepared { engine, around },
            ..
        } = self;
        let job = engine
            .into_finished(!around.ran)
            .map_err(|error| internal(&error))?;
        Ok(EndedJob {
            request,
            session,
            commit,
            watch,
            around,
            job,
            _driver: driver,
        })
    }
}

impl EndedJob<'_> {
    /// Saves what the job did, also when the job could not be brought to its end, and removes the
    /// journal.
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
            kept_templates: Arc::clone(&self.around.kept_templates),
            // The id of a job that follows another at once is of a moment later.
            ended: clock::now().max(self.job.report.head.start),
        };
        keep_out_of_git(manifest.base_dir());
        if let Some(record) = Record::of(manifest, &self.job.report, &facts) {
            let previous = self.job.report.head.facts.previous.clone();
            locked
                .record(&record, manifest)
                .map_err(|error| match error {
                    RecordError::LockBroken => locked::lost(&error),
                    RecordError::Publish(error) => {
                        rescue::keep(&record, &self.session, previous, &error)
                    }
                })?;
        }
        drop_journal(journal, &mut self.watch);
        Ok(())
    }

    /// Warns of changes that are not saved, and keeps the goal of a job that was interrupted, so
    /// that another can go on with it.
    pub(super) fn settle(&mut self) {
        tell_unsaved(&self.job.report, &mut self.watch);
        resume::settle(&self.job.report, &self.session, &self.around.planned);
    }

    /// Makes the report for people and programs: the log goes where it belongs, and the record is
    /// committed if that is asked for.
    pub(super) fn report(mut self, approval: Approval) -> ReportedJob {
        self.watch.all(&self.job.events);
        let declined = approval == Approval::Declined;
        let FinishedJob {
            report: job,
            proposal,
            questions,
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
        let folder = self.session.manifest.base_dir().join(folder);
        self.watch.log.settle(&folder, &name);
        let last = self.around.history_last.as_deref();
        let commits = match self.commit {
            Some(commit) if self.around.ran => commit.after(job.head.id.as_str()),
            Some(commit) if !declined => commit.without_job(last),
            Some(_) | None => Commits::default(),
        };
        let mut problems = self.around.without_effect;
        problems.append(self.watch.problems);
        let report = JobReport {
            job,
            plan: proposal,
            query: None,
            problems,
            sources: self.watch.sources,
            elapsed: self.around.began.elapsed(),
            declined,
            commits,
        };
        ReportedJob { report, questions }
    }
}

/// Removes a journal, all of which is in the record. The next job removes one that cannot be.
fn drop_journal(journal: Option<JobJournal>, watch: &mut Watch<'_>) {
    if let Some(Err(error)) = journal.map(JobJournal::remove) {
        let help = "the record is saved; the next job removes the journal";
        let warning = Diagnostic::warning(error).help(help);
        watch.event(&Event::Problem(Box::new(warning)));
    }
}

/// Warns of what a run changed that is not saved.
fn tell_unsaved(report: &Report, watch: &mut Watch<'_>) {
    let changed = &report.unrecorded;
    if changed.is_empty() {
        return;
    }
    let message = format!(
        "the run changed {}, and its record is not saved",
        changed.join(", ")
    );
    let help = "`unfurl run --save` saves it; `unfurl check` finds out how they are now";
    let warning = Diagnostic::warning(message).help(help);
    watch.event(&Event::Problem(Box::new(warning)));
}

fn internal(error: &dyn std::error::Error) -> Failure {
    Failure::new(FailureKind::Internal, error, None)
}

fn head_of(base: &Path) -> Option<String> {
    Repository::discover(base)
        .ok()
        .flatten()?
        .head()
        .ok()
        .flatten()
}
