//! The loop of `unfurl serve`: runs the schedules of a project in the foreground until a signal arrives.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use jiff::Timestamp;

use super::figures::Figures;
use super::notify::{CourierObserver, DeliveryEvent, PassResult};
use super::owner::{end_leftovers, is_alive, new_claim};
use super::project_schedules::{ProjectSchedules, SchedulesRequest};
use super::reporter::Reporter;
use super::run::{end_rows, perform};
use super::state_folder::{LogSignature, StateError, damage_text};
use crate::diagnostic::{Diagnostics, Sources};
use crate::ops::failure::Failure;
use crate::schedule::{
    Claim, Look, MISSED_REASON, Outcome, Row, RunReport, ScheduleLog, ScheduleSpec, SharedMetrics,
    Step, step,
};
use crate::system::clock;
use crate::system::fs;
use crate::system::signals::Interrupts;

/// The longest sleep: the clock may jump, and another process may change a log or `unfurl.yaml`.
const TICK: Duration = Duration::from_secs(2);
/// The pause after a log could not be written.
const RETRY: Duration = Duration::from_secs(5);

/// The reason of due times that passed while the log could not be written.
const UNWRITTEN_REASON: &str = "missed: the log could not be written at that time";

/// The number of the signal that reloads the schedules.
const SIGHUP: i32 = 1;

/// A request to run the schedules of a project.
#[derive(Debug)]
pub struct ServeRequest {
    pub schedules: SchedulesRequest,
    /// The figures for a metrics server.
    pub metrics: Option<SharedMetrics>,
    pub interrupts: Interrupts,
}

/// The view of the server.
pub trait ServeView {
    /// Shows an event as one line. `schedule` is empty for events of the server.
    fn event(&mut self, time: Timestamp, schedule: &str, text: &str);
    /// Shows problems of `unfurl.yaml`.
    fn problems(&mut self, problems: &Diagnostics, sources: &Sources);
}

/// The events that wake the server.
enum Wake {
    Signal(i32),
    Ended(Arc<str>, Box<RunReport>),
    Delivery(DeliveryEvent),
    Pass(Result<PassResult, fs::Error>),
}

/// Sends what the courier does to the server.
struct CourierEvents(Sender<Wake>);

impl CourierObserver for CourierEvents {
    fn on_event(&self, event: &DeliveryEvent) {
        // The server may have ended.
        self.0.send(Wake::Delivery(event.clone())).ok();
    }

    fn on_pass(&self, result: Result<PassResult, fs::Error>) {
        self.0.send(Wake::Pass(result)).ok();
    }
}

/// A run of this server.
struct OwnRun {
    claim: Claim,
    /// The report of a run whose end is not in the log yet.
    report: Option<Box<RunReport>>,
}

/// The knowledge about a schedule since the last look at it.
#[derive(Default)]
struct Watched {
    wake: Option<Timestamp>,
    signature: LogSignature,
    /// True if the log could not be written; the message is shown once.
    is_broken: bool,
    /// The number of damaged lines that was shown.
    damaged: usize,
    /// True if the schedule must be looked at in any case.
    is_due: bool,
}

/// The decision about the due times of a schedule.
struct Decision {
    step: Step,
    claim: Option<Claim>,
    /// The log with the rows of the decision.
    log: ScheduleLog,
}

struct Server<'a> {
    request: &'a ServeRequest,
    view: &'a mut dyn ServeView,
    loaded: Arc<ProjectSchedules>,
    /// The signature of the project file when it was read.
    file: Option<std::time::SystemTime>,
    watched: HashMap<Arc<str>, Watched>,
    runs: HashMap<Arc<str>, OwnRun>,
    stop: Arc<AtomicBool>,
    sender: Sender<Wake>,
    last_look: Timestamp,
    reporter: Reporter,
}

