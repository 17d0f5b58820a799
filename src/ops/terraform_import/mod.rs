//! Implements `unfurl import terraform`: takes over what Terraform has deployed from a folder.
//!
//! [`import`] is the entry. `state` reads the state, `wrapped` makes it that of the node template, `nodes` plans the instances,
//! and `quiet_job` records them as a deploy would have.

mod digits;
mod earlier;
mod nodes;
mod quiet_job;
mod request;
mod run;
mod source;
mod state;
mod tfvars;
mod variables;
mod wrapped;

pub use nodes::{PartKind, PartNode};
pub use request::{ImportReport, ImportRequest};
pub use run::import;
