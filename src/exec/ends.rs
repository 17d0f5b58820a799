//! The channels between a command and the thread that started it.

use tokio::sync::{mpsc, oneshot, watch};

use crate::host::Stream;

/// What the sink's thread is told.
pub(super) enum Piece {
    Output(u64, Stream, Vec<u8>),
    /// All before this was heard.
    Heard(oneshot::Sender<()>),
}

pub(super) type Echo = Option<mpsc::Sender<Piece>>;

/// What ends a command from outside.
pub(super) struct Ends {
    pub(super) cancelled: oneshot::Receiver<()>,
    /// Whether it is to be killed without grace.
    pub(super) hurried: watch::Receiver<bool>,
}
