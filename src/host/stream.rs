//! Files of a place by the programs there: for hosts without SFTP, and for containers.

use std::io::ErrorKind;

use tokio::io::AsyncWriteExt as _;

use super::script::loaded;
use super::tree::{Error, Kind, NewFile, Source, beside};
use super::way::{Started, Way};
use super::wire::{Event, Input, Wire};
use super::{Exit, Stream};
use crate::text::quoted;

/// How much of a file is sent at a time, in bytes.
const PART: usize = 64 << 10;
/// The most that is kept of what a program says, in bytes.
const KEPT: usize = 16 << 20;
/// Says what a path leads to: a letter, the mode, and the path.
const KIND: &str = "kind() { if [ -d \"$1\" ]; then printf 'd 0 %s\\0' \"$1\"; \
    elif [ -f \"$1\" ]; then printf 'f %s %s\\0' \
    \"$(stat -L -c '%a' -- \"$1\" 2>/dev/null || echo 644)\" \"$1\"; \
    elif [ -e \"$1\" ]; then printf 'o 0 %s\\0' \"$1\"; fi; }";

/// Files of a place.
pub(super) struct Programs<'a> {
    way: &'a Way,
}

/// What goes into a program and comes out of it.
#[derive(Default)]
struct Flow<'a> {
    source: Option<&'a Source>,
    into: Option<&'a NewFile>,
}

/// What a program gave.
struct Gave {
    exit: Exit,
    out: Vec<u8>,
    err: Vec<u8>,
    /// How much it wrote.
    length: u64,
}

impl<'a> Programs<'a> {
    pub(super) fn new(way: &'a Way) -> Self {
        Self { way }
    }

    /// What a path leads to; none if nothing is there.
    pub(super) async fn kind(&self, path: &str) -> Result<Option<Kind>, Error> {
        let text = format!("{KIND}\nkind {}\n", quoted(path));
        let gave = self.run("look at", path, &text, Flow::default()).await?;
        let mut found = kinds(&gave.out);
        match found.pop() {
            None => Ok(None),
            Some((_, Some(kind))) => Ok(Some(kind)),
            Some((_, None)) => Err(Error::NoFile(path.to_owned())),
        }
    }

    /// What is in a folder.
    pub(super) async fn list(&self, path: &str) -> Result<Vec<(String, Kind)>, Error> {
        let text = format!(
            "{KIND}\ncd -- {} || exit 1\nfor f in * .[!.]* ..?*; do kind \"./$f\"; done\n",
            quoted(path)
        );
        let gave = self.run("read", path, &text, Flow::default()).await?;
        let mut all = Vec::new();
        for (name, kind) in kinds(&gave.out) {
            let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
            let place = super::tree::joined(path, &name);
            if name.is_empty() || name.contains('/') || name == ".." {
                return Err(Error::Name(place));
            }
            all.push((name, kind.ok_or(Error::NoFile(place))?));
        }
        Ok(all)
    }

    /// Makes a folder, unless it is there.
    pub(super) async fn make_folder(&self, path: &str) -> Result<(), Error> {
        let text = format!("mkdir -p -- {}\n", quoted(path));
        let gave = self.run("make", path, &text, Flow::default()).await;
        gave.map(|_| ())
    }

    /// Writes a file beside its place and moves it there, if all of it came.
    pub(super) async fn put(
        &self,
        source: &Source,
        target: &str,
        mode: Option<u32>,
    ) -> Result<u64, Error> {
        let half = quoted(&beside(target));
        let chmod = mode.map_or_else(String::new, |mode| format!("chmod {mode:o} {half} && "));
        let size = source.len();
        let text = format!(
            "if cat > {half} && [ \"$(wc -c < {half})\" -eq {size} ] && {chmod}\
             mv -f -- {half} {}; then exit 0; fi\nrm -f -- {half}; exit 1\n",
            quoted(target)
        );
        let flow = Flow {
            source: Some(source),
            into: None,
        };
        self.run("write", target, &text, flow).await?;
        Ok(size)
    }

