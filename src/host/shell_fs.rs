//! The files of another location through shell programs, for containers and for hosts without SFTP.

use tokio::io::AsyncWriteExt as _;

use super::channel_io::{ChannelEvent, ChannelIo, CommandInput};
use super::download_limits::DownloadLimits;
use super::script::loader_input;
use super::ssh::OpenShell;
use super::transfer_files::{Error, NewFile, TransferKind, UploadSource, temporary_sibling};
use super::transport::Transport;
use super::{Exit, Stream};
use crate::text::quote_word;

/// The number of bytes of a file sent at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// The maximum number of bytes kept of a program's output.
const MAX_OUTPUT_BYTES: usize = 16 << 20;
/// The shell function that prints the kind of a path: a letter, the mode, and the path.
const KIND_FUNCTION: &str = "kind() { if [ -d \"$1\" ]; then printf 'd 0 %s\\0' \"$1\"; \
    elif [ -f \"$1\" ]; then printf 'f %s %s\\0' \
    \"$(stat -L -c '%a' -- \"$1\" 2>/dev/null || echo 644)\" \"$1\"; \
    elif [ -e \"$1\" ]; then printf 'o 0 %s\\0' \"$1\"; fi; }";

/// Access to files through shell programs.
pub(super) struct ShellFs<'a> {
    transport: &'a Transport,
}

/// The local files connected to a program's input and output.
#[derive(Default)]
struct ProgramStreams<'a> {
    source: Option<&'a UploadSource>,
    into: Option<&'a NewFile>,
}

/// The result of a shell program.
struct ProgramOutput {
    exit: Exit,
    out: Vec<u8>,
    err: Vec<u8>,
    /// The number of bytes written to stdout.
    length: u64,
}

impl<'a> ShellFs<'a> {
    pub(super) fn new(transport: &'a Transport) -> Self {
        Self { transport }
    }

    /// Returns the kind of the entry that a path leads to; none if nothing exists there.
    pub(super) async fn kind(&self, path: &str) -> Result<Option<TransferKind>, Error> {
        let text = format!("{KIND_FUNCTION}\nkind {}\n", quote_word(path));
        let output = self
            .run("inspect", path, &text, ProgramStreams::default())
            .await?;
        let mut found = parse_kinds(&output.out);
        match found.pop() {
            None => Ok(None),
            Some((_, Some(kind))) => Ok(Some(kind)),
            Some((_, None)) => Err(Error::NoFile(path.to_owned())),
        }
    }

    /// Lists the names and kinds of the entries in a folder.
    pub(super) async fn list(
        &self,
        path: &str,
        limits: &DownloadLimits,
    ) -> Result<Vec<(String, TransferKind)>, Error> {
        let text = format!(
            "{KIND_FUNCTION}\ncd -- {} || exit 1\nfor f in * .[!.]* ..?*; do kind \"./$f\"; done\n",
            quote_word(path)
        );
        let output = self
            .run("read", path, &text, ProgramStreams::default())
            .await?;
        let mut all = Vec::new();
        for (name, kind) in parse_kinds(&output.out) {
            let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
            let place = limits.add_entry(path, &name)?;
            if name == "." || name == ".." {
                return Err(Error::Name(place));
            }
            all.push((name, kind.ok_or(Error::NoFile(place))?));
        }
        Ok(all)
    }

    /// Makes a folder, unless it exists.
    pub(super) async fn make_folder(&self, path: &str) -> Result<(), Error> {
        let text = format!("mkdir -p -- {}\n", quote_word(path));
        let output = self
            .run("make", path, &text, ProgramStreams::default())
            .await;
        output.map(|_| ())
    }

    /// Writes a file under a temporary name, and renames it if it arrived completely.
    pub(super) async fn put(
        &self,
        source: &UploadSource,
        target: &str,
        mode: Option<u32>,
    ) -> Result<u64, Error> {
        let temporary_path = quote_word(&temporary_sibling(target));
        let chmod = mode.map_or_else(String::new, |mode| {
            format!("chmod {mode:o} {temporary_path} && ")
        });
        let size = source.len();
        let text = format!(
            "if cat > {temporary_path} && [ \"$(wc -c < {temporary_path})\" -eq {size} ] && {chmod}\
             mv -f -- {temporary_path} {}; then exit 0; fi\nrm -f -- {temporary_path}; exit 1\n",
            quote_word(target)
        );
        let flow = ProgramStreams {
            source: Some(source),
            into: None,
        };
        self.run("write", target, &text, flow).await?;
        Ok(size)
    }

