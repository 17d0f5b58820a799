//! Changes as a script, and what became of them.

use std::fmt::Write as _;
use std::time::Duration;

use super::driver;
use super::frames::{Frames, heading, is_late};
use super::words::{content, path};
use crate::host::change::{Change, Like, Run, subject};
use crate::host::{Action, Captured, Changed, Exit, RunOutput, failure};
use crate::text::quoted;

/// How much is kept of the beginning, and of the end, of what a command writes, in bytes.
const HALF: usize = 512 << 10;

/// The script that makes changes.
pub(super) fn script(changes: &[Change]) -> String {
    let mut script = driver::BASE.to_owned();
    let runs = || changes.iter().filter_map(run_of);
    if runs().any(|run| run.setting.user.is_some()) {
        script.push_str(driver::USER);
    }
    script.push_str(driver::CHANGES);
    let mark = ulid::Ulid::generate();
    writeln!(script, "M={mark}\nZ=$(id -u):$(id -g)").ok();
    for (at, change) in changes.iter().enumerate() {
        script.push_str(&making(at, change));
    }
    script.push_str("p z\n#.");
    script
}

fn run_of(change: &Change) -> Option<&Run> {
    match change {
        Change::Run(run) => Some(run),
        _ => None,
    }
}

/// Whether something that a command leaves behind may live on.
pub(super) fn keeps_background(action: &Action) -> bool {
    let Action::Change(changes) = action else {
        return false;
    };
    changes
        .iter()
        .filter_map(run_of)
        .any(|run| run.keeps_background)
}

/// What of a change nobody may see.
pub(super) fn secret(change: &Change) -> Option<String> {
    match change {
        Change::Write(write) if write.secret => String::from_utf8(write.bytes.clone()).ok(),
        Change::Run(run) => run.shown.as_ref().map(|_| run.text.clone()),
        _ => None,
    }
    .filter(|text| !text.is_empty())
}

fn making(at: usize, change: &Change) -> String {
    match change {
        Change::Write(write) => {
            let like = three(&write.like);
            format!(
                "{}W {at} {} {like}\n",
                content(&write.bytes),
                path(&write.path)
            )
        }
        Change::Folder {
            path: it,
            parents,
            like,
        } => format!("D {at} {} {} {}\n", path(it), yes(*parents), three(like)),
        Change::Link {
            path: it,
            target,
            hard,
            like,
        } => {
            let (target, option) = match hard {
                true => (path(target), "''"),
                false => (quoted(target), "-s"),
            };
            let like = three(&Like {
                mode: None,
                ..like.clone()
            });
            let owners = like.strip_prefix("'' ").unwrap_or(&like);
            format!("N {at} {} {target} {option} {owners}\n", path(it))
        }
        Change::Remove { path: it } => format!("R {at} {}\n", path(it)),
        Change::Set {
            path: it,
            like,
            follow,
        } => format!("S {at} {} {} {}\n", path(it), yes(*follow), three(like)),
        Change::Move { from, to } => format!("V {at} {} {}\n", path(from), path(to)),
        Change::Copy { from, to, preserve } => {
            format!("K {at} {} {} {}\n", path(from), path(to), yes(*preserve))
        }
        Change::Touch {
            path: it,
            read,
            written,
        } => format!("U {at} {} {} {}\n", path(it), time(*read), time(*written)),
        Change::Run(run) => running(at, run),
    }
}

fn running(at: usize, run: &Run) -> String {
    let body = super::inner::running(&run.setting, &run.text, run.stdin.as_deref());
    let good: Vec<String> = run.good_codes.iter().map(i32::to_string).collect();
    let good = std::iter::once("0".to_owned()).chain(good);
    let good: Vec<String> = good.collect();
    format!(
        "t\n{body}_c=$?\nr r{at} $_c {HALF} {HALF} {HALF} {HALF}\n\
         case $_c in {}) ;; *) exit 0;; esac\n",
        good.join("|")
    )
}

/// Permission bits, user and group as three words.
fn three(like: &Like) -> String {
    let mode = like.mode.map(|mode| format!("{mode:04o}"));
    let word = |text: &Option<String>| quoted(text.as_deref().unwrap_or_default());
    format!("{} {} {}", word(&mode), word(&like.user), word(&like.group))
}

fn yes(is: bool) -> &'static str {
    if is { "y" } else { "n" }
}

fn time(seconds: Option<i64>) -> String {
    let seconds = seconds.map(|seconds| format!("@{seconds}"));
    quoted(&seconds.unwrap_or_default())
}

/// What became of changes; where the output breaks off, why.
pub(super) fn parse(changes: &[Change], output: &[u8], why: impl Fn() -> Exit) -> Changed {
    let mut frames = Frames::new(output);
    let mut outputs = Vec::with_capacity(changes.len());
    let exit = loop {
        if let Some(last) = changes.get(outputs.len().wrapping_sub(1))
            && let Some(output) = outputs.last()
            && let Some(exit) = failure(last, output)
        {
            break exit;
        }
        let Some(change) = changes.get(outputs.len()) else {
            break Exit::Code(0);
        };
        match next(&mut frames, change) {
            Some(output) => outputs.push(output),
            None => break why(),
        }
    };
    Changed {
        exit,
        outputs,
        elapsed: Duration::ZERO,
    }
}

fn next(frames: &mut Frames<'_>, change: &Change) -> Option<RunOutput> {
    let word = frames.text()?;
    let (letter, _) = heading(&word)?;
    match letter {
        'k' => Some(RunOutput::ok()),
        'f' => {
            let said = frames.text()?;
            Some(RunOutput::complaint(complaint(change, &said)))
        }
        'r' => {
            let code: i32 = frames.number()?;
            let (stdout, stderr): (usize, usize) = (frames.number()?, frames.number()?);
            let limited = run_of(change).is_some_and(|run| run.setting.time_limit.is_some());
            let exit = match code {
                code if limited && is_late(code) => Exit::TimedOut,
                code => Exit::Code(code),
            };
            Some(RunOutput {
                stdout: captured(frames, stdout)?,
                stderr: captured(frames, stderr)?,
                ..RunOutput::not_run(exit)
            })
        }
        _ => None,
    }
}

fn captured(frames: &mut Frames<'_>, total: usize) -> Option<Captured> {
    if total <= 2 * HALF {
        return Some(Captured::of(frames.piece(total)?));
    }
    Some(Captured {
        head: frames.piece(HALF)?.to_vec(),
        tail: frames.piece(HALF)?.to_vec(),
        total: total as u64,
        truncated: true,
    })
}

/// What could not be done and why, in the words that this machine itself has for it.
fn complaint(change: &Change, said: &str) -> String {
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let last = last.unwrap_or("it does not say why");
    let why = match last.rsplit_once(": ") {
        // What a program complains of is told better by all it says.
        Some((_, why)) if !why.contains('\'') && !why.is_empty() => why,
        _ => last,
    };
    let (what, path) = subject(change);
    format!("could not {what} `{path}`: {why}")
}
