//! Reads the output of a command that runs elsewhere: captures it, forwards it while it comes, and
//! answers prompts.
//!
//! [`OutputReader`] is used by `remote_command` and `raw_command`. A [`MarkFilter`] removes the line in which the start
//! script reports the process id.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::channel_io::{ChannelEvent, ChannelIo, DRAIN_TIMEOUT};
use super::mark_filter::MarkFilter;
use super::script::CommandProcesses;
use super::signals::CommandState;
use super::{CaptureBuffer, CapturedOutput, Command, Exit, ProgramInput, PromptAnswer, Stream};

/// The time in which a command that may show a prompt has to do so, before it gets its own input.
const PROMPT_WAIT: Duration = Duration::from_secs(2);
/// The number of bytes at the end of an output that are searched for a prompt.
const MAX_PROMPT_BYTES: usize = 4 << 10;
/// The words with which `sudo` ends after wrong passwords.
const SUDO_REFUSAL: &str = "incorrect password attempt";
/// The control character that ends the input of a terminal (Ctrl-D).
const END_OF_INPUT: u8 = 4;

/// The report of the start script, in the line that begins with the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartReport {
    /// The command starts as the process with this id, which leads its group.
    Process(u32),
    /// The working directory does not exist.
    NoFolder,
    NoProgram,
}

impl StartReport {
    /// Reads the word after the mark.
    pub(super) fn of(word: &str) -> Self {
        match word {
            "d" => Self::NoFolder,
            "n" => Self::NoProgram,
            id => Self::Process(id.parse().unwrap_or_default()),
        }
    }
}

/// The next part of the command's input.
#[derive(Debug)]
pub(super) enum InputChunk {
    Bytes(Vec<u8>),
    /// The input of this program, up to its end.
    Program(ProgramInput),
}

/// The way in which reading the outputs ended.
#[derive(Debug)]
pub(super) enum ReadEnd {
    /// The command ended, and all output was read.
    Complete(Exit),
    /// The command ended, but a process that it left behind holds its outputs open.
    OutputsHeldOpen(Exit),
    /// The command showed a prompt without an answer.
    NeedsAnswer(Exit),
    /// The host refused to start the command.
    Refused,
    /// The streams ended before the command did.
    Lost,
    /// The login has ended, and the command goes on.
    LoggedIn,
}

/// Returns the control characters that end the input of a terminal after its last byte.
///
/// The terminal recognizes Ctrl-D only at the start of a line, so an incomplete line needs two.
pub(super) fn end_of_terminal_input(last: Option<u8>) -> Vec<u8> {
    let is_open = last.is_some_and(|last| last != b'\n');
    vec![END_OF_INPUT; if is_open { 2 } else { 1 }]
}

/// The state of one output stream.
#[derive(Debug)]
struct OutputStream {
    capture: CaptureBuffer,
    filter: Option<MarkFilter>,
    /// The end of the output, in which a prompt may appear.
    tail: Vec<u8>,
}

impl OutputStream {
    fn new(capture: CaptureBuffer, mark: Option<&str>) -> Self {
        Self {
            capture,
            filter: mark.map(MarkFilter::new),
            tail: Vec::new(),
        }
    }
}

/// The reader of a command's outputs, which also answers its prompts.
pub(super) struct OutputReader<'a> {
    command: &'a Command,
    stdout: OutputStream,
    stderr: OutputStream,
    output_sender: Option<mpsc::Sender<(Stream, Vec<u8>)>>,
    /// The sender of input; `None` once the input has ended.
    ///
    /// A terminal keeps its sender, as closing its input would hang up. A control character ends
    /// the input instead.
    input_sender: Option<mpsc::UnboundedSender<InputChunk>>,
    /// Whether the command's own input was sent.
    is_input_sent: bool,
    /// Whether each answer was given, by index.
    answered: Vec<bool>,
    /// The number of prompts at the start of the list that are no longer answered.
    retired_count: usize,
    /// True if reading ends with the login.
    reads_login_only: bool,
}

