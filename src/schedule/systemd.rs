//! Units of systemd for a schedule: a service that asks the program for a due run, and a timer for it.

use std::path::Path;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::cron_fields::{CronFields, DayRule};
use super::spec::{Missed, ScheduleSpec};
use super::wake_times::WakeTimes;
use crate::value::hex;

/// The units of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemdUnits {
    /// The name without `.service` and `.timer`.
    pub name: String,
    pub service: String,
    pub timer: String,
}

/// The paths that units and crontabs contain.
#[derive(Debug, Clone, Copy)]
pub struct InstallPaths<'a> {
    /// The executable of this program.
    pub executable: &'a str,
    /// The folder of the project.
    pub project: &'a str,
    /// The global options of the command.
    pub globals: &'a [String],
    /// The folders of programs, separated by colons.
    pub search_path: &'a str,
}

impl InstallPaths<'_> {
    /// Returns the words of the command that runs a schedule if that is due.
    pub(super) fn command(&self, schedule: &str) -> Vec<String> {
        let globals = self.globals.iter().map(String::as_str);
        let words = ["schedule", "run", schedule, "--if-due"];
        let words = std::iter::once(self.executable).chain(globals).chain(words);
        words.map(str::to_owned).collect()
    }
}

/// The first words of each unit, by which `uninstall` knows them.
const MARK: &str = "# Written by `unfurl schedule install` for ";

/// The names of the days of the week for systemd, from Sunday on.
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

impl SystemdUnits {
    /// Converts a schedule. `is_system` chooses units of the system instead of those of a user.
    pub fn of(
        spec: &ScheduleSpec,
        paths: InstallPaths<'_>,
        is_system: bool,
        now: Timestamp,
    ) -> Self {
        Self {
            name: unit_name(&spec.name, paths.project),
            service: service(spec, paths, is_system),
            timer: timer(spec, paths, now),
        }
    }
}

/// Returns the first line of each unit of a project. Other files are never changed or removed.
pub fn unit_mark(project: &str) -> String {
    format!("{MARK}{project}.\n")
}

/// Returns the name of the units of a schedule, which no other project has.
fn unit_name(schedule: &str, project: &str) -> String {
    let digest = hex(&Sha256::digest(Path::new(project).as_os_str().as_encoded_bytes())[..4]);
    let escaped: String = schedule
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' => {
                char::from(byte).to_string()
            }
            other => format!("\\x{other:02x}"),
        })
        .collect();
    format!("unfurl-{escaped}-{digest}")
}

fn service(spec: &ScheduleSpec, paths: InstallPaths<'_>, is_system: bool) -> String {
    let project = paths.project;
    let words = paths.command(&spec.name);
    let command: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let search_path = assignment("PATH", paths.search_path);
    let folder = project.replace('%', "%%");
    let network = if is_system {
        "Wants=network-online.target\nAfter=network-online.target\n"
    } else {
        ""
    };
    // Jobs may use sudo and change any part of the machine, so only what no job needs is taken away. In units of
    // users, stronger settings would disable sudo.
    let limits = if is_system {
        "KeyringMode=private\nProtectControlGroups=yes\nRestrictRealtime=yes\n"
    } else {
        "KeyringMode=private\n"
    };
    format!(
        "{mark}# `unfurl schedule uninstall --systemd` removes this file.\n\
         [Unit]\n\
         Description=unfurl schedule {name} of {folder}\n\
         {network}\n\
         [Service]\n\
         Type=oneshot\n\
         WorkingDirectory={folder}\n\
         Environment={search_path}\n\
         # Variables such as keys of webhooks, if the file exists.\n\
         EnvironmentFile=-{folder}/local/schedules/environment\n\
         ExecStart={command}\n\
         # A stop lets a running job save its results.\n\
         KillMode=mixed\n\
         TimeoutStopSec=120\n\
         {limits}",
        mark = unit_mark(project),
        name = spec.name,
        command = command.join(" "),
    )
}

