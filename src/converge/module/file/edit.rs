//! What the functions share that edit a file that is there.

use super::text::{Ends, Shown, split_lines};
use super::work::{Work, absolute, at, resolved, to};
use crate::converge::module::command::need;
use crate::converge::module::step;
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict, diff, refuse};
use crate::host::change::{Change, Like};
use crate::host::fact::{EntryKind, Fact};
use crate::value::{Map, REDACTED, Value};

/// A file that is edited.
#[derive(Debug)]
pub(super) struct Edited {
    /// The path that the state names.
    pub(super) path: String,
    /// What it leads to.
    pub(super) real: String,
    /// What it contains; none if there is no file.
    pub(super) bytes: Option<Vec<u8>>,
}

/// Reads the file that a state names.
pub(super) fn open(call: &Call<'_>, facts: &Facts) -> Result<Edited, Halt> {
    let path = absolute(call, facts)?;
    need(facts, [at(&path), to(&path), Fact::Content(path.clone())])?;
    let bytes = match facts.target(&path)? {
        Some(entry) if entry.is_folder() => {
            return refuse(format!("[Errno 21] Is a directory: '{path}'"));
        }
        Some(_) => Some(facts.content(&path)?.unwrap_or_default().to_vec()),
        None => None,
    };
    Ok(Edited {
        real: resolved(&path, facts)?,
        path,
        bytes,
    })
}

impl Edited {
    /// The bytes; it fails if there is no file.
    pub(super) fn there(&self) -> Result<&[u8], Halt> {
        let missing = || Halt::Failed(format!("{}: file not found", self.path));
        self.bytes.as_deref().ok_or_else(missing)
    }

    /// The text of a file, which may be missing; it fails if it is not UTF-8.
    pub(super) fn text(&self) -> Result<&str, Halt> {
        std::str::from_utf8(self.bytes.as_deref().unwrap_or_default())
            .map_err(|error| Halt::Failed(format!("{} is not UTF-8 text: {error}", self.path)))
    }

    /// The step that writes the file; it keeps its owners and mode.
    pub(super) fn write(&self, bytes: Vec<u8>, secret: bool) -> Change {
        step::write_hidden(&self.real, bytes, Like::default(), secret)
    }

    /// The steps that keep a copy of the file under its name and an ending. A link gets a link
    /// to the copy beside it.
    pub(super) fn backup(&self, ending: &str, facts: &Facts) -> Result<Vec<Change>, Halt> {
        let mut steps = vec![Change::Copy {
            from: self.real.clone(),
            to: format!("{}{ending}", self.real),
            preserve: true,
        }];
        if let Some(entry) = facts.path(&self.path)?
            && let EntryKind::Link(says) = &entry.kind
        {
            steps.push(Change::Link {
                path: format!("{}{ending}", self.path),
                target: format!("{says}{ending}"),
                hard: false,
                like: Like::default(),
            });
        }
        Ok(steps)
    }
}

/// The ending of a backup: `.bak` unless said otherwise; none if none is wanted.
pub(super) fn backup_ending(call: &Call<'_>) -> Option<String> {
    match call.args.get("backup").map(Value::reveal) {
        None | Some(Value::Bool(true)) => Some(".bak".to_owned()),
        Some(value) => Some(value.to_string()).filter(|_| value.is_truthy()),
    }
}

/// Whether an argument of the state is secret, so that what it makes of a file is.
pub(super) fn is_secret(call: &Call<'_>) -> bool {
    call.args.values().any(Value::has_sensitive)
}

/// What is shown of what a state makes of a file.
pub(super) fn shown(call: &Call<'_>) -> Shown {
    Shown::of(call.flag("show_changes", true), is_secret(call))
}

/// The difference of two texts by lines, however they end.
pub(super) fn by_lines(before: &str, after: &str) -> String {
    let (before, after) = (
        split_lines(before, Ends::Kept),
        split_lines(after, Ends::Kept),
    );
    diff::unified(&before, &after).concat()
}

/// The words of an edit: in a dry run, when it was done, and when there is nothing to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    /// In a dry run.
    pub(super) would: &'static str,
    /// When it was done.
    pub(super) done: &'static str,
    /// When there is nothing to do.
    pub(super) none: &'static str,
}

/// The words of most edits.
pub(super) const WORDS: Words = Words {
    would: "Changes would be made",
    done: "Changes were made",
    none: "No changes needed to be made",
};

/// The verdict of an edit that gives these bytes, shown as this difference.
pub(super) fn verdict(
    call: &Call<'_>,
    difference: Value,
    steps: Vec<Change>,
    words: Words,
) -> Verdict {
    let changed = difference.is_truthy();
    if !changed {
        let outcome = Outcome::same(words.none);
        return match call.mode {
            Mode::Apply if !steps.is_empty() => Work {
                test: outcome.clone(),
                apply: outcome,
                steps,
            }
            .verdict(call.mode),
            _ => Verdict::Done(outcome),
        };
    }
    let changes = Map::from_iter([("diff".into(), difference)]);
    Work {
        test: Outcome::would(changes.clone(), words.would),
        apply: Outcome::changed(changes, words.done),
        steps,
    }
    .verdict(call.mode)
}

/// A difference as a change: hidden as true where it is not to be shown.
pub(super) fn told(call: &Call<'_>, difference: String) -> Value {
    if difference.is_empty() {
        return Value::Bool(false);
    }
    match shown(call) {
        Shown::Yes => Value::str(difference),
        Shown::No => Value::Bool(true),
        Shown::Never => Value::str(REDACTED),
    }
}
