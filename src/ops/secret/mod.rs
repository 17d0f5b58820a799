//! Implements `unfurl secret`: sets, shows, lists, checks and re-encrypts the secrets of a project.

mod clear;
mod encrypt;
mod inventory;
mod located;
mod project;
mod rekey;
mod report;
mod set;
mod show;
mod target;
mod text_file;
mod verify;

pub use clear::scan;
pub(super) use clear::{CLEAR_PERMISSION, refuse_clear_values};
pub use encrypt::encrypt;
pub use inventory::SecretEntry;
pub use project::SecretProject;
pub use rekey::{RekeyPlan, RekeyRequest, plan_rekey, rekey};
pub use report::SecretPlace;
pub use set::{NewSecret, SetResult, set, set_found};
pub use show::{get, list, who};
pub use target::SecretTarget;
pub use verify::verify;
