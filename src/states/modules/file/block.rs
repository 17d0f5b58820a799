//! The state `file.blockreplace`: manages the lines between two marker lines of a file.
//!
//! [`blockreplace`] is the entry; a [`MarkedBlock`] computes the new text. Reading, backup and writing
//! are in `edit`.

use super::append::accumulators;
use super::edit::{
    EDIT_MESSAGES, backup_ending, diff_value, edit_decision, is_secret, line_diff, open_edited_file,
};
use super::pattern::{Flags, compile, matches_line};
use super::source::source_texts;
use super::text_diff::is_binary;
use crate::states::{FactCache, Halt, StateCall, StateDecision, refuse};
use crate::value::Value;

/// The position at which to insert a block whose markers are missing.
enum MissingBlockPolicy {
    Refuse,
    Append,
    Prepend,
    InsertBefore(String),
    InsertAfter(String),
}

/// A block between two marker lines, and the policy if the markers are missing.
struct MarkedBlock {
    start: String,
    end: String,
    lines: Vec<String>,
    newline: bool,
    if_missing: MissingBlockPolicy,
}

/// Decides `file.blockreplace`: replaces the lines between two markers.
pub(super) fn blockreplace(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let texts = source_texts(call, facts)?;
    let edited = open_edited_file(call, facts)?;
    let before = edited.existing_bytes()?;
    let fail = |why: &str| -> Halt {
        Halt::Failed(format!(
            "Encountered error managing block: {why}. See the log for details."
        ))
    };
    let content = block_content(call, &edited.path, texts)?;
    if is_binary(before) {
        return Err(fail(&format!(
            "Cannot perform string replacements on a binary file: {}",
            edited.path
        )));
    }
    let newline = match call.arg("append_newline") {
        Some(value) => value.is_truthy(),
        None => !content.ends_with('\n'),
    };
    let block = MarkedBlock {
        start: call.text_or("marker_start", "#-- start managed zone --")?,
        end: call.text_or("marker_end", "#-- end managed zone --")?,
        lines: content
            .split("\r\n")
            .flat_map(|line| line.split('\n'))
            .map(str::to_owned)
            .collect(),
        newline,
        if_missing: missing_block_policy(call).map_err(|why| fail(&why))?,
    };
    let before = edited.text()?;
    let after = block.apply_to(before).map_err(|halt| match halt {
        Halt::Failed(why) => fail(&why),
        needs @ Halt::Needs(_) => needs,
    })?;
    let difference = if after == before {
        String::new()
    } else {
        line_diff(before, &after)
    };
    let mut steps = Vec::new();
    if !difference.is_empty() {
        if let Some(ending) = backup_ending(call) {
            steps = edited.backup(&ending, facts)?;
        }
        steps.push(edited.write(after.into_bytes(), is_secret(call)));
    }
    Ok(edit_decision(
        call,
        diff_value(call, difference),
        steps,
        EDIT_MESSAGES,
    ))
}

/// Returns the content of the block: `content`, then accumulated texts, then the sources.
fn block_content(
    call: &StateCall<'_>,
    path: &str,
    texts: Option<Vec<String>>,
) -> Result<String, Halt> {
    let mut content = call.text("content")?.unwrap_or_default();
    if let Some(all) = accumulators(call, path) {
        let texts = all.as_map().into_iter().flat_map(|map| map.values());
        for text in texts.flat_map(|texts| texts.as_list().cloned().unwrap_or_default()) {
            if !content.is_empty() {
                content.push('\n');
            }
            content.push_str(&text.reveal().to_string());
        }
    }
    content.extend(texts.into_iter().flatten());
    Ok(content)
}

