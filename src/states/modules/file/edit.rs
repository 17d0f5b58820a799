//! Shared parts of the states that edit a file's text, and the states `file.replace`, `file.comment`
//! and `file.uncomment`.
//!
//! [`EditedFile`] reads, backs up and writes the file; [`edit_decision`] turns an edit into a decision.

use super::file_pattern::FilePattern;
use super::pattern::{Flags, Replacement, compile, matches_line};
use super::plan::{FilePlan, absolute_name, path_fact, resolve_links, target_fact};
use super::text_diff::{DiffVisibility, LineEnds, decode, is_binary, split_lines};
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{Fact, FileKind};
use crate::states::modules::decision::{require_facts, single_change, unchanged};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::system::fs::SECRET_MODE;
use crate::text::diff;
use crate::value::{Map, REDACTED, Value};

/// A file that a state edits, with its current content.
#[derive(Debug)]
pub(super) struct EditedFile {
    /// The path that the state names.
    pub(super) path: String,
    /// The path after all symbolic links are resolved.
    pub(super) real: String,
    /// The current content; None if the file does not exist.
    pub(super) bytes: Option<Vec<u8>>,
}

/// Reads the file that a state names.
pub(super) fn open_edited_file(
    call: &StateCall<'_>,
    facts: &FactCache,
) -> Result<EditedFile, Halt> {
    let path = absolute_name(call, facts)?;
    require_facts(
        facts,
        [
            path_fact(&path),
            target_fact(&path),
            Fact::Content(path.clone()),
        ],
    )?;
    let bytes = match facts.target(&path)? {
        Some(entry) if entry.is_folder() => {
            return refuse(format!("[Errno 21] Is a directory: '{path}'"));
        }
        Some(_) => Some(facts.content(&path)?.unwrap_or_default().to_vec()),
        None => None,
    };
    Ok(EditedFile {
        real: resolve_links(&path, facts)?,
        path,
        bytes,
    })
}

impl EditedFile {
    /// Returns the content; fails if the file does not exist.
    pub(super) fn existing_bytes(&self) -> Result<&[u8], Halt> {
        let missing = || Halt::Failed(format!("{}: file not found", self.path));
        self.bytes.as_deref().ok_or_else(missing)
    }

    /// Returns the content as text; fails if it is not UTF-8. A missing file counts as empty.
    pub(super) fn text(&self) -> Result<&str, Halt> {
        std::str::from_utf8(self.bytes.as_deref().unwrap_or_default())
            .map_err(|error| Halt::Failed(format!("{} is not UTF-8 text: {error}", self.path)))
    }

    /// Returns the change that writes the file and keeps its owners and mode. A new file with a secret is private.
    pub(super) fn write(&self, bytes: Vec<u8>, secret: bool) -> Change {
        let is_new = self.bytes.is_none();
        let like = ModeAndOwner {
            mode: (secret && is_new).then_some(SECRET_MODE),
            ..ModeAndOwner::default()
        };
        file_change::write_hidden(&self.real, bytes, like, secret)
    }

    /// Returns the changes that copy the file to its name plus `ending`.
    ///
    /// If the path is a symbolic link, a link to the copy is created next to it.
    pub(super) fn backup(&self, ending: &str, facts: &FactCache) -> Result<Vec<Change>, Halt> {
        let mut steps = vec![Change::Copy {
            from: self.real.clone(),
            to: format!("{}{ending}", self.real),
            preserve: true,
        }];
        if let Some(entry) = facts.path(&self.path)?
            && let FileKind::Link(destination) = &entry.kind
        {
            steps.push(Change::Link {
                path: format!("{}{ending}", self.path),
                target: format!("{destination}{ending}"),
                hard: false,
                like: ModeAndOwner::default(),
            });
        }
        Ok(steps)
    }
}

/// Returns the suffix of the backup, `.bak` by default; None if the state wants no backup.
pub(super) fn backup_ending(call: &StateCall<'_>) -> Option<String> {
    match call.args.get("backup").map(Value::reveal) {
        None | Some(Value::Bool(true)) => Some(".bak".to_owned()),
        Some(value) => Some(value.to_string()).filter(|_| value.is_truthy()),
    }
}

/// Whether an argument of the state is sensitive, which makes the edited text secret too.
pub(super) fn is_secret(call: &StateCall<'_>) -> bool {
    call.args.values().any(Value::has_sensitive)
}

