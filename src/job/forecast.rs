//! An estimate of the time that a job still needs, from the usual times of its tasks.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use super::engine::Engine;
use super::task_record::TaskRecord;
use super::usual_times::{PastRun, TimedOperation, UsualTimes, median};
use crate::dag::dependencies_first;

/// The least time between two estimates.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The steps of a running job with their usual times.
///
/// All times are measured from the same moment, usually the start of the job.
#[derive(Debug, Clone, Default)]
pub struct Forecast {
    usual: UsualTimes,
    /// The steps in an order in which each follows those that it waits for.
    steps: Vec<ForecastStep>,
    /// The places of the tasks, by the number of the task within the job.
    places: HashMap<usize, usize>,
    parallel: usize,
    /// Whether the usual time of any task is known.
    is_known: bool,
    /// The time of the last estimate.
    estimated: Option<Duration>,
}

/// A step of a job in an estimate.
#[derive(Debug, Clone, Default)]
struct ForecastStep {
    /// The time that the step needs as a whole.
    time: Duration,
    /// The places of the steps that this one waits for.
    after: Vec<usize>,
    state: StepProgress,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StepProgress {
    #[default]
    Waiting,
    /// Running since this time.
    Running(Duration),
    Done,
}

impl Engine {
    /// Estimates the times of a job that is about to run, from earlier runs: the latest comes first.
    ///
    /// Takes only as many runs as the usual times need.
    pub fn forecast(&self, runs: impl Iterator<Item = PastRun>) -> Forecast {
        let tasks: Vec<Option<PlannedTask<'_>>> = self.planned_tasks().collect();
        let usual = self.usual_times(&tasks, runs);
        let usual_time = |task: &PlannedTask<'_>| {
            usual.usual(TimedOperation {
                target: &task.target,
                template: task.template,
                operation: task.operation,
            })
        };
        let steps = tasks.iter().map(|task| {
            let task = task.as_ref()?;
            Some((task.number, usual_time(task)))
        });
        let steps: Vec<_> = steps.collect();
        let open = self.scheduler.dependencies();
        Forecast::new(usual, &steps, open, self.options.parallel)
    }

    /// Returns the tasks of the planned steps. Steps that set a state have none.
    fn planned_tasks(&self) -> impl Iterator<Item = Option<PlannedTask<'_>>> {
        self.steps.tasks.iter().map(|index| {
            let index = (*index)?;
            let spec = &self.ledger.tasks[index].spec;
            Some(PlannedTask {
                number: index + 1,
                target: self.topology.unique_key(spec.target),
                template: self.topology.entity(spec.target).template_name(),
                operation: spec.reference.operation.as_str(),
            })
        })
    }

    fn usual_times(
        &self,
        tasks: &[Option<PlannedTask<'_>>],
        runs: impl Iterator<Item = PastRun>,
    ) -> UsualTimes {
        let mut usual = UsualTimes::default();
        let wanted = tasks.iter().flatten();
        let mut wanted: HashSet<(String, String)> = wanted
            .map(|task| (task.target.clone(), task.operation.to_owned()))
            .collect();
        for run in runs {
            // The key of an instance is its name with separators: `::web`, or `outer:::web`.
            let name = run.target.trim_start_matches("::").replace(":::", ":");
            let template = self.topology.find(&name);
            let template = template.map(|of| self.topology.entity(of).template_name());
            usual.add(&run.target, template, &run.operation, run.time);
            let own = (run.target, run.operation);
            if wanted.contains(&own) && usual.is_complete(&own.0, &own.1) {
                wanted.remove(&own);
            }
            if wanted.is_empty() {
                break;
            }
        }
        usual
    }
}

/// A task of the plan, with the names by which its usual time is known.
struct PlannedTask<'a> {
    number: usize,
    target: String,
    template: &'a str,
    operation: &'a str,
}

