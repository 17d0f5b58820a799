//! Exports a loaded ensemble as JSON: in the formats of Unfurl's user interface, or as the resolved model.
//! Evaluates no expressions, runs nothing and writes no files.

mod blueprint;
mod deployment;
mod drift_schema;
mod environment;
pub mod json_schema;
mod model;
mod model_types;
mod progress_schema;
mod requirement;
mod resources;
mod schema;
mod templates;
mod type_names;
mod types;
mod values;

pub use deployment::{EnsembleExport, LoadedEnsemble};
pub use environment::deployment_paths;
pub use model::model;
