//! The state of termination signals, such as SIGINT from Ctrl-C.
//!
//! Each part of the program asks [`Interrupts`] and decides where it can stop. `exec::signal_watcher`
//! receives the signals and reports them here.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};

use super::terminal;
use crate::value::limits::cancel_evaluations;

/// Whether the running helper program must be ended. A global variable, because helpers are started in code
/// that has no access to [`Interrupts`].
static HELPER_TERMINATION_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Returns once whether the running helper program must be ended, because a signal arrived before any change
/// had started.
pub(crate) fn take_helper_termination() -> bool {
    HELPER_TERMINATION_REQUESTED.swap(false, Ordering::SeqCst)
}

/// The number of actions that a signal must not cut off, such as the release of a lock on a server.
static EXIT_HOLDS: AtomicUsize = AtomicUsize::new(0);

/// The number of signals that all [`Interrupts`] recorded. A global variable, because code without access to
/// [`Interrupts`] waits for other machines.
static SIGNALS: AtomicUsize = AtomicUsize::new(0);

/// The number of the last signal; 0 if none arrived.
static LAST_SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The number of the signal that cut a wait for another machine short; 0 if none did.
static CUT_SHORT_BY: AtomicI32 = AtomicI32::new(0);

/// The time that another machine gets for its answer once a signal has arrived.
const ANSWER_GRACE: Duration = Duration::from_millis(300);

/// The time limit of a request that begins after a signal, such as the release of a lock at the end of a job.
const LATE_ANSWER_LIMIT: Duration = Duration::from_secs(3);

/// A wait for the answer of another machine, which a signal cuts short.
#[derive(Debug)]
pub struct AnswerWait {
    /// The number of signals before the wait.
    earlier_signals: usize,
    /// The end of the wait, once a signal has arrived.
    end: Option<Instant>,
}

impl AnswerWait {
    pub fn begin() -> Self {
        Self {
            earlier_signals: SIGNALS.load(Ordering::SeqCst),
            end: None,
        }
    }

    /// Returns the time limit for an answer. After a signal, the limit is short.
    pub fn limit(usual: Duration) -> Duration {
        match SIGNALS.load(Ordering::SeqCst) {
            0 => usual,
            _ => usual.min(LATE_ANSWER_LIMIT),
        }
    }

