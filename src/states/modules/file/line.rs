//! The state `file.line`: edits one line of a file by its content and position.
//!
//! [`line()`] is the entry; a [`LineEdit`] finds the position and changes the list of lines.

use crate::states::modules::file_change;

use super::edit::{EDIT_MESSAGES, diff_value, edit_decision, is_secret, open_edited_file};
use super::pattern::{Flags, compile, matches_line};
use super::plan::{PathOwners, parent};
use crate::host::change::{Change, CommandRun};
use crate::host::fact::Domain;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, refuse};
use crate::text::{diff, force_quote_word};

/// The operation of the argument `mode`.
enum LineMode {
    Ensure,
    Insert(Option<String>),
    Replace,
    Delete,
}

/// Decides `file.line`: inserts, replaces or deletes one line.
pub(super) fn line(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let mut edited = open_edited_file(call, facts)?;
    let owners = PathOwners::from_call(call, facts)?;
    owners.check_accounts(call.mode)?;
    let bits = call.mode("file_mode")?;
    let mut steps = Vec::new();
    let mut like = owners.with_mode(bits);
    match facts.target(&edited.path)? {
        Some(entry) => {
            let (differs, own) = owners.differences(entry, bits);
            like = own.clone();
            if !differs.is_empty() {
                steps.push(file_change::set_attributes(&edited.real, own, true));
            }
        }
        None if call.flag("create", false) && call.mode == Mode::Apply => {
            edited.bytes = Some(Vec::new());
            steps.push(file_change::write(&edited.real, Vec::new(), like.clone()));
        }
        None => {}
    }
    edited.existing_bytes()?;
    let edit = LineEdit::from_call(call)?;
    // Python reads and writes text with universal line ends: every kind becomes a newline.
    let before = edited.text()?.replace("\r\n", "\n").replace('\r', "\n");
    let after = edit.apply_to(&before)?;
    let difference = diff::unified_diff(&diff::lines(&before), &diff::lines(&after)).concat();
    if !difference.is_empty() {
        if call.flag("backup", false) {
            steps.push(backup_change(&edited.real));
        }
        steps.retain(|step| matches!(step, Change::Run(_)));
        steps.push(file_change::write_hidden(
            &edited.real,
            after,
            like,
            is_secret(call),
        ));
    }
    Ok(edit_decision(
        call,
        diff_value(call, difference),
        steps,
        EDIT_MESSAGES,
    ))
}

/// Returns the change that copies a file to a name with the current time as suffix.
fn backup_change(path: &str) -> Change {
    let text = format!(
        "cp -p -- {path} {path}.\"$(date +%Y-%m-%d-%H-%M-%S)\"",
        path = force_quote_word(path),
    );
    Change::Run(CommandRun::new(text).touching([Domain::Path(parent(path).to_owned())]))
}

/// An edit of one line, as described by the arguments of `file.line`.
struct LineEdit {
    mode: LineMode,
    content: Option<String>,
    matching: Option<String>,
    before: Option<String>,
    after: Option<String>,
    indent: bool,
}

impl LineEdit {
    fn from_call(call: &StateCall<'_>) -> Result<Self, Halt> {
        let content = call.text("content")?;
        let mode = match call
            .text("mode")?
            .map(|mode| mode.to_lowercase())
            .as_deref()
        {
            None => return refuse("Mode was not defined. How to process the file?"),
            Some("delete") => LineMode::Delete,
            Some(_) if content.is_none() => {
                return refuse("Content can only be empty if mode is ['delete']");
            }
            Some("ensure") => LineMode::Ensure,
            Some("replace") => LineMode::Replace,
            Some("insert") => LineMode::Insert(call.non_empty_text("location")?),
            Some(other) => return refuse(format!("Unknown mode: \"{other}\"")),
        };
        let (before, after) = (call.text("before")?, call.text("after")?);
        let matching = call.non_empty_text("match")?;
        let matching = match matching {
            None if before.is_none() && after.is_none() => content.clone(),
            other => other,
        };
        Ok(Self {
            mode,
            content,
            matching,
            before,
            after,
            indent: call.flag("indent", true),
        })
    }

    /// Returns the text of the file with the edit applied.
    fn apply_to(&self, before: &str) -> Result<String, Halt> {
        let mut body: Vec<String> = diff::lines(before).into_iter().map(str::to_owned).collect();
        if body.last().is_some_and(|line| line.ends_with('\n')) {
            body.push(String::new());
        }
        self.edit_lines(&mut body)?;
        for index in 0..body.len().saturating_sub(1) {
            if body[index].ends_with('\n') {
                continue;
            }
            body[index] = with_newline(&body[index]);
        }
        if body.last().is_some_and(String::is_empty) {
            body.pop();
        }
        Ok(body.concat())
    }

    fn edit_lines(&self, lines: &mut Vec<String>) -> Result<(), Halt> {
        let find = |pattern: &Option<String>| match pattern {
            Some(pattern) if !pattern.is_empty() && !lines.is_empty() => {
                matching_lines(lines, pattern)
            }
            _ => Ok(None),
        };
        let (matching, before, after) = (
            find(&self.matching)?,
            find(&self.before)?,
            find(&self.after)?,
        );
        let first = |all: &Option<Vec<usize>>| all.as_ref().and_then(|all| all.first()).copied();
        match &self.mode {
            LineMode::Delete => {
                if let Some(index) = first(&matching) {
                    let removed = lines[index].clone();
                    lines.retain(|line| *line != removed);
                }
                Ok(())
            }
            LineMode::Replace => {
                if let Some(index) = first(&matching) {
                    lines[index] = self.indent_like(&lines[index]);
                }
                Ok(())
            }
            LineMode::Insert(location) => self.insert_line(
                lines,
                location.as_deref(),
                before.as_deref(),
                after.as_deref(),
            ),
            LineMode::Ensure => self.ensure_line(lines, before.as_deref(), after.as_deref()),
        }
    }

