//! The results of states, in the format of Salt's returns (S43).

use std::sync::Arc;
use std::time::Duration;

use super::Timestamp;
use crate::host::IncompleteOutput;
use crate::states::{Chunk, ChunkIndex, StateOutcome};
use crate::value::{Map, REDACTED, Value};

/// The result of a state, as the engine records it.
#[derive(Debug, Clone, PartialEq)]
pub struct StateResult {
    /// The state, or `None` for an entry without a state, such as a `listen` whose target does not exist.
    pub chunk: Option<ChunkIndex>,
    /// The name of the state module.
    pub state: Arc<str>,
    /// The ID. Listeners have the prefix `listener_` (S30).
    pub id: Arc<str>,
    /// The `name` of the state, by default its ID.
    pub name: Arc<str>,
    /// The name that a slot stood for. As in Salt, the key of the result keeps the slot.
    pub slot_name: Option<Arc<str>>,
    /// The name of the function, or `mod_watch` for listeners.
    pub fun: Arc<str>,
    /// The SLS that declares the state.
    pub sls: Option<Arc<str>>,
    /// The position in run order (`__run_num__`). Numbers may have gaps.
    pub number: u32,
    pub start: Timestamp,
    /// The duration with all attempts and the pauses between them.
    pub duration: Duration,
    /// Whether the result is marked as not run (`__state_ran__: false`). The two orderings differ in this
    /// (S18).
    pub skipped: bool,
    /// Whether the state ran in parallel to others.
    pub parallel: bool,
    /// Whether the result depends on earlier changes that a dry run did not make.
    pub doubtful: bool,
    /// The result value, the changes and the comment.
    pub outcome: StateOutcome,
}

/// Whether a chunk has run, is running in parallel, or is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkStatus {
    NotRun,
    /// The chunk is running in parallel.
    Running,
    /// The chunk is done. Holds the index of its result.
    Done(u32),
}

/// The result of a chunk's test run (S24).
#[derive(Debug)]
pub(super) struct TestResult(pub(super) StateResult);

impl StateResult {
    /// Makes a result for a chunk with a zero start time and duration.
    pub(super) fn of(index: ChunkIndex, chunk: &Chunk, number: u32, outcome: StateOutcome) -> Self {
        Self {
            chunk: Some(index),
            state: Arc::clone(&chunk.state),
            id: Arc::clone(&chunk.id),
            name: Arc::clone(&chunk.name),
            slot_name: None,
            fun: Arc::clone(&chunk.fun),
            sls: Some(Arc::clone(&chunk.sls)),
            number,
            start: Timestamp::default(),
            duration: Duration::ZERO,
            skipped: false,
            parallel: false,
            doubtful: false,
            outcome,
        }
    }

    /// The key in the map of results: `module_|-ID_|-name_|-function`.
    pub fn key(&self) -> String {
        let Self {
            state,
            id,
            name,
            fun,
            ..
        } = self;
        format!("{state}_|-{id}_|-{name}_|-{fun}")
    }

    /// Whether the state made changes, or would make them.
    pub fn is_changed(&self) -> bool {
        !self.outcome.changes.is_empty()
    }

    /// Returns the outputs among the changes of which only a part is known, if there are any.
    pub fn incomplete(&self) -> Option<&[(&'static str, IncompleteOutput)]> {
        self.outcome.incomplete.as_ref().map(|outputs| &*outputs.0)
    }

    /// Converts the result to a map with Salt's keys. Secret values are redacted.
    pub fn to_value(&self) -> Value {
        let Self { outcome, .. } = self;
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(Arc::from(key), value);
        let name = self.slot_name.as_ref().unwrap_or(&self.name);
        put("name", Value::Str(Arc::clone(name)));
        put("changes", Value::from(outcome.changes.clone()).redacted());
        put("result", outcome.result.into());
        put("comment", Value::str(outcome.comment.as_str()));
        if let Some(sls) = &self.sls {
            put("__sls__", Value::Str(Arc::clone(sls)));
            put("__id__", Value::Str(Arc::clone(&self.id)));
        }
        put("__run_num__", Value::Int(self.number.into()));
        put("start_time", self.start.time_of_day().into());
        put("duration", (self.duration.as_secs_f64() * 1000.0).into());
        if self.skipped {
            put("__state_ran__", false.into());
        }
        if self.parallel {
            put("__parallel__", true.into());
        }
        if outcome.skip_watch {
            put("skip_watch", true.into());
        }
        if !outcome.warnings.is_empty() {
            let texts = outcome.warnings.iter().map(|it| Value::str(it.as_str()));
            put("warnings", Value::list(texts));
        }
        if self.doubtful {
            put("depends_on_earlier_changes", true.into());
        }
        for (key, value) in &outcome.more {
            put(key, value.redacted());
        }
        map.into()
    }

    /// Redacts the comment and the changes of a state with `no_log`.
    pub(super) fn redact(&mut self) {
        REDACTED.clone_into(&mut self.outcome.comment);
        for value in self.outcome.changes.values_mut() {
            *value = REDACTED.into();
        }
        self.outcome.more.clear();
    }
}

/// Converts results to the map of rule S43, in run order.
pub fn to_value<'a>(results: impl IntoIterator<Item = &'a StateResult>) -> Value {
    let mut results: Vec<&StateResult> = results.into_iter().collect();
    results.sort_by_key(|result| result.number);
    Value::map(results.into_iter().map(|it| (it.key(), it.to_value())))
}

/// The counts of a run's results (S46).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateSummary {
    /// States that succeeded, or would succeed.
    pub succeeded: usize,
    /// States among the succeeded ones whose result is `None`: a test predicts changes for them.
    pub unchanged: usize,
    /// States that made changes, or would make them, whether they succeeded or not.
    pub changed: usize,
    pub failed: usize,
    /// States that have at least one warning.
    pub warnings: usize,
}

impl StateSummary {
    pub fn of<'a>(results: impl IntoIterator<Item = &'a StateResult>) -> Self {
        let mut summary = Self::default();
        for StateResult { outcome, .. } in results {
            match outcome.result {
                Some(false) => summary.failed += 1,
                Some(true) => summary.succeeded += 1,
                None => {
                    summary.succeeded += 1;
                    summary.unchanged += 1;
                }
            }
            summary.changed += usize::from(!outcome.changes.is_empty());
            summary.warnings += usize::from(!outcome.warnings.is_empty());
        }
        summary
    }
}