    /// Reads a file into a local one and returns its length in bytes.
    pub(super) async fn get(&self, path: &str, into: &NewFile) -> Result<u64, Error> {
        let text = format!("exec cat -- {}\n", quote_word(path));
        let flow = ProgramStreams {
            source: None,
            into: Some(into),
        };
        let output = self.run("read", path, &text, flow).await?;
        Ok(output.length)
    }

    async fn run(
        &self,
        what: &'static str,
        path: &str,
        text: &str,
        flow: ProgramStreams<'_>,
    ) -> Result<ProgramOutput, Error> {
        let OpenShell {
            channel_io,
            input,
            lease,
        } = self.transport.start(false).await.map_err(Error::Exit)?;
        let feeding = send_input(input, loader_input(text), flow.source);
        let reading = read_output(channel_io, flow.into, path);
        let (input_result, output) = tokio::join!(feeding, reading);
        drop(lease);
        let output = output?;
        let failed = |why: String| Error::Failed {
            operation: what,
            path: path.to_owned(),
            why,
        };
        input_result.map_err(|error| failed(error.to_string()))?;
        if output.exit.is_ok() {
            return Ok(output);
        }
        let message = String::from_utf8_lossy(&output.err).into_owned();
        let last = message.lines().rfind(|line| !line.trim().is_empty());
        let why = last.map_or_else(|| output.exit.to_string(), str::to_owned);
        Err(failed(why))
    }
}

/// Sends a script and then a file. Fails only if the file cannot be read.
async fn send_input(
    mut input: CommandInput,
    script: Vec<u8>,
    source: Option<&UploadSource>,
) -> Result<(), std::io::Error> {
    if input.write_all(&script).await.is_err() {
        return Ok(());
    }
    if let Some(source) = source {
        let mut offset = 0;
        loop {
            let part = source.part(offset, CHUNK_BYTES)?;
            if part.is_empty() || input.write_all(&part).await.is_err() {
                break;
            }
            offset += part.len() as u64;
        }
    }
    // The program may have ended without reading its input.
    input.shutdown().await.ok();
    Ok(())
}

async fn read_output(
    mut channel_io: ChannelIo,
    into: Option<&NewFile>,
    path: &str,
) -> Result<ProgramOutput, Error> {
    let mut output = ProgramOutput {
        exit: Exit::Failed("the connection was lost".to_owned()),
        out: Vec::new(),
        err: Vec::new(),
        length: 0,
    };
    loop {
        match channel_io.next_event().await {
            ChannelEvent::Output(Stream::Stdout, bytes) => {
                match into {
                    Some(into) => into.write(&bytes, output.length, path)?,
                    None if output.out.len() < MAX_OUTPUT_BYTES => {
                        output.out.extend_from_slice(&bytes);
                    }
                    None => return Err(Error::TooManyEntries(path.to_owned())),
                }
                output.length += bytes.len() as u64;
            }
            ChannelEvent::Output(Stream::Stderr, bytes) => {
                if output.err.len() < MAX_OUTPUT_BYTES {
                    output.err.extend_from_slice(&bytes);
                }
            }
            ChannelEvent::Code(code) => output.exit = Exit::Code(code),
            ChannelEvent::Signal(signal) => output.exit = Exit::Signal(signal),
            ChannelEvent::Refused | ChannelEvent::End => break,
        }
    }
    channel_io.close().await;
    Ok(output)
}

/// Parses the output of [`KIND_FUNCTION`]. An entry that is neither a file nor a folder has no
/// kind.
fn parse_kinds(bytes: &[u8]) -> Vec<(String, Option<TransferKind>)> {
    let text = String::from_utf8_lossy(bytes);
    let read = |line: &str| {
        let (letter, rest) = line.split_once(' ')?;
        let (mode, path) = rest.split_once(' ')?;
        let kind = match letter {
            "d" => Some(TransferKind::Folder),
            "f" => Some(TransferKind::File {
                mode: u32::from_str_radix(mode, 8).unwrap_or(0o644),
                size: 0,
            }),
            _ => None,
        };
        Some((path.to_owned(), kind))
    };
    text.split('\0').filter_map(read).collect()
}
