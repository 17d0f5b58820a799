//! How an action is gone along with while it is performed: what it writes, and when it is to end.

use tokio::sync::{mpsc, watch};

use super::Stream;

/// How the one who asks for an action goes along with it.
#[derive(Debug)]
pub struct Call {
    /// Whether it is to end early.
    pub stop: watch::Receiver<Stop>,
    /// Takes what a command writes, while it runs; a slow taker slows it down.
    pub pieces: Option<mpsc::Sender<(Stream, Vec<u8>)>>,
}

/// Whether an action is to end early.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stop {
    /// It may go on.
    #[default]
    No,
    /// It is asked to end, and has some time for it.
    Gently,
    /// It is killed.
    AtOnce,
}

/// Waits until there is to be an end of at least this kind; for ever if nobody can say so.
pub(super) async fn until(stop: &mut watch::Receiver<Stop>, kind: Stop) {
    if stop.wait_for(|now| *now >= kind).await.is_err() {
        std::future::pending::<()>().await;
    }
}
