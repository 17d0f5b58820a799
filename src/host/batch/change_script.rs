//! The script that makes changes, and the parser of its output.

use std::time::Duration;

use super::frames::{Frames, heading, is_timeout_code};
use super::prelude;
use super::shell_words::{content_function, path_word};
use crate::host::change::{
    Change, CommandRun, FileWrite, ModeAndOwner, describe_change, may_begin_with,
};
use crate::host::{Action, CapturedOutput, ChangeOutput, Exit, RunOutput, change_failure};
use crate::text::quote_word;

/// The number of bytes kept of the start, and of the end, of a command's output.
const HALF_OUTPUT_BYTES: usize = 512 << 10;

/// Returns the script that makes changes, in order, with all functions that it needs.
pub(super) fn script(changes: &[Change]) -> String {
    let (base, start, user) = (prelude::BASE, prelude::START, prelude::USER);
    format!("{base}{start}{user}{}{}", prelude::CHANGES, calls(changes))
}

/// Returns the part of the script that differs between actions: the calls of its functions.
pub(super) fn calls(changes: &[Change]) -> String {
    let mut script = format!("M={}\n", ulid::Ulid::generate());
    for (at, change) in changes.iter().enumerate() {
        script.push_str(&change_text(at, change));
    }
    script.push_str("p z\n#.");
    script
}

fn run_of(change: &Change) -> Option<&CommandRun> {
    match change {
        Change::Run(run) => Some(run),
        _ => None,
    }
}

/// Whether a command of the action may leave background processes running.
pub(super) fn may_keep_background(action: &Action) -> bool {
    let Action::Change(changes) = action else {
        return false;
    };
    changes
        .iter()
        .filter_map(run_of)
        .any(|run| run.keeps_background)
}

/// Returns the secret text of a change, if it has any.
pub(super) fn change_secret(change: &Change) -> Option<String> {
    match change {
        Change::Write(write) if write.secret => String::from_utf8(write.bytes.clone()).ok(),
        Change::Run(run) => run.shown.as_ref().map(|_| run.text.clone()),
        _ => None,
    }
    .filter(|text| !text.is_empty())
}

fn change_text(at: usize, change: &Change) -> String {
    match change {
        Change::Write(write) => {
            let like = attribute_words(&write.like);
            format!(
                "{}W {at} {} {like} {:03o}\n",
                content_function(&write.bytes),
                path_word(&write.path),
                first_umask(write)
            )
        }
        Change::Folder {
            path: it,
            parents,
            like,
        } => format!(
            "D {at} {} {} {}\n",
            path_word(it),
            flag_word(*parents),
            attribute_words(like)
        ),
        Change::Link {
            path: it,
            target,
            hard,
            like,
        } => link_text(at, it, target, *hard, like),
        Change::Remove { path: it } => format!("R {at} {}\n", path_word(it)),
        Change::Set {
            path: it,
            like,
            follow,
        } => format!(
            "S {at} {} {} {}\n",
            path_word(it),
            flag_word(*follow),
            attribute_words(like)
        ),
        Change::Move { from, to } => format!("V {at} {} {}\n", path_word(from), path_word(to)),
        Change::Copy { from, to, preserve } => {
            format!(
                "K {at} {} {} {}\n",
                path_word(from),
                path_word(to),
                flag_word(*preserve)
            )
        }
        Change::Touch {
            path: it,
            read,
            written,
        } => format!(
            "U {at} {} {} {}\n",
            path_word(it),
            time_word(*read),
            time_word(*written)
        ),
        Change::Run(run) => run_text(at, run),
    }
}

/// Returns the line of the script that makes a link.
///
/// A link has an owner, but no permission bits of its own.
fn link_text(at: usize, path: &str, target: &str, hard: bool, like: &ModeAndOwner) -> String {
    let (target, option) = if hard {
        (path_word(target), "''")
    } else {
        (quote_word(target), "-s")
    };
    let like = attribute_words(&ModeAndOwner {
        mode: None,
        ..like.clone()
    });
    let owners = like.strip_prefix("'' ").unwrap_or(&like);
    format!("N {at} {} {target} {option} {owners}\n", path_word(path))
}

