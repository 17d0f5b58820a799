//! The news of actions that are being performed: their ends, notes and output.

use crate::host::{ActionResult, Note, Stream};

/// What a runner tells.
#[derive(Debug)]
pub enum Heard {
    /// An action has ended.
    Ended(u64, ActionResult),
    /// What an executor does with an action, in words without secrets.
    Note(u64, Note),
    /// Somebody asks for an end of all.
    Interruption,
    /// The command of an action wrote something; only a runner that was started with
    /// [`Local::start_telling`](super::Local::start_telling) tells it.
    Wrote(u64, Stream, Vec<u8>),
}

/// Hears what commands with `echo` write, while they run. A slow one slows those commands down.
pub trait OutputSink: Send {
    /// Takes the next bytes that the command of an effect wrote.
    fn output(&mut self, id: u64, stream: Stream, bytes: &[u8]);
}
