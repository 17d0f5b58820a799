//! Collects the output of a command.
//!
//! The first and the last bytes stay in memory. A longer output is also written to a file without a name, as long
//! as the outputs of the command do not exceed their common limit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::CapturedOutput;
use super::capture::OutputRest;
use crate::system::env;
use crate::system::fs::{self, UnnamedFile};

/// The name of the file in messages.
const FILE_LABEL: &str = "unfurl-output";

/// The number of bytes that the outputs of one command may have in files. Clones share it.
#[derive(Debug, Clone)]
pub struct CaptureBudget {
    limit: u64,
    remaining: Arc<AtomicU64>,
}

impl CaptureBudget {
    /// Creates a budget of this many bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            remaining: Arc::new(AtomicU64::new(limit)),
        }
    }

    /// Takes bytes from the budget. Returns false if fewer remain.
    fn take(&self, bytes: u64) -> bool {
        let rest = |remaining: u64| remaining.checked_sub(bytes);
        let order = Ordering::Relaxed;
        self.remaining.fetch_update(order, order, rest).is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.remaining.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A buffer that keeps the first and the last half of a limit in memory, and a longer output in a file.
#[derive(Debug)]
pub struct CaptureBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
    budget: CaptureBudget,
    overflow: Overflow,
}

/// The state of an output that may exceed the memory.
#[derive(Debug)]
enum Overflow {
    /// Everything is in memory.
    None,
    /// Everything is in this file.
    File(UnnamedFile),
    /// The middle is lost: the output exceeds the budget.
    OverLimit,
    /// The middle is lost: the file could not be written.
    Failed(fs::Error),
}

