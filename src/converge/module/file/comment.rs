//! `file.comment` and `file.uncomment`: lines that an expression finds.

use crate::converge::module::command::one;
use regex::bytes::Regex;

use super::edit::{Edited, backup_ending, by_lines, open};
use super::pattern::{Flags, compile, is_found};
use super::replace::has;
use super::text::is_binary;
use super::work::Work;
use crate::converge::{Call, Facts, Halt, Outcome, Verdict, refuse};
use crate::value::Map;

/// Decides `file.comment`.
pub(super) fn comment(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let edited = open(call, facts)?;
    edited.there()?;
    let written = call.required("regex")?;
    let sign = call.text_or("char", "#")?;
    let bare = unanchored(&written);
    let commented = format!("{sign}{bare}");
    if !is_uncommented(&edited, &sign, bare)? {
        if has(&edited, &commented)? {
            return Ok(done("Pattern already commented"));
        }
        if call.flag("ignore_missing", false) {
            return Ok(done("Pattern not found and ignore_missing set to True"));
        }
        return refuse(format!("{bare}: Pattern not found"));
    }
    let start = if written.starts_with('^') { "^" } else { "" };
    let regex = matching(&format!("{start}({})", inner(&written)), &written)?;
    let words = [
        "Commented lines successfully",
        "Expected commented lines not found",
    ];
    let rewrite = Rewrite {
        regex,
        wanted: &commented,
        words,
    };
    change(call, facts, &edited, &rewrite, |line| {
        format!("{sign}{line}")
    })
}

/// Decides `file.uncomment`.
pub(super) fn uncomment(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let edited = open(call, facts)?;
    edited.there()?;
    let written = call.required("regex")?;
    let sign = call.text_or("char", "#")?;
    let open = written.trim_start_matches('^');
    let uncommented = format!("^[ \\t]*{open}");
    if !has(&edited, &format!("{sign}[ \\t]*{open}"))? {
        if has(&edited, &uncommented)? {
            return Ok(done("Pattern already uncommented"));
        }
        return refuse(format!("{written}: Pattern not found"));
    }
    let regex = matching(&format!("^{sign}\\s*({})", inner(&written)), &written)?;
    let words = [
        "Uncommented lines successfully",
        "Expected uncommented lines not found",
    ];
    let rewrite = Rewrite {
        regex,
        wanted: &uncommented,
        words,
    };
    change(call, facts, &edited, &rewrite, |line| {
        line.trim_start_matches(|it| sign.contains(it)).to_owned()
    })
}

fn done(comment: &str) -> Verdict {
    Verdict::Done(Outcome::same(comment))
}

/// The expression without a flag in front and without the signs for the ends of a line.
fn unanchored(written: &str) -> &str {
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

fn inner(written: &str) -> &str {
    written.trim_start_matches('^').trim_end_matches('$')
}

/// An expression that must match from the start of a line.
fn matching(inner: &str, written: &str) -> Result<Regex, Halt> {
    let end = if written.ends_with('$') { "$" } else { "" };
    compile(&format!("\\A(?:{inner}{end})"), Flags::NONE)
}

/// Whether the expression is at the start of a line, after white space, that does not begin with
/// the sign.
fn is_uncommented(edited: &Edited, sign: &str, bare: &str) -> Result<bool, Halt> {
    let text = edited.there()?;
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
        if !is_comment.is_match(rest) && is_line.is_match(rest) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Which lines become others.
struct Rewrite<'a> {
    regex: Regex,
    /// What the file has when it is done.
    wanted: &'a str,
    /// What is said of success and of failure.
    words: [&'static str; 2],
}

fn change(
    call: &Call<'_>,
    facts: &Facts,
    edited: &Edited,
    rewrite: &Rewrite<'_>,
    rewritten: impl Fn(&str) -> String,
) -> Result<Verdict, Halt> {
    let path = &edited.path;
    if is_binary(edited.there()?) {
        return refuse(format!(
            "Cannot perform string replacements on a binary file: {path}"
        ));
    }
    let before = edited.text()?;
    let lines = before.split_inclusive('\n');
    let after: String = lines
        .map(|line| {
            if is_found(&rewrite.regex, line) {
                rewritten(line)
            } else {
                line.to_owned()
            }
        })
        .collect();
    let mut steps = Vec::new();
    let mut changes = Map::new();
    if after != before {
        changes = one("diff", by_lines(before, &after));
        if let Some(ending) = backup_ending(call) {
            steps = edited.backup(&ending, facts)?;
        }
        steps.push(edited.write(after.clone().into_bytes(), false));
    }
    let is_right = compile(rewrite.wanted, Flags::MULTI_LINE)?.is_match(after.as_bytes());
    let mut apply = Outcome::changed(changes, rewrite.words[usize::from(!is_right)]);
    apply.result = Some(is_right);
    let test = Outcome::would(
        one(path, "updated"),
        format!("File {path} is set to be updated"),
    );
    Ok(Work { test, apply, steps }.verdict(call.mode))
}
