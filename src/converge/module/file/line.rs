//! `file.line`: one line of a file, by its place among others.

use crate::converge::module::step;
use regex::bytes::Regex;

use super::edit::{WORDS, is_secret, open, told, verdict};
use super::pattern::{Flags, compile, is_found};
use super::work::{Owners, parent};
use crate::converge::{Call, Facts, Halt, Mode, Verdict, diff, refuse};
use crate::host::change::{Change, Run};
use crate::host::fact::Domain;
use crate::text::quoted_always;

/// What is done with the line.
enum How {
    Ensure,
    Insert(Option<String>),
    Replace,
    Delete,
}

/// Decides `file.line`.
pub(super) fn line(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let mut edited = open(call, facts)?;
    let owners = Owners::of(call, facts)?;
    owners.check(call.mode)?;
    let bits = call.mode("file_mode")?;
    let mut steps = Vec::new();
    let mut like = owners.like(bits);
    match facts.target(&edited.path)? {
        Some(entry) => {
            let (differs, own) = owners.differ(entry, bits);
            like = own.clone();
            if !differs.is_empty() {
                steps.push(step::set(&edited.real, own, true));
            }
        }
        None if call.flag("create", false) && call.mode == Mode::Apply => {
            edited.bytes = Some(Vec::new());
            steps.push(step::write(&edited.real, Vec::new(), like.clone()));
        }
        None => {}
    }
    edited.there()?;
    let asked = Asked::of(call)?;
    // Lines end in one way, as Python reads and writes them.
    let before = edited.text()?.replace("\r\n", "\n").replace('\r', "\n");
    let after = asked.placed(&before)?;
    let difference = diff::unified(&diff::lines(&before), &diff::lines(&after)).concat();
    if !difference.is_empty() {
        if call.flag("backup", false) {
            steps.push(backup(&edited.real));
        }
        steps.retain(|step| matches!(step, Change::Run(_)));
        steps.push(step::write_hidden(
            &edited.real,
            after,
            like,
            is_secret(call),
        ));
    }
    Ok(verdict(call, told(call, difference), steps, WORDS))
}

/// Keeps a copy beside a file, with the time in its name.
fn backup(path: &str) -> Change {
    let text = format!(
        "cp -p -- {path} {path}.\"$(date +%Y-%m-%d-%H-%M-%S)\"",
        path = quoted_always(path),
    );
    Change::Run(Run::new(text).touching([Domain::Path(parent(path).to_owned())]))
}

struct Asked {
    how: How,
    content: Option<String>,
    matching: Option<String>,
    before: Option<String>,
    after: Option<String>,
    indent: bool,
}

impl Asked {
    fn of(call: &Call<'_>) -> Result<Self, Halt> {
        let content = call.text("content")?;
        let how = match call
            .text("mode")?
            .map(|mode| mode.to_lowercase())
            .as_deref()
        {
            None => return refuse("Mode was not defined. How to process the file?"),
            Some("delete") => How::Delete,
            Some(_) if content.is_none() => {
                return refuse("Content can only be empty if mode is ['delete']");
            }
            Some("ensure") => How::Ensure,
            Some("replace") => How::Replace,
            Some("insert") => How::Insert(call.filled("location")?),
            Some(other) => return refuse(format!("Unknown mode: \"{other}\"")),
        };
        let (before, after) = (call.text("before")?, call.text("after")?);
        let matching = call.filled("match")?;
        let matching = match matching {
            None if before.is_none() && after.is_none() => content.clone(),
            other => other,
        };
        Ok(Self {
            how,
            content,
            matching,
            before,
            after,
            indent: call.flag("indent", true),
        })
    }

    /// The text with the line where it belongs.
    fn placed(&self, before: &str) -> Result<String, Halt> {
        let mut body: Vec<String> = diff::lines(before).into_iter().map(str::to_owned).collect();
        if body.last().is_some_and(|line| line.ends_with('\n')) {
            body.push(String::new());
        }
        self.apply(&mut body)?;
        for index in 0..body.len().saturating_sub(1) {
            if body[index].ends_with('\n') {
                continue;
            }
            body[index] = ended(&body[index]);
        }
        if body.last().is_some_and(String::is_empty) {
            body.pop();
        }
        Ok(body.concat())
    }

