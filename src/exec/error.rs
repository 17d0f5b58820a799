//! Why nothing more is performed.

/// Why actions cannot be performed any more.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system gave it no thread or no event queue.
    #[error("could not start the local runner: {0}")]
    Start(#[from] std::io::Error),
    /// Its thread ended.
    #[error("the local runner has ended")]
    Gone,
}
