//! The port through which a driver has actions performed: by this machine, or in a simulation.

use std::time::Instant;

use super::error::Error;
use super::heard::Heard;
use crate::host::Request;

/// Tells, from any thread, that somebody asked for an end for the nth time.
pub type Ring = Box<dyn Fn(usize) + Send>;

/// Performs actions; those begun may end in any order.
pub trait Perform {
    /// Begins an action. Its result comes with the same number, which no other action that runs
    /// has.
    fn begin(&mut self, id: u64, request: Request) -> Result<(), Error>;

    /// Waits for the news that come next, until a time if there is one; none if there were none
    /// by then.
    fn hear(&mut self, until: Option<Instant>) -> Result<Option<Heard>, Error>;

    /// Ends all actions early; their results still come.
    fn cancel_all(&mut self);

    /// The way on which signals reach this while it waits, if it has one.
    fn ring(&self) -> Option<Ring> {
        None
    }
}
