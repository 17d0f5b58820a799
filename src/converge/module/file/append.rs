//! The states `file.append`, `file.prepend` and `file.accumulated`.

use super::edit::{Edited, open, shown};
use super::pattern::{Flags, compile};
use super::source::texts;
use super::text::{Ends, Shown, is_binary, split_lines};
use super::work::{Work, folders, is_folder, parent, put};
use crate::converge::module::command::{one, unchanged};
use crate::converge::module::step;
use crate::converge::{
    Call, Chunk, Facts, Halt, Mode, Outcome, Requisite, Target, Verdict, diff, refuse,
};
use crate::host::change::{Change, Like};
use crate::value::{Map, REDACTED, Value};

/// Decides `file.append`.
pub(super) fn append(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let prepared = match prepare(call, facts)? {
        Ready::Done(verdict) => return Ok(*verdict),
        Ready::Edit(prepared) => prepared,
    };
    let Prepared { edited, steps, .. } = &*prepared;
    let before = edited.text()?;
    let mut lines = Vec::new();
    for chunk in &prepared.texts {
        let pattern = if call.flag("ignore_whitespace", true) {
            spaced(chunk)
        } else {
            chunk.clone()
        };
        if compile(&pattern, Flags::MULTI_LINE)?.is_match(before.as_bytes()) {
            continue;
        }
        lines.extend(split_lines(chunk, Ends::Cut));
    }
    let path = &edited.path;
    let same = format!("File {path} is in correct state");
    if lines.is_empty() {
        let test = Outcome::same(same.clone());
        let apply = Outcome::same(same);
        let steps = steps.clone();
        return Ok(Work { test, apply, steps }.verdict(call.mode));
    }
    let mut after = before.to_owned();
    if !after.is_empty() && !after.ends_with('\n') {
        after.push('\n');
    }
    for line in &lines {
        after.push_str(line);
        after.push('\n');
    }
    let old = split_lines(before, Ends::Cut);
    let new = split_lines(&after, Ends::Cut);
    let changes = changes(call, before, || diff::unified(&old, &new).join("\n"));
    let count = lines.len();
    let mut all = steps.clone();
    all.push(edited.write(after.into_bytes(), shown(call) == Shown::Never));
    let test = Outcome::would(changes.clone(), format!("File {path} is set to be updated"));
    let apply = Outcome::changed(changes, format!("Appended {count} lines"));
    let steps = all;
    Ok(Work { test, apply, steps }.verdict(call.mode))
}

/// Decides `file.prepend`.
pub(super) fn prepend(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let prepared = match prepare(call, facts)? {
        Ready::Done(verdict) => return Ok(*verdict),
        Ready::Edit(prepared) => prepared,
    };
    let Prepared { edited, steps, .. } = &*prepared;
    let before = edited.text()?;
    let header = call.flag("header", false);
    let mut lines = Vec::new();
    for chunk in &prepared.texts {
        let is_there = || -> Result<bool, Halt> {
            Ok(compile(&spaced(chunk), Flags::MULTI_LINE)?.is_match(before.as_bytes()))
        };
        if !header && is_there()? {
            continue;
        }
        lines.extend(split_lines(chunk, Ends::Cut));
    }
    let path = &edited.path;
    let same = format!("File {path} is in correct state");
    let mut after = lines.join("\n");
    if !lines.is_empty() {
        after.push('\n');
    }
    after.push_str(before);
    let old = split_lines(before, Ends::Kept);
    let new = split_lines(&after, Ends::Kept);
    let changed = || changes(call, before, || diff::unified(&old, &new).concat());
    let is_headed = header && split_lines(before, Ends::Cut).starts_with(&lines);
    let mut all = steps.clone();
    let apply = if lines.is_empty() || is_headed {
        Outcome::same(same.clone())
    } else {
        all.push(edited.write(after.clone().into_bytes(), shown(call) == Shown::Never));
        Outcome::changed(changed(), format!("Prepended {} lines", lines.len()))
    };
    // A dry run does not look whether the header is there already.
    let test = if lines.is_empty() {
        Outcome::same(same)
    } else {
        Outcome::would(changed(), format!("File {path} is set to be updated"))
    };
    let steps = all;
    Ok(Work { test, apply, steps }.verdict(call.mode))
}

struct Prepared {
    edited: Edited,
    /// What makes the file if there is none.
    steps: Vec<Change>,
    texts: Vec<String>,
}

enum Ready {
    Done(Box<Verdict>),
    Edit(Box<Prepared>),
}

