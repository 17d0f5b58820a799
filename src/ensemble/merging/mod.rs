//! Brings two people's records of one ensemble together: instance by instance and job by job. What
//! people wrote around the records is merged line by line.

mod merge;
mod record_merger;
mod three_way;

#[cfg(test)]
pub use merge::MergedEnsemble;
pub use merge::{merge_ensembles, merge_job_lists};

#[cfg(test)]
mod tests;
