//! The budget of an evaluation: [`check`] ends an evaluation that uses too much CPU time or that a signal
//! interrupts. The evaluator begins a budget for each outermost evaluation; everything that an evaluation
//! repeats calls [`check`]. [`EvaluationWatch`] finds an evaluation that hangs between two checks.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::value::limits::{CpuClock, is_evaluation_cancelled, limits};

use super::error::Error;

/// The wall time after which an evaluation reads the CPU clock for the first time. Most evaluations end
/// before, and reading that clock is slower than reading the clock of wall time.
const FIRST_LOOK: Duration = Duration::from_millis(1);

/// The share of the limit that an evaluation without any check gets in addition, and a fixed time.
const WATCH_FACTOR: f64 = 1.25;
const WATCH_MARGIN: Duration = Duration::from_millis(500);

thread_local! {
    static BUDGET: Budget = Budget::new();
}

/// The evaluations that run in other threads, for [`EvaluationWatch`].
static THREADS: Mutex<Vec<Weak<ThreadState>>> = Mutex::new(Vec::new());

/// The part of a thread's budget that other threads can see.
#[derive(Debug)]
struct ThreadState {
    /// The number of the thread for the operating system.
    thread: i32,
    /// The number of the running evaluation; 0 if none runs.
    evaluation: AtomicU64,
    /// The name of the attribute or input under evaluation.
    name: Mutex<Option<Arc<str>>>,
}

/// The budget of the evaluation that runs in this thread.
struct Budget {
    /// The number of nested evaluations that callers started.
    depth: Cell<usize>,
    /// The number of outermost evaluations so far.
    count: Cell<u64>,
    /// The wall time before which the CPU clock need not be read: a thread uses no more CPU time than wall
    /// time passes.
    next_look: Cell<Option<Instant>>,
    /// The CPU time of the thread at the first look.
    start: Cell<Option<Duration>>,
    exhausted: Cell<bool>,
    state: Arc<ThreadState>,
}

/// A guard for one evaluation that a caller started; it ends when the guard is dropped.
#[must_use]
pub(super) struct BudgetGuard(());

/// A guard for the evaluation of a named attribute or input.
#[must_use]
pub(super) struct NameGuard(Option<Arc<str>>);

impl Budget {
    fn new() -> Self {
        let state = Arc::new(ThreadState {
            thread: (clock().thread)(),
            evaluation: AtomicU64::new(0),
            name: Mutex::default(),
        });
        let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| thread.strong_count() > 0);
        threads.push(Arc::downgrade(&state));
        Self {
            depth: Cell::new(0),
            count: Cell::new(0),
            next_look: Cell::new(None),
            start: Cell::new(None),
            exhausted: Cell::new(false),
            state,
        }
    }

    /// Compares the CPU time of the thread with the limit.
    fn look(&self, now: Instant) -> Result<(), Error> {
        let (limit, used) = (time_limit(), (clock().own)());
        let Some(start) = self.start.get() else {
            self.start.set(Some(used));
            self.next_look.set(now.checked_add(limit));
            return Ok(());
        };
        let used = used.saturating_sub(start);
        if used > limit {
            self.exhausted.set(true);
            return Err(Error::TimedOut { limit });
        }
        let rest = limit.saturating_sub(used).max(FIRST_LOOK);
        self.next_look.set(now.checked_add(rest));
        Ok(())
    }
}

/// Starts an evaluation for a caller. An outermost evaluation gets a new budget.
pub(super) fn begin() -> BudgetGuard {
    BUDGET.with(|budget| {
        let depth = budget.depth.get();
        budget.depth.set(depth + 1);
        if depth == 0 {
            budget.next_look.set(None);
            budget.start.set(None);
            budget.exhausted.set(false);
            let number = budget.count.get() + 1;
            budget.count.set(number);
            budget.state.evaluation.store(number, Ordering::Relaxed);
        }
    });
    BudgetGuard(())
}

impl Drop for BudgetGuard {
    fn drop(&mut self) {
        BUDGET.with(|budget| {
            let depth = budget.depth.get().saturating_sub(1);
            budget.depth.set(depth);
            if depth == 0 {
                budget.state.evaluation.store(0, Ordering::Relaxed);
            }
        });
    }
}

/// Notes the attribute or input under evaluation until the guard is dropped.
pub(super) fn enter(name: &Arc<str>) -> NameGuard {
    BUDGET.with(|budget| NameGuard(budget.state.name().replace(Arc::clone(name))))
}

impl Drop for NameGuard {
    fn drop(&mut self) {
        BUDGET.with(|budget| *budget.state.name() = self.0.take());
    }
}

