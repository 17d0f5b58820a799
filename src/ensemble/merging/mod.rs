//! Merges the records that two users made of the same ensemble.
//!
//! Records are merged instance by instance and job by job. The user's own text around them is merged line by
//! line. The git merge driver and the rebase before a push use [`merge_ensembles`] and [`merge_job_lists`].

mod merge;
mod record_merger;
mod three_way;

#[cfg(test)]
pub use merge::MergedEnsemble;
pub use merge::{merge_ensembles, merge_job_lists};

#[cfg(test)]
mod tests;
