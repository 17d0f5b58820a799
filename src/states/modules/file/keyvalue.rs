//! The state `file.keyvalue`: sets the values of keys in a file with one `key=value` pair per line.
//!
//! [`keyvalue`] is the entry; a [`KeyValueEditor`] goes through the lines and collects the difference.

use super::edit::{diff_visibility, is_secret, open_edited_file};
use super::plan::FilePlan;
use super::text_diff::DiffVisibility;
use crate::states::modules::decision::{single_change, unchanged};
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::value::{Map, REDACTED, Value};

/// The desired pairs, the options, and the lines edited so far.
struct KeyValueEditor {
    pairs: Vec<KeyValue>,
    separator: String,
    uncomment: Option<String>,
    key_case: bool,
    value_case: bool,
    prune: bool,
    diff: Vec<String>,
    content: Vec<String>,
    dropped: Vec<String>,
    changes: usize,
}

/// A desired pair, and how many of its lines are still to edit.
struct KeyValue {
    key: String,
    value: Value,
    /// The number of matching lines still to edit; negative means no limit.
    remaining: i64,
}

impl KeyValue {
    fn text(&self) -> String {
        self.value.reveal().to_string()
    }
}

/// Decides `file.keyvalue`: sets values of keys, one per line.
pub(super) fn keyvalue(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let pairs = parse_pairs(call)?;
    let edited = open_edited_file(call, facts)?;
    let path = &edited.path;
    let mut append = call.flag("append_if_not_found", false);
    if edited.bytes.is_none() {
        if !call.flag("create_if_missing", false) {
            let comment = format!("unable to open {path}");
            return Ok(StateDecision::Done(
                if call.flag("ignore_if_missing", false) {
                    StateOutcome::unchanged(comment)
                } else {
                    StateOutcome::failed(comment)
                },
            ));
        }
        append = true;
    }
    let mut editor = KeyValueEditor {
        pairs,
        separator: call.text_or("separator", "=")?,
        uncomment: call.text("uncomment")?,
        key_case: !call.flag("key_ignore_case", false),
        value_case: !call.flag("value_ignore_case", false),
        prune: call.flag("prune", false),
        diff: Vec::new(),
        content: Vec::new(),
        dropped: Vec::new(),
        changes: 0,
    };
    let before = edited.text()?.replace("\r\n", "\n").replace('\r', "\n");
    for line in before.split_inclusive('\n') {
        editor.edit_line(line);
    }
    if append {
        editor.append_missing();
    } else if call.flag("prepend_if_not_found", false) {
        editor.prepend_missing();
    }
    let dropped = editor.dropped.len();
    for line in &editor.dropped {
        let at = editor.diff.len().min(1);
        editor.diff.insert(at, format!("- {line}"));
    }
    let changes = editor.changes;
    if changes == 0 && dropped == 0 {
        return unchanged("");
    }
    let step = edited.write(editor.content.concat().into_bytes(), is_secret(call));
    let (test, apply) = edit_outcomes(call, path, &editor.diff, changes, dropped);
    if call.mode == Mode::Test && test.result.is_some() {
        return Ok(StateDecision::Done(test));
    }
    let steps = vec![step];
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}

fn edit_outcomes(
    call: &StateCall<'_>,
    path: &str,
    diff: &[String],
    changes: usize,
    dropped: usize,
) -> (StateOutcome, StateOutcome) {
    let mut comment =
        format!("File {path} is set to be changed ({changes} lines modified, {dropped} deleted)");
    let shown = match diff_visibility(call) {
        DiffVisibility::Visible => {
            comment.push_str("\nPredicted diff:\n\r\t\t");
            comment.push_str(&diff.join("\r\t\t"));
            single_change("diff", diff.concat())
        }
        DiffVisibility::Suppressed => Map::new(),
        DiffVisibility::Secret => single_change("diff", REDACTED),
    };
    (
        StateOutcome::would_change(shown.clone(), comment),
        StateOutcome::changed(shown, format!("Changed {changes}, deleted {dropped} lines")),
    )
}