fn missing_block_policy(call: &StateCall<'_>) -> Result<MissingBlockPolicy, String> {
    let text = |key: &str| {
        let value = call.arg(key).filter(|value| value.is_truthy());
        value.map(|value| match value {
            Value::Str(text) => Ok(text.to_string()),
            _ => Err(format!("RegEx expected in {key} parameter.")),
        })
    };
    let mut all = Vec::new();
    if call.flag("append_if_not_found", false) {
        all.push(MissingBlockPolicy::Append);
    }
    if call.flag("prepend_if_not_found", false) {
        all.push(MissingBlockPolicy::Prepend);
    }
    if let Some(pattern) = text("insert_before_match") {
        all.push(MissingBlockPolicy::InsertBefore(pattern?));
    }
    if let Some(pattern) = text("insert_after_match") {
        all.push(MissingBlockPolicy::InsertAfter(pattern?));
    }
    if all.len() > 1 {
        return Err(
            "Only one of append_if_not_found, prepend_if_not_found, insert_before_match, and \
             insert_after_match is permitted"
                .to_owned(),
        );
    }
    Ok(all.pop().unwrap_or(MissingBlockPolicy::Refuse))
}

impl MarkedBlock {
    /// Returns the text of the file with the block replaced or inserted.
    fn apply_to(&self, before: &str) -> Result<String, Halt> {
        let lines: Vec<&str> = before.split_inclusive('\n').collect();
        let ending = match lines.first() {
            Some(line) if line.ends_with("\r\n") => "\r\n",
            _ => "\n",
        };
        let mut after: Vec<String> = Vec::new();
        let (mut within, mut found) = (false, false);
        for line in &lines {
            if line.contains(&self.start) {
                within = true;
            } else if within {
                if let Some(at) = line.find(&self.end) {
                    (within, found) = (false, true);
                    self.push_content(&mut after, &line[at..], ending);
                }
                continue;
            }
            after.push((*line).to_owned());
        }
        if within {
            return refuse("Unterminated marked block. End of file reached before marker_end.");
        }
        if !found {
            self.insert_missing(&lines, &mut after, ending)?;
        }
        Ok(after.concat())
    }

    /// Appends the content of the block and the line of the end marker.
    fn push_content(&self, lines: &mut Vec<String>, end: &str, ending: &str) {
        let end = format!("{}{ending}", end.trim_end_matches(['\r', '\n']));
        let last = self.lines.len().saturating_sub(1);
        for (index, line) in self.lines.iter().enumerate() {
            if index < last || self.newline {
                lines.push(format!("{line}{ending}"));
            }
            if index == last {
                lines.push(if self.newline {
                    end.clone()
                } else {
                    format!("{line}{end}")
                });
            }
        }
    }

    fn marked_lines(&self, ending: &str) -> Vec<String> {
        let mut lines = vec![format!("{}{ending}", self.start)];
        self.push_content(&mut lines, &self.end, ending);
        lines
    }

    /// Inserts the block into a file without markers, by the policy of the state.
    fn insert_missing(
        &self,
        lines: &[&str],
        after: &mut Vec<String>,
        ending: &str,
    ) -> Result<(), Halt> {
        let absent = "Cannot edit marked block. Markers were not found in file.";
        let find = |pattern: &str| -> Result<usize, Halt> {
            let regex = compile(pattern, Flags::NONE)?;
            for (at, line) in lines.iter().enumerate() {
                if matches_line(&regex, line)? {
                    return Ok(at);
                }
            }
            Err(Halt::Failed(absent.to_owned()))
        };
        let at = match &self.if_missing {
            MissingBlockPolicy::Refuse => return refuse(absent),
            MissingBlockPolicy::Prepend => 0,
            MissingBlockPolicy::Append => {
                if let Some(last) = after.last_mut()
                    && !last.ends_with(ending)
                {
                    last.push_str(ending);
                }
                after.len()
            }
            MissingBlockPolicy::InsertBefore(pattern) => find(pattern)?,
            MissingBlockPolicy::InsertAfter(pattern) => find(pattern)? + 1,
        };
        after.splice(at..at, self.marked_lines(ending));
        Ok(())
    }
}