fn prepare(call: &Call<'_>, facts: &Facts) -> Result<Ready, Halt> {
    // What is asked twice is refused before the file is looked at.
    let several = call.texts("sources")?;
    if call.filled("source")?.is_some() && !several.is_empty() {
        return refuse("source and sources are mutually exclusive");
    }
    let edited = open(call, facts)?;
    let path = &edited.path;
    let mut steps = Vec::new();
    if edited.bytes.is_none() {
        if call.mode == Mode::Test {
            let outcome = Outcome::would(
                one("new", path.clone()),
                format!("File {path} is set to be created"),
            );
            let step = step::touch(path);
            let work = Work {
                apply: outcome.clone(),
                test: outcome,
                steps: vec![step],
            };
            return Ok(Ready::Done(Box::new(work.verdict(call.mode))));
        }
        if !is_folder(parent(path), facts)? {
            if !call.flag("makedirs", false) {
                return refuse(format!("{path}: file not found"));
            }
            steps = folders(parent(path), &Like::default(), facts)?;
        }
        steps.push(step::touch(path));
    }
    let texts = match texts(call, facts)? {
        Some(texts) => texts,
        None if call.arg("text").is_none() => {
            return refuse("No text found to append. Nothing appended");
        }
        None => call.texts("text")?,
    };
    Ok(Ready::Edit(Box::new(Prepared {
        edited,
        steps,
        texts,
    })))
}

fn changes(call: &Call<'_>, before: &str, difference: impl Fn() -> String) -> Map {
    let mut changes = Map::new();
    let said = match shown(call) {
        Shown::Never => REDACTED.to_owned(),
        _ if is_binary(before.as_bytes()) => "Replace binary file".to_owned(),
        Shown::No => "<show_changes=False>".to_owned(),
        Shown::Yes => difference(),
    };
    put(&mut changes, "diff", said);
    changes
}

/// An expression that finds a text whatever its white space is.
fn spaced(text: &str) -> String {
    let mut pattern = String::from("^");
    for line in split_lines(text, Ends::Cut) {
        let words: Vec<String> = words(line, text)
            .iter()
            .map(|it| regex::escape(it))
            .collect();
        pattern.push_str("(?:[\\s]+)?");
        pattern.push_str(&words.join("(?:[\\s]+)?"));
        pattern.push_str("(?:[\\s]+)?");
    }
    pattern.push('$');
    pattern
}

/// The words of a line; white space between quotes is part of a word. Which signs are quotes
/// depends on which of them the text has.
fn words(line: &str, text: &str) -> Vec<String> {
    let quotes: &[char] = if text.contains("'\\\"") {
        &[]
    } else if text.contains('\'') {
        &['"']
    } else if text.contains('"') {
        &['\'']
    } else {
        &['\'', '"']
    };
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    for sign in line.chars() {
        match quote {
            Some(end) => {
                word.push(sign);
                if sign == end {
                    words.push(std::mem::take(&mut word));
                    quote = None;
                }
            }
            None if matches!(sign, ' ' | '\t' | '\r' | '\n') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            None => {
                if word.is_empty() && quotes.contains(&sign) {
                    quote = Some(sign);
                }
                word.push(sign);
            }
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Decides `file.accumulated`: it changes nothing by itself.
pub(super) fn accumulated(call: &Call<'_>, _: &Facts) -> Result<Verdict, Halt> {
    let file = call.required("filename")?;
    let Some(text) = call.arg("text") else {
        return refuse("No text supplied for accumulator");
    };
    if !is_wanted(call) {
        return refuse(format!(
            "Orphaned accumulator {} in {}:{}",
            call.name, call.sls, call.id
        ));
    }
    let comment = if items_of(text).is_empty() {
        String::new()
    } else {
        format!(
            "Accumulator {} for file {file} was charged by text",
            call.name
        )
    };
    unchanged(comment)
}

/// Whether a state of files requires or watches this one.
fn is_wanted(call: &Call<'_>) -> bool {
    let Some((low, own)) = call.chunk else {
        return true;
    };
    low.chunks.iter().any(|chunk| {
        &*chunk.state == "file"
            && chunk.links.iter().any(|link| {
                matches!(link.kind, Requisite::Require | Requisite::Watch)
                    && matches!(link.target, Target::Set(set)
                        if low.sets.get(set as usize).is_some_and(|set| set.contains(&own)))
            })
    })
}

/// Texts as a list; one is a list of one.
fn items_of(value: &Value) -> Vec<Value> {
    match value.reveal() {
        Value::List(items) => items.to_vec(),
        _ => vec![value.clone()],
    }
}

/// What was accumulated for a file, by the name of the accumulator; none if nothing was. The
/// states that the caller requires or watches come first of all: they are what was charged before.
pub(super) fn accumulators(call: &Call<'_>, path: &str) -> Option<Value> {
    let (low, own) = call.chunk?;
    let mut all = Map::new();
    let is_charged = |kind| matches!(kind, Requisite::Require | Requisite::Watch);
    for chunk in low.wanted_by(own, is_charged) {
        charge(&mut all, chunk, path);
    }
    (!all.is_empty()).then(|| Value::map(all))
}

fn charge(all: &mut Map, chunk: &Chunk, path: &str) {
    let is_for = |file: &Value| file.as_str() == Some(path);
    if (&*chunk.state, &*chunk.fun) != ("file", "accumulated")
        || !chunk.args.get("filename").is_some_and(is_for)
    {
        return;
    }
    let Some(text) = chunk.args.get("text").filter(|text| !text.is_null()) else {
        return;
    };
    let mut charged = match all.get(&chunk.name).and_then(Value::as_list) {
        Some(items) => items.clone(),
        None => Vec::new(),
    };
    for text in items_of(text) {
        if !charged.contains(&text) {
            charged.push(text);
        }
    }
    all.insert(chunk.name.clone(), Value::list(charged));
}
