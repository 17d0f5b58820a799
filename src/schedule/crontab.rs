//! A block of a crontab for the schedules of a project. All other lines of the crontab stay as they are.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::cron_fields::{CronFields, DayRule};
use super::spec::ScheduleSpec;
use super::systemd::InstallPaths;
use super::wake_times::{EachMinuteReason, WakeTimes};
use crate::text::quote_word;

/// The beginnings of the lines around a block; the folder of the project follows.
const BEGIN: &str = "# BEGIN unfurl schedules of ";
const END: &str = "# END unfurl schedules of ";

/// The largest number of characters of a command that cron takes.
pub const MAX_CRON_COMMAND: usize = 990;

/// The number of fields before the command of a line.
const TIME_FIELDS: usize = 5;

/// The minutes in which all time zones agree: the offsets of zones are multiples of them.
const ZONE_MINUTES: u64 = 15;

/// The reason why a crontab cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrontabError {
    #[error("the line `{0}` of the crontab has no `# END` line")]
    NoEnd(String),
}

/// Returns the lines of a block. `local` is the zone of cron; None if that is unknown.
pub fn crontab_block(
    specs: &[ScheduleSpec],
    paths: InstallPaths<'_>,
    local: Option<&TimeZone>,
    now: Timestamp,
) -> String {
    let project = paths.project;
    let mut block =
        format!("{BEGIN}{project}\n# `unfurl schedule uninstall --cron` removes this block.\n");
    for spec in specs {
        let (comment, time) = time_fields(&WakeTimes::of(spec, now), local);
        if let Some(comment) = comment {
            block.push_str(&format!("# {comment}\n"));
        }
        let words = paths.command(&spec.name);
        let words: Vec<String> = words.iter().map(|word| quote_word(word)).collect();
        let command = format!(
            "cd {} && PATH={} exec {} >/dev/null",
            quote_word(project),
            quote_word(paths.search_path),
            words.join(" ")
        );
        // cron ends the command at a percent sign, even within quotes.
        block.push_str(&format!("{time} {}\n", command.replace('%', "\\%")));
    }
    block.push_str(&format!("{END}{project}\n"));
    block
}

/// Returns the length of the longest command of a block, in characters.
pub fn longest_command(block: &str) -> usize {
    let lines = block.lines().filter(|line| !line.starts_with('#'));
    let commands = lines.map(|line| line.splitn(TIME_FIELDS + 1, ' ').last().map_or(0, str::len));
    commands.max().unwrap_or_default()
}

/// Returns true if a crontab sets a time zone, which some programs use for the lines below.
pub fn has_zone_line(crontab: &[u8]) -> bool {
    let mut lines = crontab.split(|byte| *byte == b'\n');
    lines.any(|line| line.trim_ascii_start().starts_with(b"CRON_TZ"))
}

/// Returns a crontab in which the block of a project is replaced, or removed if `block` is None. All other bytes stay.
pub fn with_block(
    crontab: &[u8],
    project: &str,
    block: Option<&str>,
) -> Result<Vec<u8>, CrontabError> {
    let (begin, end) = (format!("{BEGIN}{project}"), format!("{END}{project}"));
    let block = block.map(str::as_bytes);
    let mut text = Vec::with_capacity(crontab.len());
    let mut is_within = false;
    let mut is_placed = false;
    for line in crontab.split_inclusive(|byte| *byte == b'\n') {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        if is_within {
            is_within = content != end.as_bytes();
            continue;
        }
        if content == begin.as_bytes() {
            is_within = true;
            if !is_placed {
                text.extend_from_slice(block.unwrap_or_default());
                is_placed = true;
            }
            continue;
        }
        text.extend_from_slice(line);
    }
    if is_within {
        return Err(CrontabError::NoEnd(begin));
    }
    if let (false, Some(block)) = (is_placed, block) {
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(block);
    }
    Ok(text)
}

/// Returns the five fields of a line, with a comment if they are not those of the schedule.
fn time_fields(times: &WakeTimes, local: Option<&TimeZone>) -> (Option<&'static str>, String) {
    let each_minute = |reason: EachMinuteReason| (Some(reason.sentence()), "* * * * *".to_owned());
    match times {
        WakeTimes::EachMinute(reason) => each_minute(*reason),
        WakeTimes::Seconds(seconds) => match every(*seconds, local.is_some_and(is_utc)) {
            Some(fields) => (None, fields),
            None => each_minute(EachMinuteReason::Zone),
        },
        WakeTimes::Line { fields, zone, .. } => {
            let is_same = |local: &TimeZone| zone == local || is_utc(zone) && is_utc(local);
            let is_local = local.is_some_and(is_same);
            if !is_local {
                return each_minute(EachMinuteReason::Zone);
            }
            match line(fields) {
                Some(line) => (None, line),
                None => each_minute(EachMinuteReason::Rule),
            }
        }
    }
}

fn is_utc(zone: &TimeZone) -> bool {
    let name = zone.iana_name().unwrap_or_default();
    *zone == TimeZone::UTC
        || matches!(
            name,
            "UTC" | "Etc/UTC" | "Zulu" | "Etc/Zulu" | "UCT" | "Etc/UCT"
        )
}

