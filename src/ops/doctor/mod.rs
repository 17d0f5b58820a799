//! Implements `unfurl doctor`: checks everything that a job of this ensemble will touch. Changes nothing.
//!
//! The checks come from the ensemble itself, so that a missing program matters only where an operation needs it.
//! [`examine()`] is the entry.

mod check;
mod clock;
mod disk;
mod environment;
mod examine;
mod git;
mod home;
mod hosts;
mod journals;
mod limits;
mod lock;
mod model;
mod permissions;
mod programs;
mod remote_lock;
mod repositories;
mod request;
mod shell_programs;
mod subject;
mod trust;

pub use check::{Check, CheckState, DoctorReport};
pub use examine::examine;
pub use request::DoctorRequest;
