//! The progress of a transfer, which it reports while it runs.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;

/// The time between two reports of a transfer.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);

/// The amount that a transfer has copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransferAmount {
    /// The number of bytes copied so far.
    pub bytes: u64,
    /// The number of bytes of all files together; 0 if it is not known.
    pub total: u64,
}

/// The counters of a running transfer.
#[derive(Debug, Default)]
pub(super) struct TransferProgress {
    bytes: AtomicU64,
    total: AtomicU64,
}

impl TransferProgress {
    /// Counts copied bytes, and returns the number before.
    pub(super) fn add(&self, bytes: u64) -> u64 {
        self.bytes.fetch_add(bytes, Ordering::Relaxed)
    }

    /// Returns the number of bytes copied so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Adds the size of files that will be copied.
    pub(super) fn expect(&self, size: u64) {
        self.total.fetch_add(size, Ordering::Relaxed);
    }

    /// Reports the amount from time to time. Never returns.
    pub(super) async fn report(&self, reports: Option<mpsc::Sender<TransferAmount>>) -> Infallible {
        let Some(reports) = reports else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(REPORT_INTERVAL).await;
            let amount = TransferAmount {
                bytes: self.bytes(),
                total: self.total.load(Ordering::Relaxed),
            };
            // A report that cannot be delivered is left out: the next one says more.
            reports.try_send(amount).ok();
        }
    }
}
