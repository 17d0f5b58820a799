//! Reads what a command that runs elsewhere writes: keeps it, hands it on, and answers what is
//! asked in it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::wire::{DRAIN, Event, Wire};
use super::{Answer, Capture, Captured, Command, Exit, Stream};

/// How long a command that may ask something has to do so, before it gets its own input.
const ASKING: Duration = Duration::from_secs(2);
/// How much of the end of an output may be a question, in bytes.
const LONGEST_PROMPT: usize = 4 << 10;
/// What ends the input at a terminal.
const END_OF_INPUT: u8 = 4;

/// What those know together who go along with a command.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The process that leads the command's group, once it is known.
    pub(super) process: AtomicU32,
    /// Why we end it.
    pub(super) why: OnceLock<Exit>,
}

/// What the line that begins with the mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The command begins, as the process with this id, which leads its group.
    Process(u32),
    /// There is no such folder to run it in.
    NoFolder,
    /// There is no such program.
    NoProgram,
}

/// What a command is to read next.
#[derive(Debug)]
pub(super) struct Feed(pub(super) Vec<u8>);

/// How the reading of a command's outputs came to its end.
#[derive(Debug)]
pub(super) enum Read {
    /// All was read, and it ended.
    All(Exit),
    /// It ended, and something that it left behind holds its outputs.
    Left(Exit),
    /// It asked something that has no answer.
    Asked(Exit),
    /// It was not begun.
    Refused,
    /// The streams ended before it did.
    Lost,
}

/// One of the two outputs.
#[derive(Debug)]
struct Side {
    capture: Capture,
    filter: Option<Filter>,
    /// What is not answered yet.
    tail: Vec<u8>,
}

impl Side {
    fn new(command: &Command, mark: Option<&str>) -> Self {
        Self {
            capture: Capture::new(command.kept_bytes),
            filter: mark.map(Filter::new),
            tail: Vec::new(),
        }
    }
}

/// Who reads what a command writes.
pub(super) struct Reader<'a> {
    command: &'a Command,
    stdout: Side,
    stderr: Side,
    pieces: Option<mpsc::Sender<(Stream, Vec<u8>)>>,
    /// None once the command's input has ended. A terminal hangs up when its input ends, so there
    /// a sign ends it.
    feed: Option<mpsc::UnboundedSender<Feed>>,
    /// Whether the command got its own input.
    is_given: bool,
    /// Which answers were given.
    given: Vec<bool>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        command: &'a Command,
        mark: &str,
        pieces: Option<mpsc::Sender<(Stream, Vec<u8>)>>,
        feed: mpsc::UnboundedSender<Feed>,
    ) -> Self {
        // A terminal joins the two outputs.
        let (out, err) = if command.pty {
            (Some(mark), None)
        } else {
            (None, Some(mark))
        };
        Self {
            command,
            stdout: Side::new(command, out),
            stderr: Side::new(command, err),
            pieces,
            feed: Some(feed),
            is_given: false,
            given: vec![false; command.answers.len()],
        }
    }

    /// Gives the command what its input begins with.
    pub(super) fn begin(&mut self, script: Vec<u8>) {
        self.feed(script);
        if self.command.answers.is_empty() {
            self.give_input();
        }
    }

    fn feed(&self, bytes: Vec<u8>) {
        if let Some(feed) = &self.feed {
            // A command that has ended reads nothing.
            feed.send(Feed(bytes)).ok();
        }
    }

    /// Gives the command its own input, and the end of it.
    fn give_input(&mut self) {
        if let Some(bytes) = &self.command.stdin {
            self.feed(bytes.clone());
        }
        if self.command.pty {
            // At a terminal the end counts at the beginning of a line only.
            let open = self
                .command
                .stdin
                .as_ref()
                .and_then(|it| it.last().copied());
            let is_open = open.is_some_and(|last| last != b'\n');
            self.feed(vec![END_OF_INPUT; if is_open { 2 } else { 1 }]);
        }
        self.is_given = true;
        self.feed.take_if(|_| !self.command.pty);
    }

    /// Reads until the command has ended.
    pub(super) async fn read(&mut self, wire: &mut Wire, shared: &Shared) -> Read {
        let mut exit = None;
        let asking = sleep(ASKING);
        tokio::pin!(asking);
        loop {
            let waits = !self.is_given && self.command.stdin.is_some();
            let event = tokio::select! {
                event = wire.next() => event,
                () = sleep(DRAIN), if exit.is_some() => {
                    return exit.map_or(Read::Lost, Read::Left);
                }
                () = &mut asking, if waits => {
                    self.give_input();
                    continue;
                }
            };
            match event {
                Event::Output(stream, bytes) => {
                    if let Some(asked) = self.take(stream, &bytes, shared).await {
                        return Read::Asked(asked);
                    }
                }
                Event::Code(code) => exit = Some(Exit::Code(code)),
                Event::Signal(signal) => exit = Some(Exit::Signal(signal)),
                Event::Refused => return Read::Refused,
                Event::End => return exit.map_or(Read::Lost, Read::All),
            }
        }
    }

    async fn take(&mut self, stream: Stream, bytes: &[u8], shared: &Shared) -> Option<Exit> {
        let side = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let filtered = side.filter.as_mut().map(|filter| {
            let rest = filter.push(bytes);
            if let Some(Told::Process(id)) = filter.told() {
                shared.process.store(id, Ordering::Relaxed);
            }
            rest
        });
        let bytes = filtered.as_deref().unwrap_or(bytes);
        if bytes.is_empty() {
            return None;
        }
        side.capture.push(bytes);
        if let Some(pieces) = &self.pieces {
            // Nobody may be listening any more.
            pieces.send((stream, bytes.to_vec())).await.ok();
        }
        if self.command.answers.is_empty() {
            return None;
        }
        side.tail.extend_from_slice(bytes);
        let too_many = side.tail.len().saturating_sub(LONGEST_PROMPT);
        side.tail.drain(..too_many);
        let is_asked = |answer: &Answer| {
            !answer.prompt.is_empty() && side.tail.ends_with(answer.prompt.as_bytes())
        };
        let which = self.command.answers.iter().position(is_asked)?;
        side.tail.clear();
        self.answer(which)
    }

    /// Answers a question; the end of the command where there is no answer.
    fn answer(&mut self, which: usize) -> Option<Exit> {
        let answer = &self.command.answers[which];
        let asked = |refused| {
            Some(Exit::Asked {
                question: answer.question.clone(),
                refused,
            })
        };
        if self.given[which] {
            return asked(true);
        }
        let Some(reply) = &answer.reply else {
            return asked(false);
        };
        if self.is_given {
            // It would be taken for what the command reads.
            return asked(false);
        }
        self.feed(format!("{}\n", reply.reveal()).into_bytes());
        self.given[which] = true;
        if self.given.iter().all(|given| *given) {
            self.give_input();
        }
        None
    }

    /// What was told about the command, and what it wrote.
    pub(super) async fn finish(mut self) -> (Option<Told>, Captured, Captured) {
        let mut told = None;
        let sides = [
            (Stream::Stdout, &mut self.stdout),
            (Stream::Stderr, &mut self.stderr),
        ];
        for (stream, side) in sides {
            let Some(filter) = &mut side.filter else {
                continue;
            };
            told = filter.told();
            let rest = filter.end();
            side.capture.push(&rest);
            if let (Some(pieces), false) = (&self.pieces, rest.is_empty()) {
                pieces.send((stream, rest)).await.ok();
            }
        }
        let (stdout, stderr) = (self.stdout.capture, self.stderr.capture);
        (told, stdout.finish(), stderr.finish())
    }
}

