//! What real Salt made of small state trees, and what this program makes of them.

mod compile;
mod corpus;
mod performer;
mod run;
mod scale;
mod templates;
mod trees;
