//! A pass over the waiting notices: each that is due gets an attempt.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::delivery::{DeliveryEvent, DeliveryOutcome, deliver};
use super::delivery_error::DeliveryError;
use super::desk::NoticeDesk;
use super::entry::QueuedNotice;
use super::notice_log;
use super::outbox::Outbox;
use crate::schedule::{is_due, next_attempt};
use crate::system::signals::Interrupts;
use crate::system::{clock, fs, random};

/// The number of targets that get notices at the same time.
const MAX_THREADS: usize = 8;

/// The time after which to look again if another process delivers.
const OTHER_PROCESS_PAUSE: Duration = Duration::from_secs(10);

/// The shortest pause between two passes. A clock that stands still must not keep the processor busy.
pub(super) const MIN_PAUSE: Duration = Duration::from_millis(50);

/// The result of a pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassResult {
    /// The number of notices that still wait.
    pub queued: usize,
    /// The time of the next attempt; None if nothing waits.
    pub next: Option<Timestamp>,
}

/// The receiver of events.
type OnEvent<'a> = &'a (dyn Fn(&DeliveryEvent) + Sync);

/// Makes an attempt for each notice that is due. A target that does not answer holds up only its own notices. After
/// `limit`, the others stay queued.
pub(super) fn deliver_due(
    desk: &NoticeDesk,
    limit: Duration,
    on_event: OnEvent<'_>,
) -> Result<PassResult, fs::Error> {
    let deadline = Instant::now() + limit;
    let outbox = desk.outbox();
    let waiting = outbox.all()?;
    if waiting.is_empty() {
        return Ok(PassResult::default());
    }
    let Some(lock) = outbox.lock()? else {
        return Ok(PassResult {
            queued: waiting.len(),
            next: clock::now().checked_add(OTHER_PROCESS_PAUSE).ok(),
        });
    };
    // Another process may have delivered some in the meantime.
    let now = clock::now();
    let due = outbox.all()?.into_iter();
    let due = due.filter(|notice| is_due(notice.next(), now));
    let mut targets: BTreeMap<_, Vec<QueuedNotice>> = BTreeMap::new();
    for notice in due {
        targets.entry(notice.target_key()).or_default().push(notice);
    }
    let targets: Vec<Vec<QueuedNotice>> = targets.into_values().collect();
    for some in targets.chunks(MAX_THREADS) {
        let sent = std::thread::scope(|scope| {
            let outbox = &outbox;
            let threads = some.iter().map(|notices| {
                let work = move || to_target(desk, outbox, notices, deadline, on_event);
                scope.spawn(work)
            });
            let threads: Vec<_> = threads.collect();
            let results = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or(Ok(())));
            results.collect::<Result<(), fs::Error>>()
        });
        sent?;
    }
    lock.remove()?;
    let waiting = outbox.all()?;
    Ok(PassResult {
        queued: waiting.len(),
        next: waiting.iter().map(QueuedNotice::next).min(),
    })
}

/// The time for deliveries before a process ends.
#[derive(Debug, Clone, Copy)]
pub(in crate::ops::schedules) struct DeliveryTime {
    pub(in crate::ops::schedules) limit: Duration,
    /// True to try again within that time what has failed.
    pub(in crate::ops::schedules) is_patient: bool,
}

/// Makes attempts until all notices are delivered or the time is over. The others stay queued.
pub(in crate::ops::schedules) fn deliver_within(
    desk: &NoticeDesk,
    time: DeliveryTime,
    interrupts: &Interrupts,
    on_event: OnEvent<'_>,
) -> Result<PassResult, fs::Error> {
    let deadline = Instant::now() + time.limit;
    loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        let result = deliver_due(desk, remaining, on_event)?;
        let Some(next) = result.next.filter(|_| time.is_patient) else {
            return Ok(result);
        };
        let pause = Duration::try_from(next.duration_since(clock::now())).unwrap_or_default();
        let pause = pause.max(MIN_PAUSE);
        if Instant::now() + pause >= deadline || interrupts.wait(pause) {
            return Ok(result);
        }
    }
}

/// Delivers the notices of one target in their order. After a failure, the others wait for the same time.
fn to_target(
    desk: &NoticeDesk,
    outbox: &Outbox,
    notices: &[QueuedNotice],
    deadline: Instant,
    on_event: OnEvent<'_>,
) -> Result<(), fs::Error> {
    let mut later = None;
    for notice in notices {
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            break;
        }
        let mut notice = notice.clone();
        if let Some(next) = later {
            notice.postpone(next);
            outbox.update(&notice)?;
            continue;
        }
        let (target, result) = attempt(desk, &notice, remaining);
        let at = clock::now();
        notice.attempts = notice.attempts.saturating_add(1);
        let outcome = settle(&mut notice, result, at);
        match &outcome {
            DeliveryOutcome::Postponed { next, .. } => {
                later = Some(*next);
                outbox.update(&notice)?;
            }
            _ => outbox.remove(&notice)?,
        }
        let event = DeliveryEvent {
            at,
            schedule: notice.schedule.as_str().into(),
            id: notice.id.as_str().into(),
            target,
            title: notice.title,
            attempts: notice.attempts,
            outcome,
        };
        on_event(&event);
        notice_log::append(desk.folder(), &event)?;
    }
    Ok(())
}

/// Makes an attempt. Returns the target in words and the result.
fn attempt(
    desk: &NoticeDesk,
    notice: &QueuedNotice,
    limit: Duration,
) -> (String, Result<(), DeliveryError>) {
    match desk.rule(&notice.schedule, &notice.rule) {
        Some((rule, secrets)) => {
            let result = deliver(notice, &rule.target, secrets, limit.min(rule.time_limit));
            (rule.target.to_string(), result)
        }
        None => {
            let message = format!(
                "the schedule `{}` no longer has this target",
                notice.schedule
            );
            (
                "a former target".to_owned(),
                Err(DeliveryError::lasting(message)),
            )
        }
    }
}

/// Decides about the next attempt.
fn settle(
    notice: &mut QueuedNotice,
    result: Result<(), DeliveryError>,
    now: Timestamp,
) -> DeliveryOutcome {
    let error = match result {
        Ok(()) => return DeliveryOutcome::Delivered,
        Err(error) => error,
    };
    let reason = error.message;
    let mut bytes = [0; 8];
    // Without a random part, the delay is at its longest.
    random::fill(&mut bytes).ok();
    let random = u64::from_le_bytes(bytes);
    let next = next_attempt(notice.attempts, notice.created(), now, random);
    match next.filter(|_| !error.is_final) {
        Some(next) => {
            notice.postpone(next);
            notice.last_error = Some(reason.clone());
            DeliveryOutcome::Postponed { next, reason }
        }
        None => DeliveryOutcome::GivenUp { reason },
    }
}
