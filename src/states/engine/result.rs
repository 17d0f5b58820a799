//! What became of each state, in Salt's shape (S43).

use std::sync::Arc;
use std::time::Duration;

use super::Timestamp;
use crate::states::{Chunk, ChunkIndex, StateOutcome};
use crate::value::{Map, REDACTED, Value};

/// What became of a state.
#[derive(Debug, Clone, PartialEq)]
pub struct StateResult {
    /// The state; none for an entry that stands for none, such as a `listen` that leads nowhere.
    pub chunk: Option<ChunkIndex>,
    /// The module.
    pub state: Arc<str>,
    /// The ID; `listener_` and the ID for what `listen` runs (S30).
    pub id: Arc<str>,
    /// What it is about.
    pub name: Arc<str>,
    /// The function; `mod_watch` for what `listen` runs.
    pub fun: Arc<str>,
    /// The SLS it was declared in.
    pub sls: Option<Arc<str>>,
    /// Its place in the order of running. Numbers may be missing.
    pub number: u32,
    /// When it began.
    pub start: Timestamp,
    /// How long it took, with all attempts and the pauses between them.
    pub duration: Duration,
    /// Whether it is marked as not run, as the ordering does that (S.8).
    pub skipped: bool,
    /// Whether it ran beside others.
    pub parallel: bool,
    /// Whether what it says depends on changes that a dry run did not make.
    pub doubtful: bool,
    /// What it is and what was changed.
    pub outcome: StateOutcome,
}

/// Whether a chunk has a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkStatus {
    NotRun,
    /// It runs beside others.
    Running,
    /// Its place among the results.
    Done(u32),
}

/// What a chunk would have done (S24).
#[derive(Debug)]
pub(super) struct TestResult(pub(super) StateResult);

impl StateResult {
    /// An empty result of a chunk.
    pub(super) fn of(index: ChunkIndex, chunk: &Chunk, number: u32, outcome: StateOutcome) -> Self {
        Self {
            chunk: Some(index),
            state: Arc::clone(&chunk.state),
            id: Arc::clone(&chunk.id),
            name: Arc::clone(&chunk.name),
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

    /// The key it goes by: `module_|-ID_|-name_|-function`.
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

    /// Whether anything was changed, or would be.
    pub fn is_changed(&self) -> bool {
        !self.outcome.changes.is_empty()
    }

    /// The result with Salt's keys. Nothing that must not be seen is in it.
    pub fn to_value(&self) -> Value {
        let Self { outcome, .. } = self;
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(Arc::from(key), value);
        put("name", Value::Str(Arc::clone(&self.name)));
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

    /// Hides what a state with `no_log` gave.
    pub(super) fn redact(&mut self) {
        REDACTED.clone_into(&mut self.outcome.comment);
        for value in self.outcome.changes.values_mut() {
            *value = REDACTED.into();
        }
        self.outcome.more.clear();
    }
}

/// All results as the map of S43, in the order of running.
pub fn to_value<'a>(results: impl IntoIterator<Item = &'a StateResult>) -> Value {
    let mut results: Vec<&StateResult> = results.into_iter().collect();
    results.sort_by_key(|result| result.number);
    Value::map(results.into_iter().map(|it| (it.key(), it.to_value())))
}

/// How many states came out how (S46).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateSummary {
    /// Those that are as described, or would be made so.
    pub succeeded: usize,
    /// Those of them that would be changed.
    pub unchanged: usize,
    /// Those that changed something, or would, whether they succeeded or not.
    pub changed: usize,
    /// Those that are not as described.
    pub failed: usize,
    /// Those with warnings.
    pub warnings: usize,
}

impl StateSummary {
    /// Counts results.
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
