//! Implements `unfurl secret`: sets, shows, lists, checks and re-encrypts the secrets of a project.

mod encrypt;
mod inventory;
mod project;
mod rekey;
mod report;
mod set;
mod show;
mod text_file;
mod verify;

pub use encrypt::{EncryptedLeaves, encrypt};
pub use inventory::{SecretEntry, SecretScheme};
pub use project::SecretProject;
pub use rekey::{RekeyPlan, RekeyRequest, RekeyedSecrets, plan_rekey, rekey};
pub use report::SecretPlace;
pub use set::{NewSecret, SecretTarget, SetResult, set, set_found};
pub use show::{get, list, who};
pub use verify::{SecretProblem, VerifyReport, verify};
