//! A schedule as `unfurl.yaml` describes it.

use std::fmt::{Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use super::cron_line::CronLine;
use super::notice::NotifyRule;
use crate::diagnostic::Span;

/// A schedule: an action and the times at which it is due.
#[derive(Debug, Clone)]
pub struct ScheduleSpec {
    pub name: Arc<str>,
    /// The place of the name in `unfurl.yaml`.
    pub span: Span,
    pub timing: Timing,
    /// The longest delay of a start after its due time.
    pub jitter: Duration,
    pub action: ScheduleAction,
    /// Names, paths or globs of ensembles. `*` stands for all ensembles of the project.
    pub ensembles: Vec<Arc<str>>,
    /// The environment; None uses that of the ensemble.
    pub environment: Option<Arc<str>>,
    pub hosts: Vec<Arc<str>>,
    pub overlap: Overlap,
    pub missed: Missed,
    /// The longest time of a run over all its ensembles.
    pub time_limit: Duration,
    /// The number of ensembles per run; None has no limit.
    pub at_most: Option<usize>,
    /// Ensembles whose last deployment is younger are left out.
    pub unless_deployed_within: Option<Duration>,
    /// The targets of notices, with their occasions.
    pub notify: Vec<NotifyRule>,
}

/// The rule for the due times of a schedule.
#[derive(Debug, Clone)]
pub enum Timing {
    /// The times of a cron line on the clocks of a time zone.
    Cron {
        line: Box<CronLine>,
        zone: TimeZone,
        /// The name of the zone as written.
        zone_name: Arc<str>,
    },
    /// Multiples of an interval since 1970.
    Every(Duration),
}

/// The command that a schedule runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleAction {
    Drift,
    Check,
    Deploy,
    /// A task of the project, by name.
    Task(Arc<str>),
    /// The test of states; an empty list is all of them.
    StateTest(Vec<Arc<str>>),
}

/// The treatment of a due time while an earlier run of the schedule continues.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overlap {
    /// The due time is skipped.
    #[default]
    Skip,
    /// The last due time during a run starts when the run has ended. Those before it are skipped. Commands also wait for
    /// the lock of an ensemble that a job holds, as long as the time limit allows.
    Wait,
}

/// The treatment of due times that passed while nothing ran schedules, and of runs that were cut off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Missed {
    /// The due times are skipped. A run that was cut off does not restart.
    #[default]
    Skip,
    /// The last of the due times runs late. A run that was cut off restarts, at most twice.
    Run,
}

impl ScheduleAction {
    /// Returns the word for the action in `unfurl.yaml`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Drift => "drift",
            Self::Check => "check",
            Self::Deploy => "deploy",
            Self::Task(_) => "task",
            Self::StateTest(_) => "state test",
        }
    }

    /// Returns true if the action runs once for each ensemble.
    pub fn is_per_ensemble(&self) -> bool {
        matches!(self, Self::Drift | Self::Check | Self::Deploy)
    }
}

impl Display for ScheduleAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Task(name) => write!(f, "task {name}"),
            Self::StateTest(states) if !states.is_empty() => {
                write!(f, "state test {}", states.join(" "))
            }
            _ => f.write_str(self.word()),
        }
    }
}

impl Display for Timing {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cron {
                line, zone_name, ..
            } => write!(f, "{line} ({zone_name})"),
            Self::Every(interval) => write!(f, "every {}", in_words(*interval)),
        }
    }
}

/// Returns a duration in its largest even unit: `15m`, `90s`, `1d`.
fn in_words(duration: Duration) -> String {
    let (seconds, millis) = (duration.as_secs(), duration.as_millis());
    if seconds == 0 || millis % 1000 != 0 {
        return format!("{millis}ms");
    }
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let even = units
        .into_iter()
        .find(|(size, _)| seconds.is_multiple_of(*size));
    let (size, unit) = even.unwrap_or((1, "s"));
    format!("{}{unit}", seconds / size)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a schedule for tests.
    pub(crate) fn spec() -> ScheduleSpec {
        let mut sources = crate::diagnostic::Sources::default();
        let id = sources.add("unfurl.yaml", "a: {every: 1h, action: drift}", None);
        let document = crate::yaml::parse(&sources, id, &crate::yaml::Limits::default()).unwrap();
        crate::schedule::Schedules::read(&document).specs.remove(0)
    }

    #[test]
    fn an_interval_is_shown_in_its_largest_even_unit() {
        let shown = |seconds| Timing::Every(Duration::from_secs_f64(seconds)).to_string();
        assert_eq!(shown(900.0), "every 15m");
        assert_eq!(shown(90.0), "every 90s");
        assert_eq!(shown(86_400.0), "every 1d");
        assert_eq!(shown(0.5), "every 500ms");
    }
}
