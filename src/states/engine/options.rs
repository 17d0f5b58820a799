//! How an engine is set up.

use std::time::Duration;

use crate::states::{Chunk, LowData, MODULES, Mode, ModuleTable};
use crate::text::Glob;

/// How the states of a machine are run.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Whether anything is changed (S44).
    pub mode: Mode,
    /// Whether a failed state ends the run, where the state does not say (S36).
    pub failhard: bool,
    /// How many states with `parallel` run at a time; 0 for any number (S37).
    pub max_parallel: usize,
    /// Which modules join calls (S40).
    pub aggregate: Aggregation,
    /// Patterns of functions that must not run (S41).
    pub disabled: Vec<String>,
    /// How many consecutive states may have their changes handed out as one list, each assuming
    /// that those before it succeed; 0 for one at a time.
    pub max_batch: usize,
    /// The state modules.
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
    /// For each chunk, why it must not run, if so (S41).
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

/// Which modules make one call of several (S40), where a state does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Aggregation {
    /// None.
    #[default]
    Never,
    /// All that can.
    Always,
    /// These.
    Modules(Vec<String>),
}

/// A moment, in microseconds since the start of 1970 by the clock on the wall. The engine has no
/// clock of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time of day, such as `14:03:09.000417` (S43).
    pub fn time_of_day(self) -> String {
        let micros = self.0.rem_euclid(86_400_000_000);
        let seconds = micros / 1_000_000;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let (seconds, micros) = (seconds % 60, micros % 1_000_000);
        format!("{hours:02}:{minutes:02}:{seconds:02}.{micros:06}")
    }

    /// How long it is since an earlier moment; nothing if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// A later moment.
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