impl<'a> OutputReader<'a> {
    pub(super) fn new(
        command: &'a Command,
        mark: Option<&str>,
        output_sender: Option<mpsc::Sender<(Stream, Vec<u8>)>>,
        input_sender: mpsc::UnboundedSender<InputChunk>,
    ) -> Self {
        // A terminal merges stderr, which carries the mark, into stdout.
        let (out, err) = if command.pty {
            (mark, None)
        } else {
            (None, mark)
        };
        let (stdout, stderr) = command.capture_buffers();
        Self {
            command,
            stdout: OutputStream::new(stdout, out),
            stderr: OutputStream::new(stderr, err),
            output_sender,
            input_sender: Some(input_sender),
            is_input_sent: false,
            answered: vec![false; command.answers.len()],
            retired_count: 0,
            reads_login_only: false,
        }
    }

    /// Sends the start script, and then the command's input if no prompts are expected.
    pub(super) fn send_script(&mut self, script: Vec<u8>) {
        self.send_input(InputChunk::Bytes(script));
        self.send_input_at_once();
    }

    /// Sends the command's input if no prompts are expected.
    pub(super) fn send_input_at_once(&mut self) {
        if self.command.answers.is_empty() {
            self.send_command_input();
        }
    }

    fn send_input(&self, chunk: InputChunk) {
        if let Some(input_sender) = &self.input_sender {
            // The receiver may be gone: a command that has ended reads nothing.
            input_sender.send(chunk).ok();
        }
    }

    /// Sends the command's own input and ends it.
    fn send_command_input(&mut self) {
        if let Some(part) = self.command.program_input {
            self.send_input(InputChunk::Program(part));
        } else if let Some(bytes) = &self.command.stdin {
            self.send_input(InputChunk::Bytes(bytes.clone()));
        }
        if self.command.pty && self.command.program_input.is_none() {
            let open = self
                .command
                .stdin
                .as_ref()
                .and_then(|it| it.last().copied());
            self.send_input(InputChunk::Bytes(end_of_terminal_input(open)));
        }
        self.is_input_sent = true;
        self.input_sender.take_if(|_| !self.command.pty);
    }

    /// Reads until the login of the command has ended. Its own input is left to the caller.
    pub(super) async fn read_login(
        &mut self,
        channel_io: &mut ChannelIo,
        shared: &CommandState,
    ) -> ReadEnd {
        self.reads_login_only = true;
        self.read(channel_io, shared).await
    }

    /// Reads until the command has ended.
    pub(super) async fn read(
        &mut self,
        channel_io: &mut ChannelIo,
        shared: &CommandState,
    ) -> ReadEnd {
        let mut exit = None;
        let prompt_wait = sleep(PROMPT_WAIT);
        tokio::pin!(prompt_wait);
        loop {
            let is_input_due = !self.is_input_sent && self.command.has_input();
            let event = tokio::select! {
                event = channel_io.next_event() => event,
                () = sleep(DRAIN_TIMEOUT), if exit.is_some() => {
                    return exit.map_or(ReadEnd::Lost, ReadEnd::OutputsHeldOpen);
                }
                () = &mut prompt_wait, if is_input_due => {
                    self.send_command_input();
                    continue;
                }
            };
            match event {
                ChannelEvent::Output(stream, bytes) => {
                    if let Some(unanswered) = self.handle_output(stream, &bytes, shared).await {
                        return ReadEnd::NeedsAnswer(unanswered);
                    }
                    if self.reads_login_only && self.is_input_sent {
                        return ReadEnd::LoggedIn;
                    }
                }
                ChannelEvent::Code(code) => exit = Some(Exit::Code(code)),
                ChannelEvent::Signal(signal) => exit = Some(Exit::Signal(signal)),
                ChannelEvent::Refused => return ReadEnd::Refused,
                ChannelEvent::End => {
                    let exit = exit.map(|exit| self.login_refusal(&exit).unwrap_or(exit));
                    return exit.map_or(ReadEnd::Lost, ReadEnd::Complete);
                }
            }
        }
    }

