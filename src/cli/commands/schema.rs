//! `schema`.

use clap::ValueEnum;

use crate::cli::output::Output;
use crate::ops;

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SchemaArg {
    /// `ensemble.yaml`
    Ensemble,
    /// `unfurl.yaml`
    Project,
    /// `tasks.yaml`
    Tasks,
}

/// Prints a schema.
pub(in crate::cli) fn schema(of: SchemaArg, output: &Output) -> u8 {
    let of = match of {
        SchemaArg::Ensemble => ops::schema::SchemaOf::Ensemble,
        SchemaArg::Project => ops::schema::SchemaOf::Project,
        SchemaArg::Tasks => ops::schema::SchemaOf::Tasks,
    };
    output.json(&ops::schema::schema(of));
    0
}
