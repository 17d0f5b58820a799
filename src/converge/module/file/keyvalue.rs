//! `file.keyvalue`: values of keys, a line each.

use super::edit::{is_secret, open, shown};
use super::text::Shown;
use super::work::Work;
use crate::converge::module::command::{one, unchanged};
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict, refuse};
use crate::value::{Map, REDACTED, Value};

/// What is asked, and what becomes of the lines.
struct Editor {
    pairs: Vec<Pair>,
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

struct Pair {
    key: String,
    value: Value,
    /// How many more lines of it are seen to; below 0, all.
    left: i64,
}

impl Pair {
    fn text(&self) -> String {
        self.value.reveal().to_string()
    }
}

/// Decides `file.keyvalue`.
pub(super) fn keyvalue(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let pairs = pairs(call)?;
    let edited = open(call, facts)?;
    let path = &edited.path;
    let mut append = call.flag("append_if_not_found", false);
    if edited.bytes.is_none() {
        if !call.flag("create_if_missing", false) {
            let comment = format!("unable to open {path}");
            return Ok(Verdict::Done(if call.flag("ignore_if_missing", false) {
                Outcome::same(comment)
            } else {
                Outcome::failed(comment)
            }));
        }
        append = true;
    }
    let mut editor = Editor {
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
        editor.line(line);
    }
    if append {
        editor.append();
    } else if call.flag("prepend_if_not_found", false) {
        editor.prepend();
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
    let (test, apply) = said(call, path, &editor.diff, changes, dropped);
    if call.mode == Mode::Test && test.result.is_some() {
        return Ok(Verdict::Done(test));
    }
    let steps = vec![step];
    Ok(Work { test, apply, steps }.verdict(call.mode))
}

fn said(
    call: &Call<'_>,
    path: &str,
    diff: &[String],
    changes: usize,
    dropped: usize,
) -> (Outcome, Outcome) {
    let mut comment =
        format!("File {path} is set to be changed ({changes} lines modified, {dropped} deleted)");
    let shown = match shown(call) {
        Shown::Yes => {
            comment.push_str("\nPredicted diff:\n\r\t\t");
            comment.push_str(&diff.join("\r\t\t"));
            one("diff", diff.concat())
        }
        Shown::No => Map::new(),
        Shown::Never => one("diff", REDACTED),
    };
    (
        Outcome::would(shown.clone(), comment),
        Outcome::changed(shown, format!("Changed {changes}, deleted {dropped} lines")),
    )
}

fn pairs(call: &Call<'_>) -> Result<Vec<Pair>, Halt> {
    let count = call.int("count")?.unwrap_or(1);
    let pair = |key: String, value: &Value| Pair {
        key,
        value: value.clone(),
        left: count,
    };
    let many = call.arg("key_values").filter(|it| it.is_truthy());
    if let (Some(key), Some(value)) = (call.text("key")?, call.arg("value")) {
        if many.is_some_and(|it| it.as_map().is_some()) {
            return refuse("file.keyvalue can not combine key_values with key and value");
        }
        return Ok(vec![pair(key, value)]);
    }
    match many.map(Value::as_map) {
        Some(Some(map)) => Ok(map
            .iter()
            .map(|(key, value)| pair(key.to_string(), value))
            .collect()),
        Some(None) => {
            refuse("file.keyvalue key and value not supplied and key_values is not a dictionary")
        }
        None => refuse("file.keyvalue key and value not supplied and key_values is empty"),
    }
}

/// A text in the case that it is compared in.
fn cased(text: &str, matters: bool) -> String {
    if matters {
        text.to_owned()
    } else {
        text.to_lowercase()
    }
}

impl Editor {
    /// A line without the signs of a comment in front.
    fn bare<'a>(&self, line: &'a str) -> &'a str {
        match &self.uncomment {
            Some(signs) => line.trim_start_matches(|sign| signs.contains(sign)),
            None => line.trim_start(),
        }
    }

    fn line(&mut self, line: &str) {
        let bare = self.bare(line);
        let uncommented = bare.len() < line.len();
        let working = if uncommented { bare } else { line };
        let (key, value) = match working.split_once(&*self.separator) {
            Some((key, value)) => (key, Some(value)),
            None => (working, None),
        };
        let test = cased(bare, self.key_case);
        let starts = |pair: &Pair| test.starts_with(&cased(&pair.key, self.key_case));
        if self.prune && !self.pairs.iter().any(starts) {
            self.dropped.push(line.to_owned());
            return;
        }
        let mut line = line.to_owned();
        for pair in &mut self.pairs {
            let (Some(value), wanted) = (value, cased(&pair.key, self.key_case)) else {
                continue;
            };
            if !test.starts_with(&wanted) || cased(key, self.key_case) != wanted {
                continue;
            }
            let is = cased(value.trim(), self.value_case);
            let mut matches = is == cased(pair.text().trim(), self.value_case);
            let mut needed = false;
            if uncommented {
                if pair.left > 0 {
                    needed = true;
                } else {
                    matches = true;
                }
            } else if pair.left == 0 {
                needed = true;
            }
            if !matches || needed {
                self.diff.push(format!("- {line}"));
                line.clear();
                if pair.left != 0 {
                    line = format!("{key}{}{}\n", self.separator, pair.text());
                    self.diff.push(added(pair, &line));
                }
                self.changes += 1;
            }
            if pair.left > 0 {
                pair.left -= 1;
            }
        }
        self.content.push(line);
    }

    fn missing(&self) -> Vec<String> {
        let left = self.pairs.iter().filter(|pair| pair.left > 0);
        left.map(|pair| format!("{}{}{}\n", pair.key, self.separator, pair.text()))
            .collect()
    }

    fn append(&mut self) {
        let lines = self.missing();
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

    fn prepend(&mut self) {
        for (index, line) in self.missing().into_iter().enumerate() {
            if index == 0 {
                self.diff.insert(0, "  <SOF>\n".to_owned());
            }
            self.diff.insert(1, format!("+ {line}"));
            self.content.insert(0, line);
            self.changes += 1;
        }
    }
}

/// A line that is written; the type of a value that is no text is named.
fn added(pair: &Pair, line: &str) -> String {
    let kind = match pair.value.reveal() {
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Big(_) => "int",
        Value::Float(_) => "float",
        Value::List(_) => "list",
        Value::Map(_) => "dict",
        _ => return format!("+ {line}"),
    };
    format!("+ {} (from {kind} type)\n", line.trim_end())
}
