//! `file.replace`: what an expression matches becomes something else.

use crate::converge::module::command::unchanged;
use regex::bytes::Regex;

use super::edit::{Edited, WORDS, Words, backup_ending, is_secret, open, told, verdict};
use super::pattern::{Flags, Replacement, compile};
use super::text::{Ends, decoded, is_binary, split_lines};
use crate::converge::{Call, Facts, Halt, Verdict, diff, refuse};

/// Decides `file.replace`.
pub(super) fn replace(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let edited = open(call, facts)?;
    let Some(before) = edited.bytes.as_deref() else {
        if call.flag("ignore_if_missing", false) {
            return unchanged(WORDS.none);
        }
        return refuse(format!("{}: file not found", edited.path));
    };
    if is_binary(before) {
        return refuse(format!(
            "Cannot perform string replacements on a binary file: {}",
            edited.real
        ));
    }
    let replaced = replaced(call, before)?;
    let difference = replaced.difference(before);
    let after = replaced.bytes();
    let mut steps = Vec::new();
    if after != before {
        if let Some(ending) = backup_ending(call) {
            steps = edited.backup(&ending, facts)?;
        }
        steps.push(edited.write(after, is_secret(call)));
    }
    let words = Words {
        would: "Changes would have been made",
        ..WORDS
    };
    Ok(verdict(call, told(call, difference), steps, words))
}

/// What the file is to contain.
struct Replaced {
    text: Vec<u8>,
    /// What is put before or after it if nothing was found.
    added: Option<(End, Vec<u8>)>,
}

enum End {
    First,
    Last,
}

impl Replaced {
    fn bytes(self) -> Vec<u8> {
        match self.added {
            None => self.text,
            Some((End::First, line)) => [line, self.text].concat(),
            Some((End::Last, line)) => [self.text, line].concat(),
        }
    }

    /// What is added counts as one line, however many it has.
    fn difference(&self, before: &[u8]) -> String {
        let (before, text) = (decoded(before), decoded(&self.text));
        let old = split_lines(&before, Ends::Kept);
        let mut new = split_lines(&text, Ends::Kept);
        let line = self.added.as_ref().map(|(end, line)| (end, decoded(line)));
        match &line {
            None => {}
            Some((End::First, line)) => new.insert(0, line),
            Some((End::Last, line)) => new.push(line),
        }
        diff::unified(&old, &new).concat()
    }
}

fn replaced(call: &Call<'_>, before: &[u8]) -> Result<Replaced, Halt> {
    let pattern = call.required("pattern")?;
    let repl = call.text_or("repl", "None")?;
    let appends = call.flag("append_if_not_found", false);
    let prepends = call.flag("prepend_if_not_found", false);
    if appends && prepends {
        return refuse("Only one of append and prepend_if_not_found is permitted");
    }
    let flags = Flags::of(call, "flags")?;
    let regex = compile(&pattern, flags)?;
    let replacement = if call.flag("backslash_literal", false) {
        Replacement::literal(&repl)
    } else {
        Replacement::parse(&repl)?
    };
    let count = call.int("count")?.unwrap_or(0);
    let (mut text, found) = substituted(&regex, &replacement, before, count)?;
    if found || !(appends || prepends) {
        return Ok(Replaced { text, added: None });
    }
    let other = call.text("not_found_content")?;
    let content = match &other {
        Some(other) if !other.is_empty() => other.clone(),
        _ => repl.clone(),
    };
    let is_there = compile(&format!("^{}(?:$|\\r$)", regex::escape(&content)), flags)?;
    if is_there.is_match(before) {
        return Ok(Replaced { text, added: None });
    }
    let mut line = other.unwrap_or(repl).into_bytes();
    line.push(b'\n');
    let end = if prepends { End::First } else { End::Last };
    if appends && !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    let added = Some((end, line));
    Ok(Replaced { text, added })
}

/// The text with so many matches replaced (all, for 0), and whether there was any.
fn substituted(
    regex: &Regex,
    replacement: &Replacement,
    before: &[u8],
    count: i64,
) -> Result<(Vec<u8>, bool), Halt> {
    replacement.check(regex)?;
    let most = match usize::try_from(count) {
        Ok(0) => usize::MAX,
        Ok(count) => count,
        // As Python does for a negative number.
        Err(_) => 0,
    };
    let mut after = Vec::with_capacity(before.len());
    let mut end = 0;
    let mut found = false;
    for captures in regex.captures_iter(before).take(most) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        found = true;
        after.extend_from_slice(&before[end..whole.start()]);
        replacement.expand(&captures, &mut after);
        end = whole.end();
    }
    after.extend_from_slice(&before[end..]);
    Ok((after, found))
}

/// The file and whether an expression is in it.
pub(super) fn has(edited: &Edited, pattern: &str) -> Result<bool, Halt> {
    Ok(compile(pattern, Flags::MULTI_LINE)?.is_match(edited.there()?))
}
