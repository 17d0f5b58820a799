//! The files of another location through shell programs, for containers and for hosts without SFTP.

use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;
use tokio::sync::watch;

use super::channel_io::{ChannelEvent, ChannelIo, CommandInput};
use super::download_limits::DownloadLimits;
use super::script::loader_input;
use super::shell_entry::enter_shell;
use super::ssh::OpenShell;
use super::transfer_files::{
    Error, NewFile, TransferKind, UploadSource, resumable_sibling, temporary_sibling,
};
use super::transfer_progress::TransferProgress;
use super::transfer_settings::PutSettings;
use super::transport::Transport;
use super::{Exit, RunOutput, ShellLogin, StopLevel, Stream};
use crate::text::quote_word;

/// The number of bytes of a file sent at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// The maximum number of bytes kept of a program's output.
const MAX_OUTPUT_BYTES: usize = 16 << 20;
/// The shell function that prints the kind of a path: a letter, the mode, and the path.
const KIND_FUNCTION: &str = "kind() { if [ -d \"$1\" ]; then printf 'd %s %s\\0' \
    \"$(stat -L -c '%a' -- \"$1\" 2>/dev/null || echo 755)\" \"$1\"; \
    elif [ -f \"$1\" ]; then printf 'f %s %s\\0' \
    \"$(stat -L -c '%a' -- \"$1\" 2>/dev/null || echo 644)\" \"$1\"; \
    elif [ -e \"$1\" ]; then printf 'o 0 %s\\0' \"$1\"; fi; }";

/// Access to files through shell programs.
pub(super) struct ShellFs<'a> {
    transport: &'a Transport,
    login: Option<Box<FsLogin>>,
    progress: Arc<TransferProgress>,
}

/// The login of another user, in whose shells the programs run.
#[derive(Debug, Clone)]
pub(super) struct FsLogin {
    pub(super) login: ShellLogin,
    /// The level at which the transfer has to stop, if at all.
    pub(super) stop: watch::Receiver<StopLevel>,
}

/// The shell function that prints the SHA-256 digest of its input.
const DIGEST_FUNCTION: &str = "digest() { if command -v sha256sum >/dev/null 2>&1; then sha256sum | cut -c 1-64; \
    elif command -v shasum >/dev/null 2>&1; then shasum -a 256 | cut -c 1-64; \
    else echo 'the host has neither `sha256sum` nor `shasum`' >&2; exit 1; fi; }";

/// A file that a script writes.
struct Upload<'a> {
    /// The name of the incomplete file.
    part: &'a str,
    target: &'a str,
    size: u64,
    digest: Option<&'a str>,
    mode: Option<u32>,
    settings: &'a PutSettings,
}

impl Upload<'_> {
    /// Returns the script that reads the file from its input.
    fn script(&self) -> String {
        let (part, target) = (quote_word(self.part), quote_word(self.target));
        let size = self.size;
        let mut text = String::new();
        // Other users must not read a file before it has its permissions.
        if self.mode.is_some() {
            text.push_str("umask 077\n");
        }
        let (redirect, is_resumed) = if self.settings.resume {
            (">>", true)
        } else {
            (">", false)
        };
        let mut checks = String::new();
        if let Some(digest) = self.digest {
            text.push_str(DIGEST_FUNCTION);
            checks = format!(
                " && {{ _d=$(digest < {part}) || exit 1; [ \"$_d\" = {digest} ] || \
                 {{ rm -f -- {part}; echo 'the file arrived with another digest' >&2; exit 1; }}; }}"
            );
        }
        if let Some(owner) = &self.settings.owner {
            checks += &format!(" && chown -- {} {part}", quote_word(owner));
        }
        if let Some(mode) = self.mode {
            checks += &format!(" && chmod {mode:o} {part}");
        }
        let clean_up = if is_resumed {
            String::new()
        } else {
            format!("rm -f -- {part} 2>/dev/null; ")
        };
        text + &format!(
            "\nif [ -d {target} ]; then echo 'the target has a folder of this name' >&2; exit 1; fi\n\
             if cat {redirect} {part} && [ \"$(wc -c < {part})\" -eq {size} ]{checks} && \
             mv -f -- {part} {target}; then exit 0; fi\n{clean_up}exit 1\n"
        )
    }
}