fn timer(spec: &ScheduleSpec, paths: InstallPaths<'_>, now: Timestamp) -> String {
    let mut lines = String::new();
    for (comment, time) in calendar_lines(&WakeTimes::of(spec, now)) {
        if !comment.is_empty() {
            lines.push_str(&format!("# {comment}\n"));
        }
        lines.push_str(&format!("OnCalendar={time}\n"));
    }
    let persistent = match spec.missed {
        Missed::Run => {
            "# A time that passed while the machine was off leads to a start.\nPersistent=true\n"
        }
        Missed::Skip => "",
    };
    format!(
        "{mark}# `unfurl schedule uninstall --systemd` removes this file.\n\
         [Unit]\n\
         Description=unfurl schedule {name} of {folder}\n\
         \n\
         [Timer]\n\
         # {timing}\n\
         {lines}AccuracySec=1s\n\
         {persistent}\n\
         [Install]\n\
         WantedBy=timers.target\n",
        mark = unit_mark(paths.project),
        name = spec.name,
        folder = paths.project.replace('%', "%%"),
        timing = spec.timing,
    )
}

/// Returns the calendar events of the starts, each with a comment.
fn calendar_lines(times: &WakeTimes) -> Vec<(&'static str, String)> {
    match times {
        WakeTimes::EachMinute(reason) => vec![(reason.sentence(), "*-*-* *:*:00".to_owned())],
        WakeTimes::Seconds(seconds) => vec![("", every(*seconds))],
        WakeTimes::Line {
            fields,
            zone_name,
            after_jumps,
            ..
        } => {
            let clock = format!(
                "{}:{}:00",
                list(&fields.hours, 24, 2),
                list(&fields.minutes, 60, 2)
            );
            let mut lines: Vec<_> = days(fields)
                .into_iter()
                .map(|day| ("", format!("{day} {clock} {zone_name}")))
                .collect();
            let comment = "Daylight saving skips a due time at this time of day; on other days nothing is due.";
            let jumps = after_jumps.iter();
            lines.extend(jumps.map(|time| (comment, format!("*-*-* {time} {zone_name}"))));
            lines
        }
    }
}

/// Returns the event for equal distances, which a day is a multiple of.
fn every(seconds: u64) -> String {
    let (hours, minutes) = (seconds / 3600, seconds / 60);
    if seconds.is_multiple_of(86_400) {
        return "*-*-* 00:00:00 UTC".to_owned();
    }
    if seconds.is_multiple_of(3600) {
        return format!("*-*-* 00/{hours}:00:00 UTC");
    }
    if 3600_u64.is_multiple_of(seconds) && seconds.is_multiple_of(60) {
        return format!("*-*-* *:00/{minutes}:00 UTC");
    }
    if 60_u64.is_multiple_of(seconds) {
        return format!("*-*-* *:*:00/{seconds} UTC");
    }
    "*-*-* *:*:00".to_owned()
}

/// Returns the days of the fields as one or two parts of events, of which one has to fit.
fn days(fields: &CronFields) -> Vec<String> {
    let months = list(&fields.months, 12, 2);
    let of_month = |days: &str| format!("*-{months}-{days}");
    let days = of_month(&list(&fields.days, 31, 2));
    let weekdays: Vec<&str> = fields
        .weekdays
        .iter()
        .filter_map(|day| WEEKDAYS.get(usize::from(*day)).copied())
        .collect();
    let weekdays = weekdays.join(",");
    match fields.rule {
        DayRule::Any => vec![of_month("*")],
        DayRule::Days => vec![days],
        DayRule::Weekdays => vec![format!("{weekdays} {}", of_month("*"))],
        DayRule::Either => vec![days, format!("{weekdays} {}", of_month("*"))],
        DayRule::Both => vec![format!("{weekdays} {days}")],
    }
}

/// Returns numbers as a list, or `*` for all of them.
fn list(numbers: &[u8], all: usize, width: usize) -> String {
    if numbers.len() == all {
        return "*".to_owned();
    }
    let numbers = numbers.iter().map(|number| format!("{number:0width$}"));
    numbers.collect::<Vec<_>>().join(",")
}

/// Quotes a variable of `Environment=`, in which a dollar sign has no meaning.
fn assignment(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{name}={}\"", value.replace('%', "%%"))
}

/// Quotes a word of a command line of systemd.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' | '$' => quoted.extend([c, c]),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