impl Forecast {
    /// Creates the estimate of a job from its steps, each with its task and the usual time of the task, and from
    /// pairs of a step and another one that it waits for.
    fn new(
        usual: UsualTimes,
        steps: &[Option<(usize, Option<Duration>)>],
        waits: impl Iterator<Item = (usize, usize)>,
        parallel: usize,
    ) -> Self {
        let known: Vec<Duration> = steps.iter().flatten().filter_map(|step| step.1).collect();
        let typical = median(&known);
        let mut after: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut open: BTreeSet<usize> = BTreeSet::new();
        for (step, on) in waits {
            after.entry(step).or_default().push(on);
        }
        for (place, step) in steps.iter().enumerate() {
            if step.is_some() {
                open.insert(place);
            }
        }
        let before = |step: usize| after.get(&step).cloned().unwrap_or_default();
        let order = dependencies_first(open, before);
        let place_of: HashMap<usize, usize> = order.iter().copied().zip(0..).collect();
        let mut forecast = Self {
            usual,
            parallel,
            is_known: typical.is_some(),
            ..Self::default()
        };
        for step in &order {
            let task = steps.get(*step).copied().flatten();
            let time = task.map(|(_, usual)| usual.or(typical).unwrap_or_default());
            if let Some((number, _)) = task {
                forecast.places.insert(number, forecast.steps.len());
            }
            let place = forecast.steps.len();
            let on = before(*step)
                .into_iter()
                .filter_map(|on| place_of.get(&on).copied());
            forecast.steps.push(ForecastStep {
                time: time.unwrap_or_default(),
                after: on.filter(|on| *on < place).collect(),
                state: StepProgress::Waiting,
            });
        }
        forecast
    }

    /// Returns the usual time of a task.
    pub fn usual(&self, task: &TaskRecord) -> Option<Duration> {
        self.usual.usual(TimedOperation {
            target: &task.target.unique_key,
            template: &task.target.template,
            operation: task.operation.operation.as_str(),
        })
    }

    /// Notes that a task, given by its number, started at a time.
    pub fn start(&mut self, task: usize, at: Duration) {
        self.set(task, StepProgress::Running(at));
    }

    /// Notes that a task has ended.
    pub fn finish(&mut self, task: usize) {
        self.set(task, StepProgress::Done);
    }

    fn set(&mut self, task: usize, state: StepProgress) {
        if let Some(place) = self.places.get(&task) {
            self.steps[*place].state = state;
        }
    }

    /// Returns a new estimate of the time to the end of the job. None if the last one was made less than a
    /// second ago, or if nothing is known about any task.
    pub fn update(&mut self, at: Duration) -> Option<Duration> {
        let is_due = self.estimated.is_none_or(|last| at >= last + MIN_INTERVAL);
        if !self.is_known || !is_due {
            return None;
        }
        self.estimated = Some(at);
        Some(self.time_left(at))
    }

