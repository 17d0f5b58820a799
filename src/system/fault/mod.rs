//! The one point that every change of a file and every start of a program passes, so that tests
//! can make any of them fail, or cut the process off there, as a dying disk or machine would.
//!
//! Nothing happens here unless the program is built with the feature `fault-injection`, and the
//! variable that names the fault is set when the process starts.

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