impl ThreadState {
    fn name(&self) -> MutexGuard<'_, Option<Arc<str>>> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns an error if the evaluation has used its CPU time, or if a signal interrupts it.
pub(super) fn check() -> Result<(), Error> {
    BUDGET.with(|budget| {
        if budget.depth.get() == 0 {
            return Ok(());
        }
        if budget.exhausted.get() {
            let limit = time_limit();
            return Err(Error::TimedOut { limit });
        }
        if is_evaluation_cancelled() {
            return Err(Error::Interrupted);
        }
        let now = Instant::now();
        match budget.next_look.get() {
            None => {
                budget.next_look.set(now.checked_add(FIRST_LOOK));
                Ok(())
            }
            Some(next) if now < next => Ok(()),
            Some(_) => budget.look(now),
        }
    })
}

/// Returns the result of an evaluation, or the error that the budget is used up. An expression that ignores
/// errors cannot hide this one.
pub(super) fn settle<T>(result: Result<T, Error>) -> Result<T, Error> {
    match (check(), result) {
        (Err(_), Err(error)) if error.is_final() => Err(error),
        (Err(error), _) => Err(error),
        (Ok(()), result) => result,
    }
}

fn time_limit() -> Duration {
    #[cfg(test)]
    if let Some(limit) = tests::LIMIT.get() {
        return limit;
    }
    limits().evaluation
}

#[cfg(not(test))]
fn clock() -> CpuClock {
    limits().clock
}

#[cfg(test)]
fn clock() -> CpuClock {
    tests::CLOCK
}

/// A watch over the evaluations of all threads. It finds those that hang in a single step, such as the
/// comparison of two large lists, where no check can stop them.
#[derive(Debug, Default)]
pub struct EvaluationWatch {
    /// For each thread the evaluation last seen, and the CPU time when it was first seen.
    seen: HashMap<i32, (u64, Duration)>,
}

impl EvaluationWatch {
    /// Returns the time between two calls of [`Self::overdue`].
    pub fn interval() -> Duration {
        (time_limit() / 4).clamp(Duration::from_millis(20), Duration::from_millis(250))
    }

    /// Returns the message about an evaluation that has used much more CPU time than the limit.
    pub fn overdue(&mut self) -> Option<String> {
        let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = time_limit();
        let threads = threads.iter().filter_map(Weak::upgrade);
        for state in threads {
            let evaluation = state.evaluation.load(Ordering::Relaxed);
            if evaluation == 0 {
                continue;
            }
            let Some(now) = (clock().of)(state.thread) else {
                continue;
            };
            let seen = self.seen.entry(state.thread).or_insert((0, now));
            if seen.0 != evaluation {
                *seen = (evaluation, now);
            }
            if now.saturating_sub(seen.1) > limit.mul_f64(WATCH_FACTOR) + WATCH_MARGIN {
                let name = state.name().clone();
                let name = name.map_or_else(String::new, |name| format!(" of `{name}`"));
                let problem = Error::TimedOut { limit };
                return Some(format!(
                    "one step of the evaluation{name} does not end: {problem}"
                ));
            }
        }
        None
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    thread_local! {
        /// The limit for evaluations of this thread.
        pub(in crate::expr) static LIMIT: Cell<Option<Duration>> = const { Cell::new(None) };
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// A clock that goes on by 10 ms with each look.
    pub(super) const CLOCK: CpuClock = CpuClock {
        own: || {
            NOW.set(NOW.get() + Duration::from_millis(10));
            NOW.get()
        },
        thread: || 0,
        of: |_| None,
    };

    /// Uses up the CPU time of the running evaluation.
    fn use_up() -> Error {
        loop {
            if let Err(error) = check() {
                return error;
            }
        }
    }

    #[test]
    fn an_evaluation_ends_when_its_time_is_used_up() {
        LIMIT.set(Some(Duration::from_millis(15)));
        assert!(check().is_ok(), "without an evaluation there is no budget");
        let outer = begin();
        let inner = begin();
        assert!(matches!(use_up(), Error::TimedOut { .. }));
        drop(inner);
        let message = settle(Ok(())).unwrap_err().to_string();
        insta::assert_snapshot!(message, @"the evaluation took more than 0.015 s of CPU time; raise the limit with `--eval-timeout`");
        assert!(
            check().is_err(),
            "the outermost evaluation is still the same"
        );
        drop(outer);
        assert!(settle(Ok(())).is_ok());
        let _next = begin();
        assert!(check().is_ok(), "the next evaluation has a new budget");
    }
}
