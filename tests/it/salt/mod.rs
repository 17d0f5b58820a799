//! Salt's states: small state trees, compared with the recorded results of the real Salt.

mod answers;
mod calls;
mod compile;
mod corpus;
mod performer;
mod run;
mod scale;
mod templates;
mod trees;