/// Runs the schedules of a project until a signal arrives. Running commands then get time to end.
pub fn serve(request: &ServeRequest, view: &mut dyn ServeView) -> Result<(), Failure> {
    let loaded = ProjectSchedules::load(&request.schedules)?;
    view.problems(&loaded.schedules.problems, &loaded.sources);
    loaded.state.prepare()?;
    let (sender, wakes) = channel();
    request.interrupts.mark_started();
    let signals = sender.clone();
    let listening = request.interrupts.listen(move |signal, _| {
        // The server may be about to end.
        signals.send(Wake::Signal(signal)).ok();
    });
    let count = loaded.schedules.specs.len();
    let mut reporter = Reporter::new(&loaded, Figures::new(request.metrics.clone()));
    reporter.start_courier(CourierEvents(sender.clone()));
    let mut server = Server {
        request,
        view,
        file: fs::modified_time(&loaded.file),
        loaded: Arc::new(loaded),
        watched: HashMap::new(),
        runs: HashMap::new(),
        stop: Arc::new(AtomicBool::new(false)),
        sender,
        last_look: clock::now(),
        reporter,
    };
    let folder = server.loaded.project.root.display().to_string();
    let noun = if count == 1 { "schedule" } else { "schedules" };
    server.say("", &format!("serves {count} {noun} of `{folder}`"));
    server.run(&wakes);
    drop(listening);
    Ok(())
}

