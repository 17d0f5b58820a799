//! The due times of a schedule since something last looked.

use jiff::{SignedDuration, Timestamp};

use super::log::{Entry, ScheduleLog};
use super::notice::SilenceReport;
use super::row::Outcome;
use super::scheduler::PAUSED_REASON;
use super::spec::ScheduleSpec;

/// The delay after which a due time without an entry counts: the process that runs it may be about to begin.
const GRACE: SignedDuration = SignedDuration::from_mins(2);

/// The largest number of due times that are counted.
const MAX_COUNT: usize = 10_000;

/// Returns the due times without an answer since the last one. None if no due time has passed since then, or during a
/// pause.
pub fn silence_of(spec: &ScheduleSpec, log: &ScheduleLog, now: Timestamp) -> Option<SilenceReport> {
    if log.paused_since.is_some() {
        return None;
    }
    let end_of_look = |entry: &Entry| match entry {
        Entry::Run(_, Some(end)) if end.outcome == Outcome::Done => Some(end.at),
        _ => None,
    };
    let last = log.entries.iter().rposition(|it| end_of_look(it).is_some());
    let last_look = last.and_then(|place| end_of_look(&log.entries[place]));
    let later = &log.entries[last.map_or(0, |place| place + 1)..];
    let silent = later.iter().filter(|entry| match entry {
        Entry::Run(_, None) => false,
        Entry::Run(claim, Some(_)) => !claim.is_manual,
        Entry::Skipped(skipped) => *skipped.reason != *PAUSED_REASON,
    });
    let mut since = None;
    let mut missed = 0_u64;
    for entry in silent {
        since.get_or_insert(entry.due());
        missed = missed.saturating_add(entry.count());
    }
    let latest = now
        .checked_sub(GRACE)
        .and_then(|time| time.checked_sub(spec.jitter))
        .ok();
    if let (Some(position), Some(latest)) = (log.position, latest) {
        let is_open = |due: &Timestamp| *due <= latest;
        let open = spec.timing.after(position).take_while(is_open);
        for due in open.take(MAX_COUNT) {
            since.get_or_insert(due);
            missed = missed.saturating_add(1);
        }
    }
    Some(SilenceReport {
        schedule: spec.name.clone(),
        last_look,
        missed: u32::try_from(missed).unwrap_or(u32::MAX),
        since: since?,
        now,
    })
}

#[cfg(test)]
mod tests {
    use super::super::spec::tests::spec;
    use super::*;

    fn silence(rows: &str, now: &str) -> (u32, String) {
        let log = ScheduleLog::parse(&rows.replace(' ', "\t").replace('_', " "));
        assert_eq!(log.damaged, 0);
        let report = silence_of(&spec(), &log, now.parse().unwrap());
        report.map_or((0, String::new()), |it| (it.missed, it.since.to_string()))
    }

    const LOOK: &str = "started 2026-01-01T00:30:00Z every_1h
claim 2026-01-01T01:00:00Z 2026-01-01T01:00:00Z a 1 due {}
done a 2026-01-01T01:00:09Z 1_ok {}
";

    #[test]
    fn due_times_without_an_answer_are_counted_from_the_last_answer_on() {
        assert_eq!(silence("", "2026-01-01T09:00:00Z"), (0, String::new()));
        assert_eq!(silence(LOOK, "2026-01-01T02:01:00Z").0, 0);
        let first = "2026-01-01T02:00:00Z".to_owned();
        assert_eq!(silence(LOOK, "2026-01-01T04:03:00Z"), (3, first.clone()));
        let failed = "claim 2026-01-01T02:00:00Z 2026-01-01T02:00:00Z b 1 due {}
failed b 2026-01-01T02:00:09Z x {}
missed 2026-01-01T03:00:00Z 2026-01-01T05:00:00Z 3 2026-01-01T05:00:00Z missed
claim 2026-01-01T06:00:00Z 2026-01-01T06:00:00Z c 1 due {}
";
        let rows = format!("{LOOK}{failed}");
        assert_eq!(silence(&rows, "2026-01-01T06:10:00Z"), (4, first));
        let looked = format!("{rows}done c 2026-01-01T06:20:00Z x {{}}\n");
        assert_eq!(silence(&looked, "2026-01-01T06:30:00Z").0, 0);
    }

    #[test]
    fn a_pause_is_no_silence() {
        let paused = "paused 2026-01-01T01:30:00Z\n";
        assert_eq!(
            silence(&format!("{LOOK}{paused}"), "2026-01-02T00:00:00Z").0,
            0
        );
        let resumed = "no_run 2026-01-01T02:00:00Z 2026-01-01T09:00:00Z 8 2026-01-01T09:30:00Z the_schedule_was_paused
resumed 2026-01-01T09:30:00Z
";
        let rows = format!("{LOOK}{paused}{resumed}");
        assert_eq!(silence(&rows, "2026-01-01T09:40:00Z").0, 0);
    }
}
