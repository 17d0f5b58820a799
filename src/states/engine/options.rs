//! The options of the engine, and its type for points in time.

use std::time::Duration;

use crate::states::{Chunk, LowData, MODULES, Mode, ModuleTable};
use crate::text::Glob;

/// The options for running the states of a machine.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Whether changes are made or only predicted (S44).
    pub mode: Mode,
    /// Whether a failed state ends the run, unless the state's own `failhard` says otherwise (S36).
    pub failhard: bool,
    /// The maximum number of states with `parallel` that run at a time; 0 means no limit (S37).
    pub max_parallel: usize,
    /// The modules whose calls are aggregated (S40).
    pub aggregate: Aggregation,
    /// The patterns of disabled functions (S41).
    pub disabled: Vec<String>,
    /// The maximum number of consecutive states whose changes are requested as one batch; 0 disables batches.
    pub max_batch: usize,
    pub modules: ModuleTable,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            mode: Mode::Apply,
            failhard: false,
            max_parallel: 0,
            aggregate: Aggregation::Never,
            disabled: Vec::new(),
            max_batch: 0,
            modules: MODULES,
        }
    }
}

impl EngineOptions {
    /// For each chunk, the failure comment if its function is disabled (S41).
    pub(super) fn disabled_reasons(&self, low: &LowData) -> Vec<Option<String>> {
        let patterns = &self.disabled;
        let why = |chunk: &Chunk| {
            let full = format!("{}.{}", chunk.state, chunk.fun);
            let pattern = patterns.iter().find(|it| Glob::new(it).matches(&full))?;
            Some(format!(
                "The state function \"{full}\" is currently disabled by \"{pattern}\", to re-enable, \
             run state.enable {pattern}."
            ))
        };
        if patterns.is_empty() {
            return vec![None; low.chunks.len()];
        }
        low.chunks.iter().map(why).collect()
    }
}

/// The modules whose calls are aggregated, unless a state's own `aggregate` says otherwise (S40).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Aggregation {
    #[default]
    Never,
    /// Each module that supports aggregation joins its calls.
    Always,
    Modules(Vec<String>),
}

/// A point in time in microseconds since 1970-01-01 UTC. The caller passes it in, since the engine reads no
/// clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time of day, formatted as in `14:03:09.000417` (S43).
    pub fn time_of_day(self) -> String {
        let micros = self.0.rem_euclid(86_400_000_000);
        let seconds = micros / 1_000_000;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let (seconds, micros) = (seconds % 60, micros % 1_000_000);
        format!("{hours:02}:{minutes:02}:{seconds:02}.{micros:06}")
    }

    /// The duration since an earlier point in time, or zero if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The point in time after the given duration.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_has_microseconds() {
        let noon = Timestamp(12 * 3_600_000_000 + 7);
        assert_eq!(noon.time_of_day(), "12:00:00.000007");
        assert_eq!(Timestamp(-1).time_of_day(), "23:59:59.999999");
        assert_eq!(noon.since(Timestamp(7)), Duration::from_hours(12));
        assert_eq!(Timestamp(0).since(noon), Duration::ZERO);
    }
}
