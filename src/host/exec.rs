//! Performs actions on a host or in a container: runs a command there and goes along with it from
//! its first input to its end, takes what it writes, answers what it asks, and ends it when it is
//! to end. Facts and changes are one command for all of them; files go by [`transfer`].

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant as Moment, sleep, sleep_until};

use super::reader::{Feed, Read, Reader, Shared, Told};
use super::request::until;
use super::script::{VARIABLE, killing, loaded};
use super::ssh::Lease;
use super::way::{Started, Way};
use super::wire::{Input, Wire};
use super::{
    Action, ActionResult, Background, Call, Captured, Command, Exit, Place, Pool, RunOutput, Stop,
    batch, transfer,
};
use crate::text::{quoted, quoted_all};

/// How long a command that is to end has between one signal and the next, harder one.
const GRACE: Duration = Duration::from_secs(5);
/// How long the last signal may take to be seen.
const LAST: Duration = Duration::from_secs(2);

impl Pool {
    /// Performs an action that is not a command of this machine. The result says how it went in
    /// every case.
    pub async fn perform(&self, place: &Place, action: &Action, call: Call) -> ActionResult {
        let way = Way::new(self, place);
        match (place, action) {
            (Place::Here, Action::Run(_) | Action::Read(_) | Action::Change(_)) => {
                let why = "commands of this machine do not come here".to_owned();
                ActionResult::not_performed(action, Exit::Failed(why))
            }
            (_, Action::Run(command)) => ActionResult::Run(run(&way, command, call).await),
            (_, Action::Read(_) | Action::Change(_)) => match batch::command(action) {
                Some(command) => {
                    let output = run(&way, &command, call).await;
                    batch::result(action, &output)
                }
                None => ActionResult::not_performed(action, Exit::Code(0)),
            },
            (Place::Here, _) => ActionResult::Transfer(transfer::here(action).await),
            _ => ActionResult::Transfer(transfer::there(&way, action, call).await),
        }
    }
}

/// Runs a command. The result says how it went in every case.
async fn run(way: &Way, command: &Command, mut call: Call) -> RunOutput {
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
    let exec = Exec {
        command,
        script,
        way,
        lease: lease.as_ref(),
    };
    let output = exec.run(wire, input, call).await;
    if let Some(connection) = seen {
        connection.ended(&mark);
    }
    output
}

/// What a command's input begins with.
#[derive(Debug, Clone)]
struct Script {
    /// Tells this command from all others: a line that begins with it says which process it is.
    mark: String,
    /// What is sent first.
    input: Vec<u8>,
}

impl Script {
    /// The script that runs a command, or why there is none.
    fn of(command: &Command) -> Result<Self, Exit> {
        let mark = format!("unfurl-{}", ulid::Ulid::generate());
        let mut text = String::new();
        if let Some(folder) = command.cwd.to_str().and_then(batch::folder) {
            let fails = format!("{{ printf '%s d\\n' {mark} >&2; exit 127; }}");
            writeln!(text, "CDPATH= cd -- {folder} >/dev/null 2>&1 || {fails}").ok();
        }
        let argv = command.program.argv();
        let Some(program) = argv.first() else {
            return Err(Exit::NotFound("no program was given".to_owned()));
        };
        let own = [(VARIABLE, mark.as_str())];
        let given = command.env.iter();
        for (name, value) in given.chain(command.program.variable()).chain(own) {
            if !batch::is_name(name) {
                let why = format!("`{name}` is not the name of a variable");
                return Err(Exit::Failed(why));
            }
            writeln!(text, "export {name}={}", quoted(value)).ok();
        }
        let name = quoted(program);
        let fails = format!("{{ printf '%s n\\n' {mark} >&2; exit 127; }}");
        writeln!(text, "command -v {name} >/dev/null 2>&1 || {fails}").ok();
        writeln!(text, "printf '%s %s\\n' {mark} \"$$\" >&2").ok();
        writeln!(text, "exec {}", quoted_all(&argv)).ok();
        let has_zero = text.contains('\0');
        if has_zero {
            let why = "a command cannot contain a zero byte".to_owned();
            return Err(Exit::Failed(why));
        }
        Ok(Self {
            mark,
            input: loaded(&text),
        })
    }
}

/// A command that is gone along with.
struct Exec<'a> {
    command: &'a Command,
    script: Script,
    way: &'a Way,
    lease: Option<&'a Lease>,
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
        self.way.run_beside(self.lease, &text).await;
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use std::io::Write as _;
    use std::process::Stdio;

    use super::*;
    use crate::host::Program;
    use crate::host::reader::Filter;
    use crate::host::script::START;

    fn shell(text: &str) -> Command {
        Command::new(Program::shell(text), "/tmp")
    }

    /// What a command gives when a login shell of this machine starts it.
    fn run(command: &Command, more: &[u8]) -> (String, String, Option<Told>) {
        let script = Script::of(command).unwrap();
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", START])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&[&script.input, more].concat()).unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        let mut filter = Filter::new(&script.mark);
        let mut stderr = Vec::new();
        for piece in output.stderr.chunks(7) {
            stderr.extend(filter.push(piece));
        }
        stderr.extend(filter.end());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(stderr), filter.told())
    }

    #[test]
    fn a_command_keeps_its_words_its_lines_and_its_input() {
        let odd = "it's\n a \"b\" $HOME `x` \\ ! \n\n-end\n+end ";
        let mut command = Command::new(
            Program::Argv(vec![
                "printf".into(),
                "%s|".into(),
                odd.into(),
                String::new(),
            ]),
            "",
        );
        assert_eq!(run(&command, b"").0, format!("{odd}||"));
        command = shell("cat; echo \"$A\"; pwd; echo oops >&2");
        let long = "x'\n".repeat(5000);
        command.env.add("A", long.as_str());
        let (out, err, told) = run(&command, b"more\ninput");
        assert_eq!(out, format!("more\ninput{long}\n/tmp\n"));
        assert_eq!(err, "oops\n");
        assert!(matches!(told, Some(Told::Process(1..))), "{told:?}");
    }

    #[test]
    fn what_is_missing_is_told_apart_from_a_failure() {
        let mut command = shell("exit 3");
        command.cwd = "/no/such/folder".into();
        assert_eq!(run(&command, b"").2, Some(Told::NoFolder));
        let program = Program::Argv(vec!["no-such-program".into()]);
        let (out, err, told) = run(&Command::new(program, ""), b"");
        assert_eq!((out.as_str(), err.as_str()), ("", ""));
        assert_eq!(told, Some(Told::NoProgram));
    }

    #[test]
    fn a_variable_with_no_name_is_refused() {
        let mut command = shell("true");
        command.env.add("a b", "x");
        let exit = Script::of(&command).unwrap_err();
        insta::assert_snapshot!(exit, @"`a b` is not the name of a variable");
    }
}