impl CaptureBuffer {
    /// Creates a buffer that keeps at most `memory_bytes` bytes in memory.
    pub fn new(memory_bytes: usize, budget: &CaptureBudget) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: memory_bytes / 2,
            total: 0,
            budget: budget.clone(),
            overflow: Overflow::None,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.total + bytes.len() as u64 > 2 * self.half as u64 {
            self.write_to_file(bytes);
        }
        self.total += bytes.len() as u64;
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let too_many = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..too_many);
        self.tail.extend(rest);
    }

    /// Appends bytes to the file. The first call creates it and writes everything so far.
    fn write_to_file(&mut self, bytes: &[u8]) {
        let (new, taken) = match &self.overflow {
            Overflow::None => (self.total + bytes.len() as u64, 0),
            Overflow::File(_) => (bytes.len() as u64, self.total),
            Overflow::OverLimit | Overflow::Failed(_) => return,
        };
        if !self.budget.take(new) {
            self.budget.give_back(taken);
            self.overflow = Overflow::OverLimit;
            return;
        }
        if let Err(error) = self.append(bytes) {
            self.budget.give_back(taken + new);
            self.overflow = Overflow::Failed(error);
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), fs::Error> {
        if let Overflow::File(file) = &mut self.overflow {
            return file.append(bytes);
        }
        let mut file = UnnamedFile::create_in(&env::temporary_dir(), FILE_LABEL)?;
        file.append(&self.head)?;
        file.append(self.tail.make_contiguous())?;
        file.append(bytes)?;
        self.overflow = Overflow::File(file);
        Ok(())
    }

    pub fn finish(self) -> CapturedOutput {
        let tail: Vec<u8> = self.tail.into();
        let rest = match self.overflow {
            Overflow::None => return CapturedOutput::from_bytes([self.head, tail].concat()),
            Overflow::File(file) => Some(OutputRest::File(file.into())),
            // Without a budget, the limit is not one of the user's.
            Overflow::OverLimit if self.budget.limit == 0 => None,
            Overflow::OverLimit => Some(OutputRest::OverLimit(self.budget.limit)),
            Overflow::Failed(error) => Some(OutputRest::Failed(error.to_string())),
        };
        CapturedOutput::with_rest(self.head, tail, self.total, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::IncompleteOutput;
    use crate::value::Secrets;
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    fn without_file(memory_bytes: usize) -> CaptureBuffer {
        CaptureBuffer::new(memory_bytes, &CaptureBudget::new(0))
    }

    #[test]
    fn the_omitted_middle_of_a_long_output_is_reported() {
        let mut capture = without_file(8);
        for piece in ["abc", "defgh", "ij", "klmnop"] {
            capture.push(piece.as_bytes());
        }
        let captured = capture.finish();
        assert!(captured.is_truncated());
        insta::assert_snapshot!(captured.text(), @r"
        abcd
        [… 8 bytes left out …]
        mnop
        ");
    }

    #[test]
    fn outputs_of_a_command_share_their_limit_and_small_ones_are_always_whole() {
        let budget = CaptureBudget::new(20);
        let mut buffers = [(); 3].map(|()| CaptureBuffer::new(8, &budget));
        for (buffer, bytes) in buffers.iter_mut().zip([[b'a'; 15], [b'b'; 15], [b'c'; 15]]) {
            buffer.push(&bytes[..5]);
            buffer.push(&bytes[5..]);
        }
        buffers[0].push(b"aaaaaa");
        // The first output was given up, so its part is free again.
        let mut last = CaptureBuffer::new(8, &budget);
        last.push(&[b'd'; 20]);
        let mut small = CaptureBuffer::new(8, &budget);
        small.push(b"12345678");
        let [first, second, third] = buffers.map(CaptureBuffer::finish);
        let over = |total| IncompleteOutput::OverLimit { total, limit: 20 };
        assert_eq!(first.whole(), Err(over(21)));
        assert_eq!(second.whole(), Err(over(15)));
        assert_eq!(third.whole(), Err(over(15)));
        assert_eq!(last.finish().whole().unwrap().as_ref(), [b'd'; 20]);
        assert_eq!(small.finish().whole().unwrap().as_ref(), b"12345678");
    }

    #[test]
    fn changes_of_an_output_apply_to_its_file_too() {
        let mut buffer = CaptureBuffer::new(4, &CaptureBudget::new(1000));
        buffer.push(b"say MARK hunter2 to all");
        let mut captured = buffer.finish();
        captured.remove(b"MARK ");
        assert_eq!(captured.whole_text().unwrap(), "say hunter2 to all");
        assert!(captured.contains(&Secrets::from_iter(["hunter2"])));
        assert!(!captured.contains(&Secrets::from_iter(["hunter3", "MARK"])));
    }

    proptest! {
        /// The kept bytes do not depend on how the output is split into pieces.
        #[test]
        fn keeps_the_first_and_the_last_within_the_bound(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..10),
            bound in 0_usize..60,
            limit in 0_u64..200,
        ) {
            let mut capture = CaptureBuffer::new(bound, &CaptureBudget::new(limit));
            for piece in &pieces {
                capture.push(piece);
            }
            let all = pieces.concat();
            let captured = capture.finish();
            let half = bound / 2;
            prop_assert_eq!(captured.total, all.len() as u64);
            prop_assert!(captured.bytes().len() <= bound.max(all.len().min(bound)));
            prop_assert_eq!(captured.is_truncated(), all.len() > 2 * half);
            if captured.is_truncated() {
                prop_assert_eq!(&captured.head, &all[..half]);
                prop_assert_eq!(&captured.tail, &all[all.len() - half..]);
                prop_assert_eq!(captured.whole().is_ok(), all.len() as u64 <= limit);
            } else {
                prop_assert_eq!(captured.bytes(), all.clone());
            }
            if let Ok(whole) = captured.whole() {
                prop_assert_eq!(whole.as_ref(), all);
            }
            let json = serde_json::to_string(&captured).unwrap();
            let read: CapturedOutput = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(read.bytes(), captured.bytes());
            prop_assert_eq!(read.whole().is_ok(), !captured.is_truncated());
        }
    }
}
