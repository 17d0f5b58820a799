//! The steps of a drift run over ensembles: look, apply the ignore rules, compare with the drift record, save.

use super::history;
use super::look::{self, Looked};
use super::rules;
use crate::drift::DriftAnswer;
use crate::ops::failure::Failure;
use crate::ops::frontend::JobFrontend;
use crate::ops::request::JobRequest;

/// A request to look for drift.
#[derive(Debug)]
pub struct DriftRequest {
    /// The check job of each ensemble. Its goal has the filters; nothing of it is recorded.
    pub jobs: Vec<JobRequest>,
    /// Whether to save the answers in the drift record.
    pub record: bool,
}

/// Looks for drift in each ensemble, one after the other.
///
/// An ensemble that cannot be loaded, or that another job holds, is an answer with a problem. The function fails only
/// if a signal arrives. A drift record that cannot be read or written is a message.
pub fn drift(
    request: &DriftRequest,
    view: &mut dyn JobFrontend,
) -> Result<Vec<DriftAnswer>, Failure> {
    let answers = request
        .jobs
        .iter()
        .map(|job| answer(job, request.record, view));
    answers.collect()
}

/// Returns true if a request looks at all instances of the ensemble.
fn is_whole(job: &JobRequest) -> bool {
    !job.goal.is_filtered() && job.goal.excluded.is_empty()
}

fn answer(
    job: &JobRequest,
    record: bool,
    view: &mut dyn JobFrontend,
) -> Result<DriftAnswer, Failure> {
    job.check_interrupt()?;
    let Looked {
        mut answer,
        session,
        held,
    } = look::look(job, view)?;
    let Some(mut session) = session else {
        return Ok(answer);
    };
    rules::apply(&mut answer, &session, is_whole(job));
    let compared = history::compare(&mut answer, &mut session, &job.goal, view)?;
    if let Some(compared) = compared.filter(|_| record) {
        history::save(&answer, compared, view);
    }
    drop(held);
    Ok(answer)
}