    async fn handle_output(
        &mut self,
        stream: Stream,
        bytes: &[u8],
        shared: &CommandState,
    ) -> Option<Exit> {
        let side = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let filtered = side.filter.as_mut().map(|filter| {
            let rest = filter.push(bytes);
            if let Some(StartReport::Process(id @ 1..)) = filter.report().map(StartReport::of) {
                // Only the first report counts.
                shared.processes.set(CommandProcesses::Group(id)).ok();
            }
            rest
        });
        let bytes = filtered.as_deref().unwrap_or(bytes);
        if bytes.is_empty() {
            return None;
        }
        side.capture.push(bytes);
        if let Some(pieces) = &self.output_sender {
            // The receiver may be gone; then nobody shows the output.
            pieces.send((stream, bytes.to_vec())).await.ok();
        }
        if self.command.answers.is_empty() {
            return None;
        }
        side.tail.extend_from_slice(bytes);
        let too_many = side.tail.len().saturating_sub(MAX_PROMPT_BYTES);
        side.tail.drain(..too_many);
        let matches_prompt = |answer: &PromptAnswer| {
            !answer.prompt.is_empty() && side.tail.ends_with(answer.prompt.as_bytes())
        };
        let answers = self.command.answers.iter().enumerate();
        let mut answers = answers.skip(self.retired_count);
        let (index, _) = answers.find(|(_, answer)| matches_prompt(answer))?;
        side.tail.clear();
        self.answer_prompt(index)
    }

    /// Returns the exit of a login that `sudo` refused without another prompt, as with its setting `passwd_tries=1`.
    fn login_refusal(&self, exit: &Exit) -> Option<Exit> {
        let mut answers = self.command.answers.iter().zip(&self.answered);
        let (tried, _) =
            answers.find(|(answer, is_answered)| **is_answered && !answer.ends_login)?;
        let has_refused = |side: &OutputStream| {
            let text = String::from_utf8_lossy(&side.tail);
            text.contains(SUDO_REFUSAL)
        };
        let is_refused = *exit == Exit::Code(1)
            && self.retired_count == 0
            && (has_refused(&self.stderr) || has_refused(&self.stdout));
        is_refused.then(|| Exit::NeedsAnswer {
            question: tried.question.clone(),
            refused: true,
        })
    }

    /// Answers a prompt.
    ///
    /// Returns the exit of the command if there is no answer, or if it was already given and
    /// rejected.
    fn answer_prompt(&mut self, index: usize) -> Option<Exit> {
        let answer = &self.command.answers[index];
        let unanswered = |refused| {
            Some(Exit::NeedsAnswer {
                question: answer.question.clone(),
                refused,
            })
        };
        if self.answered[index] {
            return unanswered(true);
        }
        let Some(reply) = &answer.reply else {
            return unanswered(false);
        };
        if self.is_input_sent {
            // The command would take the answer for its own input.
            return unanswered(false);
        }
        let line = format!("{}\n", reply.reveal()).into_bytes();
        self.send_input(InputChunk::Bytes(line));
        self.answered[index] = !answer.may_repeat();
        if answer.ends_login {
            self.retired_count = index + 1;
            self.answered[..=index].fill(true);
        }
        if self.answered.iter().all(|is_answered| *is_answered) {
            self.send_command_input();
        }
        None
    }

    /// Returns the report of the start script and the captured outputs.
    pub(super) async fn finish(mut self) -> (Option<StartReport>, CapturedOutput, CapturedOutput) {
        let mut start_report = None;
        let sides = [
            (Stream::Stdout, &mut self.stdout),
            (Stream::Stderr, &mut self.stderr),
        ];
        for (stream, side) in sides {
            let Some(filter) = &mut side.filter else {
                continue;
            };
            start_report = filter.report().map(StartReport::of);
            let rest = filter.end();
            side.capture.push(&rest);
            if let (Some(pieces), false) = (&self.output_sender, rest.is_empty()) {
                pieces.send((stream, rest)).await.ok();
            }
        }
        let (stdout, stderr) = (self.stdout.capture, self.stderr.capture);
        (start_report, stdout.finish(), stderr.finish())
    }
}
