//! Files that receive the output of commands, and their readers.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use tokio::sync::watch;

/// The interval at which a file is checked for new output.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The maximum number of bytes that are read at once.
const MAX_READ_BYTES: usize = 64 << 10;

/// A file that receives the output of a command and is read at the same time.
#[derive(Debug)]
pub(super) struct OutputFile {
    reader: File,
    /// Becomes true when the command has ended, so that nothing more is to come.
    has_ended: watch::Receiver<bool>,
}

impl OutputFile {
    /// Creates the file, which only its owner may read. Returns the end for the command and the end for the reader.
    ///
    /// # Errors
    ///
    /// The file exists already, or cannot be created.
    pub(super) fn create(
        path: &Path,
        has_ended: watch::Receiver<bool>,
    ) -> io::Result<(File, Self)> {
        let mut options = OpenOptions::new();
        let writer = options
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let reader = File::open(path)?;
        Ok((writer, Self { reader, has_ended }))
    }

    /// Waits for new output. Returns no bytes at its end.
    pub(super) async fn read(&mut self) -> io::Result<Vec<u8>> {
        loop {
            // The command may write until it ends, so the file is read once more after the end.
            let is_last = *self.has_ended.borrow();
            let mut bytes = vec![0; MAX_READ_BYTES];
            let count = self.reader.read(&mut bytes)?;
            if count > 0 || is_last {
                bytes.truncate(count);
                return Ok(bytes);
            }
            let ended = self.has_ended.wait_for(|ended| *ended);
            match tokio::time::timeout(POLL_INTERVAL, ended).await {
                Ok(Ok(_)) | Err(_) => {}
                // The end of the command cannot be seen any more.
                Ok(Err(_)) => return Ok(Vec::new()),
            }
        }
    }
}
