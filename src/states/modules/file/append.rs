//! The states `file.append`, `file.prepend` and `file.accumulated`.
//!
//! An accumulator changes nothing itself: [`accumulators`] collects the texts for the state that writes
//! the file.

use super::edit::{EditedFile, diff_visibility, open_edited_file};
use super::pattern::{Flags, compile};
use super::plan::{FilePlan, is_folder, missing_folder_steps, parent, put_text};
use super::source::source_texts;
use super::text_diff::{DiffVisibility, LineEnds, is_binary, split_lines};
use crate::host::change::{Change, ModeAndOwner};
use crate::states::modules::decision::{single_change, unchanged};
use crate::states::modules::file_change;
use crate::states::{
    Chunk, FactCache, Halt, LinkTarget, Mode, Requisite, StateCall, StateDecision, StateOutcome,
    refuse,
};
use crate::text::diff;
use crate::value::{Map, REDACTED, Value};

/// Decides `file.append`: adds the texts that the file does not contain yet.
pub(super) fn append(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let prepared = match prepare_edit(call, facts)? {
        EditDecision::Done(verdict) => return Ok(*verdict),
        EditDecision::Edit(prepared) => prepared,
    };
    let PendingEdit { edited, steps, .. } = &*prepared;
    let before = edited.text()?;
    let mut lines = Vec::new();
    for chunk in &prepared.texts {
        let pattern = if call.flag("ignore_whitespace", true) {
            whitespace_insensitive_pattern(chunk)
        } else {
            chunk.clone()
        };
        if compile(&pattern, Flags::MULTI_LINE)?.is_match(before.as_bytes())? {
            continue;
        }
        lines.extend(split_lines(chunk, LineEnds::Strip));
    }
    let path = &edited.path;
    let same = format!("File {path} is in correct state");
    if lines.is_empty() {
        let test = StateOutcome::unchanged(same.clone());
        let apply = StateOutcome::unchanged(same);
        let steps = steps.clone();
        return Ok(FilePlan { test, apply, steps }.into_decision(call.mode));
    }
    let mut after = before.to_owned();
    if !after.is_empty() && !after.ends_with('\n') {
        after.push('\n');
    }
    for line in &lines {
        after.push_str(line);
        after.push('\n');
    }
    let old = split_lines(before, LineEnds::Strip);
    let new = split_lines(&after, LineEnds::Strip);
    let changes = diff_changes(call, before, || diff::unified_diff(&old, &new).join("\n"));
    let count = lines.len();
    let mut all = steps.clone();
    all.push(edited.write(
        after.into_bytes(),
        diff_visibility(call) == DiffVisibility::Secret,
    ));
    let test =
        StateOutcome::would_change(changes.clone(), format!("File {path} is set to be updated"));
    let apply = StateOutcome::changed(changes, format!("Appended {count} lines"));
    let steps = all;
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}

/// Decides `file.prepend`: puts the texts that are missing before the first line.
pub(super) fn prepend(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let prepared = match prepare_edit(call, facts)? {
        EditDecision::Done(verdict) => return Ok(*verdict),
        EditDecision::Edit(prepared) => prepared,
    };
    let PendingEdit { edited, steps, .. } = &*prepared;
    let before = edited.text()?;
    let header = call.flag("header", false);
    let mut lines = Vec::new();
    for chunk in &prepared.texts {
        let is_there = || -> Result<bool, Halt> {
            compile(&whitespace_insensitive_pattern(chunk), Flags::MULTI_LINE)?
                .is_match(before.as_bytes())
        };
        if !header && is_there()? {
            continue;
        }
        lines.extend(split_lines(chunk, LineEnds::Strip));
    }
    let path = &edited.path;
    let same = format!("File {path} is in correct state");
    let mut after = lines.join("\n");
    if !lines.is_empty() {
        after.push('\n');
    }
    after.push_str(before);
    let old = split_lines(before, LineEnds::Keep);
    let new = split_lines(&after, LineEnds::Keep);
    let changed = || diff_changes(call, before, || diff::unified_diff(&old, &new).concat());
    let is_headed = header && split_lines(before, LineEnds::Strip).starts_with(&lines);
    let mut all = steps.clone();
    let apply = if lines.is_empty() || is_headed {
        StateOutcome::unchanged(same.clone())
    } else {
        all.push(edited.write(
            after.clone().into_bytes(),
            diff_visibility(call) == DiffVisibility::Secret,
        ));
        StateOutcome::changed(changed(), format!("Prepended {} lines", lines.len()))
    };
    // As in Salt, a dry run does not check whether the header already exists.
    let test = if lines.is_empty() {
        StateOutcome::unchanged(same)
    } else {
        StateOutcome::would_change(changed(), format!("File {path} is set to be updated"))
    };
    let steps = all;
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}

/// An edit whose file and texts have been read.
struct PendingEdit {
    edited: EditedFile,
    /// The changes that create the file and its parent folders if it does not exist.
    steps: Vec<Change>,
    texts: Vec<String>,
}

/// The result of preparing an edit: a final decision, or the edit to make.
enum EditDecision {
    Done(Box<StateDecision>),
    Edit(Box<PendingEdit>),
}