fn run_text(at: usize, run: &CommandRun) -> String {
    let body = super::command_script::command_runner(&run.setting, &run.text, run.stdin.as_deref());
    let good: Vec<String> = run.good_codes.iter().map(i32::to_string).collect();
    let good = std::iter::once("0".to_owned()).chain(good);
    let good: Vec<String> = good.collect();
    format!(
        "t\n{body}_c=$?\nr r{at} $_c {HALF_OUTPUT_BYTES} {HALF_OUTPUT_BYTES} {HALF_OUTPUT_BYTES} {HALF_OUTPUT_BYTES}\n\
         case $_c in {}) ;; *) exit 0;; esac\n",
        good.join("|")
    )
}

/// Returns permission bits, user and group as three quoted words; empty ones keep the present
/// value.
fn attribute_words(like: &ModeAndOwner) -> String {
    let mode = like.mode.map(|mode| format!("{mode:04o}"));
    let word = |text: &Option<String>| quote_word(text.as_deref().unwrap_or_default());
    format!("{} {} {}", word(&mode), word(&like.user), word(&like.group))
}

/// Returns the umask with which a file is made, before it gets its mode.
///
/// A file that everybody or nobody but its owner may read can have its mode at once. Others begin as private files.
fn first_umask(write: &FileWrite) -> u32 {
    let mode = write.like.mode.or(write.present_mode).unwrap_or(0o600);
    if may_begin_with(mode) {
        0o666 & !mode
    } else {
        0o077
    }
}

fn flag_word(is: bool) -> &'static str {
    if is { "y" } else { "n" }
}

fn time_word(seconds: Option<i64>) -> String {
    let seconds = seconds.map(|seconds| format!("@{seconds}"));
    quote_word(&seconds.unwrap_or_default())
}

/// Parses the outputs of the changes.
///
/// `why` supplies the exit if the output ends before all changes are reported.
pub(super) fn parse(changes: &[Change], output: &[u8], why: impl Fn() -> Exit) -> ChangeOutput {
    let mut frames = Frames::new(output);
    let mut outputs = Vec::with_capacity(changes.len());
    let exit = loop {
        if let Some(last) = changes.get(outputs.len().wrapping_sub(1))
            && let Some(output) = outputs.last()
            && let Some(exit) = change_failure(last, output)
        {
            break exit;
        }
        let Some(change) = changes.get(outputs.len()) else {
            break Exit::Code(0);
        };
        match next_output(&mut frames, change) {
            Some(output) => outputs.push(output),
            None => break why(),
        }
    };
    ChangeOutput {
        exit,
        outputs,
        elapsed: Duration::ZERO,
    }
}

fn next_output(frames: &mut Frames<'_>, change: &Change) -> Option<RunOutput> {
    let word = frames.text()?;
    let (letter, _) = heading(&word)?;
    match letter {
        'k' => Some(RunOutput::ok()),
        'f' => {
            let output_text = frames.text()?;
            Some(RunOutput::failed(error_message(change, &output_text)))
        }
        'r' => {
            let code: i32 = frames.number()?;
            let (stdout, stderr): (usize, usize) = (frames.number()?, frames.number()?);
            let limited = run_of(change).is_some_and(|run| run.setting.time_limit.is_some());
            let exit = match code {
                code if limited && is_timeout_code(code) => Exit::TimedOut,
                code => Exit::Code(code),
            };
            Some(RunOutput {
                stdout: read_captured(frames, stdout)?,
                stderr: read_captured(frames, stderr)?,
                ..RunOutput::not_run(exit)
            })
        }
        _ => None,
    }
}

fn read_captured(frames: &mut Frames<'_>, total: usize) -> Option<CapturedOutput> {
    if total <= 2 * HALF_OUTPUT_BYTES {
        return Some(CapturedOutput::from_bytes(frames.piece(total)?));
    }
    let head = frames.piece(HALF_OUTPUT_BYTES)?;
    let tail = frames.piece(HALF_OUTPUT_BYTES)?;
    Some(CapturedOutput::from_ends(head, tail, total as u64))
}

/// Returns the message for a failed change, in the same form as `native` has for local changes.
fn error_message(change: &Change, output_text: &str) -> String {
    let last = output_text
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty());
    let last = last.unwrap_or("no reason was given");
    let why = match last.rsplit_once(": ") {
        // If the last part contains a quote, only the whole message is clear.
        Some((_, why)) if !why.contains('\'') && !why.is_empty() => why,
        _ => last,
    };
    let (what, path) = describe_change(change);
    format!("could not {what} `{path}`: {why}")
}