/// Takes the line with the mark out of an output, whatever it is cut into.
#[derive(Debug)]
pub(super) struct Filter {
    mark: Vec<u8>,
    held: Vec<u8>,
    told: Option<Told>,
}

impl Filter {
    pub(super) fn new(mark: &str) -> Self {
        Self {
            mark: format!("{mark} ").into_bytes(),
            held: Vec::new(),
            told: None,
        }
    }

    /// What the line said, once it came.
    pub(super) fn told(&self) -> Option<Told> {
        self.told
    }

    /// What of the output may be taken after these bytes came.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.told.is_some() {
            return bytes.to_vec();
        }
        self.held.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.held);
        let mark = self.mark.as_slice();
        let Some(start) = all.windows(mark.len()).position(|part| part == mark) else {
            let begins = |length: &usize| all.ends_with(&mark[..*length]);
            let kept = (1..mark.len().min(all.len() + 1)).rev().find(begins);
            let (taken, held) = all.split_at(all.len() - kept.unwrap_or(0));
            self.held = held.to_vec();
            return taken.to_vec();
        };
        let after = start + mark.len();
        let Some(length) = all[after..].iter().position(|byte| *byte == b'\n') else {
            self.held = all[start..].to_vec();
            return all[..start].to_vec();
        };
        let word = String::from_utf8_lossy(&all[after..after + length]);
        self.told = Some(match word.trim() {
            "d" => Told::NoFolder,
            "n" => Told::NoProgram,
            id => Told::Process(id.parse().unwrap_or_default()),
        });
        [&all[..start], &all[after + length + 1..]].concat()
    }

    /// What was kept back, once nothing more comes.
    pub(super) fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_without_the_line_is_kept_whole() {
        let mut filter = Filter::new("mark");
        let mut all = filter.push(b"before ma");
        all.extend(filter.push(b"rk"));
        all.extend(filter.push(b"et mark"));
        all.extend(filter.end());
        assert_eq!(all, b"before market mark");
    }
}
