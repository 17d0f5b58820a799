//! An ensemble that is locked for a job: on this machine, and for all machines if its environment
//! asks for that.

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::lock;
use super::recover;
use super::remote_lock;
use super::request::JobRequest;
use super::upstream;
use crate::ensemble::{LockedEnsemble, RecordError};
use crate::lock::RemoteLock;
use crate::session::{self, EnsembleLocation, Session};

/// An ensemble that is locked for a job.
#[derive(Debug)]
pub(super) struct JobLock {
    /// The lock for all machines, which is freed first.
    remote: RemoteLock,
    /// The lock on this machine, without which nothing is recorded.
    pub(super) ensemble: LockedEnsemble,
    found: EnsembleLocation,
}

impl JobLock {
    /// Locks an ensemble on this machine, then for all machines, and waits for as long as the job
    /// may.
    pub(super) fn acquire(
        found: EnsembleLocation,
        request: &JobRequest,
        view: &mut dyn JobFrontend,
    ) -> Result<Self, Failure> {
        let ensemble = lock::acquire(found.path(), request, view)?;
        let remote = remote_lock::acquire(&found, request, view)?;
        Ok(Self {
            remote,
            ensemble,
            found,
        })
    }

    /// Brings the repositories of the ensemble up to what others have pushed, who cannot push any
    /// more. The ensemble is searched again only if commits came in.
    pub(super) fn fast_forward(
        &mut self,
        request: &JobRequest,
        view: &mut dyn JobFrontend,
    ) -> Result<(), Failure> {
        request.check_interrupt()?;
        if let Some(found) = upstream::fast_forward_all(&self.found, request, view)? {
            self.found = found;
        }
        Ok(())
    }

    /// Puts jobs on record that were cut off.
    pub(super) fn recover(
        &self,
        request: &JobRequest,
        view: &mut dyn JobFrontend,
    ) -> Result<(), Failure> {
        recover::recover(&self.ensemble, &self.found, request, view)
    }

    /// Reads the ensemble and checks all of it.
    pub(super) fn load(&self, request: &JobRequest) -> Result<Session, Failure> {
        let session = session::load(self.found.clone(), &request.session)?;
        remote_lock::refuse_changed_settings(&self.remote, &session.environment)?;
        Ok(session)
    }

    /// Frees the locks. A lock for all machines that cannot be freed is told.
    pub(super) fn release(self, view: &mut dyn JobFrontend) {
        remote_lock::release(self.remote, view);
    }
}

/// The failure of a job whose lock was broken.
pub(super) fn lock_broken_failure(error: &RecordError) -> Failure {
    let hint = "the job's journal in `jobs/` keeps what it did";
    Failure::new(FailureKind::Internal, error, Some(hint.to_owned()))
}