    /// Whether a signal has ended the wait.
    pub fn is_over(&mut self) -> bool {
        let signals = SIGNALS.load(Ordering::SeqCst);
        if signals > self.earlier_signals {
            self.earlier_signals = signals;
            let end = Instant::now() + ANSWER_GRACE;
            self.end.get_or_insert(end);
        }
        let is_over = self.end.is_some_and(|end| Instant::now() >= end);
        if is_over {
            CUT_SHORT_BY.store(LAST_SIGNAL.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        is_over
    }
}

/// Returns the number of the signal that cut a wait for another machine short.
pub fn cut_short_by() -> Option<i32> {
    match CUT_SHORT_BY.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(signal),
    }
}

/// A guard for an action that the first signal must not cut off. The second signal still does.
#[derive(Debug)]
#[must_use = "dropping this value ends the protection"]
pub struct ExitHold(());

impl ExitHold {
    pub fn new() -> Self {
        EXIT_HOLDS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Default for ExitHold {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ExitHold {
    fn drop(&mut self) {
        EXIT_HOLDS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Ends this process at once, without unwinding.
#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "signals and limits end a process that does not end itself"
)]
pub fn end_process(code: i32) -> ! {
    terminal::restore();
    std::process::exit(code)
}

/// Lets helpers and evaluations run again after a signal, for what remains to be done.
fn clear_termination_requests() {
    take_helper_termination();
    cancel_evaluations(false);
}

/// Returns the signals that request termination. SIGHUP is left out if this process ignores it, because
/// `nohup` keeps a program running after the terminal is closed.
pub fn termination_signals() -> Vec<Signal> {
    let mut signals = vec![Signal::SIGINT, Signal::SIGTERM, Signal::SIGQUIT];
    if !is_ignored(Signal::SIGHUP) {
        signals.push(Signal::SIGHUP);
    }
    signals
}

/// Blocks termination signals in this thread and in all threads it starts. Child processes inherit the
/// blocked signals.
pub fn block_termination_signals() {
    let all: SigSet = termination_signals().into_iter().collect();
    // If blocking fails, signals have their usual effect.
    all.thread_block().ok();
}

/// A callback for each signal, with its number and the count of signals so far.
type SignalListener = Box<dyn Fn(i32, usize) + Send>;

/// The signals received so far, and the listener.
#[derive(Default)]
struct InterruptState {
    /// The number of the first signal.
    first: Option<i32>,
    /// The number of signals so far.
    count: usize,
    /// Whether the program has noticed the first signal and ends in an orderly way.
    acknowledged: bool,
    /// Whether changes have started that must be completed in an orderly way.
    started: bool,
    /// The current listener with its number, which its [`ListenerGuard`] knows.
    listener: Option<(u64, SignalListener)>,
    /// The number of listeners registered so far.
    listeners: u64,
}

/// The state shared by all clones of [`Interrupts`], with a condition variable for waiting.
#[derive(Default)]
struct SharedInterrupts {
    state: Mutex<InterruptState>,
    signalled: Condvar,
}

/// A shared record of termination signals. All clones share the same state.
#[derive(Clone, Default)]
pub struct Interrupts(Arc<SharedInterrupts>);

impl std::fmt::Debug for Interrupts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Interrupts").field(&self.first()).finish()
    }
}

impl Interrupts {
    fn state(&self) -> MutexGuard<'_, InterruptState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a signal. Before [`Self::mark_started`] is called, a second signal ends this process at once.
    pub fn signal(&self, signal: Signal) {
        let mut state = self.state();
        state.first.get_or_insert(signal as i32);
        state.count += 1;
        LAST_SIGNAL.store(signal as i32, Ordering::SeqCst);
        SIGNALS.fetch_add(1, Ordering::SeqCst);
        if !state.started {
            if state.count > 1 {
                // A lock left behind here is taken over by the next job.
                end_process(128 + signal as i32);
            }
            cancel_evaluations(true);
            HELPER_TERMINATION_REQUESTED.store(true, Ordering::SeqCst);
        }
        if let Some((_, listener)) = &state.listener {
            listener(signal as i32, state.count);
        }
        self.0.signalled.notify_all();
    }

    /// Returns the number of the first signal, if one arrived.
    pub fn first(&self) -> Option<i32> {
        self.state().first
    }

    /// Returns the first signal and marks it as handled, so that helper programs started from now on for
    /// cleanup are not ended by it.
    pub fn acknowledge(&self) -> Option<i32> {
        let mut state = self.state();
        if state.first.is_some() {
            state.acknowledged = true;
            clear_termination_requests();
        }
        state.first
    }

    /// Whether a signal has arrived that nothing has noticed yet, and no change has started.
    pub fn is_unheeded(&self) -> bool {
        let state = self.state();
        state.first.is_some() && !state.acknowledged && !state.started
    }

    /// Ends this process if a signal is still unheeded, unless something must be completed first.
    pub fn end_if_unheeded(&self) {
        let state = self.state();
        if let Some(signal) = state.first
            && !state.acknowledged
            && !state.started
            && EXIT_HOLDS.load(Ordering::SeqCst) == 0
        {
            // A lock left behind here is taken over by the next job.
            end_process(128 + signal);
        }
    }

    /// Returns the first signal if one arrived and no change has started.
    pub fn first_before_start(&self) -> Option<i32> {
        let state = self.state();
        state.first.filter(|_| !state.started)
    }

    /// Declares that changes have started. From now on signals end neither helper programs nor this process.
    pub fn mark_started(&self) {
        self.state().started = true;
        clear_termination_requests();
    }