/// Returns the fields for equal distances. None if they depend on the zone, and cron has another one than UTC.
fn every(seconds: u64, is_utc: bool) -> Option<String> {
    if !seconds.is_multiple_of(60) {
        return Some("* * * * *".to_owned());
    }
    let minutes = seconds / 60;
    match minutes {
        1 => Some("* * * * *".to_owned()),
        _ if ZONE_MINUTES.is_multiple_of(minutes) => Some(format!("*/{minutes} * * * *")),
        _ if !is_utc => None,
        1440 => Some("0 0 * * *".to_owned()),
        60 => Some("0 * * * *".to_owned()),
        _ if 60_u64.is_multiple_of(minutes) => Some(format!("*/{minutes} * * * *")),
        _ if minutes.is_multiple_of(60) => Some(format!("0 */{} * * *", minutes / 60)),
        _ => Some("* * * * *".to_owned()),
    }
}

/// Returns the fields of a line. None if both the day and the weekday have to fit, which cron cannot express.
fn line(fields: &CronFields) -> Option<String> {
    let (days, weekdays) = (list(&fields.days, 31), list(&fields.weekdays, 7));
    let star = || "*".to_owned();
    let (days, weekdays) = match fields.rule {
        DayRule::Any => (star(), star()),
        DayRule::Days => (days, star()),
        DayRule::Weekdays => (star(), weekdays),
        // All days of one of both fit together with any of the other.
        DayRule::Either if days == "*" || weekdays == "*" => (star(), star()),
        DayRule::Either => (days, weekdays),
        DayRule::Both => return None,
    };
    let (minutes, hours) = (list(&fields.minutes, 60), list(&fields.hours, 24));
    let months = list(&fields.months, 12);
    Some(format!("{minutes} {hours} {days} {months} {weekdays}"))
}

/// Returns numbers as a list, or `*` for all of them.
fn list(numbers: &[u8], all: usize) -> String {
    if numbers.len() == all {
        return "*".to_owned();
    }
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedules;

    fn specs(text: &str) -> Vec<ScheduleSpec> {
        let mut sources = crate::diagnostic::Sources::default();
        let id = sources.add("unfurl.yaml", text, None);
        let node = crate::yaml::parse(&sources, id, &crate::yaml::Limits::default()).unwrap();
        Schedules::read(&node).specs
    }

    fn block(text: &str, zone: Option<&TimeZone>) -> String {
        let globals = ["--home".to_owned(), String::new()];
        let paths = InstallPaths {
            executable: "/opt/unfurl",
            project: "/srv/my 100%",
            globals: &globals,
            search_path: "/usr/bin:/bin",
        };
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        crontab_block(&specs(text), paths, zone, now)
    }

    #[test]
    fn a_line_of_cron_starts_at_each_due_time() {
        let text = "
night: {cron: 15 2 * * mon-fri, action: drift}
zone: {cron: 15 2 * * *, timezone: Asia/Tokyo, action: drift}
quarter: {every: 15m, action: check}
week: {every: 7d, action: check}
jitter: {every: 1h, jitter: 5m, action: check}
";
        let fields = |zone: Option<&TimeZone>| {
            let block = block(text, zone);
            assert!(longest_command(&block) < MAX_CRON_COMMAND);
            let lines = block.lines().filter(|line| !line.starts_with('#'));
            let fields = lines.map(|line| {
                let (fields, command) = line.split_once(" cd ").unwrap();
                assert!(
                    command.starts_with("'/srv/my 100\\%' && PATH="),
                    "{command}"
                );
                fields.to_owned()
            });
            fields.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(fields(Some(&TimeZone::UTC)), @"
        15 2 * * 1,2,3,4,5
        * * * * *
        */15 * * * *
        * * * * *
        * * * * *
        ");
        let tokyo = TimeZone::get("Asia/Tokyo").unwrap();
        insta::assert_snapshot!(fields(Some(&tokyo)), @"
        * * * * *
        15 2 * * *
        */15 * * * *
        * * * * *
        * * * * *
        ");
        insta::assert_snapshot!(fields(None), @"
        * * * * *
        * * * * *
        */15 * * * *
        * * * * *
        * * * * *
        ");
    }

    #[test]
    fn all_other_bytes_of_a_crontab_stay() {
        let (first, second) = (
            block("a: {every: 1m, action: check}", None),
            block("", None),
        );
        for other in [&b""[..], b"MAILTO=x\n", b"# \xff\xfe\n0 0 * * * x\n\n\n"] {
            let project = "/srv/my 100%";
            let added = with_block(other, project, Some(&first)).unwrap();
            assert_eq!(added, [other, first.as_bytes()].concat());
            let mut changed = added.clone();
            changed.extend_from_slice(b"5 5 * * * y");
            let changed = with_block(&changed, project, Some(&second)).unwrap();
            assert_eq!(changed, [other, second.as_bytes(), b"5 5 * * * y"].concat());
            let removed = with_block(&changed, project, None).unwrap();
            assert_eq!(removed, [other, b"5 5 * * * y"].concat());
            assert_eq!(with_block(&removed, "/other", None).unwrap(), removed);
        }
        let cut = with_block(b"# BEGIN unfurl schedules of /p\nx\n", "/p", None);
        assert_eq!(
            cut.unwrap_err().to_string(),
            "the line `# BEGIN unfurl schedules of /p` of the crontab has no `# END` line"
        );
    }
}