/// The local files connected to a program's input and output.
#[derive(Default)]
struct ProgramStreams<'a> {
    source: Option<&'a UploadSource>,
    into: Option<&'a NewFile>,
    /// The place in these files from which they are transferred.
    offset: u64,
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
    pub(super) fn new(
        transport: &'a Transport,
        login: Option<FsLogin>,
        progress: &Arc<TransferProgress>,
    ) -> Self {
        Self {
            transport,
            login: login.map(Box::new),
            progress: Arc::clone(progress),
        }
    }

    pub(super) fn progress(&self) -> &Arc<TransferProgress> {
        &self.progress
    }

    /// Returns the kind of the entry that a path leads to; none if nothing exists there.
    pub(super) async fn kind(&self, path: &str) -> Result<Option<TransferKind>, Error> {
        let text = format!("{KIND_FUNCTION}\nkind {}\n", quote_word(path));
        let output = self.run_script("inspect", path, &text).await?;
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
        let output = self.run_script("read", path, &text).await?;
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

    /// Writes a file under a temporary name, and renames it if it arrived completely.
    ///
    /// The name of a resumable file has its digest, and the incomplete file stays after a failure.
    pub(super) async fn put(
        &self,
        source: UploadSource,
        target: &str,
        (mode, settings): (Option<u32>, &PutSettings),
    ) -> Result<u64, Error> {
        let size = source.len();
        let mut source = source;
        let mut digest = None;
        if settings.verify || settings.resume {
            let (own, text) = source.with_digest(target).await?;
            (source, digest) = (own, Some(text));
        }
        let part = match (&digest, settings.resume) {
            (Some(digest), true) => resumable_sibling(target, digest),
            _ => temporary_sibling(target),
        };
        let offset = if settings.resume {
            self.kept_length(&part, size).await?
        } else {
            0
        };
        let upload = Upload {
            part: &part,
            target,
            size,
            digest: digest.as_deref(),
            mode,
            settings,
        };
        let flow = ProgramStreams {
            source: Some(&source),
            into: None,
            offset,
        };
        self.run("write", target, &upload.script(), flow).await?;
        Ok(size)
    }

    /// Runs a script whose input is a source.
    pub(super) async fn run_with_input(
        &self,
        path: &str,
        script: &str,
        source: &UploadSource,
    ) -> Result<(), Error> {
        let flow = ProgramStreams {
            source: Some(source),
            ..ProgramStreams::default()
        };
        self.run("write", path, script, flow).await.map(|_| ())
    }

    /// Makes folders with these modes, unless they exist. The first may lack its parents.
    ///
    /// Returns true if the host has `tar`.
    pub(super) async fn make_folders(
        &self,
        folders: &[(String, Option<u32>)],
        owner: Option<&str>,
    ) -> Result<bool, Error> {
        let first = folders.first().map_or("", |(path, _)| path.as_str());
        let mut text = String::new();
        if let Some((parent, _)) = first.trim_end_matches('/').rsplit_once('/')
            && !parent.is_empty()
        {
            text.push_str(&format!("mkdir -p -- {} || exit 1\n", quote_word(parent)));
        }
        for (path, mode) in folders {
            let path = quote_word(path);
            let owner = owner.map_or(String::new(), |owner| {
                format!(" && chown -- {} {path}", quote_word(owner))
            });
            let mode = mode.map_or(String::new(), |mode| format!("-m {mode:o} "));
            text.push_str(&format!(
                // Another copy may make the folder at the same time.
                "[ -d {path} ] || if mkdir {mode}-- {path}; then :{owner}; else [ -d {path} ]; fi || exit 1\n"
            ));
        }
        text.push_str("if command -v tar >/dev/null 2>&1; then echo tar; fi\n");
        let output = self.run_script("make", first, &text).await?;
        Ok(output.out.starts_with(b"tar"))
    }

    /// Returns the length of an incomplete file; 0 if there is none or it is longer than the whole.
    async fn kept_length(&self, part: &str, size: u64) -> Result<u64, Error> {
        let path = quote_word(part);
        let text =
            format!("if [ -f {path} ] && [ ! -L {path} ]; then wc -c < {path}; else echo 0; fi\n");
        let output = self.run_script("inspect", part, &text).await?;
        let length = String::from_utf8_lossy(&output.out)
            .trim()
            .parse()
            .unwrap_or(0);
        if length <= size {
            return Ok(length);
        }
        self.run_script("write", part, &format!("rm -f -- {path}\n"))
            .await?;
        Ok(0)
    }

    /// Returns the SHA-256 digest of a file.
    pub(super) async fn digest(&self, path: &str) -> Result<String, Error> {
        let text = format!("{DIGEST_FUNCTION}\ndigest < {}\n", quote_word(path));
        let output = self.run_script("compare", path, &text).await?;
        Ok(String::from_utf8_lossy(&output.out).trim().to_owned())
    }

    /// Reads a file into a local one, from an offset on, and returns its whole length in bytes.
    pub(super) async fn get(&self, path: &str, into: &NewFile, offset: u64) -> Result<u64, Error> {
        let path_word = quote_word(path);
        let text = match offset {
            0 => format!("exec cat -- {path_word}\n"),
            // The count of `tail` begins with 1.
            _ => format!("exec tail -c +{} -- {path_word}\n", offset + 1),
        };
        let flow = ProgramStreams {
            source: None,
            into: Some(into),
            offset,
        };
        let output = self.run("read", path, &text, flow).await?;
        Ok(offset + output.length)
    }

    /// Returns the real path of a folder, if it exists, and that of the home folder.
    pub(super) async fn real_folder(&self, path: &str) -> Result<(Option<String>, String), Error> {
        let text = format!(
            "(cd 2>/dev/null && pwd -P); printf '\\0'; if [ -d {0} ]; then cd -- {0} && pwd -P; fi\n",
            quote_word(path)
        );
        let output = self.run_script("inspect", path, &text).await?;
        let text = String::from_utf8_lossy(&output.out).into_owned();
        let (home, folder) = text.split_once('\0').unwrap_or((&text, ""));
        let folder = Some(folder.trim_end_matches('\n').to_owned());
        Ok((
            folder.filter(|folder| !folder.is_empty()),
            home.trim_end_matches('\n').to_owned(),
        ))
    }

    /// Returns the paths of all entries below a folder, relative to it. Links are not followed.
    pub(super) async fn entries_below(&self, folder: &str) -> Result<Vec<String>, Error> {
        let text = format!(
            "cd -- {} && exec find . -xdev -mindepth 1 -print0\n",
            quote_word(folder)
        );
        let output = self.run_script("read", folder, &text).await?;
        let paths = output.out.split(|byte| *byte == 0);
        let paths = paths.filter(|path| !path.is_empty()).map(|path| {
            let text = std::str::from_utf8(path);
            let text = text.map_err(|_| Error::Name(String::from_utf8_lossy(path).into_owned()))?;
            Ok(text.strip_prefix("./").unwrap_or(text).to_owned())
        });
        paths.collect()
    }

    /// Deletes entries below a folder, in the given order: a folder comes after its entries.
    pub(super) async fn remove_below(&self, folder: &str, paths: &[String]) -> Result<(), Error> {
        let mut text = format!("cd -- {} || exit 1\n", quote_word(folder));
        for path in paths {
            let path = quote_word(&format!("./{path}"));
            // A link to a folder is deleted, not the folder that it leads to.
            text.push_str(&format!(
                "if [ -d {path} ] && [ ! -L {path} ]; then rmdir -- {path}; else rm -f -- {path}; fi || exit 1\n"
            ));
        }
        self.run_script("delete in", folder, &text).await?;
        Ok(())
    }

    /// Runs a script that transfers no file.
    async fn run_script(
        &self,
        what: &'static str,
        path: &str,
        text: &str,
    ) -> Result<ProgramOutput, Error> {
        self.run(what, path, text, ProgramStreams::default()).await
    }

    async fn run(
        &self,
        what: &'static str,
        path: &str,
        text: &str,
        flow: ProgramStreams<'_>,
    ) -> Result<ProgramOutput, Error> {
        let mut shell = self.transport.start(false).await.map_err(Error::Exit)?;
        if let Some(FsLogin { login, stop }) = self.login.as_deref()
            && let Err(output) =
                enter_shell(login, self.transport, &mut shell, &mut stop.clone()).await
        {
            shell.close().await;
            return Err(login_failure(&output));
        }
        let OpenShell {
            channel_io,
            input,
            lease,
        } = shell;
        let source = flow.source.map(|source| (source, &*self.progress));
        let feeding = send_input(input, loader_input(text), (source, flow.offset));
        let reading = read_output(channel_io, (flow.into, flow.offset), path);
        tokio::pin!(feeding, reading);
        let (input_result, output) = tokio::select! {
            // A program that has ended, or whose connection is lost, reads no more of its input.
            output = &mut reading => (Ok(()), output),
            input_result = &mut feeding => (input_result, reading.await),
        };
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

/// Returns the error of a login that has failed.
fn login_failure(output: &RunOutput) -> Error {
    let text = output.stderr.text();
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    match (&output.exit, last) {
        (Exit::Code(_), Some(line)) => Error::Exit(Exit::Failed(line.trim().to_owned())),
        (exit, _) => Error::Exit(exit.clone()),
    }
}

/// Sends a script and then a file, from an offset on. Fails only if the file cannot be read.
async fn send_input(
    mut input: CommandInput,
    script: Vec<u8>,
    (source, mut offset): (Option<(&UploadSource, &TransferProgress)>, u64),
) -> Result<(), std::io::Error> {
    if input.write_all(&script).await.is_err() {
        return Ok(());
    }
    if let Some((source, progress)) = source {
        progress.add(offset);
        loop {
            let part = source.part(offset, CHUNK_BYTES)?;
            if part.is_empty() || input.write_all(&part).await.is_err() {
                break;
            }
            offset += part.len() as u64;
            progress.add(part.len() as u64);
        }
    }
    // The program may have ended without reading its input.
    input.shutdown().await.ok();
    Ok(())
}

async fn read_output(
    mut channel_io: ChannelIo,
    (into, offset): (Option<&NewFile>, u64),
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
                    Some(into) => into.write(&bytes, offset + output.length, path)?,
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
            "d" => Some(TransferKind::Folder {
                mode: u32::from_str_radix(mode, 8).unwrap_or(0o755) & 0o777,
            }),
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