impl Server<'_> {
    fn say(&mut self, schedule: &str, text: &str) {
        self.view.event(clock::now(), schedule, text);
    }

    fn run(&mut self, wakes: &Receiver<Wake>) {
        loop {
            let is_stopping = self.stop.load(Ordering::SeqCst);
            if is_stopping && self.runs.is_empty() {
                self.say("", "ends");
                return;
            }
            if !is_stopping {
                self.reload_if_changed();
                self.look_at_all();
            }
            self.save_ends();
            self.reporter.retry();
            self.tell();
            match wakes.recv_timeout(self.sleep()) {
                Ok(Wake::Signal(SIGHUP)) if !is_stopping => self.reload(),
                Ok(Wake::Signal(signal)) => self.end(signal),
                Ok(Wake::Ended(name, report)) => {
                    if let Some(run) = self.runs.get_mut(&name) {
                        self.reporter.ending(&run.claim, &report);
                        run.report = Some(report);
                    }
                }
                Ok(Wake::Delivery(event)) => self.reporter.delivered(&event),
                Ok(Wake::Pass(result)) => self.reporter.passed(result),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            self.save_ends();
            self.tell();
        }
    }

    /// Shows what the reporter has to say.
    fn tell(&mut self) {
        for (schedule, text) in self.reporter.take_messages() {
            self.say(&schedule, &text);
        }
    }

    fn end(&mut self, signal: i32) {
        let is_first = !self.stop.swap(true, Ordering::SeqCst);
        if is_first {
            let count = self.runs.len();
            self.say("", &format!("ends after signal {signal}; running: {count}"));
        }
    }

    /// Returns the time until the next look.
    fn sleep(&self) -> Duration {
        if self.stop.load(Ordering::SeqCst) {
            return TICK;
        }
        let now = clock::now();
        let wakes = self.watched.values().filter_map(|watched| watched.wake);
        let next = wakes.min().map_or(TICK, |wake| {
            let wait = wake.duration_since(now);
            if wait.is_negative() {
                Duration::ZERO
            } else {
                wait.unsigned_abs()
            }
        });
        // A log that cannot be written must not keep the processor busy.
        next.min(TICK).max(Duration::from_millis(1))
    }

    fn reload_if_changed(&mut self) {
        if fs::modified_time(&self.loaded.file) != self.file {
            self.reload();
        }
    }

    fn reload(&mut self) {
        self.file = fs::modified_time(&self.loaded.file);
        match ProjectSchedules::load(&self.request.schedules) {
            Ok(loaded) => {
                self.view
                    .problems(&loaded.schedules.problems, &loaded.sources);
                let count = loaded.schedules.specs.len();
                self.loaded = Arc::new(loaded);
                // Messages that were shown once are not shown again.
                let loaded = Arc::clone(&self.loaded);
                self.watched
                    .retain(|name, _| loaded.schedules.get(name).is_some());
                for watched in self.watched.values_mut() {
                    watched.is_due = true;
                }
                self.reporter.reload(&self.loaded);
                self.say(
                    "",
                    &format!("reads `unfurl.yaml` again; schedules: {count}"),
                );
            }
            Err(failure) => {
                self.view.problems(&failure.problems, &failure.sources);
                self.say(
                    "",
                    "keeps the schedules that it has: `unfurl.yaml` cannot be read",
                );
            }
        }
    }

    fn look_at_all(&mut self) {
        let loaded = Arc::clone(&self.loaded);
        let now = clock::now();
        let has_jumped = now < self.last_look;
        self.last_look = now;
        self.reporter.figures.beat(now);
        for spec in &loaded.schedules.specs {
            let signature = loaded.state.signature(&spec.name);
            let watched = self.watched.get(&spec.name);
            let is_quiet = watched.is_some_and(|watched| {
                let is_waiting = watched.wake.is_none_or(|wake| wake > now);
                is_waiting && watched.signature == signature && !watched.is_due && !has_jumped
            });
            if !is_quiet {
                self.look_at(&loaded, spec);
            }
        }
    }

    fn look_at(&mut self, loaded: &Arc<ProjectSchedules>, spec: &ScheduleSpec) {
        let was_broken = self.watched.get(&spec.name).is_some_and(|it| it.is_broken);
        let missed_reason = if was_broken {
            UNWRITTEN_REASON
        } else {
            MISSED_REASON
        };
        let decided = self.decide(loaded, spec, missed_reason);
        let signature = loaded.state.signature(&spec.name);
        self.reporter.figures.broken(&spec.name, decided.is_err());
        let watched = self.watched.entry(Arc::clone(&spec.name)).or_default();
        watched.is_due = false;
        match decided {
            Ok(Decision { step, claim, log }) => {
                let was_broken = std::mem::take(&mut watched.is_broken);
                let damaged = log.damaged;
                let has_new_damage = damaged > std::mem::replace(&mut watched.damaged, damaged);
                watched.wake = step.wake;
                watched.signature = signature;
                if was_broken {
                    self.say(&spec.name, "the log can be written again");
                }
                if has_new_damage {
                    let text = damage_text(damaged, &loaded.log_file(&spec.name));
                    self.say(&spec.name, &text);
                }
                self.show(spec, &step);
                self.reporter.figures.looked(spec, &log, &step.rows);
                self.reporter.look(spec, &log, clock::now());
                if let Some(claim) = claim {
                    self.start(spec, claim);
                }
            }
            Err(error) => {
                let was_broken = std::mem::replace(&mut watched.is_broken, true);
                watched.wake = clock::now().checked_add(RETRY).ok();
                watched.signature = signature;
                if !was_broken {
                    let text = format!("nothing runs until the log can be written: {error}");
                    self.say(&spec.name, &text);
                }
            }
        }
    }

    /// Decides about the due times of a schedule, and claims the one that runs now.
    fn decide(
        &self,
        loaded: &ProjectSchedules,
        spec: &ScheduleSpec,
        missed_reason: &str,
    ) -> Result<Decision, StateError> {
        let own: Vec<Arc<str>> = self
            .runs
            .values()
            .map(|run| Arc::clone(&run.claim.run))
            .collect();
        let folder = loaded.state.path();
        let alive = |claim: &Claim| is_alive(claim, spec, &own, folder, clock::now());
        let log = loaded.state.read(&spec.name)?;
        let dead = log.running().filter(|claim| !alive(claim));
        dead.for_each(|claim| end_leftovers(&claim.run));
        loaded.state.change(&spec.name, |log| {
            let now = clock::now();
            let look = Look {
                now,
                is_alive: &alive,
                missed_reason,
            };
            let step = step(spec, log, &look);
            let claim = step
                .start
                .map(|(due, attempt)| new_claim(due, attempt, now, false));
            let mut rows = step.rows.clone();
            rows.extend(claim.clone().map(Row::Claim));
            claim
                .iter()
                .cloned()
                .for_each(|claim| log.apply(Row::Claim(claim)));
            let log = log.clone();
            (rows, Decision { step, claim, log })
        })
    }

    /// Shows the rows of a step that people want to know.
    fn show(&mut self, spec: &ScheduleSpec, step: &Step) {
        for row in &step.rows {
            let text = match row {
                Row::Skipped(skipped) => {
                    let more = skipped.count.saturating_sub(1);
                    let more = if more > 0 {
                        format!(" and {more} more")
                    } else {
                        String::new()
                    };
                    format!("{}{more}: skipped: {}", skipped.first, skipped.reason)
                }
                Row::End(end) => format!("{}: {}", end.outcome.word(), end.reason),
                Row::Revoked { after } => {
                    format!(
                        "the clock went back to {}",
                        after.strftime("%Y-%m-%dT%H:%M:%SZ")
                    )
                }
                _ => continue,
            };
            self.say(&spec.name, &text);
        }
    }

    fn start(&mut self, spec: &ScheduleSpec, claim: Claim) {
        let attempt = if claim.attempt > 1 {
            format!(", attempt {}", claim.attempt)
        } else {
            String::new()
        };
        self.say(
            &spec.name,
            &format!("{}: {} starts{attempt}", claim.due, spec.action),
        );
        let (loaded, stop) = (Arc::clone(&self.loaded), Arc::clone(&self.stop));
        let (sender, spec, own) = (self.sender.clone(), spec.clone(), claim.clone());
        let name = Arc::clone(&spec.name);
        let thread = std::thread::Builder::new().name("schedule".to_owned());
        let started = thread.spawn(move || {
            let report = perform(&loaded, &spec, &own, &stop);
            // The server waits for its runs before it ends.
            sender
                .send(Wake::Ended(Arc::clone(&spec.name), Box::new(report)))
                .ok();
        });
        let report = started.err().map(|error| {
            Box::new(RunReport {
                schedule: Arc::clone(&name),
                due: claim.due,
                started: claim.at,
                ended: clock::now(),
                outcome: Outcome::Failed,
                reason: format!("the run could not be started: {error}").into(),
                ensembles: Vec::new(),
            })
        });
        self.runs.insert(name, OwnRun { claim, report });
    }

    /// Writes the ends of runs. An end that cannot be written stays, and is tried again.
    fn save_ends(&mut self) {
        let ended: Vec<Arc<str>> = self
            .runs
            .iter()
            .filter(|(_, run)| run.report.is_some())
            .map(|(name, _)| Arc::clone(name))
            .collect();
        for name in ended {
            let Some(OwnRun {
                claim,
                report: Some(report),
            }) = self.runs.remove(&name)
            else {
                continue;
            };
            let state = &self.loaded.state;
            let saved = state.change(&name, |log| (end_rows(log, &claim, &report), ()));
            let watched = self.watched.entry(Arc::clone(&name)).or_default();
            match saved {
                Ok(()) => {
                    watched.is_due = true;
                    watched.wake = Some(clock::now());
                    let text = format!(
                        "{}: {}: {}",
                        claim.due,
                        report.outcome.word(),
                        report.reason
                    );
                    self.say(&name, &text);
                    self.reporter.figures.ended(&report);
                }
                Err(error) => {
                    let was_broken = std::mem::replace(&mut watched.is_broken, true);
                    let is_stopping = self.stop.load(Ordering::SeqCst);
                    if !was_broken || is_stopping {
                        let text = format!(
                            "the end of the run of {} cannot be saved: {error}",
                            claim.due
                        );
                        self.say(&name, &text);
                    }
                    // A server that ends leaves the claim: the next one finds it cut off.
                    if !is_stopping {
                        self.runs.insert(
                            name,
                            OwnRun {
                                claim,
                                report: Some(report),
                            },
                        );
                    }
                }
            }
        }
    }
}
