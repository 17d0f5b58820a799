//! How a command is started somewhere else: on a host, in a container of this machine, or in one
//! of a host.

use std::process::Stdio;
use std::sync::Arc;

use russh::client::Msg;
use russh::{Channel, Pty};
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::script::{START, START_WORDS, loaded};
use super::ssh::{KILLING, Lease, shown};
use super::wire::{Event, Input, Wire};
use super::{Destination, Exit, Place, Pool};
use crate::text::quoted;

/// The terminal that a command gets, as wide and high as the first ones were. What it reads is not
/// shown again, and lines end as they do without a terminal.
const TERMINAL: (&str, u32, u32) = ("xterm", 80, 24);
const MODES: [(Pty, u32); 2] = [(Pty::ECHO, 0), (Pty::ONLCR, 0)];

/// The way to a place.
pub(super) struct Way {
    pool: Pool,
    /// The host; none for this machine.
    host: Option<Arc<Destination>>,
    /// The words that lead on from there into containers.
    words: Vec<String>,
    /// The place as messages name it.
    pub(super) name: String,
}

/// A command that was started, and now reads its script.
pub(super) struct Started {
    pub(super) wire: Wire,
    pub(super) input: Input,
    /// Kept as long as it runs.
    pub(super) lease: Option<Lease>,
}

impl Way {
    pub(super) fn new(pool: &Pool, place: &Place) -> Self {
        let mut words = Vec::new();
        let mut base = place;
        while let Place::Container(container) = base {
            let enter = [&container.engine, "exec", "-i", &container.name];
            // The outermost engine comes first.
            words.splice(0..0, enter.map(str::to_owned));
            base = &container.on;
        }
        let destination = match base {
            Place::Ssh(destination) => Some(destination),
            Place::Here | Place::Container(_) => None,
        };
        let name = match (place, destination) {
            (Place::Ssh(_), Some(destination)) => shown(destination),
            _ => format!("`{place}`"),
        };
        Self {
            pool: pool.clone(),
            host: destination.cloned(),
            words,
            name,
        }
    }

    /// Whether it leads into a container.
    pub(super) fn is_container(&self) -> bool {
        !self.words.is_empty()
    }

    /// Opens a session on the host, if it leads to one.
    pub(super) async fn session(&self) -> Option<Result<(Lease, Channel<Msg>), Exit>> {
        let opened = self.pool.session(self.host.as_ref()?).await;
        Some(opened.map_err(Exit::from))
    }

    /// Starts the shell that reads a script.
    pub(super) async fn start(&self, pty: bool) -> Result<Started, Exit> {
        let Some(session) = self.session().await else {
            return self.spawn();
        };
        let (lease, channel) = session?;
        let begun = async {
            if lease.connection.forwards_agent() {
                channel.agent_forward(false).await?;
            }
            if pty {
                let (name, width, height) = TERMINAL;
                let asked = channel.request_pty(false, name, width, height, 0, 0, &MODES);
                asked.await?;
            }
            channel.exec(true, self.line(pty)).await
        };
        if begun.await.is_err() {
            let name = &self.name;
            let lost = format!("the connection to {name} was lost before the command began");
            return Err(Exit::Failed(lost));
        }
        let (wire, input) = Wire::session(channel);
        Ok(Started {
            wire,
            input,
            lease: Some(lease),
        })
    }

    /// What the login shell of the host is told.
    fn line(&self, pty: bool) -> String {
        if self.words.is_empty() {
            return START.to_owned();
        }
        let terminal = if pty { "-it" } else { "-i" };
        let word = |word: &String| match word.as_str() {
            "-i" => terminal.to_owned(),
            word => quoted(word),
        };
        let words: Vec<String> = self.words.iter().map(word).collect();
        let start = START_WORDS.map(quoted);
        format!("exec {} {}", words.join(" "), start.join(" "))
    }

    /// Starts the same on this machine, which gives no terminals to containers.
    fn spawn(&self) -> Result<Started, Exit> {
        let Some((program, words)) = self.words.split_first() else {
            let why = "commands of this machine do not come here".to_owned();
            return Err(Exit::Failed(why));
        };
        let spawned = tokio::process::Command::new(program)
            .args(words)
            .args(START_WORDS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        match spawned {
            Ok(child) => {
                let (wire, input) = Wire::process(child);
                Ok(Started {
                    wire,
                    input,
                    lease: None,
                })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Exit::NotFound(format!("`{program}` was not found")))
            }
            Err(error) => Err(Exit::Failed(format!("could not run `{program}`: {error}"))),
        }
    }

    /// Runs a text beside a command that was started with this lease, such as one of
    /// [`super::script::killing`] that ends the command. Comes back when the text has run, or
    /// cannot run.
    pub(super) async fn run_beside(&self, lease: Option<&Lease>, text: &str) {
        if let Some(lease) = lease {
            let line = self.line(false);
            return self.pool.run_beside(lease, &line, text).await;
        }
        let Ok(Started {
            mut wire,
            mut input,
            ..
        }) = self.spawn()
        else {
            return;
        };
        let running = async {
            // A container that is gone has nothing to end.
            input.write_all(&loaded(text)).await.ok();
            input.shutdown().await.ok();
            drop(input);
            while !matches!(wire.next().await, Event::End) {}
        };
        timeout(KILLING, running).await.ok();
        wire.close().await;
    }
}
