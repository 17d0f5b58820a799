//! Writes the input of a command that runs elsewhere.

use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use super::channel_io::CommandInput;
use super::output_reader::{InputChunk, end_of_terminal_input};
use super::program_input::{InputReader, InputTooLong};
use super::{Command, InputSpool};

/// Writes the input of a command until it ends, then closes it.
///
/// # Errors
///
/// The input of this program is too long to be copied.
pub(super) async fn forward_input(
    mut input: CommandInput,
    command: &Command,
    spool: Option<&InputSpool>,
    mut chunks: mpsc::UnboundedReceiver<InputChunk>,
) -> Result<(), InputTooLong> {
    let mut writer = InputWriter::new(&mut input, command, spool);
    writer.write(&mut chunks).await?;
    input.shutdown().await.ok();
    Ok(())
}

/// The writer of a command's input.
pub(super) struct InputWriter<'a> {
    input: &'a mut CommandInput,
    command: &'a Command,
    spool: Option<&'a InputSpool>,
}

/// The end of the writing, because the command has closed its input.
struct Closed;

impl<'a> InputWriter<'a> {
    /// Creates a writer. `spool` has the input of this program, if the command reads it.
    pub(super) fn new(
        input: &'a mut CommandInput,
        command: &'a Command,
        spool: Option<&'a InputSpool>,
    ) -> Self {
        Self {
            input,
            command,
            spool,
        }
    }

    /// Writes the chunks until there are no more.
    ///
    /// # Errors
    ///
    /// The input of this program is too long to be copied.
    pub(super) async fn write(
        &mut self,
        chunks: &mut mpsc::UnboundedReceiver<InputChunk>,
    ) -> Result<(), InputTooLong> {
        while let Some(chunk) = chunks.recv().await {
            let written = match (chunk, self.spool) {
                (InputChunk::Bytes(bytes), _) => self.write_bytes(&bytes).await,
                (InputChunk::Program(part), Some(spool)) => {
                    self.write_pieces(spool.reader(part)).await?
                }
                (InputChunk::Program(_), None) => Ok(()),
            };
            if let Err(Closed) = written {
                break;
            }
        }
        Ok(())
    }

    async fn write_pieces(
        &mut self,
        mut reader: InputReader,
    ) -> Result<Result<(), Closed>, InputTooLong> {
        let mut last = None;
        while let Some(piece) = reader.next_piece().await? {
            last = piece.last().copied().or(last);
            if let Err(closed) = self.write_bytes(&piece).await {
                return Ok(Err(closed));
            }
        }
        if !self.command.pty {
            return Ok(Ok(()));
        }
        Ok(self.write_bytes(&end_of_terminal_input(last)).await)
    }

    /// Writes bytes. A command may close its input without reading all of it.
    async fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Closed> {
        let written = self.input.write_all(bytes).await;
        written.map_err(|_| Closed)?;
        self.input.flush().await.map_err(|_| Closed)
    }
}
