//! A notice: a title, a text, and the same for programs.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::identity::digest_of;
use super::parts::Parts;
use super::rule::NotifyRule;
use crate::name::EnumWords;

/// A message to a target.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// The id of the delivery. The same run gives the same id, so that a notice is queued once.
    pub id: Arc<str>,
    /// The id of the rule whose target gets the notice.
    pub rule: Arc<str>,
    pub schedule: Arc<str>,
    pub at: Timestamp,
    pub title: String,
    pub text: String,
    /// The notice for programs. Secrets are masked already.
    pub body: Json,
}

/// The occasion of a notice in time.
#[derive(Debug, Clone)]
pub(super) struct NoticeContext<'a> {
    pub(super) rule: &'a NotifyRule,
    pub(super) schedule: &'a str,
    pub(super) due: Timestamp,
    pub(super) at: Timestamp,
    /// The number of problems that the target knows.
    pub(super) active: usize,
}

impl Notice {
    /// Composes a notice of the parts on whose occasions the rule sends something. None if no part is left.
    pub(super) fn compose(context: &NoticeContext<'_>, parts: Parts) -> Option<Self> {
        let parts = parts.limited_to(context.rule);
        if parts.is_empty() {
            return None;
        }
        let occasions: Vec<&str> = parts
            .occasions()
            .into_iter()
            .map(EnumWords::as_str)
            .collect();
        let (due, at) = (context.due.to_string(), context.at.to_string());
        let lines = parts.lists().into_iter().flat_map(|(key, _, entries)| {
            let lines = entries.iter().map(|entry| entry.line.clone());
            std::iter::once(key.to_owned()).chain(lines)
        });
        let head = [context.schedule, &context.rule.id, &due].map(str::to_owned);
        let id = digest_of(head.into_iter().chain(lines));
        let title = format!("{}: {}", context.schedule, summary(&parts));
        let text = format!(
            "{title}\nSchedule {}, due at {due}, answered at {at}\n{}",
            context.schedule,
            parts.text()
        );
        let mut body = json!({
            "id": id,
            "schedule": context.schedule,
            "due": due,
            "at": at,
            "occasions": occasions,
            "title": title,
            "active": context.active,
        });
        if let Json::Object(fields) = &mut body {
            fields.extend(parts.documents());
            fields.insert("text".to_owned(), json!(text));
        }
        Some(Self {
            id: id.into(),
            rule: Arc::clone(&context.rule.id),
            schedule: context.schedule.into(),
            at: context.at,
            title,
            text,
            body,
        })
    }
}

/// Returns the parts in a few words: `2 new, 1 gone`.
fn summary(parts: &Parts) -> String {
    let counted = [
        (parts.new.len(), "new"),
        (parts.changed.len(), "changed"),
        (parts.expired.len(), "no longer ignored"),
        (parts.gone.len(), "gone"),
    ];
    let mut words = Vec::new();
    match &parts.failures[..] {
        [] => {}
        [only] => words.push(only.line.clone()),
        several => words.push(format!("{} failures", several.len())),
    }
    words.extend(parts.silence.iter().map(|entry| entry.line.clone()));
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    words.extend(counted.map(|(count, word)| format!("{count} {word}")));
    match parts.rules.len() {
        0 => {}
        1 => words.push("1 problem of an ignore rule".to_owned()),
        several => words.push(format!("{several} problems of ignore rules")),
    }
    if parts.is_clean {
        words.push("clean again".to_owned());
    } else if !parts.recovered.is_empty() {
        words.push("works again".to_owned());
    }
    words.join(", ")
}
