//! Answers what a command asks, and gives it its input.

use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot};

use crate::host::{Answer, Command, Exit, Stream};

/// Hears what a command writes: only the ends of it can be questions.
#[derive(Debug, Clone)]
pub(super) struct Ear {
    pieces: mpsc::UnboundedSender<(Stream, Vec<u8>)>,
    longest: usize,
}

impl Ear {
    pub(super) fn hear(&self, stream: Stream, bytes: &[u8]) {
        let end = &bytes[bytes.len().saturating_sub(self.longest)..];
        // It may be over, since the command closed its input.
        self.pieces.send((stream, end.to_vec())).ok();
    }
}

/// All that is said to one command.
#[derive(Debug)]
pub(super) struct Conversation {
    answers: Vec<Answer>,
    /// Whether each was given.
    given: Vec<bool>,
    longest: usize,
    input: Option<Vec<u8>>,
    pieces: mpsc::UnboundedReceiver<(Stream, Vec<u8>)>,
    asked: oneshot::Sender<Exit>,
}

impl Conversation {
    /// The conversation with a command, who hears what it writes if anything may be asked, and
    /// what tells that something was asked that has no answer.
    pub(super) fn with(command: &mut Command) -> (Self, Option<Ear>, oneshot::Receiver<Exit>) {
        let answers = std::mem::take(&mut command.answers);
        let longest = answers.iter().map(|answer| answer.prompt.len()).max();
        let longest = longest.unwrap_or_default();
        let (sender, pieces) = mpsc::unbounded_channel();
        let ear = (longest > 0).then_some(Ear {
            pieces: sender,
            longest,
        });
        let (asked, was_asked) = oneshot::channel();
        let conversation = Self {
            given: vec![false; answers.len()],
            answers,
            longest,
            input: command.stdin.take(),
            pieces,
            asked,
        };
        (conversation, ear, was_asked)
    }

    /// Gives the command its input, then its answers, until it writes nothing more.
    pub(super) async fn hold(mut self, pipe: Option<ChildStdin>) {
        let Some(mut pipe) = pipe else {
            return;
        };
        if let Some(bytes) = self.input.take() {
            // A command need not read its input.
            pipe.write_all(&bytes).await.ok();
        }
        if self.longest == 0 {
            return;
        }
        let mut ends = [Vec::new(), Vec::new()];
        while let Some((stream, bytes)) = self.pieces.recv().await {
            let end = &mut ends[usize::from(stream == Stream::Stderr)];
            end.extend_from_slice(&bytes);
            let excess = end.len().saturating_sub(self.longest);
            end.drain(..excess);
            let Some(at) = self.question_at(end) else {
                continue;
            };
            end.clear();
            let answer = &self.answers[at];
            let refused = std::mem::replace(&mut self.given[at], true);
            let reply = answer.reply.as_ref().filter(|_| !refused);
            let Some(reply) = reply else {
                let question = answer.question.clone();
                self.asked.send(Exit::Asked { question, refused }).ok();
                // The end of its input could be taken for an answer: it is open until the command
                // has been ended.
                while self.pieces.recv().await.is_some() {}
                return;
            };
            let line = [reply.reveal().as_bytes(), b"\n"].concat();
            pipe.write_all(&line).await.ok();
        }
    }

    fn question_at(&self, end: &[u8]) -> Option<usize> {
        let mut prompts = self.answers.iter().map(|answer| answer.prompt.as_bytes());
        prompts.position(|prompt| !prompt.is_empty() && end.ends_with(prompt))
    }
}