fn prepare_edit(call: &StateCall<'_>, facts: &FactCache) -> Result<EditDecision, Halt> {
    // Contradicting arguments are refused before the file is read.
    let several = call.texts("sources")?;
    if call.non_empty_text("source")?.is_some() && !several.is_empty() {
        return refuse("source and sources are mutually exclusive");
    }
    let edited = open_edited_file(call, facts)?;
    let path = &edited.path;
    let mut steps = Vec::new();
    if edited.bytes.is_none() {
        if call.mode == Mode::Test {
            let outcome = StateOutcome::would_change(
                single_change("new", path.clone()),
                format!("File {path} is set to be created"),
            );
            let step = file_change::touch(path);
            let work = FilePlan {
                apply: outcome.clone(),
                test: outcome,
                steps: vec![step],
            };
            return Ok(EditDecision::Done(Box::new(work.into_decision(call.mode))));
        }
        if !is_folder(parent(path), facts)? {
            if !call.flag("makedirs", false) {
                return refuse(format!("{path}: file not found"));
            }
            steps = missing_folder_steps(parent(path), &ModeAndOwner::default(), facts)?;
        }
        steps.push(file_change::touch(path));
    }
    let texts = match source_texts(call, facts)? {
        Some(texts) => texts,
        None if call.arg("text").is_none() => {
            return refuse("No text found to append. Nothing appended");
        }
        None => call.texts("text")?,
    };
    Ok(EditDecision::Edit(Box::new(PendingEdit {
        edited,
        steps,
        texts,
    })))
}

fn diff_changes(call: &StateCall<'_>, before: &str, difference: impl Fn() -> String) -> Map {
    let mut changes = Map::new();
    let text = match diff_visibility(call) {
        DiffVisibility::Secret => REDACTED.to_owned(),
        _ if is_binary(before.as_bytes()) => "Replace binary file".to_owned(),
        DiffVisibility::Suppressed => "<show_changes=False>".to_owned(),
        DiffVisibility::Visible => difference(),
    };
    put_text(&mut changes, "diff", text);
    changes
}

/// Returns a regular expression that finds a text regardless of its white space.
fn whitespace_insensitive_pattern(text: &str) -> String {
    let mut pattern = String::from("^");
    for line in split_lines(text, LineEnds::Strip) {
        let words: Vec<String> = split_words(line, text)
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

/// Splits a line into words. White space between quotes belongs to the word.
///
/// The characters that count as quotes depend on those that the whole text contains.
fn split_words(line: &str, text: &str) -> Vec<String> {
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

/// Decides `file.accumulated`. The state itself changes nothing.
pub(super) fn accumulated(call: &StateCall<'_>, _: &FactCache) -> Result<StateDecision, Halt> {
    let file = call.required("filename")?;
    let Some(text) = call.arg("text") else {
        return refuse("No text supplied for accumulator");
    };
    if !has_dependent_file_state(call) {
        return refuse(format!(
            "Orphaned accumulator {} in {}:{}",
            call.name, call.sls, call.id
        ));
    }
    let charged = earlier_texts(call, &file);
    let comment = if to_items(text).iter().all(|text| charged.contains(text)) {
        String::new()
    } else {
        format!(
            "Accumulator {} for file {file} was charged by text",
            call.name
        )
    };
    unchanged(comment)
}

/// Returns the texts that states before this one add to the same accumulator.
fn earlier_texts(call: &StateCall<'_>, file: &str) -> Vec<Value> {
    let Some((low, own)) = call.chunk else {
        return Vec::new();
    };
    let before = low.order.iter().take_while(|index| **index != own);
    let chunks = before.filter_map(|index| low.chunks.get(*index as usize));
    let mut all = Map::new();
    for chunk in chunks.filter(|chunk| &*chunk.name == call.name) {
        collect_accumulated(&mut all, chunk, file);
    }
    let texts = all.get(call.name).and_then(Value::as_list);
    texts.cloned().unwrap_or_default()
}

/// Whether a state of the module `file` requires or watches this state.
fn has_dependent_file_state(call: &StateCall<'_>) -> bool {
    let Some((low, own)) = call.chunk else {
        return true;
    };
    low.chunks.iter().any(|chunk| {
        &*chunk.state == "file"
            && chunk.links.iter().any(|link| {
                matches!(link.kind, Requisite::Require | Requisite::Watch)
                    && matches!(link.target, LinkTarget::Set(set)
                        if low.sets.get(set as usize).is_some_and(|set| set.contains(&own)))
            })
    })
}

/// Returns the items of a list; any other value is a list of one.
fn to_items(value: &Value) -> Vec<Value> {
    match value.reveal() {
        Value::List(items) => items.to_vec(),
        _ => vec![value.clone()],
    }
}

/// Returns the texts accumulated for a file, keyed by accumulator name; None without any.
///
/// Reads the accumulators that the calling state requires or watches: the order of states puts them
/// before it.
pub(super) fn accumulators(call: &StateCall<'_>, path: &str) -> Option<Value> {
    let (low, own) = call.chunk?;
    let mut all = Map::new();
    let is_charged = |kind| matches!(kind, Requisite::Require | Requisite::Watch);
    for chunk in low.linked_chunks(own, is_charged) {
        collect_accumulated(&mut all, chunk, path);
    }
    (!all.is_empty()).then(|| Value::map(all))
}

fn collect_accumulated(all: &mut Map, chunk: &Chunk, path: &str) {
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
    for text in to_items(text) {
        if !charged.contains(&text) {
            charged.push(text);
        }
    }
    all.insert(chunk.name.clone(), Value::list(charged));
}
