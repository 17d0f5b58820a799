//! Reads the standard input of this program on a thread.

use std::io::Read as _;
use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc;

use crate::host::InputSpool;

/// The maximum size of a piece, in bytes.
const PIECE_BYTES: usize = 32 << 10;
/// The number of pieces that may wait to be taken.
const MAX_QUEUED_PIECES: usize = 4;

/// Starts to read the standard input. The end of the channel is the end of the input.
///
/// A thread reads it, because a blocking read cannot be cancelled.
pub(super) fn stdin_pieces() -> mpsc::Receiver<Vec<u8>> {
    let (sender, pieces) = mpsc::channel::<Vec<u8>>(MAX_QUEUED_PIECES);
    let reader = std::thread::Builder::new().name("stdin".to_owned());
    let reader = reader.spawn(move || {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = std::io::stdin().lock().read(&mut piece);
            match read {
                Ok(count @ 1..) if sender.blocking_send(piece[..count].to_vec()).is_ok() => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
    });
    // If the thread could not start, the input ends at once.
    drop(reader);
    pieces
}

/// The standard input for commands that read it. Reading begins with the first of them.
#[derive(Debug, Clone, Default)]
pub(super) struct ProgramInputSource(Arc<OnceLock<InputSpool>>);

impl ProgramInputSource {
    pub(super) fn spool(&self) -> InputSpool {
        let start = || InputSpool::new(stdin_pieces());
        self.0.get_or_init(start).clone()
    }
}
