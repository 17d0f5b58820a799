//! The input of this program, for commands that read it.
//!
//! A thread of `exec` reads the input and sends the pieces to an [`InputSpool`]. Commands take the pieces as fast as they
//! write them on, so a slow host slows down the reading.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

/// The maximum number of bytes that are kept for copies.
const MAX_COPIED_BYTES: usize = 256 << 20;

/// The part that a command has in the input of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramInput {
    /// The command alone reads the input. Pieces that it has read are gone.
    Alone,
    /// The command reads a copy of the whole input, as others do.
    Copy,
}

/// The pieces of the input of this program. Clones share them.
#[derive(Debug, Clone)]
pub struct InputSpool(Arc<Spool>);

#[derive(Debug)]
struct Spool {
    source: tokio::sync::Mutex<mpsc::Receiver<Vec<u8>>>,
    copies: Mutex<Copies>,
}

/// The pieces that are kept for further commands.
#[derive(Debug, Default)]
struct Copies {
    pieces: Vec<Arc<[u8]>>,
    total: usize,
}

/// The error of an input that is too long to be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the standard input has more than {} MiB, too much to copy it to several commands: upload it with `unfurl put`",
    MAX_COPIED_BYTES >> 20
)]
pub struct InputTooLong;

impl InputSpool {
    /// Creates a spool that takes its pieces from a channel. The end of the channel is the end of the input.
    pub fn new(source: mpsc::Receiver<Vec<u8>>) -> Self {
        Self(Arc::new(Spool {
            source: tokio::sync::Mutex::new(source),
            copies: Mutex::default(),
        }))
    }

    /// Starts to read for one command.
    pub fn reader(&self, part: ProgramInput) -> InputReader {
        InputReader {
            spool: self.clone(),
            part,
            next: 0,
        }
    }

    fn copies(&self) -> std::sync::MutexGuard<'_, Copies> {
        self.0.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reader of the input for one command.
#[derive(Debug)]
pub struct InputReader {
    spool: InputSpool,
    part: ProgramInput,
    /// The index of the next copied piece.
    next: usize,
}

impl InputReader {
    /// Returns the next piece. None at the end of the input.
    ///
    /// Cancel safe: the future may be dropped and called again.
    ///
    /// # Errors
    ///
    /// The input is too long to be copied.
    pub async fn next_piece(&mut self) -> Result<Option<Arc<[u8]>>, InputTooLong> {
        if self.part == ProgramInput::Alone {
            let piece = self.spool.0.source.lock().await.recv().await;
            return Ok(piece.map(Arc::from));
        }
        if let Some(piece) = self.copied_piece() {
            return Ok(Some(piece));
        }
        let spool = self.spool.clone();
        let mut source = spool.0.source.lock().await;
        // Another command may have read on while this one waited.
        if let Some(piece) = self.copied_piece() {
            return Ok(Some(piece));
        }
        if spool.copies().total > MAX_COPIED_BYTES {
            return Err(InputTooLong);
        }
        let Some(piece) = source.recv().await else {
            return Ok(None);
        };
        let piece: Arc<[u8]> = piece.into();
        {
            let mut copies = spool.copies();
            copies.total += piece.len();
            copies.pieces.push(Arc::clone(&piece));
        }
        self.next += 1;
        Ok(Some(piece))
    }

    fn copied_piece(&mut self) -> Option<Arc<[u8]>> {
        let piece = self.spool.copies().pieces.get(self.next).cloned()?;
        self.next += 1;
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(reader: &mut InputReader) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Some(piece) = reader.next_piece().await.unwrap() {
            bytes.extend_from_slice(&piece);
        }
        bytes
    }

    #[tokio::test]
    async fn each_copy_begins_at_the_start_and_an_only_reader_keeps_nothing() {
        let (sender, receiver) = mpsc::channel(2);
        let spool = InputSpool::new(receiver);
        let sending = async move {
            for piece in ["a", "bc", "d", "e"] {
                sender.send(piece.into()).await.unwrap();
            }
        };
        let mut first = spool.reader(ProgramInput::Copy);
        let mut second = spool.reader(ProgramInput::Copy);
        let reading = async { tokio::join!(all(&mut first), all(&mut second)) };
        let ((), (one, two)) = tokio::join!(sending, reading);
        assert_eq!(
            (one.as_slice(), two.as_slice()),
            (&b"abcde"[..], &b"abcde"[..])
        );
        assert_eq!(all(&mut spool.reader(ProgramInput::Copy)).await, b"abcde");
        assert_eq!(all(&mut spool.reader(ProgramInput::Alone)).await, b"");
    }
}
