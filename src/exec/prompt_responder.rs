//! Answers the prompts of a running command and writes its input.
//!
//! [`PromptListener`] passes the end of each piece of output on to [`PromptResponder`], which
//! compares it with the expected prompts (such as that of `sudo`).

use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot};
use zeroize::Zeroizing;

use crate::host::{Command, Exit, InputReader, PromptAnswer, Stream};

/// Receives the output of a command. Only the end of the output can be a prompt.
#[derive(Debug, Clone)]
pub(super) struct PromptListener {
    pieces: mpsc::UnboundedSender<(Stream, Vec<u8>)>,
    max_prompt_len: usize,
}

impl PromptListener {
    pub(super) fn receive(&self, stream: Stream, bytes: &[u8]) {
        let end = &bytes[bytes.len().saturating_sub(self.max_prompt_len)..];
        // The responder ends early if the command closes its input.
        self.pieces.send((stream, end.to_vec())).ok();
    }
}

/// Writes the input of one command, then the replies to its prompts.
#[derive(Debug)]
pub(super) struct PromptResponder {
    answers: Vec<PromptAnswer>,
    /// Whether each answer was given already: a prompt that comes again means that it was refused.
    is_used: Vec<bool>,
    /// The number of prompts at the start of the list that are no longer answered.
    retired_count: usize,
    max_prompt_len: usize,
    input: Option<Vec<u8>>,
    /// The input of this program, if the command reads it.
    program_input: Option<InputReader>,
    pieces: mpsc::UnboundedReceiver<(Stream, Vec<u8>)>,
    unanswered: oneshot::Sender<Exit>,
}

impl PromptResponder {
    /// Takes the answers and the input out of a command.
    ///
    /// Returns the responder, the listener for output if prompts are expected, and a channel for
    /// the exit if a prompt has no usable reply.
    pub(super) fn for_command(
        command: &mut Command,
        program_input: Option<InputReader>,
    ) -> (Self, Option<PromptListener>, oneshot::Receiver<Exit>) {
        let answers = std::mem::take(&mut command.answers);
        let longest = answers.iter().map(|answer| answer.prompt.len()).max();
        let longest = longest.unwrap_or_default();
        let (sender, pieces) = mpsc::unbounded_channel();
        let listener = (longest > 0).then_some(PromptListener {
            pieces: sender,
            max_prompt_len: longest,
        });
        let (unanswered, unanswered_receiver) = oneshot::channel();
        let conversation = Self {
            is_used: vec![false; answers.len()],
            retired_count: 0,
            answers,
            max_prompt_len: longest,
            input: command.stdin.take(),
            program_input,
            pieces,
            unanswered,
        };
        (conversation, listener, unanswered_receiver)
    }

    /// Writes the input, then answers prompts until the command's outputs end.
    pub(super) async fn respond(mut self, pipe: Option<ChildStdin>) {
        let Some(mut pipe) = pipe else {
            return;
        };
        if let Some(bytes) = self.input.take() {
            // A command need not read its input.
            pipe.write_all(&bytes).await.ok();
        }
        if self.max_prompt_len == 0 {
            return self.pass_program_input(&mut pipe).await;
        }
        let mut ends = [Vec::new(), Vec::new()];
        while let Some((stream, bytes)) = self.pieces.recv().await {
            let end = &mut ends[usize::from(stream == Stream::Stderr)];
            end.extend_from_slice(&bytes);
            let excess = end.len().saturating_sub(self.max_prompt_len);
            end.drain(..excess);
            let Some(at) = self.matching_prompt(end) else {
                continue;
            };
            end.clear();
            let answer = &self.answers[at];
            let was_used = std::mem::replace(&mut self.is_used[at], true);
            let refused = was_used && !answer.may_repeat();
            let reply = answer.reply.as_ref().filter(|_| !refused);
            let Some(reply) = reply else {
                let question = answer.question.clone();
                self.unanswered
                    .send(Exit::NeedsAnswer { question, refused })
                    .ok();
                // The end of input could be taken for an answer, so the pipe stays open until the
                // command was ended.
                while self.pieces.recv().await.is_some() {}
                return;
            };
            let ends_login = answer.ends_login;
            let line = Zeroizing::new([reply.reveal().as_bytes(), b"\n"].concat());
            pipe.write_all(&line).await.ok();
            if ends_login {
                self.retired_count = at + 1;
                if self.program_input.is_some() {
                    return self.pass_program_input(&mut pipe).await;
                }
            }
        }
    }

    /// Writes the input of this program to its end. A command need not read it.
    async fn pass_program_input(&mut self, pipe: &mut ChildStdin) {
        let Some(reader) = &mut self.program_input else {
            return;
        };
        while let Ok(Some(piece)) = reader.next_piece().await {
            if pipe.write_all(&piece).await.is_err() {
                return;
            }
        }
    }

    fn matching_prompt(&self, end: &[u8]) -> Option<usize> {
        let is_at_end = |prompt: &str| !prompt.is_empty() && end.ends_with(prompt.as_bytes());
        let mut answers = self.answers.iter().enumerate().skip(self.retired_count);
        let found = answers.find(|(_, answer)| is_at_end(&answer.prompt));
        found.map(|(at, _)| at)
    }
}
