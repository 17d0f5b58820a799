//! A fake runner that follows a script and starts no process.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use nix::sys::signal::Signal;

use crate::exec::{ActionRunner, Driver, DriverEvent, Error, OnInterrupt, RunnerEvent};
use crate::host::{Action, ActionRequest, ActionResult, Exit};
use crate::system::signals::{Interrupts, ListenerGuard};

/// An event in the script of a fake runner.
pub(super) enum FakeEvent {
    Heard(RunnerEvent),
    Ends(u64, Exit),
    Time,
    Signal,
    Gone,
}

/// The requests that a fake runner received, and its script.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) starts: usize,
    pub(super) started: Vec<(u64, ActionRequest)>,
    pub(super) cancels: usize,
    pub(super) untils: Vec<Option<Instant>>,
    open: BTreeMap<u64, Exit>,
    script: VecDeque<FakeEvent>,
}

/// A fake runner whose actions succeed in the order of their ids, unless its script says otherwise.
#[derive(Clone, Default)]
pub(super) struct Fake {
    pub(super) seen: Rc<RefCell<Seen>>,
    pub(super) interrupts: Interrupts,
    /// Signals that were received and not yet reported as events.
    pub(super) pending_signals: Arc<Mutex<VecDeque<i32>>>,
    /// The numbers of all received signals.
    pub(super) signal_counts: Arc<Mutex<Vec<usize>>>,
    pub(super) ignores_signals: bool,
    pub(super) refuses: Option<u64>,
}

impl Fake {
    pub(super) fn with(script: impl IntoIterator<Item = FakeEvent>) -> Self {
        let fake = Self::default();
        fake.seen.borrow_mut().script.extend(script);
        fake
    }

    pub(super) fn driver(&self, on_interrupt: OnInterrupt) -> Driver {
        let fake = self.clone();
        Driver::new(self.interrupts.clone(), on_interrupt, move || {
            fake.seen.borrow_mut().starts += 1;
            Ok(Box::new(fake.clone()))
        })
    }

    pub(super) fn driver_with_grace(&self) -> Driver {
        self.driver(OnInterrupt::Grace(std::time::Duration::from_secs(1)))
    }

    pub(super) fn submitted_ids(&self) -> Vec<u64> {
        self.seen.borrow().started.iter().map(|it| it.0).collect()
    }

    pub(super) fn last_request(&self) -> ActionRequest {
        self.seen.borrow().started.last().unwrap().1.clone()
    }

    pub(super) fn cancels(&self) -> usize {
        self.seen.borrow().cancels
    }

    pub(super) fn rings(&self) -> Vec<usize> {
        self.signal_counts.lock().unwrap().clone()
    }
}

impl ActionRunner for Fake {
    fn begin(&mut self, id: u64, request: ActionRequest) -> Result<(), Error> {
        if self.refuses == Some(id) {
            return Err(Error::Ended);
        }
        let mut seen = self.seen.borrow_mut();
        seen.started.push((id, request));
        assert_eq!(seen.open.insert(id, Exit::Code(0)), None, "{id} runs");
        Ok(())
    }

    fn next_event(&mut self, until: Option<Instant>) -> Result<Option<RunnerEvent>, Error> {
        let next = {
            let mut seen = self.seen.borrow_mut();
            seen.untils.push(until);
            if let Some(signal) = self.pending_signals.lock().unwrap().pop_front() {
                return Ok(Some(RunnerEvent::Interruption(signal)));
            }
            let script = seen.script.pop_front();
            script.or_else(|| {
                let (id, exit) = seen.open.first_key_value()?;
                Some(FakeEvent::Ends(*id, exit.clone()))
            })
        };
        match next {
            Some(FakeEvent::Heard(heard)) => Ok(Some(heard)),
            Some(FakeEvent::Ends(id, exit)) => {
                self.seen.borrow_mut().open.remove(&id).unwrap();
                Ok(Some(RunnerEvent::Ended(id, ended(exit))))
            }
            Some(FakeEvent::Time) => Ok(None),
            Some(FakeEvent::Signal) => {
                self.interrupts.signal(Signal::SIGINT);
                self.next_event(until)
            }
            Some(FakeEvent::Gone) => Err(Error::Ended),
            None => panic!("nothing runs, and somebody waits for it"),
        }
    }

    fn cancel_all(&mut self) {
        let mut seen = self.seen.borrow_mut();
        seen.cancels += 1;
        for exit in seen.open.values_mut() {
            *exit = Exit::Cancelled;
        }
    }

    fn listen(&self, interrupts: &Interrupts) -> Option<ListenerGuard> {
        let (rung, rings) = (
            Arc::clone(&self.pending_signals),
            Arc::clone(&self.signal_counts),
        );
        let ring = move |signal, nth| {
            rung.lock().unwrap().push_back(signal);
            rings.lock().unwrap().push(nth);
        };
        (!self.ignores_signals).then(|| interrupts.listen(ring))
    }
}

/// Returns an action that reads nothing.
pub(super) fn read_nothing() -> ActionRequest {
    ActionRequest::local(Action::Read(Vec::new()))
}

pub(super) fn ended(exit: Exit) -> ActionResult {
    ActionResult::not_performed(&Action::Read(Vec::new()), exit)
}

/// Waits for the next event, which must be an outcome, and returns its tag and exit.
pub(super) fn outcome(driver: &mut Driver) -> (u64, Exit) {
    match driver.next(None).unwrap() {
        DriverEvent::Outcome(tag, result) => (tag, result.exit().clone()),
        other => panic!("no outcome: {other:?}"),
    }
}
