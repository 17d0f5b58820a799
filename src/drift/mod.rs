//! Drift as data: findings with their kind and cause, rules that keep them from the alarm, and the record of
//! earlier answers. Nothing here reads a file or asks a host.

mod answer;
mod finding;
mod keys;
mod on_drift;
mod policy;
mod record;
mod record_line;
mod record_merge;
mod record_state;
mod record_update;
mod rule_reader;
mod rule_use;
mod rules;

#[cfg(test)]
pub use answer::AnswerRow;
pub use answer::{DriftAnswer, LoadProblem, Transitions, Verdict, verdict};
#[cfg(test)]
pub use finding::AppliedRule;
pub use finding::{Difference, DriftKind, Finding, FindingId, LastSet, Sightings, Subject};
pub use keys::DRIFT_KEYS;
pub use on_drift::OnDrift;
pub use policy::{DriftPolicies, own_policy};
pub use record::{DRIFT_FILE, DriftRecord, RecordEntry};
pub use record_line::{FindingEvent, RecordedAnswer, RecordedFinding, verdict_word};
pub use record_merge::merge_drift_records;
pub use record_state::{DriftState, KnownFinding};
pub use record_update::{AnswerScope, add_answer, compare};
pub use rule_reader::read_rules;
pub use rule_use::apply_rules;
#[cfg(test)]
pub use rules::Pattern;
pub use rules::Until;

#[cfg(test)]
mod record_tests;
