//! The functions of expressions, one file per family.

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
mod scalar;
mod schema;
mod strings;
mod table;
mod tosca;
mod values;

pub(super) use call::Call;
pub(super) use files::{absolute_path, directory, revealed};
pub(super) use label::{Style, to_label};
pub use port::port_spec;
pub use schema::admits;
pub(super) use table::find;