    fn apply(&self, lines: &mut Vec<String>) -> Result<(), Halt> {
        let find = |pattern: &Option<String>| match pattern {
            Some(pattern) if !pattern.is_empty() && !lines.is_empty() => found(lines, pattern),
            _ => Ok(None),
        };
        let (matching, before, after) = (
            find(&self.matching)?,
            find(&self.before)?,
            find(&self.after)?,
        );
        let first = |all: &Option<Vec<usize>>| all.as_ref().and_then(|all| all.first()).copied();
        match &self.how {
            How::Delete => {
                if let Some(index) = first(&matching) {
                    let gone = lines[index].clone();
                    lines.retain(|line| *line != gone);
                }
                Ok(())
            }
            How::Replace => {
                if let Some(index) = first(&matching) {
                    lines[index] = self.indented(&lines[index]);
                }
                Ok(())
            }
            How::Insert(location) => self.insert(
                lines,
                location.as_deref(),
                before.as_deref(),
                after.as_deref(),
            ),
            How::Ensure => self.ensure(lines, before.as_deref(), after.as_deref()),
        }
    }

    fn content(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// The content, indented as another line.
    fn indented(&self, like: &str) -> String {
        if !self.indent {
            return self.content().to_owned();
        }
        let indent: String = like
            .chars()
            .take_while(|it| matches!(it, ' ' | '\t'))
            .collect();
        format!("{indent}{}", self.content().trim_start())
    }

    fn is_content(&self, line: &str) -> bool {
        line.trim_end_matches(['\r', '\n']) == self.content().trim_end_matches(['\r', '\n'])
    }

    fn insert(
        &self,
        lines: &mut Vec<String>,
        location: Option<&str>,
        before: Option<&[usize]>,
        after: Option<&[usize]>,
    ) -> Result<(), Halt> {
        if let Some(location) = location {
            match location {
                "end" => {
                    let line = lines
                        .last()
                        .map_or_else(|| self.content().to_owned(), |last| self.indented(last));
                    lines.push(line);
                }
                "start" if lines.is_empty() => lines.push(format!("{}\n", self.content())),
                "start" => lines.insert(0, ended(self.content())),
                _ => {}
            }
            return Ok(());
        }
        if before.is_none() && after.is_none() {
            return refuse(
                "On insert either \"location\" or \"before/after\" conditions are required.",
            );
        }
        let (before, after) = (some(before), some(after));
        match (before, after) {
            (Some(before), Some(after)) => {
                let last = once(before, "before")?;
                once(after, "after")?;
                lines.insert(last, self.indented(&lines[last]));
            }
            (None, Some(after)) => {
                let at = once(after, "after")?;
                if !lines.get(at + 1).is_some_and(|next| self.is_content(next)) {
                    lines.insert(at + 1, self.indented(&lines[at]));
                }
            }
            (Some(before), None) => {
                let at = once(before, "before")?;
                if !self.is_content(previous(lines, at)) {
                    lines.insert(at, self.indented(&lines[at]));
                }
            }
            (None, None) => return refuse("Neither before or after was found in file"),
        }
        Ok(())
    }

    fn ensure(
        &self,
        lines: &mut Vec<String>,
        before: Option<&[usize]>,
        after: Option<&[usize]>,
    ) -> Result<(), Halt> {
        match (some(before), some(after)) {
            (Some(before), Some(after)) => {
                let start = once(after, "after")?;
                let end = once(before, "before")?;
                if lines.iter().any(|line| line.trim_start() == self.content()) {
                    return Ok(());
                }
                let line = self.indented(&lines[start]);
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
                let at = once(before, "before")?;
                if at == 0 || !self.is_content(&lines[at - 1]) {
                    lines.insert(at, self.indented(previous(lines, at)));
                }
            }
            (None, Some(after)) => {
                let at = once(after, "after")?;
                if !lines.get(at + 1).is_some_and(|next| self.is_content(next)) {
                    lines.insert(at + 1, self.indented(&lines[at]));
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

/// The places of the lines that an expression finds, or that have its text.
fn found(lines: &[String], pattern: &str) -> Result<Option<Vec<usize>>, Halt> {
    let regex: Regex = compile(pattern, Flags::DOT_ALL)?;
    let is_one = |line: &str| is_found(&regex, line) || line.contains(pattern);
    let places = lines.iter().enumerate().filter(|(_, line)| is_one(line));
    Ok(Some(places.map(|(place, _)| place).collect()))
}

fn some(places: Option<&[usize]>) -> Option<&[usize]> {
    places.filter(|places| !places.is_empty())
}

fn once(places: &[usize], what: &str) -> Result<usize, Halt> {
    match places {
        [one] => Ok(*one),
        [] => refuse(format!(
            "Found less than expected occurrences in \"{what}\" expression"
        )),
        _ => refuse(format!(
            "Found more than expected occurrences in \"{what}\" expression"
        )),
    }
}

/// The line before a place; before the first, the last.
fn previous(lines: &[String], at: usize) -> &str {
    let at = at.checked_sub(1).unwrap_or(lines.len().saturating_sub(1));
    lines.get(at).map_or("", String::as_str)
}

/// A line that ends.
fn ended(line: &str) -> String {
    format!("{}\n", line.trim_end())
}
