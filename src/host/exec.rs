//! Runs a command on a host or in a container, and goes along with it from its first input to its
//! end: takes what it writes, answers what it asks, and ends it when it is to end.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant as Moment, sleep, sleep_until};

use super::call::until;
use super::reader::{Feed, Read, Reader, Shared};
use super::script::{Script, Told, killing};
use super::way::{Input, Killer, Started, Way, Wire};
use super::{Background, Call, Captured, Command, Exit, RunOutput, Stop};

/// How long a command that is to end has between one signal and the next, harder one.
const GRACE: Duration = Duration::from_secs(5);
/// How long the last signal may take to be seen.
const LAST: Duration = Duration::from_secs(2);

/// Runs a command. The result says how it went in every case.
pub(super) async fn run(way: &Way, command: &Command, mut call: Call) -> RunOutput {
    let script = match Script::of(command) {
        Ok(script) => script,
        Err(exit) => return RunOutput::not_run(exit),
    };
    let started = tokio::select! {
        biased;
        () = until(&mut call.stop, Stop::Gently) => Err(Exit::Cancelled),
        started = way.start(command.pty) => started,
    };
    let Started { wire, input, lease } = match started {
        Ok(started) => started,
        Err(exit) => return RunOutput::not_run(exit),
    };
    let mark = script.mark.clone();
    let connection = lease.as_ref().map(|lease| &lease.connection);
    let seen = connection.filter(|_| !way.is_container());
    if let Some(connection) = seen {
        connection.begun(&mark);
    }
    let killer = Killer {
        way,
        lease: lease.as_ref(),
    };
    let exec = Exec {
        command,
        script,
        killer,
        way,
    };
    let output = exec.run(wire, input, call).await;
    if let Some(connection) = seen {
        connection.ended(&mark);
    }
    output
}

/// A command that is gone along with.
struct Exec<'a> {
    command: &'a Command,
    script: Script,
    killer: Killer<'a>,
    way: &'a Way,
}

/// What came first.
enum Outcome {
    Read(Read),
    /// It was sent all signals there are.
    Ended(Exit),
}

impl Exec<'_> {
    /// Goes along with the command. The result says how it went in every case.
    async fn run(mut self, mut wire: Wire, input: Input, call: Call) -> RunOutput {
        let start = Instant::now();
        let shared = Shared::default();
        let (feed, fed) = mpsc::unbounded_channel();
        let mut reader = Reader::new(self.command, &self.script.mark, call.pieces, feed);
        reader.begin(std::mem::take(&mut self.script.input));
        let outcome = {
            let reading = reader.read(&mut wire, &shared);
            let feeding = feed_all(input, fed);
            let ending = self.end(&shared, call.stop);
            tokio::pin!(reading, feeding, ending);
            let mut is_fed = false;
            loop {
                tokio::select! {
                    read = &mut reading => break Outcome::Read(read),
                    why = &mut ending => break Outcome::Ended(why),
                    () = &mut feeding, if !is_fed => is_fed = true,
                }
            }
        };
        let exit = self.settle(outcome, &shared).await;
        wire.close().await;
        let (told, stdout, stderr) = reader.finish().await;
        RunOutput {
            exit: self.told(exit, told, &stderr),
            stdout,
            stderr,
            elapsed: start.elapsed(),
        }
    }

    /// Waits until the command is to end, then sends one signal after the other.
    async fn end(&self, shared: &Shared, mut stop: watch::Receiver<Stop>) -> Exit {
        let limit = self.command.time_limit.map(|limit| Moment::now() + limit);
        let too_long = async {
            match limit {
                Some(limit) => sleep_until(limit).await,
                None => std::future::pending().await,
            }
        };
        let why = tokio::select! {
            () = until(&mut stop, Stop::Gently) => Exit::Cancelled,
            () = too_long => Exit::TimedOut,
        };
        // Nobody else sets it.
        shared.why.set(why.clone()).ok();
        for signal in ["INT", "TERM"] {
            let gently = async {
                self.kill(signal, shared).await;
                sleep(GRACE).await;
            };
            tokio::select! {
                biased;
                () = until(&mut stop, Stop::AtOnce) => break,
                () = gently => {}
            }
        }
        self.kill("KILL", shared).await;
        sleep(LAST).await;
        why
    }

    async fn kill(&self, signal: &str, shared: &Shared) {
        let process = match shared.process.load(Ordering::Relaxed) {
            0 => None,
            id => Some(id),
        };
        let one = [(self.script.mark.clone(), process)];
        let text = killing(signal, &one);
        self.killer.run(&text).await;
    }

    /// Ends what is left where nothing may be left, and says how the command ended.
    async fn settle(&self, outcome: Outcome, shared: &Shared) -> Exit {
        let why = shared.why.get().cloned();
        let may_leave = self.command.background == Background::Keep;
        let (exit, is_clean) = match outcome {
            Outcome::Ended(why) => (why, true),
            Outcome::Read(Read::All(exit)) => (exit, true),
            Outcome::Read(Read::Left(exit)) => (exit, may_leave),
            Outcome::Read(Read::Asked(exit)) => (exit, false),
            Outcome::Read(Read::Refused) => {
                let refused = format!("{} refused to run a command", self.way.name);
                return Exit::Failed(refused);
            }
            Outcome::Read(Read::Lost) => {
                let name = self.command.program.name();
                let lost = format!(
                    "the connection to {} was lost while `{name}` ran",
                    self.way.name
                );
                return why.unwrap_or(Exit::Failed(lost));
            }
        };
        if !is_clean || why.is_some() {
            self.kill("KILL", shared).await;
        }
        why.unwrap_or(exit)
    }

    /// What the script told about a command that it could not begin.
    fn told(&self, exit: Exit, told: Option<Told>, stderr: &Captured) -> Exit {
        let host = &self.way.name;
        match told {
            Some(Told::NoFolder) if exit == Exit::Code(127) => {
                let folder = self.command.cwd.display();
                Exit::Failed(format!("the folder `{folder}` cannot be entered on {host}"))
            }
            Some(Told::NoProgram) if exit == Exit::Code(127) => {
                let name = self.command.program.name();
                Exit::NotFound(format!("`{name}` was not found on {host}"))
            }
            None if self.way.is_container() && matches!(exit, Exit::Code(1..)) => {
                // It was the engine that ended.
                let text = stderr.text();
                let said = text.lines().rfind(|line| !line.trim().is_empty());
                let said = said.unwrap_or("it does not say why");
                Exit::Unreachable(format!("{host} cannot be entered: {said}"))
            }
            _ => exit,
        }
    }
}

/// Gives the command what it is to read, until there is no more.
async fn feed_all(mut input: Input, mut fed: mpsc::UnboundedReceiver<Feed>) {
    while let Some(Feed(bytes)) = fed.recv().await {
        if input.write_all(&bytes).await.is_err() || input.flush().await.is_err() {
            // A command need not read its input.
            return;
        }
    }
    input.shutdown().await.ok();
}
