//! The usual time of an operation: the median of its last successful runs.

use std::collections::HashMap;
use std::time::Duration;

/// The number of runs that count for the usual time of an operation.
const COUNTED_RUNS: usize = 5;

/// A successful run of an operation in an earlier job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRun {
    /// The key of the instance that is unique across all topologies.
    pub target: String,
    pub operation: String,
    pub time: Duration,
}

/// The times of earlier successful runs of operations.
///
/// Instances of the same template share their times: an instance that never ran an operation takes as long as
/// the others.
#[derive(Debug, Clone, Default)]
pub struct UsualTimes {
    /// The times of the operations, by key of the instance and name of the operation; the latest run comes
    /// first.
    of_instances: HashMap<String, OperationTimes>,
    of_templates: HashMap<String, OperationTimes>,
}

type OperationTimes = HashMap<String, Vec<Duration>>;

/// The operation of an instance, whose usual time is asked for.
#[derive(Debug, Clone, Copy)]
pub struct TimedOperation<'a> {
    /// The key of the instance that is unique across all topologies.
    pub target: &'a str,
    /// The name of the instance's template.
    pub template: &'a str,
    pub operation: &'a str,
}

impl UsualTimes {
    /// Adds the time of a run. Later runs must be added before earlier ones; surplus runs are ignored.
    pub fn add(&mut self, target: &str, template: Option<&str>, operation: &str, time: Duration) {
        let add = |all: &mut HashMap<String, OperationTimes>, key: &str| {
            let times = entry(entry(all, key), operation);
            if times.len() < COUNTED_RUNS {
                times.push(time);
            }
        };
        add(&mut self.of_instances, target);
        if let Some(template) = template {
            add(&mut self.of_templates, template);
        }
    }

    /// Returns true if no earlier run would change the usual time of an operation.
    pub fn is_complete(&self, target: &str, operation: &str) -> bool {
        times(&self.of_instances, target, operation).len() == COUNTED_RUNS
    }

    /// Returns the usual time of an operation. None if neither the instance nor another one of the template
    /// ran the operation.
    pub fn usual(&self, of: TimedOperation<'_>) -> Option<Duration> {
        let own = median(times(&self.of_instances, of.target, of.operation));
        own.or_else(|| median(times(&self.of_templates, of.template, of.operation)))
    }
}

/// Returns the value of a key, which is copied only if it is new.
fn entry<'m, V: Default>(map: &'m mut HashMap<String, V>, key: &str) -> &'m mut V {
    if !map.contains_key(key) {
        map.insert(key.to_owned(), V::default());
    }
    map.entry(key.to_owned()).or_default()
}

fn times<'m>(all: &'m HashMap<String, OperationTimes>, key: &str, of: &str) -> &'m [Duration] {
    let times = all.get(key).and_then(|operations| operations.get(of));
    times.map_or(&[], Vec::as_slice)
}

/// Returns the median of times; of an even number, the mean of the two in the middle.
pub(super) fn median(times: &[Duration]) -> Option<Duration> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(match sorted.len() % 2 {
        0 => sorted[middle - 1].saturating_add(upper) / 2,
        _ => upper,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(all: &[u64]) -> Vec<Duration> {
        all.iter().copied().map(Duration::from_secs).collect()
    }

    fn of<'a>(target: &'a str, template: &'a str) -> TimedOperation<'a> {
        TimedOperation {
            target,
            template,
            operation: "create",
        }
    }

    #[test]
    fn the_usual_time_is_the_median_of_the_last_five_runs() {
        let mut times = UsualTimes::default();
        for (count, time) in seconds(&[9, 1, 3, 2, 8, 1000, 1000]).iter().enumerate() {
            assert_eq!(times.is_complete("::web", "create"), count >= 5);
            times.add("::web", Some("web"), "create", *time);
        }
        let usual = times.usual(of("::web", "web"));
        assert_eq!(usual, Some(Duration::from_secs(3)));
        let other = TimedOperation {
            operation: "delete",
            ..of("::web", "web")
        };
        assert_eq!(times.usual(other), None);
    }

    #[test]
    fn an_instance_without_runs_takes_as_long_as_others_of_its_template() {
        let mut times = UsualTimes::default();
        times.add("::web-1", Some("web"), "create", Duration::from_secs(2));
        times.add("::web-2", Some("web"), "create", Duration::from_secs(4));
        times.add("::gone", None, "create", Duration::from_mins(1));
        let usual = |target| times.usual(of(target, "web")).unwrap().as_secs();
        assert_eq!(
            (usual("::web-1"), usual("::web-2"), usual("::web-3")),
            (2, 4, 3)
        );
        assert_eq!(times.usual(of("::db", "db")), None);
    }

    #[test]
    fn a_median_of_no_times_is_none() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&seconds(&[4, 2])), Some(Duration::from_secs(3)));
        assert_eq!(median(&[Duration::MAX; 2]), Some(Duration::MAX / 2));
    }
}
