//! The parts of a notice: what has changed between the problems that a target knows and those of an answer.

use serde_json::{Value as Json, json};

use super::rule::{NotifyRule, Occasion};

/// A problem in a notice: its line for people, and its form for programs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) ensemble: Option<String>,
    pub(super) line: String,
    pub(super) document: Json,
}

/// The content of a notice.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Parts {
    pub(super) new: Vec<Entry>,
    pub(super) changed: Vec<Entry>,
    pub(super) gone: Vec<Entry>,
    /// Findings whose ignore rule has ended.
    pub(super) expired: Vec<Entry>,
    /// Problems of ignore rules.
    pub(super) rules: Vec<Entry>,
    pub(super) failures: Vec<Entry>,
    pub(super) recovered: Vec<Entry>,
    /// True if the target knows of no problem any more.
    pub(super) is_clean: bool,
    pub(super) silence: Option<Entry>,
}

/// The number of entries of each part that a notice lists.
const MAX_ENTRIES: usize = 100;

/// The number of characters of a text within a finding.
const MAX_TEXT_CHARS: usize = 4096;

impl Parts {
    /// Removes the parts on whose occasions the rule sends nothing.
    pub(super) fn limited_to(mut self, rule: &NotifyRule) -> Self {
        if !rule.is_on(Occasion::Change) {
            let changes = [
                &mut self.new,
                &mut self.changed,
                &mut self.gone,
                &mut self.expired,
                &mut self.rules,
            ];
            changes.into_iter().for_each(Vec::clear);
        }
        if !rule.is_on(Occasion::Failure) {
            self.failures.clear();
        }
        if !rule.is_on(Occasion::Recovery) {
            self.recovered.clear();
            self.is_clean = false;
        }
        if !rule.is_on(Occasion::Silence) {
            self.silence = None;
        }
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.occasions().is_empty()
    }

    /// Returns the occasions in the order of their weight.
    pub(super) fn occasions(&self) -> Vec<Occasion> {
        let changes = [
            &self.new,
            &self.changed,
            &self.gone,
            &self.expired,
            &self.rules,
        ];
        let cases = [
            (!self.failures.is_empty(), Occasion::Failure),
            (self.silence.is_some(), Occasion::Silence),
            (
                changes.into_iter().any(|it| !it.is_empty()),
                Occasion::Change,
            ),
            (
                self.is_clean || !self.recovered.is_empty(),
                Occasion::Recovery,
            ),
        ];
        let cases = cases.into_iter().filter(|(is_so, _)| *is_so);
        cases.map(|(_, occasion)| occasion).collect()
    }

    /// Returns the lists with their keys in the document and their headings for people.
    pub(super) fn lists(&self) -> [(&'static str, &'static str, &[Entry]); 8] {
        let silence = self.silence.as_slice();
        [
            ("failures", "Failed", &self.failures),
            ("silence", "Silent", silence),
            ("new", "New", &self.new),
            ("changed", "Changed", &self.changed),
            ("expired", "No longer ignored", &self.expired),
            ("rule_problems", "Ignore rules", &self.rules),
            ("gone", "Gone", &self.gone),
            ("recovered", "Works again", &self.recovered),
        ]
    }

    /// Returns the lists as JSON. Entries beyond [`MAX_ENTRIES`] are counted only.
    pub(super) fn documents(&self) -> serde_json::Map<String, Json> {
        let mut all = serde_json::Map::new();
        let mut left_out = 0;
        for (key, _, entries) in self.lists() {
            let listed = entries.iter().take(MAX_ENTRIES);
            all.insert(key.to_owned(), listed.map(Entry::json).collect());
            left_out += entries.len().saturating_sub(MAX_ENTRIES);
        }
        all.insert("left_out".to_owned(), json!(left_out));
        all.insert("clean".to_owned(), json!(self.is_clean));
        all
    }

    /// Returns the lists as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (_, heading, entries) in self.lists() {
            if entries.is_empty() {
                continue;
            }
            text.push_str(&format!("\n{heading}:\n"));
            for entry in entries.iter().take(MAX_ENTRIES) {
                match &entry.ensemble {
                    Some(ensemble) => text.push_str(&format!("  {ensemble}: {}\n", entry.line)),
                    None => text.push_str(&format!("  {}\n", entry.line)),
                }
            }
            if let Some(more @ 1..) = entries.len().checked_sub(MAX_ENTRIES) {
                text.push_str(&format!("  and {more} more\n"));
            }
        }
        if self.is_clean {
            text.push_str("\nAll is clean.\n");
        }
        text
    }
}

impl Entry {
    fn json(&self) -> Json {
        let mut document = match &self.document {
            Json::Object(fields) => fields.clone(),
            _ => serde_json::Map::new(),
        };
        for value in document.values_mut() {
            if let Json::String(text) = value
                && text.len() > MAX_TEXT_CHARS
            {
                let cut: String = text.chars().take(MAX_TEXT_CHARS).collect();
                *text = format!("{cut}…");
            }
        }
        document.insert("ensemble".to_owned(), json!(self.ensemble));
        document.insert("text".to_owned(), json!(self.line));
        Json::Object(document)
    }
}
