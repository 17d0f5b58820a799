//! The locks of a job: the local lock, and the remote lock if the environment requires one.

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::lock;
use super::packages::{self, FetchPermission};
use super::recover;
use super::remote_lock;
use super::request::JobRequest;
use super::secret_files;
use super::upstream;
use crate::ensemble::{LockedEnsemble, RecordError};
use crate::lock::RemoteLock;
use crate::session::{EnsembleLocation, Session};
use crate::system::signals::ExitHold;

/// An ensemble that is locked for a job.
#[derive(Debug)]
pub(super) struct JobLock {
    /// The remote lock. Fields are dropped in order, so it is released before the local lock.
    remote: RemoteLock,
    /// The locally locked ensemble, which is required for recording.
    pub(super) ensemble: LockedEnsemble,
    found: EnsembleLocation,
    /// Lets the first signal end the job in order, so that the remote lock is released.
    _hold: Option<ExitHold>,
}

impl JobLock {
    /// Takes the local lock, then the remote lock, each waiting up to the job's time limit.
    pub(super) fn acquire(
        found: EnsembleLocation,
        request: &JobRequest,
        view: &mut dyn JobFrontend,
    ) -> Result<Self, Failure> {
        let ensemble = lock::acquire(found.path(), request, view)?;
        let hold = ExitHold::new();
        let remote = remote_lock::acquire(&found, request, view)?;
        let is_held = remote.is_held();
        Ok(Self {
            remote,
            ensemble,
            found,
            _hold: is_held.then_some(hold),
        })
    }

    /// Fast-forwards the ensemble's repositories to commits that others have pushed. If there were any, the
    /// ensemble is located again.
    ///
    /// Runs with the locks held, so that no other job can push meanwhile.
    pub(super) fn fast_forward(
        &mut self,
        request: &JobRequest,
        view: &mut dyn JobFrontend,
    ) -> Result<(), Failure> {
        request.check_interrupt()?;
        upstream::complete_checkouts(&self.found)?;
        if let Some(found) = upstream::fast_forward_all(&self.found, request, view)? {
            self.found = found;
        }
        Ok(())
    }

    /// Records the results of crashed jobs.
    pub(super) fn recover(
        &self,
        request: &JobRequest,
        view: &mut dyn JobFrontend,
    ) -> Result<(), Failure> {
        let _hold = ExitHold::new();
        recover::recover(&self.ensemble, &self.found, request, view)
    }

    /// Loads the ensemble and checks it completely. Packages that are missing are fetched if the user permits it.
    pub(super) fn load(
        &self,
        request: &JobRequest,
        view: &mut dyn JobFrontend,
    ) -> Result<Session, Failure> {
        if !request.goal.dry_run {
            secret_files::restore(&self.found, view);
        }
        let notice = &mut |text: &str| view.notice(text);
        let session = packages::load(
            &self.found,
            &request.session,
            FetchPermission::Trust,
            notice,
        )?;
        remote_lock::refuse_changed_settings(&self.remote, &session.environment)?;
        Ok(session)
    }

    /// Releases the locks. A problem with the remote lock is shown as a warning.
    pub(super) fn release(self, view: &mut dyn JobFrontend) {
        remote_lock::release(self.remote, view);
    }
}

/// Returns the failure of a job whose lock was broken.
pub(super) fn lock_broken_failure(error: &RecordError) -> Failure {
    let hint = "the job's journal in `jobs/` contains its results";
    Failure::new(FailureKind::Internal, error, Some(hint.to_owned()))
}