    /// Reads a file into one of this machine.
    pub(super) async fn get(&self, path: &str, into: &NewFile) -> Result<u64, Error> {
        let text = format!("exec cat -- {}\n", quoted(path));
        let flow = Flow {
            source: None,
            into: Some(into),
        };
        let gave = self.run("read", path, &text, flow).await?;
        Ok(gave.length)
    }

    async fn run(
        &self,
        what: &'static str,
        path: &str,
        text: &str,
        flow: Flow<'_>,
    ) -> Result<Gave, Error> {
        let Started { wire, input, lease } = self.way.start(false).await.map_err(Error::Exit)?;
        let feeding = feed(input, loaded(text), flow.source);
        let reading = read(wire, flow.into);
        let (fed, gave) = tokio::join!(feeding, reading);
        drop(lease);
        let gave = gave.map_err(|error| Error::new(what, std::path::Path::new(path), &error))?;
        let failed = |why: String| Error::Failed {
            what,
            path: path.to_owned(),
            why,
        };
        fed.map_err(|error| failed(error.to_string()))?;
        if gave.exit.is_ok() {
            return Ok(gave);
        }
        let said = String::from_utf8_lossy(&gave.err).into_owned();
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        let why = last.map_or_else(|| gave.exit.to_string(), str::to_owned);
        Err(failed(why))
    }
}

/// Sends a script, then a file. Fails only if the file cannot be read.
async fn feed(
    mut input: Input,
    script: Vec<u8>,
    source: Option<&Source>,
) -> Result<(), std::io::Error> {
    if input.write_all(&script).await.is_err() {
        return Ok(());
    }
    if let Some(source) = source {
        let mut offset = 0;
        loop {
            let part = source.part(offset, PART)?;
            if part.is_empty() || input.write_all(&part).await.is_err() {
                break;
            }
            offset += part.len() as u64;
        }
    }
    // What has ended does not read.
    input.shutdown().await.ok();
    Ok(())
}

async fn read(mut wire: Wire, into: Option<&NewFile>) -> std::io::Result<Gave> {
    let mut gave = Gave {
        exit: Exit::Failed("the connection was lost".to_owned()),
        out: Vec::new(),
        err: Vec::new(),
        length: 0,
    };
    loop {
        match wire.next().await {
            Event::Output(Stream::Stdout, bytes) => {
                match into {
                    Some(into) => into.write(&bytes, gave.length)?,
                    None if gave.out.len() < KEPT => gave.out.extend_from_slice(&bytes),
                    None => return Err(ErrorKind::FileTooLarge.into()),
                }
                gave.length += bytes.len() as u64;
            }
            Event::Output(Stream::Stderr, bytes) => {
                if gave.err.len() < KEPT {
                    gave.err.extend_from_slice(&bytes);
                }
            }
            Event::Code(code) => gave.exit = Exit::Code(code),
            Event::Signal(signal) => gave.exit = Exit::Signal(signal),
            Event::Refused | Event::End => break,
        }
    }
    wire.close().await;
    Ok(gave)
}

/// Paths and what they lead to; none for what is neither a file nor a folder.
fn kinds(bytes: &[u8]) -> Vec<(String, Option<Kind>)> {
    let text = String::from_utf8_lossy(bytes);
    let read = |line: &str| {
        let (letter, rest) = line.split_once(' ')?;
        let (mode, path) = rest.split_once(' ')?;
        let kind = match letter {
            "d" => Some(Kind::Folder),
            "f" => Some(Kind::File {
                mode: u32::from_str_radix(mode, 8).unwrap_or(0o644),
                size: 0,
            }),
            _ => None,
        };
        Some((path.to_owned(), kind))
    };
    text.split('\0').filter_map(read).collect()
}
