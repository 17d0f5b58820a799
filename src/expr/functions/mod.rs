//! The functions of expressions, one file per family. `registry` maps names to implementations; [`matches_schema`]
//! and [`port_spec`] serve other modules.

mod arithmetic;
mod call;
mod control;
mod env;
mod files;
mod generate;
mod image;
mod label;
mod logic;
mod port;
mod registry;
mod scalar;
mod schema;
mod strings;
mod tosca;
mod values;

pub(super) use call::FunctionCall;
pub(super) use files::{absolute_path, directory};
pub(super) use label::{LabelRules, to_label};
pub use port::port_spec;
pub(super) use registry::find;
pub use schema::matches_schema;