/// Returns how much of the difference results may show.
pub(super) fn diff_visibility(call: &StateCall<'_>) -> DiffVisibility {
    DiffVisibility::from_flags(call.flag("show_changes", true), is_secret(call))
}

/// Returns the unified diff of two texts, split at any kind of line end.
pub(super) fn line_diff(before: &str, after: &str) -> String {
    let (before, after) = (
        split_lines(before, LineEnds::Keep),
        split_lines(after, LineEnds::Keep),
    );
    diff::unified_diff(&before, &after).concat()
}

/// The comments of an edit state.
#[derive(Debug, Clone, Copy)]
pub(super) struct EditMessages {
    /// The comment of a dry run with changes.
    pub(super) dry_run: &'static str,
    /// The comment of a real run with changes.
    pub(super) done: &'static str,
    /// The comment of any run without changes.
    pub(super) unchanged: &'static str,
}

/// The comments that most edit states use.
pub(super) const EDIT_MESSAGES: EditMessages = EditMessages {
    dry_run: "Changes would be made",
    done: "Changes were made",
    unchanged: "No changes needed to be made",
};

/// Returns the decision of an edit with this difference and these changes.
pub(super) fn edit_decision(
    call: &StateCall<'_>,
    difference: Value,
    steps: Vec<Change>,
    messages: EditMessages,
) -> StateDecision {
    let changed = difference.is_truthy();
    if !changed {
        let outcome = StateOutcome::unchanged(messages.unchanged);
        return match call.mode {
            Mode::Apply if !steps.is_empty() => FilePlan {
                test: outcome.clone(),
                apply: outcome,
                steps,
            }
            .into_decision(call.mode),
            _ => StateDecision::Done(outcome),
        };
    }
    let changes = Map::from_iter([("diff".into(), difference)]);
    FilePlan {
        test: StateOutcome::would_change(changes.clone(), messages.dry_run),
        apply: StateOutcome::changed(changes, messages.done),
        steps,
    }
    .into_decision(call.mode)
}

/// Returns the difference as results show it: `true` if suppressed, redacted if secret.
pub(super) fn diff_value(call: &StateCall<'_>, difference: String) -> Value {
    if difference.is_empty() {
        return Value::Bool(false);
    }
    match diff_visibility(call) {
        DiffVisibility::Visible => Value::str(difference),
        DiffVisibility::Suppressed => Value::Bool(true),
        DiffVisibility::Secret => Value::str(REDACTED),
    }
}

/// Decides `file.replace`: replaces the matches of a regular expression.
pub(super) fn replace(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let edited = open_edited_file(call, facts)?;
    let Some(before) = edited.bytes.as_deref() else {
        if call.flag("ignore_if_missing", false) {
            return unchanged(EDIT_MESSAGES.unchanged);
        }
        return refuse(format!("{}: file not found", edited.path));
    };
    if is_binary(before) {
        return refuse(format!(
            "Cannot perform string replacements on a binary file: {}",
            edited.real
        ));
    }
    let replaced = replace_matches(call, before)?;
    let difference = replaced.difference(before);
    let after = replaced.bytes();
    let mut steps = Vec::new();
    if after != before {
        if let Some(ending) = backup_ending(call) {
            steps = edited.backup(&ending, facts)?;
        }
        steps.push(edited.write(after, is_secret(call)));
    }
    let words = EditMessages {
        dry_run: "Changes would have been made",
        ..EDIT_MESSAGES
    };
    Ok(edit_decision(
        call,
        diff_value(call, difference),
        steps,
        words,
    ))
}

/// The new content of a file after a replacement.
struct ReplacedText {
    text: Vec<u8>,
    /// The text to insert at the start or end, if nothing matched.
    added: Option<(InsertPosition, Vec<u8>)>,
}

/// The end of the file at which a missing text is inserted.
enum InsertPosition {
    First,
    Last,
}

impl ReplacedText {
    fn bytes(self) -> Vec<u8> {
        match self.added {
            None => self.text,
            Some((InsertPosition::First, line)) => [line, self.text].concat(),
            Some((InsertPosition::Last, line)) => [self.text, line].concat(),
        }
    }

    /// Returns the unified diff. An inserted text counts as one line even if it has several, as in Salt.
    fn difference(&self, before: &[u8]) -> String {
        let (before, text) = (decode(before), decode(&self.text));
        let old = split_lines(&before, LineEnds::Keep);
        let mut new = split_lines(&text, LineEnds::Keep);
        let line = self.added.as_ref().map(|(end, line)| (end, decode(line)));
        match &line {
            None => {}
            Some((InsertPosition::First, line)) => new.insert(0, line),
            Some((InsertPosition::Last, line)) => new.push(line),
        }
        diff::unified_diff(&old, &new).concat()
    }
}

