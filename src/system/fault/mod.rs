//! The layer that every file change and every program start passes through, so that tests can make each of
//! them fail or kill the process at that point.
//!
//! The layer also shifts the clock for tests. It has an effect only if the program is built with the feature
//! `fault-injection` and the variable of a fault or of a clock is set when the process starts.

#[cfg(feature = "fault-injection")]
mod injection;
#[cfg(not(feature = "fault-injection"))]
mod passthrough;
mod system_call;

#[cfg(feature = "fault-injection")]
pub use injection::{call, hide_from, shifted, write_all};
#[cfg(not(feature = "fault-injection"))]
pub use passthrough::{call, hide_from, shifted, write_all};
pub use system_call::SystemCall;
