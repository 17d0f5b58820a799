//! The decision between runs: nothing has looked for too long.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::notice::{Notice, NoticeContext};
use super::parts::{Entry, Parts};
use super::rule::NotifyRule;
use super::state::NotifiedState;

/// The due times of a schedule that passed without an answer.
#[derive(Debug, Clone)]
pub struct SilenceReport {
    pub schedule: Arc<str>,
    /// The time of the last answer; None if there never was one.
    pub last_look: Option<Timestamp>,
    /// The number of due times since then.
    pub missed: u32,
    /// The first of these due times.
    pub since: Timestamp,
    pub now: Timestamp,
}

/// Returns the state after a look at the clock, and the notice for the target of the rule, if one is due.
pub fn in_silence(
    rule: &NotifyRule,
    state: &NotifiedState,
    report: &SilenceReport,
) -> (NotifiedState, Option<Notice>) {
    if state.is_silent || report.missed < rule.silence {
        return (state.clone(), None);
    }
    let next = NotifiedState {
        is_silent: true,
        ..state.clone()
    };
    let line = match report.last_look {
        Some(time) => format!("nothing has looked since {time}"),
        None => format!("nothing has looked for {} due times", report.missed),
    };
    let last_look = report.last_look.map(|time| time.to_string());
    let parts = Parts {
        silence: Some(Entry {
            ensemble: None,
            line,
            document: json!({"last_look": last_look, "missed": report.missed}),
        }),
        ..Parts::default()
    };
    let active = next.problems.values().filter(|it| it.notified.is_some());
    let context = NoticeContext {
        rule,
        schedule: &report.schedule,
        due: report.since,
        at: report.now,
        active: active.count(),
    };
    let notice = Notice::compose(&context, parts);
    (next, notice)
}
