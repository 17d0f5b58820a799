//! The state `file.retention_schedule`: keeps some of the backups in a folder, and removes the others.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::fmt::strtime::BrokenDownTime;

use super::plan::{expand_home, is_folder, join_path, target_fact};
use crate::host::fact::Domain;
use crate::states::modules::decision::{act_or_fail, require_facts, run_probe, unchanged};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::force_quote_word;
use crate::value::{Map, Value};

/// The time of a backup: year, month, day, hour, and the microseconds that order backups of the same hour.
type BackupTime = (i16, i8, i8, i8, i64);

/// The backups of a folder by their time.
#[derive(Default)]
struct Backups {
    by_time: BTreeMap<BackupTime, String>,
    /// The names of all backups. Of several with the same time, `by_time` has one.
    names: BTreeSet<String>,
    /// The names that are no backups.
    ignored: BTreeSet<String>,
}

/// Decides `file.retention_schedule`.
pub(super) fn retention_schedule(
    call: &StateCall<'_>,
    facts: &FactCache,
) -> Result<StateDecision, Halt> {
    if call.name.is_empty() {
        return refuse("Must provide name to file.retention_schedule");
    }
    let folder = expand_home(call.name, facts)?;
    require_facts(facts, [target_fact(&folder)])?;
    if !is_folder(&folder, facts)? {
        return refuse("Name provided to file.retention must be a directory");
    }
    let backups = list_backups(&folder, call.text("strptime_format")?.as_deref(), facts)?;
    let retained = retained_names(call, &backups)?;
    let is_deleted = |name: &&String| !retained.contains(*name);
    let deleted: Vec<&String> = backups.names.iter().rev().filter(is_deleted).collect();
    let count = deleted.len();
    let comment = |verb: &str| format!("{count} backups {verb} removed from {folder}.\n");
    if deleted.is_empty() {
        return unchanged(match call.mode {
            Mode::Test => comment("would have been"),
            Mode::Apply => comment("were"),
        });
    }
    let list = |names: Vec<&String>| Value::list(names.into_iter().cloned().map(Value::from));
    let steps = deleted
        .iter()
        .map(|name| file_change::remove(&join_path(&folder, name)))
        .collect();
    let changes: Map = [
        ("retained", list(retained.iter().rev().collect())),
        ("deleted", list(deleted)),
        ("ignored", list(backups.ignored.iter().rev().collect())),
    ]
    .into_iter()
    .map(|(key, names)| (key.into(), names))
    .collect();
    act_or_fail(
        StateOutcome::would_change(changes.clone(), comment("would have been")),
        steps,
        StateOutcome::changed(changes, comment("were")),
        "",
    )
}