fn replace_matches(call: &StateCall<'_>, before: &[u8]) -> Result<ReplacedText, Halt> {
    let pattern = call.required("pattern")?;
    let repl = call.text_or("repl", "None")?;
    let appends = call.flag("append_if_not_found", false);
    let prepends = call.flag("prepend_if_not_found", false);
    if appends && prepends {
        return refuse("Only one of append and prepend_if_not_found is permitted");
    }
    let flags = Flags::from_call(call, "flags")?;
    let regex = compile(&pattern, flags)?;
    let replacement = if call.flag("backslash_literal", false) {
        Replacement::literal(&repl)
    } else {
        Replacement::parse(&repl)?
    };
    let count = call.int("count")?.unwrap_or(0);
    let (mut text, found) = substitute(&regex, &replacement, before, count)?;
    if found || !(appends || prepends) {
        return Ok(ReplacedText { text, added: None });
    }
    let other = call.text("not_found_content")?;
    let content = match &other {
        Some(other) if !other.is_empty() => other.clone(),
        _ => repl.clone(),
    };
    let is_there = compile(&format!("^{}(?:$|\\r$)", regex::escape(&content)), flags)?;
    if is_there.is_match(before)? {
        return Ok(ReplacedText { text, added: None });
    }
    let mut line = other.unwrap_or(repl).into_bytes();
    line.push(b'\n');
    let end = if prepends {
        InsertPosition::First
    } else {
        InsertPosition::Last
    };
    if appends && !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    let added = Some((end, line));
    Ok(ReplacedText { text, added })
}

/// Returns the text with at most `count` matches replaced (0: all), and whether any match was found.
fn substitute(
    regex: &FilePattern,
    replacement: &Replacement,
    before: &[u8],
    count: i64,
) -> Result<(Vec<u8>, bool), Halt> {
    replacement.check(regex)?;
    let limit = match usize::try_from(count) {
        Ok(0) => usize::MAX,
        Ok(count) => count,
        // Python's `re.sub` replaces nothing for a negative count.
        Err(_) => 0,
    };
    let mut after = Vec::with_capacity(before.len());
    let mut end = 0;
    let mut found = false;
    for one in regex.matches(before).take(limit) {
        let one = one?;
        let (start, next) = one.place();
        found = true;
        after.extend_from_slice(&before[end..start]);
        replacement.expand(regex, &one, &mut after);
        end = next;
    }
    after.extend_from_slice(&before[end..]);
    Ok((after, found))
}

/// Whether a regular expression matches anywhere in the file.
pub(super) fn has_match(edited: &EditedFile, pattern: &str) -> Result<bool, Halt> {
    compile(pattern, Flags::MULTI_LINE)?.is_match(edited.existing_bytes()?)
}

/// Decides `file.comment`: prefixes matching lines with a comment sign.
pub(super) fn comment(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let edited = open_edited_file(call, facts)?;
    edited.existing_bytes()?;
    let written = call.required("regex")?;
    let sign = call.text_or("char", "#")?;
    let bare = strip_flag_and_anchors(&written);
    let commented = format!("{sign}{bare}");
    if !is_uncommented(&edited, &sign, bare)? {
        if has_match(&edited, &commented)? {
            return Ok(unchanged_decision("Pattern already commented"));
        }
        if call.flag("ignore_missing", false) {
            return Ok(unchanged_decision(
                "Pattern not found and ignore_missing set to True",
            ));
        }
        return refuse(format!("{bare}: Pattern not found"));
    }
    let start = if written.starts_with('^') { "^" } else { "" };
    let regex = compile_anchored(&format!("{start}({})", strip_anchors(&written)), &written)?;
    let words = [
        "Commented lines successfully",
        "Expected commented lines not found",
    ];
    let rewrite = LineRewrite {
        regex,
        expected_pattern: &commented,
        messages: words,
    };
    rewrite_lines(call, facts, &edited, &rewrite, |line| {
        format!("{sign}{line}")
    })
}

