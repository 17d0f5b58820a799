//! The reports of a process that runs schedules: notices about runs and silence, and figures.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use super::figures::Figures;
use super::notify::{
    Courier, CourierObserver, DeliveryEvent, DeliveryOutcome, DeliveryTime, NoticeDesk, PassResult,
    deliver_within, desk_of, missed_run, noticed_run,
};
use super::project_schedules::ProjectSchedules;
use crate::schedule::{Claim, NoticedRun, RunReport, ScheduleLog, ScheduleSpec, silence_of};
use crate::system::fs;
use crate::system::signals::Interrupts;

/// The largest number of runs that wait for the decision about them, while the disk is full.
const MAX_WAITING: usize = 1_000;

/// The reports of a process.
#[derive(Debug)]
pub(super) struct Reporter {
    desk: NoticeDesk,
    /// Delivers in the background. None if the process delivers before it ends.
    courier: Option<Courier>,
    pub(super) figures: Figures,
    /// The runs whose notices could not be queued yet, with the ids of the runs.
    waiting: VecDeque<(Arc<str>, NoticedRun)>,
    /// True if notices could not be queued, which is said once.
    is_broken: bool,
    /// True if notices could not be delivered because of this machine, which is said once.
    is_held_up: bool,
    /// The sentences to show, each with its schedule.
    messages: Vec<(Arc<str>, String)>,
}

impl Reporter {
    pub(super) fn new(loaded: &ProjectSchedules, figures: Figures) -> Self {
        figures.loaded(&loaded.schedules.specs);
        Self {
            desk: desk_of(loaded),
            courier: None,
            figures,
            waiting: VecDeque::new(),
            is_broken: false,
            is_held_up: false,
            messages: Vec::new(),
        }
    }

    /// Starts to deliver in the background.
    pub(super) fn start_courier(&mut self, observer: impl CourierObserver) {
        match Courier::start(self.desk.clone(), observer) {
            Ok(courier) => self.courier = Some(courier),
            Err(error) => {
                let text = format!("notices are not delivered: no thread can be started: {error}");
                self.messages.push(("".into(), text));
            }
        }
    }

    /// Removes and returns the sentences to show, each with its schedule.
    pub(super) fn take_messages(&mut self) -> Vec<(Arc<str>, String)> {
        std::mem::take(&mut self.messages)
    }

    /// Uses the schedules of a changed project.
    pub(super) fn reload(&mut self, loaded: &ProjectSchedules) {
        self.desk = desk_of(loaded);
        self.figures.loaded(&loaded.schedules.specs);
        if let Some(courier) = &self.courier {
            courier.set_desk(self.desk.clone());
        }
    }

    /// Decides about a run and queues its notices, before the log says that the run has ended. A crash in between then
    /// loses no notice.
    pub(super) fn ending(&mut self, claim: &Claim, report: &RunReport) {
        if let Some(run) = noticed_run(report) {
            self.decide(Arc::clone(&claim.run), run);
        }
    }

    /// Looks at the log of a schedule: a run may have been cut off, and nothing may have looked for too long.
    pub(super) fn look(&mut self, spec: &ScheduleSpec, log: &ScheduleLog, now: Timestamp) {
        if spec.notify.is_empty() {
            return;
        }
        if let Some((id, run)) = missed_run(&self.desk, spec, log, now) {
            self.decide(id, run);
        }
        let Some(shortest) = self.desk.shortest_silence(&spec.name) else {
            return;
        };
        let silence = silence_of(spec, log, now).filter(|silence| silence.missed >= shortest);
        if let Some(silence) = silence {
            let titles = self.desk.in_silence(&silence);
            self.queued(&spec.name, titles);
        }
    }

    fn decide(&mut self, id: Arc<str>, run: NoticedRun) {
        let is_waiting = self.waiting.iter().any(|(other, _)| *other == id);
        if !is_waiting && self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((id, run));
        }
        self.retry();
    }

    /// Decides about the runs that wait.
    pub(super) fn retry(&mut self) {
        while let Some((id, run)) = self.waiting.front() {
            let schedule = Arc::clone(&run.schedule);
            let titles = self.desk.after_run(id, run);
            if !self.queued(&schedule, titles) {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Takes the result of a decision. Returns false if the notices could not be queued.
    fn queued(&mut self, schedule: &Arc<str>, titles: Result<Vec<String>, fs::Error>) -> bool {
        match titles {
            Ok(titles) => {
                if std::mem::take(&mut self.is_broken) {
                    let text = "notices can be queued again".to_owned();
                    self.messages.push((Arc::clone(schedule), text));
                }
                if let (Some(courier), false) = (&self.courier, titles.is_empty()) {
                    courier.wake();
                }
                true
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_broken, true) {
                    let text = format!("notices wait until they can be queued: {error}");
                    self.messages.push((Arc::clone(schedule), text));
                }
                false
            }
        }
    }

    /// Takes the result of an attempt to deliver a notice.
    pub(super) fn delivered(&mut self, event: &DeliveryEvent) {
        self.figures.delivered(event);
        self.messages
            .push((Arc::clone(&event.schedule), sentence_of(event)));
    }

    /// Delivers notices for a limited time. Returns the sentences about those that were not delivered, each with its
    /// schedule.
    pub(super) fn deliver(
        mut self,
        time: DeliveryTime,
        interrupts: &Interrupts,
    ) -> Vec<(Arc<str>, String)> {
        let events = Mutex::new(Vec::new());
        let result = deliver_within(&self.desk, time, interrupts, &|event| {
            events
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(event.clone());
        });
        self.passed(result);
        let events = events.into_inner().unwrap_or_else(PoisonError::into_inner);
        let failed = events
            .iter()
            .filter(|event| event.outcome != DeliveryOutcome::Delivered);
        let failed = failed.map(|event| (Arc::clone(&event.schedule), sentence_of(event)));
        self.messages.extend(failed);
        self.messages
    }

    /// Takes the result of a pass over the waiting notices.
    pub(super) fn passed(&mut self, result: Result<PassResult, fs::Error>) {
        match result {
            Ok(pass) => {
                self.figures.queued(pass.queued);
                self.is_held_up = false;
            }
            Err(error) if !std::mem::replace(&mut self.is_held_up, true) => {
                let text = format!("notices stay queued, and are tried again: {error}");
                self.messages.push(("".into(), text));
            }
            Err(_) => {}
        }
    }
}

/// Returns the sentence about an attempt to deliver a notice.
fn sentence_of(event: &DeliveryEvent) -> String {
    let (target, title) = (&event.target, &event.title);
    match &event.outcome {
        DeliveryOutcome::Delivered => format!("notice to {target}: {title}"),
        DeliveryOutcome::Postponed { next, reason } => {
            let next = next.strftime("%Y-%m-%dT%H:%M:%SZ");
            format!("the notice to {target} waits until {next}: {reason}")
        }
        DeliveryOutcome::GivenUp { reason } => {
            format!("the notice to {target} is given up: {reason} ({title})")
        }
    }
}
