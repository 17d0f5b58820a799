//! The line that says how far running transfers are.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::host_summary::name_of;
use crate::host::TransferAmount;
use crate::tasks::HostEvent;
use crate::text::approximate_size;

/// The transfers that run, by host.
#[derive(Debug, Default)]
pub struct TransferLine {
    amounts: BTreeMap<Option<Arc<str>>, TransferAmount>,
}

impl TransferLine {
    /// Notes an event. Returns true if it is about the amount of a transfer.
    pub fn event(&mut self, event: &HostEvent) -> bool {
        match event {
            HostEvent::Progress { host, amount } => {
                self.amounts.insert(host.clone(), *amount);
                true
            }
            HostEvent::StepFinished { host } => {
                self.amounts.remove(host);
                false
            }
            HostEvent::HostFinished(end) => {
                self.amounts.remove(&end.host);
                false
            }
            _ => false,
        }
    }

    /// Returns the line for all transfers together.
    pub fn text(&self) -> String {
        let sum = |part: fn(&TransferAmount) -> u64| {
            self.amounts.values().map(part).fold(0, u64::saturating_add)
        };
        let (bytes, total) = (sum(|it| it.bytes), sum(|it| it.total));
        let is_known = self.amounts.values().all(|it| it.total > 0);
        // Archives are a little larger than the files in them.
        let bytes = if is_known { bytes.min(total) } else { bytes };
        let mut text = format!("copied {}", approximate_size(bytes));
        if is_known && total > 0 {
            let percent = u128::from(bytes) * 100 / u128::from(total);
            text += &format!(" of {} ({percent} %)", approximate_size(total));
        }
        match self.amounts.keys().next() {
            Some(host) if self.amounts.len() == 1 => format!("[{}] {text}", name_of(host.as_ref())),
            _ => format!("{text} on {} hosts", self.amounts.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(line: &mut TransferLine, host: &str, bytes: u64, total: u64) {
        let amount = TransferAmount { bytes, total };
        let host = Some(Arc::from(host));
        assert!(line.event(&HostEvent::Progress { host, amount }));
    }

    #[test]
    fn the_line_sums_up_the_transfers_that_run() {
        let mut line = TransferLine::default();
        progress(&mut line, "web1", 3 << 20, 0);
        insta::assert_snapshot!(line.text(), @"[web1] copied 3.0 MiB");
        progress(&mut line, "web1", 5 << 20, 20 << 20);
        insta::assert_snapshot!(line.text(), @"[web1] copied 5.0 MiB of 20.0 MiB (25 %)");
        progress(&mut line, "web2", 1 << 29, 1 << 30);
        insta::assert_snapshot!(line.text(), @"copied 517.0 MiB of 1.0 GiB (49 %) on 2 hosts");
        let host = Some(Arc::from("web1"));
        assert!(!line.event(&HostEvent::StepFinished { host }));
        progress(&mut line, "web2", 2 << 30, 1 << 30);
        insta::assert_snapshot!(line.text(), @"[web2] copied 1.0 GiB of 1.0 GiB (100 %)");
    }
}
