//! The thread that delivers notices while schedules run. Nothing waits for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::delivery::DeliveryEvent;
use super::desk::NoticeDesk;
use super::pass::{MIN_PAUSE, PassResult, deliver_due};
use crate::system::{clock, fs};

/// The longest pause between two passes. Another process may have queued a notice.
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// The pause after a pass that failed, for example because the disk is full.
const FAILURE_PAUSE: Duration = Duration::from_secs(30);

/// The longest time of a pass. Notices that are left wait for the next one.
const PASS_LIMIT: Duration = Duration::from_mins(10);

/// The receiver of what a courier does.
pub trait CourierObserver: Send + Sync + 'static {
    /// Takes the result of an attempt.
    fn on_event(&self, event: &DeliveryEvent);
    /// Takes the result of a pass over all waiting notices.
    fn on_pass(&self, result: Result<PassResult, fs::Error>);
}

/// A thread that delivers notices. Dropping this value ends the thread after the attempt in progress.
#[derive(Debug)]
pub struct Courier(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    desk: Arc<NoticeDesk>,
    is_woken: bool,
    is_ending: bool,
}

impl Courier {
    /// Starts the thread.
    pub fn start(desk: NoticeDesk, observer: impl CourierObserver) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                desk: Arc::new(desk),
                is_woken: false,
                is_ending: false,
            }),
            changed: Condvar::new(),
        });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("notices".to_owned());
        thread.spawn(move || of_thread.run(&observer))?;
        Ok(Self(shared))
    }

    /// Looks for waiting notices at once.
    pub fn wake(&self) {
        self.0.change(|state| state.is_woken = true);
    }

    /// Uses other rules from now on.
    pub fn set_desk(&self, desk: NoticeDesk) {
        self.0.change(|state| {
            state.desk = Arc::new(desk);
            state.is_woken = true;
        });
    }
}

impl Drop for Courier {
    fn drop(&mut self) {
        self.0.change(|state| state.is_ending = true);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn run(&self, observer: &dyn CourierObserver) {
        loop {
            let desk = {
                let mut state = self.lock();
                if state.is_ending {
                    return;
                }
                state.is_woken = false;
                Arc::clone(&state.desk)
            };
            let result = deliver_due(&desk, PASS_LIMIT, &|event| observer.on_event(event));
            let pause = pause_after(&result);
            observer.on_pass(result);
            let is_idle = |state: &mut State| !state.is_woken && !state.is_ending;
            let waited = self.changed.wait_timeout_while(self.lock(), pause, is_idle);
            drop(waited);
        }
    }
}

fn pause_after(result: &Result<PassResult, fs::Error>) -> Duration {
    match result {
        Ok(PassResult { next: None, .. }) => MAX_PAUSE,
        Ok(PassResult {
            next: Some(next), ..
        }) => {
            let pause = next.duration_since(clock::now());
            let pause = Duration::try_from(pause).unwrap_or_default();
            pause.clamp(MIN_PAUSE, MAX_PAUSE)
        }
        Err(_) => FAILURE_PAUSE,
    }
}