    /// Returns the time to the end of the job: that of the longest path through the steps, but not less than the
    /// steps need if as many as possible run at once.
    fn time_left(&self, at: Duration) -> Duration {
        let mut is_done: Vec<bool> = vec![false; self.steps.len()];
        for (place, step) in self.steps.iter().enumerate().rev() {
            is_done[place] |= step.state == StepProgress::Done;
            if is_done[place] || step.state != StepProgress::Waiting {
                // A step that was not needed has no end of its own.
                for on in &step.after {
                    is_done[*on] = true;
                }
            }
        }
        let (mut total, mut longest) = (Duration::ZERO, Duration::ZERO);
        let mut ends = Vec::with_capacity(self.steps.len());
        for (step, is_done) in self.steps.iter().zip(is_done) {
            let own = match step.state {
                _ if is_done => Duration::ZERO,
                StepProgress::Running(since) => step.time.saturating_sub(at.saturating_sub(since)),
                StepProgress::Waiting | StepProgress::Done => step.time,
            };
            let begin = step.after.iter().map(|on| ends[*on]).max();
            let end = own.saturating_add(begin.unwrap_or_default());
            total = total.saturating_add(own);
            longest = longest.max(end);
            ends.push(end);
        }
        let parallel = u32::try_from(self.parallel.max(1)).unwrap_or(u32::MAX);
        longest.max(total / parallel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// A job with these times of its tasks, which have the numbers from 1.
    fn job(times: &[Option<u64>], waits: &[(usize, usize)], parallel: usize) -> Forecast {
        let steps = times.iter().enumerate();
        let steps: Vec<_> = steps
            .map(|(step, time)| Some((step + 1, time.map(seconds))))
            .collect();
        Forecast::new(
            UsualTimes::default(),
            &steps,
            waits.iter().copied(),
            parallel,
        )
    }

    fn left(times: &[Option<u64>], waits: &[(usize, usize)], parallel: usize) -> Option<u64> {
        let left = job(times, waits, parallel).update(Duration::ZERO);
        left.map(|left| left.as_secs())
    }

    #[test]
    fn the_longest_path_is_left_within_the_limit_of_parallel_tasks() {
        let times = [Some(3), Some(4), Some(5), Some(6)];
        assert_eq!(left(&times, &[], 10), Some(6));
        assert_eq!(left(&times, &[], 2), Some(9));
        assert_eq!(left(&times, &[], 1), Some(18));
        assert_eq!(left(&times, &[(0, 1), (1, 2), (2, 3)], 10), Some(18));
        assert_eq!(left(&times, &[(3, 1), (3, 2)], 10), Some(11));
        // Steps that wait for each other are counted once.
        assert_eq!(left(&times, &[(0, 1), (1, 0)], 10), Some(7));
    }

    #[test]
    fn a_task_without_earlier_runs_takes_as_long_as_the_others() {
        assert_eq!(
            left(&[Some(2), None, Some(4), Some(6)], &[(1, 3)], 10),
            Some(10)
        );
        assert_eq!(left(&[None, None], &[], 10), None);
        assert_eq!(left(&[], &[], 10), None);
    }

    #[test]
    fn the_estimate_falls_while_tasks_run_and_end_and_comes_once_a_second() {
        let mut job = job(&[Some(10), Some(5), Some(1)], &[(1, 0), (2, 1)], 4);
        assert_eq!(job.update(Duration::ZERO), Some(seconds(16)));
        job.start(1, seconds(1));
        assert_eq!(job.update(Duration::from_millis(999)), None);
        assert_eq!(job.update(seconds(4)), Some(seconds(13)));
        assert_eq!(job.update(seconds(40)), Some(seconds(6)));
        job.finish(1);
        // The second task was not needed, and the third has begun.
        job.start(3, seconds(50));
        assert_eq!(job.update(seconds(50)), Some(seconds(1)));
        job.finish(3);
        assert_eq!(job.update(seconds(60)), Some(Duration::ZERO));
        job.finish(77);
    }

    #[test]
    fn a_step_that_sets_a_state_takes_no_time() {
        let steps = [
            Some((1, Some(seconds(2)))),
            None,
            Some((2, Some(seconds(3)))),
        ];
        let waits = [(2, 1), (1, 0)];
        let job = Forecast::new(UsualTimes::default(), &steps, waits.into_iter(), 9);
        assert_eq!(job.time_left(Duration::ZERO), seconds(5));
    }

    proptest! {
        #[test]
        fn an_estimate_lies_between_the_longest_task_and_all_tasks(
            times in prop::collection::vec(prop::option::of(0..1_000_u64), 1..40),
            waits in prop::collection::vec((0..40_usize, 0..40_usize), 0..60),
            started in prop::collection::vec((0..40_usize, 0..50_u64), 0..20),
            ended in prop::collection::vec(0..40_usize, 0..20),
            parallel in 0..9_usize,
        ) {
            let waits: Vec<_> = waits.into_iter().filter(|(a, b)| a.max(b) < &times.len()).collect();
            let mut job = job(&times, &waits, parallel);
            let total: Duration = job.steps.iter().map(|step| step.time).sum();
            let longest = job.steps.iter().map(|step| step.time).max().unwrap_or_default();
            let before = job.time_left(Duration::ZERO);
            prop_assert!(longest <= before && before <= total);
            for (task, at) in started {
                job.start(task, seconds(at));
            }
            for task in ended {
                job.finish(task);
            }
            prop_assert!(job.time_left(seconds(50)) <= total);
            prop_assert!(job.time_left(seconds(60)) <= job.time_left(seconds(50)));
            for task in 0..=times.len() {
                job.finish(task);
            }
            prop_assert_eq!(job.time_left(seconds(50)), Duration::ZERO);
        }

        #[test]
        fn a_chain_is_the_sum_and_independent_tasks_are_the_maximum(
            times in prop::collection::vec(0..1_000_u64, 1..50),
        ) {
            let known: Vec<_> = times.iter().copied().map(Some).collect();
            let chain: Vec<_> = (1..times.len()).map(|step| (step, step - 1)).collect();
            prop_assert_eq!(left(&known, &chain, 64), Some(times.iter().sum()));
            prop_assert_eq!(left(&known, &[], 64), times.iter().copied().max());
        }
    }
}
