//! Renders the instances that a job leaves alone, with the reasons, as text and as JSON.
//!
//! Both plans and summaries contain a [`SkippedView`].

use serde_json::{Map, Value as Json};

use super::words;
use crate::name::{ChangeId, NodeState, Status};
use crate::value::Value;

/// The maximum number of instances that the text lists.
const MAX_NAMED: usize = 50;

/// The hint that says how to remove instances without a template.
const REMOVE_HINT: &str = "`unfurl deploy --prune` or `unfurl teardown --prune` removes it";

/// The instances that a job leaves alone.
#[derive(Debug, Clone, Default)]
pub struct SkippedView {
    /// Instances to which the workflow would apply, each with the reason for which it is skipped.
    pub skipped: Vec<(String, String)>,
    /// Instances whose template was removed from the model.
    pub orphans: Vec<OrphanLine>,
}

/// An instance whose template was removed from the model.
#[derive(Debug, Clone)]
pub struct OrphanLine {
    pub instance: String,
    /// The name of the removed template.
    pub template: String,
    /// The status of the instance itself.
    pub status: Status,
    /// The state in the TOSCA life cycle.
    pub state: Option<NodeState>,
    /// The creator: a change id, an instance key, true or false; null if unknown.
    pub created: Value,
    /// The id of the last task that changed the instance.
    pub last_change: Option<ChangeId>,
    /// The reason for which a job tried and failed to remove the instance.
    pub not_removed_reason: Option<String>,
}

impl SkippedView {
    /// Renders the sections as text. Empty if nothing was skipped.
    pub fn text(&self) -> String {
        let mut text = String::new();
        section(&mut text, "Left alone:", &self.skipped, |(name, why)| {
            format!("{}: {}", words::one_line(name), words::one_line(why))
        });
        let title = "Without a template in the model:";
        section(&mut text, title, &self.orphans, OrphanLine::text);
        text
    }

    /// Returns the entries for instances without a template in the JSON of plans.
    ///
    /// `is_plain` asks for plain words instead of those of Unfurl.
    pub(super) fn plan_json(&self, is_plain: bool) -> impl Iterator<Item = Json> {
        self.orphans.iter().map(move |orphan| {
            let mut item = orphan.json();
            if is_plain {
                item.insert("status".to_owned(), orphan.status.as_str().into());
                let state = orphan.state.map(|state| state.to_string());
                item.insert("state".to_owned(), state.into());
            }
            item.insert("plan".to_owned(), Json::Array(Vec::new()));
            Json::Object(item)
        })
    }

    /// Returns the entries for instances without a template in the JSON of summaries.
    pub(super) fn summary_json(&self) -> Json {
        let orphans = self.orphans.iter();
        orphans.map(|orphan| Json::Object(orphan.json())).collect()
    }
}

fn section<T>(text: &mut String, title: &str, items: &[T], line: impl Fn(&T) -> String) {
    if items.is_empty() {
        return;
    }
    words::append(text, format_args!("\n{title}\n"));
    for item in items.iter().take(MAX_NAMED) {
        words::append(text, format_args!("- {}\n", line(item)));
    }
    if let Some(more) = items.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        words::append(text, format_args!("- … and {more} more, see the log\n"));
    }
}

impl OrphanLine {
    fn text(&self) -> String {
        let mut known = vec![self.status.as_str().to_owned()];
        known.extend(self.state.map(|state| state.to_string()));
        if let Some(since) = self.since() {
            known.push(format!("since {since}"));
        }
        let why = self.not_removed_reason.as_deref().unwrap_or(REMOVE_HINT);
        format!(
            "{} (template {}): {}; {}",
            words::one_line(&self.instance),
            words::one_line(&self.template),
            known.join(", "),
            words::one_line(why)
        )
    }

    /// Returns the time and id of the task that created or last changed the instance.
    fn since(&self) -> Option<String> {
        let created = self.created.as_str().map(ChangeId::parse);
        let id = created.and_then(Result::ok).or(self.last_change)?;
        let time = id.time()?.to_zoned(jiff::tz::TimeZone::UTC);
        Some(format!("{} UTC ({id})", time.strftime("%Y-%m-%d %H:%M:%S")))
    }

    fn json(&self) -> Map<String, Json> {
        let mut item = Map::new();
        let mut put = |key: &str, value: Json| drop(item.insert(key.to_owned(), value));
        put("instance", self.instance.clone().into());
        put("status", format!("Status.{}", self.status).into());
        put("state", words::upstream("NodeState", self.state).into());
        put("managed", serde_json::json!(self.created));
        put("template", self.template.clone().into());
        put("orphan", true.into());
        put(
            "reason",
            self.not_removed_reason
                .as_deref()
                .unwrap_or(REMOVE_HINT)
                .into(),
        );
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instance_has_its_reason() {
        let left = SkippedView {
            skipped: vec![("db".to_owned(), "protected instance".to_owned())],
            orphans: vec![OrphanLine {
                instance: "web".to_owned(),
                template: "page".to_owned(),
                status: Status::Ok,
                state: Some(NodeState::Started),
                created: "A41VNXb00001".into(),
                last_change: None,
                not_removed_reason: None,
            }],
        };
        insta::assert_snapshot!(left.text(), @r"

        Left alone:
        - db: protected instance

        Without a template in the model:
        - web (template page): ok, started, since 2024-01-31 23:33:37 UTC (A41VNXb00001); `unfurl deploy --prune` or `unfurl teardown --prune` removes it
        ");
        assert_eq!(left.summary_json()[0]["template"], "page");
        assert_eq!(SkippedView::default().text(), "");
    }
}