/// Decides `file.uncomment`: removes the comment sign from matching lines.
pub(super) fn uncomment(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let edited = open_edited_file(call, facts)?;
    edited.existing_bytes()?;
    let written = call.required("regex")?;
    let sign = call.text_or("char", "#")?;
    let open = written.trim_start_matches('^');
    let uncommented = format!("^[ \\t]*{open}");
    if !has_match(&edited, &format!("{sign}[ \\t]*{open}"))? {
        if has_match(&edited, &uncommented)? {
            return Ok(unchanged_decision("Pattern already uncommented"));
        }
        return refuse(format!("{written}: Pattern not found"));
    }
    let regex = compile_anchored(
        &format!("^{sign}\\s*({})", strip_anchors(&written)),
        &written,
    )?;
    let words = [
        "Uncommented lines successfully",
        "Expected uncommented lines not found",
    ];
    let rewrite = LineRewrite {
        regex,
        expected_pattern: &uncommented,
        messages: words,
    };
    rewrite_lines(call, facts, &edited, &rewrite, |line| {
        line.trim_start_matches(|it| sign.contains(it)).to_owned()
    })
}

fn unchanged_decision(comment: &str) -> StateDecision {
    StateDecision::Done(StateOutcome::unchanged(comment))
}

/// Strips a leading inline flag and the anchors `^` and `$` from a regular expression, as Salt does.
fn strip_flag_and_anchors(written: &str) -> &str {
    let mut rest = written;
    for flag in ["(?i)", "(i)", "(?L)", "(?m)", "(?s)", "(?u)", "(?x)"] {
        if let Some(after) = rest.strip_prefix(flag) {
            rest = after;
            break;
        }
    }
    let rest = rest.strip_prefix('^').unwrap_or(rest);
    rest.strip_suffix('$').unwrap_or(rest)
}

fn strip_anchors(written: &str) -> &str {
    written.trim_start_matches('^').trim_end_matches('$')
}

/// Compiles an expression that matches only at the start of a line; `$` is kept if the user wrote one.
fn compile_anchored(inner: &str, written: &str) -> Result<FilePattern, Halt> {
    let end = if written.ends_with('$') { "$" } else { "" };
    compile(&format!("\\A(?:{inner}{end})"), Flags::NONE)
}

/// Whether the expression matches at the start of a line, after white space, that is not commented out.
fn is_uncommented(edited: &EditedFile, sign: &str, bare: &str) -> Result<bool, Halt> {
    let text = edited.existing_bytes()?;
    let is_comment = compile(&format!("\\A\\s*{sign}"), Flags::MULTI_LINE)?;
    let is_line = compile(&format!("\\A\\s*{bare}"), Flags::MULTI_LINE)?;
    let starts = std::iter::once(0).chain(
        text.iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(at, _)| at + 1),
    );
    for start in starts {
        let rest = &text[start..];
        if !is_comment.is_match(rest)? && is_line.is_match(rest)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A rewrite of all lines that match an expression.
struct LineRewrite<'a> {
    regex: FilePattern,
    /// The expression that the file must match after the rewrite.
    expected_pattern: &'a str,
    /// The comments for success and for failure.
    messages: [&'static str; 2],
}

fn rewrite_lines(
    call: &StateCall<'_>,
    facts: &FactCache,
    edited: &EditedFile,
    rewrite: &LineRewrite<'_>,
    rewritten: impl Fn(&str) -> String,
) -> Result<StateDecision, Halt> {
    let path = &edited.path;
    if is_binary(edited.existing_bytes()?) {
        return refuse(format!(
            "Cannot perform string replacements on a binary file: {path}"
        ));
    }
    let before = edited.text()?;
    let mut after = String::with_capacity(before.len());
    for line in before.split_inclusive('\n') {
        if matches_line(&rewrite.regex, line)? {
            after += &rewritten(line);
        } else {
            after += line;
        }
    }
    let mut steps = Vec::new();
    let mut changes = Map::new();
    if after != before {
        changes = single_change("diff", line_diff(before, &after));
        if let Some(ending) = backup_ending(call) {
            steps = edited.backup(&ending, facts)?;
        }
        steps.push(edited.write(after.clone().into_bytes(), false));
    }
    let is_right =
        compile(rewrite.expected_pattern, Flags::MULTI_LINE)?.is_match(after.as_bytes())?;
    let mut apply = StateOutcome::changed(changes, rewrite.messages[usize::from(!is_right)]);
    apply.result = Some(is_right);
    let test = StateOutcome::would_change(
        single_change(path, "updated"),
        format!("File {path} is set to be updated"),
    );
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}
