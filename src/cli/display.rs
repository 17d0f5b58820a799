//! The display of running work: a thread that feeds a view with events and writes its text.
//!
//! Events wait in a bounded queue. The thread takes them ten times a second, so that work that ends
//! quickly does not wait for the terminal, and each frame is one call of the system.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::system::console;
use crate::system::terminal::{self, CTRL_Z, KeyMode};
use crate::ui::{ProgressEvent, ProgressView};

/// The time between two looks at the queue.
const TICK: Duration = Duration::from_millis(100);
/// The size of waiting events at which the thread takes them early, in bytes.
const EARLY_BYTES: usize = 256 << 10;
/// The size of waiting events at which their sender has to wait, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// The size of an event without its texts, in bytes.
const EVENT_BYTES: usize = 128;

/// The display that runs now.
static RUNNING: Mutex<Weak<Queue>> = Mutex::new(Weak::new());

/// The use that a display makes of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::cli) struct TerminalUse {
    /// Whether the size of the terminal is watched.
    pub(in crate::cli) size: bool,
    /// Whether keys are read.
    pub(in crate::cli) keys: bool,
    /// The maximum width that the user wants.
    pub(in crate::cli) max_columns: Option<u16>,
}

impl TerminalUse {
    /// Returns the columns and rows that a view may use. In the background there are no rows.
    pub(in crate::cli) fn size(self) -> Option<(u16, u16)> {
        let (columns, rows) = terminal::size()?;
        let columns = self.max_columns.map_or(columns, |max| columns.min(max));
        let may_draw = !self.keys || terminal::is_foreground();
        Some((columns, if may_draw { rows } else { 0 }))
    }
}

/// A display with its thread. Dropping it ends the display.
#[derive(Debug)]
pub(in crate::cli) struct Display {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    started: Instant,
}

/// The events that the thread has not taken.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<QueueState>,
    /// Wakes the thread.
    sent: Condvar,
    /// Wakes senders, and those that wait for a pause.
    taken: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    events: Vec<(Duration, ProgressEvent)>,
    bytes: usize,
    /// Whether the thread shall end.
    is_ending: bool,
    /// Whether the thread has ended.
    has_ended: bool,
    /// The number of pauses.
    pauses: usize,
    /// Whether the thread leaves the terminal alone.
    is_paused: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, at: Duration, event: ProgressEvent) {
        let bytes = EVENT_BYTES + text_bytes(&event);
        let mut state = self.state();
        while state.bytes >= MAX_BYTES && !state.has_ended && state.pauses == 0 {
            state = wait(&self.taken, state);
        }
        let was_early = state.bytes >= EARLY_BYTES;
        state.bytes += bytes;
        state.events.push((at, event));
        if state.bytes >= EARLY_BYTES && !was_early {
            self.sent.notify_one();
        }
    }

    /// Waits until the next look at the queue is due, and takes the events.
    fn take(&self, until: Instant) -> (Vec<(Duration, ProgressEvent)>, Demand) {
        let mut state = self.state();
        loop {
            let demand = match &*state {
                state if state.is_ending => Demand::End,
                state if state.pauses > 0 => Demand::Pause,
                _ => Demand::Show,
            };
            let left = until.saturating_duration_since(Instant::now());
            if demand != Demand::Show || left.is_zero() || state.bytes >= EARLY_BYTES {
                state.bytes = 0;
                let events = std::mem::take(&mut state.events);
                self.taken.notify_all();
                return (events, demand);
            }
            let waited = self.sent.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Leaves the terminal alone until all pauses have ended.
    fn pause(&self) {
        let mut state = self.state();
        state.is_paused = true;
        self.taken.notify_all();
        while state.pauses > 0 && !state.is_ending {
            state = wait(&self.sent, state);
        }
        state.is_paused = false;
    }
}

/// The demand on the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    Show,
    Pause,
    End,
}

fn wait<'a>(condition: &Condvar, state: MutexGuard<'a, QueueState>) -> MutexGuard<'a, QueueState> {
    condition
        .wait(state)
        .unwrap_or_else(PoisonError::into_inner)
}

fn text_bytes(event: &ProgressEvent) -> usize {
    match event {
        ProgressEvent::Output { text, .. } | ProgressEvent::Message { text, .. } => text.len(),
        ProgressEvent::TaskFinished(finished) => finished.errors.iter().map(String::len).sum(),
        ProgressEvent::Problem(problem) => problem.text.len(),
        _ => 0,
    }
}

