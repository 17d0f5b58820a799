//! Questions on the terminal.
//!
//! A separate thread reads the answer, so that a signal can end the wait. [`yes_or_no`] and
//! [`line()`] are used by the screens.

use std::io::{BufRead, BufReader, IsTerminal as _, Write};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use zeroize::Zeroizing;

use super::display::pause_display;
use super::output::Output;
use crate::system::console::EscapedStderr;
use crate::system::signals::Interrupts;
use crate::system::terminal::{self, InputMode};
use crate::text::escape_controls;
use crate::ui::Answer;

/// The interval at which the wait for an answer checks for an interruption.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The length of most answers. A longer one is moved in memory, which leaves a copy behind.
const LINE_CAPACITY: usize = 1024;

/// The source of answers to questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerSource {
    Stdin,
    /// The terminal of this process, because a command gets the standard input.
    Terminal,
}

/// This process has no terminal at which questions could be asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoTerminal;

/// A function that writes a question to one stream and reads the answer from another.
pub(super) type AskFn = fn(&str, &mut dyn BufRead, &mut dyn Write) -> std::io::Result<Answer>;

/// Asks a yes-or-no question. An interruption counts as "no". An input that cannot be read gives no answer.
pub(super) fn yes_or_no(
    question: String,
    ask: AskFn,
    interrupts: &Interrupts,
    output: &Output,
) -> Answer {
    let answer = wait_for_answer(interrupts, move || {
        let mut stdin = std::io::stdin().lock();
        let said = ask(&question, &mut stdin, &mut EscapedStderr);
        Some(said.unwrap_or(Answer::Missing))
    });
    // A terminal shows the answer and its line end itself.
    let is_line_open = match answer {
        None => true,
        Some(Answer::Missing) => false,
        Some(_) => !std::io::stdin().is_terminal(),
    };
    if is_line_open {
        output.print_stderr("\n");
    }
    answer.unwrap_or(Answer::No)
}

/// Asks for a line of text at the terminal of this process, as the standard input has something else.
///
/// The line is not shown while typed if `hidden` is set. None after an interruption or at the end of the input.
pub(super) fn terminal_line(
    question: &str,
    hidden: bool,
    interrupts: &Interrupts,
) -> Result<Option<String>, NoTerminal> {
    let mut device = terminal::open_device().ok_or(NoTerminal)?;
    let _paused = pause_display();
    let _hidden = hidden.then(|| InputMode::hidden_on(&device));
    let shown = device.write_all(escape_controls(question).as_bytes());
    shown.map_err(|_| NoTerminal)?;
    let answer = wait_for_answer(interrupts, move || read_answer(&mut BufReader::new(device)));
    Ok(answer.map(|line| without_line_end(&line)))
}

/// Asks for a line of text.
///
/// The line is not shown while typed if `hidden` is set. None after an interruption or at the end
/// of the input.
pub(super) fn line(
    question: &str,
    hidden: bool,
    interrupts: &Interrupts,
    output: &Output,
) -> Option<String> {
    let _paused = pause_display();
    let _hidden = (hidden && std::io::stdin().is_terminal()).then(InputMode::hidden);
    output.print_stderr(question);
    let answer = wait_for_answer(interrupts, || read_answer(&mut std::io::stdin().lock()));
    if answer.is_none() {
        output.print_stderr("\n");
    }
    Some(without_line_end(&answer?))
}

/// Asks for a passphrase without showing it. None without a terminal.
pub(super) fn passphrase(question: &str) -> Option<String> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    let _paused = pause_display();
    let _hidden = InputMode::hidden();
    EscapedStderr.write_all(question.as_bytes()).ok()?;
    let line = read_answer(&mut std::io::stdin().lock())?;
    Some(without_line_end(&line))
}

/// Reads a line. None at the end of the input.
fn read_answer(input: &mut impl BufRead) -> Option<Zeroizing<String>> {
    let mut line = Zeroizing::new(String::with_capacity(LINE_CAPACITY));
    let read = input.read_line(&mut line);
    read.is_ok_and(|read| read > 0).then_some(line)
}

fn without_line_end(line: &str) -> String {
    line.trim_end_matches(['\r', '\n']).to_owned()
}

/// Asks on a separate thread and waits for the answer. None after an interruption.
fn wait_for_answer<T: Send + 'static>(
    interrupts: &Interrupts,
    ask: impl FnOnce() -> Option<T> + Send + 'static,
) -> Option<T> {
    let (answer, answered) = std::sync::mpsc::sync_channel(1);
    // A blocking read cannot be interrupted, so it runs on its own thread.
    let asker = std::thread::Builder::new().name("question".to_owned());
    let asker = asker.spawn(move || answer.send(ask()).ok());
    while asker.is_ok() {
        match answered.recv_timeout(POLL_INTERVAL) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) if interrupts.acknowledge().is_none() => {}
            Err(_) => break,
        }
    }
    None
}
