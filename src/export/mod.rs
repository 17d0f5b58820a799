//! What other programs are given of an ensemble that is loaded: the objects of Unfurl's user
//! interface, or the resolved model. Evaluates nothing, runs nothing and writes nothing.

mod blueprint;
mod deployment;
mod environment;
pub mod json_schema;
mod model;
mod model_types;
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
