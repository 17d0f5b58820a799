//! The layer that every file change and every program start passes through, so that tests can make each of
//! them fail or kill the process at that point.
//!
//! The layer has an effect only if the program is built with the feature `fault-injection` and the fault
//! variable is set when the process starts.

#[cfg(feature = "fault-injection")]
mod injection;
#[cfg(not(feature = "fault-injection"))]
mod passthrough;
mod system_call;

#[cfg(feature = "fault-injection")]
pub use injection::{call, hide_from, write_all};
#[cfg(not(feature = "fault-injection"))]
pub use passthrough::{call, hide_from, write_all};
pub use system_call::SystemCall;