impl Display {
    /// Starts the thread. None if the system has no thread for it.
    pub(in crate::cli) fn start(
        view: Box<dyn ProgressView>,
        terminal_use: TerminalUse,
    ) -> Option<Self> {
        let queue = Arc::new(Queue::default());
        let started = Instant::now();
        let mut screen = ScreenThread {
            queue: Arc::clone(&queue),
            view,
            started,
            terminal_use,
            keys: None,
            text: String::new(),
        };
        let thread = std::thread::Builder::new().name("screen".to_owned());
        let thread = thread.spawn(move || screen.run()).ok()?;
        *running() = Arc::downgrade(&queue);
        Some(Self {
            queue,
            thread: Some(thread),
            started,
        })
    }

    /// Returns the time since the start.
    pub(in crate::cli) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Shows an event. Waits if too many events wait already.
    pub(in crate::cli) fn send(&self, event: ProgressEvent) {
        self.queue.send(self.elapsed(), event);
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        *running() = Weak::new();
        self.queue.state().is_ending = true;
        self.queue.sent.notify_all();
        if let Some(thread) = self.thread.take() {
            // If the thread has panicked, it has given the terminal back.
            thread.join().ok();
        }
    }
}

fn running() -> MutexGuard<'static, Weak<Queue>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A time in which the display leaves the terminal to a question.
#[derive(Debug)]
#[must_use = "dropping this value continues the display"]
pub(in crate::cli) struct DisplayPause(Option<Arc<Queue>>);

/// Removes the display that runs, if any, from the terminal until the returned value is dropped.
pub(in crate::cli) fn pause_display() -> DisplayPause {
    let queue = running().upgrade();
    if let Some(queue) = &queue {
        let mut state = queue.state();
        state.pauses += 1;
        queue.sent.notify_all();
        while !state.is_paused && !state.has_ended {
            state = wait(&queue.taken, state);
        }
    }
    DisplayPause(queue)
}

impl Drop for DisplayPause {
    fn drop(&mut self) {
        if let Some(queue) = &self.0 {
            queue.state().pauses -= 1;
            queue.sent.notify_all();
        }
    }
}

/// The thread of a display.
struct ScreenThread {
    queue: Arc<Queue>,
    view: Box<dyn ProgressView>,
    started: Instant,
    terminal_use: TerminalUse,
    /// The input mode, while keys are read.
    keys: Option<KeyMode>,
    /// The text of the next frame.
    text: String,
}

impl ScreenThread {
    fn run(&mut self) {
        self.read_keys();
        loop {
            let (events, demand) = self.queue.take(Instant::now() + TICK);
            self.update_size();
            for (at, event) in &events {
                self.view.event(*at, event, &mut self.text);
            }
            self.read_keys();
            let at = self.started.elapsed();
            match demand {
                Demand::Show => {
                    self.view.tick(at, &mut self.text);
                    self.write();
                }
                Demand::Pause => {
                    self.view.pause(&mut self.text);
                    self.write();
                    self.keys = None;
                    self.queue.pause();
                }
                Demand::End => return,
            }
        }
    }

    fn update_size(&mut self) {
        if self.terminal_use.size
            && let Some(size) = self.terminal_use.size()
        {
            self.view.resize(size);
        }
    }

    /// Passes pressed keys to the view. Ctrl-Z stops this process.
    fn read_keys(&mut self) {
        if !self.terminal_use.keys {
            return;
        }
        if self.keys.is_some() && !terminal::is_foreground() {
            self.keys = None;
        }
        if self.keys.is_none() {
            self.keys = KeyMode::enter();
        }
        let Some(mode) = &self.keys else { return };
        let keys = mode.take_keys();
        let at = self.started.elapsed();
        for key in keys {
            if key == CTRL_Z {
                self.view.pause(&mut self.text);
                self.write();
                self.keys = None;
                terminal::suspend_process();
                return;
            }
            self.view.key(at, key, &mut self.text);
        }
    }

    fn write(&mut self) {
        if !self.text.is_empty() {
            // A terminal that is gone must not stop the job.
            console::write_display(&self.text).ok();
            self.text.clear();
        }
    }
}

impl Drop for ScreenThread {
    fn drop(&mut self) {
        self.view.finish(self.started.elapsed(), &mut self.text);
        self.write();
        self.keys = None;
        self.queue.state().has_ended = true;
        self.queue.taken.notify_all();
    }
}