/// Lists the entries of a folder. With a format, their names tell their times; else the time of their last change does,
/// in the time zone of the machine.
fn list_backups(folder: &str, format: Option<&str>, facts: &FactCache) -> Result<Backups, Halt> {
    let script = format!(
        "find -P {}/. -mindepth 1 -maxdepth 1 -printf '%TY-%Tm-%Td %TH %T@ %f\\0'",
        force_quote_word(folder.trim_end_matches('/'))
    );
    let probed = run_probe(facts, script, Domain::Path(folder.to_owned()))?;
    if probed.code != 0 {
        return refuse(format!(
            "the entries of {folder} cannot be listed: {}",
            String::from_utf8_lossy(&probed.stderr).trim()
        ));
    }
    let mut backups = Backups::default();
    // As in Salt, the folder itself and its parent are listed too.
    backups.ignored.extend([".".to_owned(), "..".to_owned()]);
    for entry in probed.stdout.split(|byte| *byte == 0) {
        // A path of this program is text. A name that is not stays, because it could not be removed.
        let Ok(entry) = std::str::from_utf8(entry) else {
            let entry = String::from_utf8_lossy(entry);
            let name = entry.splitn(4, ' ').last().unwrap_or_default();
            backups.ignored.insert(name.to_owned());
            continue;
        };
        let mut words = entry.splitn(4, ' ');
        let (Some(day), Some(hour), Some(seconds), Some(name)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let time = match format {
            Some(format) => time_of_name(format, name),
            None => time_of_change(day, hour, seconds),
        };
        match time {
            Some(time) => {
                backups.by_time.insert(time, name.to_owned());
                backups.names.insert(name.to_owned());
            }
            None => {
                backups.ignored.insert(name.to_owned());
            }
        }
    }
    Ok(backups)
}

/// Returns the time of the last change, as `find` prints it.
fn time_of_change(day: &str, hour: &str, seconds: &str) -> Option<BackupTime> {
    let date: Date = day.parse().ok()?;
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let part = format!("{part:0<6}");
    let micros = whole.parse::<i64>().ok()?.checked_mul(1_000_000)?;
    let micros = micros.checked_add(part.get(..6)?.parse().ok()?)?;
    let hour = hour.parse().ok()?;
    Some((date.year(), date.month(), date.day(), hour, micros))
}

/// Returns the time that a name tells in a format of Python's `strptime`; None if the name has another form.
///
/// As in Python, missing parts are those of the first day of 1900.
fn time_of_name(format: &str, name: &str) -> Option<BackupTime> {
    let parsed = BrokenDownTime::parse(format, name).ok()?;
    let date = parsed.to_date().or_else(|_| {
        let part = |part: Option<i8>| part.unwrap_or(1);
        Date::new(
            parsed.year().unwrap_or(1900),
            part(parsed.month()),
            part(parsed.day()),
        )
    });
    let (date, time) = (date.ok()?, parsed.to_time().unwrap_or_default());
    let since = Date::constant(1970, 1, 1).to_datetime(jiff::civil::Time::midnight());
    let duration = date.to_datetime(time).duration_since(since);
    let micros = i64::try_from(duration.as_micros()).ok()?;
    Some((date.year(), date.month(), date.day(), time.hour(), micros))
}

/// Returns the names that the argument `retain` keeps.
fn retained_names(call: &StateCall<'_>, backups: &Backups) -> Result<BTreeSet<String>, Halt> {
    let Some(rules) = call.arg("retain").and_then(Value::as_map) else {
        return refuse(
            "`retain` of file.retention_schedule must be a map such as `most_recent: 5`",
        );
    };
    let mut retained = BTreeSet::new();
    for (rule, count) in rules {
        let Some(count) = kept_count(count.reveal()) else {
            return refuse(format!(
                "`{rule}: {count}` of file.retention_schedule is not a number of backups, nor `all`"
            ));
        };
        match &**rule {
            // As in Salt, one more week than asked for is kept, and the first days of the week decide.
            "first_of_week" => {
                keep_first(
                    backups,
                    count.saturating_add(1),
                    week_and_day,
                    &mut retained,
                );
            }
            "first_of_year" => keep_first(backups, count, |it| (it.0, *it), &mut retained),
            "first_of_month" => keep_first(backups, count, |it| ((it.0, it.1), *it), &mut retained),
            "first_of_day" => {
                keep_first(
                    backups,
                    count,
                    |it| ((it.0, it.1, it.2), *it),
                    &mut retained,
                );
            }
            "first_of_hour" => {
                let hour = |it: &BackupTime| ((it.0, it.1, it.2, it.3), *it);
                keep_first(backups, count, hour, &mut retained);
            }
            "most_recent" => keep_first(backups, count, |it| (*it, *it), &mut retained),
            other => {
                return refuse(format!(
                    "`{other}` is not a rule of `retain`: write most_recent, first_of_hour, first_of_day, \
                     first_of_week, first_of_month or first_of_year"
                ));
            }
        }
    }
    Ok(retained)
}

/// Returns the number of backups that a rule keeps. A negative number keeps none.
fn kept_count(value: &Value) -> Option<usize> {
    if value.as_str() == Some("all") {
        return Some(usize::MAX);
    }
    let number = match value {
        Value::Str(text) => text.trim().parse().ok()?,
        other => other.as_int()?,
    };
    Some(usize::try_from(number).unwrap_or(0))
}

/// Returns the year with the number of the week, and the place of the time in the week.
fn week_and_day(time: &BackupTime) -> ((i16, i8), (i8, BackupTime)) {
    let date = Date::new(time.0, time.1, time.2);
    let week = date.map_or((0, 0), |date| {
        let week = date.iso_week_date();
        (week.week(), week.weekday().to_monday_zero_offset())
    });
    ((time.0, week.0), (week.1, *time))
}

/// Adds the first backup of each of the newest periods. `place` returns the period of a time and its place in it.
fn keep_first<Period: Ord, Rank: Ord>(
    backups: &Backups,
    count: usize,
    place: impl Fn(&BackupTime) -> (Period, Rank),
    retained: &mut BTreeSet<String>,
) {
    let mut first: BTreeMap<Period, (Rank, &String)> = BTreeMap::new();
    for (time, name) in &backups.by_time {
        let (period, rank) = place(time);
        let is_first = first.get(&period).is_none_or(|(before, _)| rank < *before);
        if is_first {
            first.insert(period, (rank, name));
        }
    }
    let newest = first.into_values().rev().take(count);
    retained.extend(newest.map(|(_, name)| name.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_in_a_name_is_read_as_python_reads_it() {
        let time = |format, name| time_of_name(format, name).map(|it| (it.0, it.1, it.2, it.3));
        assert_eq!(
            time("backup-%Y%m%d", "backup-20260131"),
            Some((2026, 1, 31, 0))
        );
        assert_eq!(
            time("%Y-%m-%dT%H%M", "2026-01-31T2359"),
            Some((2026, 1, 31, 23))
        );
        assert_eq!(time("%H.log", "07.log"), Some((1900, 1, 1, 7)));
        assert_eq!(time("%Y%m%d", "20260231"), None);
        assert_eq!(time("%Y", "2026.gz"), None);
    }
}
