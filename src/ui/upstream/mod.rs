//! Renders plans, summaries and the status of ensembles with the words of Unfurl, for programs that
//! read them. `--format unfurl` asks for these texts; the other texts of `ui` are for people.

mod plan;
mod status;
mod summary;

pub use plan::plan_text;
pub use status::status_text;
pub use summary::summary_text;