    /// Waits for a signal up to `time`. Returns whether one has arrived, now or earlier.
    pub fn wait(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut state = self.state();
        while state.first.is_none() {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return false;
            }
            let woken = self.0.signalled.wait_timeout(state, remaining);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Registers the listener for signals, replacing the previous one. A signal that arrived earlier is
    /// reported at once.
    ///
    /// The listener is active until the returned guard is dropped or another listener is registered.
    pub fn listen(&self, listener: impl Fn(i32, usize) + Send + 'static) -> ListenerGuard {
        let mut state = self.state();
        if let Some(first) = state.first {
            listener(first, state.count);
        }
        state.listeners += 1;
        let number = state.listeners;
        state.listener = Some((number, Box::new(listener)));
        ListenerGuard {
            interrupts: self.clone(),
            number,
        }
    }
}

/// A guard that keeps a signal listener registered.
#[derive(Debug)]
#[must_use = "dropping this value removes the listener"]
pub struct ListenerGuard {
    interrupts: Interrupts,
    number: u64,
}

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        let mut state = self.interrupts.state();
        let own = state.listener.take_if(|(number, _)| *number == self.number);
        drop(state);
        drop(own);
    }
}

/// Whether this process ignores a signal.
pub fn is_ignored(signal: Signal) -> bool {
    let Ok(status) = super::fs::read_to_string(std::path::Path::new("/proc/self/status")) else {
        return false;
    };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> (signal as i32 - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_signal_is_kept_and_listeners_get_all_signals() {
        let interrupts = Interrupts::default();
        interrupts.mark_started();
        assert!(!interrupts.wait(Duration::from_millis(1)));
        assert_eq!(interrupts.first(), None);
        interrupts.signal(Signal::SIGTERM);
        let notified = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&notified);
        let listening = interrupts.listen(move |_, nth| {
            count.fetch_add(nth, Ordering::SeqCst);
        });
        interrupts.signal(Signal::SIGINT);
        assert_eq!(notified.load(Ordering::SeqCst), 3);
        drop(listening);
        interrupts.signal(Signal::SIGINT);
        assert_eq!(notified.load(Ordering::SeqCst), 3);
        assert_eq!(interrupts.first(), Some(15));
        assert!(interrupts.wait(Duration::ZERO));
    }

    #[test]
    fn a_listener_that_goes_leaves_the_one_after_it() {
        let interrupts = Interrupts::default();
        interrupts.mark_started();
        let notified = Arc::new(AtomicUsize::new(0));
        let first = interrupts.listen(|_, _| panic!("somebody else listens now"));
        let count = Arc::clone(&notified);
        let _second = interrupts.listen(move |_, _| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        drop(first);
        interrupts.signal(Signal::SIGINT);
        assert_eq!(notified.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_helper_is_cut_short_until_the_signal_is_heeded() {
        let interrupts = Interrupts::default();
        assert_eq!(interrupts.acknowledge(), None);
        interrupts.signal(Signal::SIGINT);
        // Reading the state changes nothing.
        assert_eq!(interrupts.first(), Some(2));
        assert_eq!(format!("{interrupts:?}"), "Interrupts(Some(2))");
        assert!(HELPER_TERMINATION_REQUESTED.load(Ordering::SeqCst));
        assert_eq!(interrupts.acknowledge(), Some(2));
        assert!(!take_helper_termination());
    }

    #[test]
    fn who_waits_is_woken() {
        let interrupts = Interrupts::default();
        interrupts.mark_started();
        let other = interrupts.clone();
        let waits = std::thread::spawn(move || other.wait(Duration::from_mins(1)));
        std::thread::sleep(Duration::from_millis(20));
        interrupts.signal(Signal::SIGINT);
        assert!(waits.join().unwrap());
    }

    #[test]
    fn a_signal_that_is_ignored_is_known() {
        // Rust programs ignore SIGPIPE from their start.
        assert!(is_ignored(Signal::SIGPIPE));
        assert!(!is_ignored(Signal::SIGCHLD));
    }
}