fn parse_pairs(call: &StateCall<'_>) -> Result<Vec<KeyValue>, Halt> {
    let count = call.int("count")?.unwrap_or(1);
    let key_value = |key: String, value: &Value| KeyValue {
        key,
        value: value.clone(),
        remaining: count,
    };
    let many = call.arg("key_values").filter(|it| it.is_truthy());
    if let (Some(key), Some(value)) = (call.text("key")?, call.arg("value")) {
        if many.is_some_and(|it| it.as_map().is_some()) {
            return refuse("file.keyvalue can not combine key_values with key and value");
        }
        return Ok(vec![key_value(key, value)]);
    }
    match many.map(Value::as_map) {
        Some(Some(map)) => Ok(map
            .iter()
            .map(|(key, value)| key_value(key.to_string(), value))
            .collect()),
        Some(None) => {
            refuse("file.keyvalue key and value not supplied and key_values is not a dictionary")
        }
        None => refuse("file.keyvalue key and value not supplied and key_values is empty"),
    }
}

/// Returns a text in the form used for comparison: lower case if case does not matter.
fn fold_case(text: &str, matters: bool) -> String {
    if matters {
        text.to_owned()
    } else {
        text.to_lowercase()
    }
}

impl KeyValueEditor {
    /// Returns a line without the leading comment signs or, if no signs are given, without leading white
    /// space.
    fn uncommented<'a>(&self, line: &'a str) -> &'a str {
        match &self.uncomment {
            Some(signs) => line.trim_start_matches(|sign| signs.contains(sign)),
            None => line.trim_start(),
        }
    }

    fn edit_line(&mut self, line: &str) {
        let bare = self.uncommented(line);
        let uncommented = bare.len() < line.len();
        let working = if uncommented { bare } else { line };
        let (key, value) = match working.split_once(&*self.separator) {
            Some((key, value)) => (key, Some(value)),
            None => (working, None),
        };
        let test = fold_case(bare, self.key_case);
        let starts =
            |key_value: &KeyValue| test.starts_with(&fold_case(&key_value.key, self.key_case));
        if self.prune && !self.pairs.iter().any(starts) {
            self.dropped.push(line.to_owned());
            return;
        }
        let mut line = line.to_owned();
        for key_value in &mut self.pairs {
            let (Some(value), desired) = (value, fold_case(&key_value.key, self.key_case)) else {
                continue;
            };
            if !test.starts_with(&desired) || fold_case(key, self.key_case) != desired {
                continue;
            }
            let is = fold_case(value.trim(), self.value_case);
            let mut matches = is == fold_case(key_value.text().trim(), self.value_case);
            let mut needed = false;
            if uncommented {
                if key_value.remaining > 0 {
                    needed = true;
                } else {
                    matches = true;
                }
            } else if key_value.remaining == 0 {
                needed = true;
            }
            if !matches || needed {
                self.diff.push(format!("- {line}"));
                line.clear();
                if key_value.remaining != 0 {
                    line = format!("{key}{}{}\n", self.separator, key_value.text());
                    self.diff.push(added_line(key_value, &line));
                }
                self.changes += 1;
            }
            if key_value.remaining > 0 {
                key_value.remaining -= 1;
            }
        }
        self.content.push(line);
    }

    fn missing_lines(&self) -> Vec<String> {
        let remaining = self
            .pairs
            .iter()
            .filter(|key_value| key_value.remaining > 0);
        remaining
            .map(|key_value| format!("{}{}{}\n", key_value.key, self.separator, key_value.text()))
            .collect()
    }

    fn append_missing(&mut self) {
        let lines = self.missing_lines();
        if lines.is_empty() {
            return;
        }
        self.diff.push("- <EOF>\n".to_owned());
        for line in lines {
            self.diff.push(format!("+ {line}"));
            self.content.push(line);
            self.changes += 1;
        }
        self.diff.push("+ <EOF>\n".to_owned());
    }

    fn prepend_missing(&mut self) {
        for (index, line) in self.missing_lines().into_iter().enumerate() {
            if index == 0 {
                self.diff.insert(0, "  <SOF>\n".to_owned());
            }
            self.diff.insert(1, format!("+ {line}"));
            self.content.insert(0, line);
            self.changes += 1;
        }
    }
}

/// Returns the diff line of a written pair. As in Salt, the type of a value that is not text is named.
fn added_line(key_value: &KeyValue, line: &str) -> String {
    let kind = match key_value.value.reveal() {
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Big(_) => "int",
        Value::Float(_) => "float",
        Value::List(_) => "list",
        Value::Map(_) => "dict",
        _ => return format!("+ {line}"),
    };
    format!("+ {} (from {kind} type)\n", line.trim_end())
}