    fn required_content(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// Returns the content with the indentation of another line.
    fn indent_like(&self, like: &str) -> String {
        if !self.indent {
            return self.required_content().to_owned();
        }
        let indent: String = like
            .chars()
            .take_while(|it| matches!(it, ' ' | '\t'))
            .collect();
        format!("{indent}{}", self.required_content().trim_start())
    }

    fn is_content(&self, line: &str) -> bool {
        line.trim_end_matches(['\r', '\n'])
            == self.required_content().trim_end_matches(['\r', '\n'])
    }

    fn insert_line(
        &self,
        lines: &mut Vec<String>,
        location: Option<&str>,
        before: Option<&[usize]>,
        after: Option<&[usize]>,
    ) -> Result<(), Halt> {
        if let Some(location) = location {
            match location {
                "end" => {
                    let line = lines.last().map_or_else(
                        || self.required_content().to_owned(),
                        |last| self.indent_like(last),
                    );
                    lines.push(line);
                }
                "start" if lines.is_empty() => lines.push(format!("{}\n", self.required_content())),
                "start" => lines.insert(0, with_newline(self.required_content())),
                _ => {}
            }
            return Ok(());
        }
        if before.is_none() && after.is_none() {
            return refuse(
                "On insert either \"location\" or \"before/after\" conditions are required.",
            );
        }
        let (before, after) = (non_empty(before), non_empty(after));
        match (before, after) {
            (Some(before), Some(after)) => {
                let last = single_match(before, "before")?;
                single_match(after, "after")?;
                lines.insert(last, self.indent_like(&lines[last]));
            }
            (None, Some(after)) => {
                let at = single_match(after, "after")?;
                if !lines.get(at + 1).is_some_and(|next| self.is_content(next)) {
                    lines.insert(at + 1, self.indent_like(&lines[at]));
                }
            }
            (Some(before), None) => {
                let at = single_match(before, "before")?;
                if !self.is_content(previous_line(lines, at)) {
                    lines.insert(at, self.indent_like(&lines[at]));
                }
            }
            (None, None) => return refuse("Neither before or after was found in file"),
        }
        Ok(())
    }

    fn ensure_line(
        &self,
        lines: &mut Vec<String>,
        before: Option<&[usize]>,
        after: Option<&[usize]>,
    ) -> Result<(), Halt> {
        match (non_empty(before), non_empty(after)) {
            (Some(before), Some(after)) => {
                let start = single_match(after, "after")?;
                let end = single_match(before, "before")?;
                if lines
                    .iter()
                    .any(|line| line.trim_start() == self.required_content())
                {
                    return Ok(());
                }
                let line = self.indent_like(&lines[start]);
                if start + 1 == end {
                    lines.insert(end, line);
                } else if start + 2 == end {
                    lines[start + 1] = line;
                } else {
                    return refuse(
                        "Found more than one line between boundaries \"before\" and \"after\".",
                    );
                }
            }
            (Some(before), None) => {
                let at = single_match(before, "before")?;
                if at == 0 || !self.is_content(&lines[at - 1]) {
                    lines.insert(at, self.indent_like(previous_line(lines, at)));
                }
            }
            (None, Some(after)) => {
                let at = single_match(after, "after")?;
                if !lines.get(at + 1).is_some_and(|next| self.is_content(next)) {
                    lines.insert(at + 1, self.indent_like(&lines[at]));
                }
            }
            (None, None) => {
                return refuse(
                    "Wrong conditions? Unable to ensure line without knowing where to put it \
                     before and/or after.",
                );
            }
        }
        Ok(())
    }
}

/// Returns the indexes of the lines that match an expression or contain it literally.
fn matching_lines(lines: &[String], pattern: &str) -> Result<Option<Vec<usize>>, Halt> {
    let regex = compile(pattern, Flags::DOT_ALL)?;
    let mut indexes = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.contains(pattern) || matches_line(&regex, line)? {
            indexes.push(index);
        }
    }
    Ok(Some(indexes))
}

fn non_empty(indexes: Option<&[usize]>) -> Option<&[usize]> {
    indexes.filter(|indexes| !indexes.is_empty())
}

fn single_match(indexes: &[usize], label: &str) -> Result<usize, Halt> {
    match indexes {
        [one] => Ok(*one),
        [] => refuse(format!(
            "Found less than expected occurrences in \"{label}\" expression"
        )),
        _ => refuse(format!(
            "Found more than expected occurrences in \"{label}\" expression"
        )),
    }
}

/// Returns the line before an index. The line before the first is the last, as with Python's index -1.
fn previous_line(lines: &[String], at: usize) -> &str {
    let at = at.checked_sub(1).unwrap_or(lines.len().saturating_sub(1));
    lines.get(at).map_or("", String::as_str)
}

/// Returns the line with exactly one newline in place of its trailing white space.
fn with_newline(line: &str) -> String {
    format!("{}\n", line.trim_end())
}
