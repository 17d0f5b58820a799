//! `file.replace`: what an expression matches becomes something else.

use regex::bytes::Regex;

use super::edit::{Edited, WORDS, Words, backup_ending, by_lines, is_secret, open, told, verdict};
use super::pattern::{Flags, Replacement, compile};
use super::text::{decoded, is_binary};
use super::work::refuse;
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};

/// Decides `file.replace`.
pub(super) fn replace(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let edited = open(call, facts)?;
    let Some(before) = edited.bytes.as_deref() else {
        if call.flag("ignore_if_missing", false) {
            return Ok(Verdict::Done(Outcome::same(WORDS.none)));
        }
        return refuse(format!("{}: file not found", edited.path));
    };
    if is_binary(before) {
        return refuse(format!(
            "Cannot perform string replacements on a binary file: {}",
            edited.real
        ));
    }
    let after = replaced(call, before)?;
    let difference = if after == before {
        String::new()
    } else {
        by_lines(&decoded(before), &decoded(&after))
    };
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
fn replaced(call: &Call<'_>, before: &[u8]) -> Result<Vec<u8>, Halt> {
    let pattern = call.required("pattern")?;
    let repl = call.text("repl")?.unwrap_or_else(|| "None".to_owned());
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
    let (mut after, found) = substituted(&regex, &replacement, before, count)?;
    if found || !(appends || prepends) {
        return Ok(after);
    }
    let other = call.text("not_found_content")?;
    let content = match &other {
        Some(other) if !other.is_empty() => other.clone(),
        _ => repl.clone(),
    };
    let is_there = compile(&format!("^{}(?:$|\\r$)", regex::escape(&content)), flags)?;
    if is_there.is_match(before) {
        return Ok(after);
    }
    let mut line = other.unwrap_or(repl).into_bytes();
    line.push(b'\n');
    if prepends {
        line.extend_from_slice(&after);
        return Ok(line);
    }
    if !after.is_empty() && !after.ends_with(b"\n") {
        after.push(b'\n');
    }
    after.extend_from_slice(&line);
    Ok(after)
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
