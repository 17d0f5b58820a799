//! Reads the section `schedules` of `unfurl.yaml`. A wrong schedule is left out and reported; the others stay.

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::{TimeZone, db};

use super::cron_line::CronLine;
use super::duration::read_duration;
use super::keys::{ACTION_WORDS, MISSED_WORDS, OVERLAP_WORDS, SCHEDULE_KEYS};
use super::notice::{NotifyRule, read_notify};
use super::spec::{Missed, Overlap, ScheduleAction, ScheduleSpec, Timing};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::text::did_you_mean;
use crate::yaml::{MapEntry, Mapping, Node};

/// The shortest interval of `every`.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// The limit of a run that sets none.
const DEFAULT_TIME_LIMIT: Duration = Duration::from_hours(1);
/// The length of a schedule's name, which is also a file name.
const MAX_NAME: usize = 64;

/// The schedules of a project: the valid ones, and the problems of the others.
#[derive(Debug, Clone, Default)]
pub struct Schedules {
    pub specs: Vec<ScheduleSpec>,
    pub problems: Diagnostics,
    /// The names of schedules that were left out because of their problems.
    pub invalid: Vec<Arc<str>>,
}

impl Schedules {
    /// Reads the section `schedules`: a map from names to schedules.
    pub fn read(section: &Node) -> Self {
        let mut schedules = Self::default();
        if section.is_null() {
            return schedules;
        }
        let Some(map) = section.as_map() else {
            let problem = section.type_mismatch("`schedules`", "a map from names to schedules");
            schedules.problems.push(problem);
            return schedules;
        };
        for (name, entry) in map {
            let mut reader = SpecReader {
                name,
                problems: Diagnostics::default(),
            };
            match reader.read(entry) {
                Some(spec) if !reader.problems.has_errors() => schedules.specs.push(spec),
                _ => schedules.invalid.push(Arc::clone(name)),
            }
            schedules.problems.append(reader.problems);
        }
        schedules
    }

    /// Returns the valid schedule of a name.
    pub fn get(&self, name: &str) -> Option<&ScheduleSpec> {
        self.specs.iter().find(|spec| &*spec.name == name)
    }
}

struct SpecReader<'a> {
    name: &'a Arc<str>,
    problems: Diagnostics,
}

impl SpecReader<'_> {
    fn read(&mut self, entry: &MapEntry) -> Option<ScheduleSpec> {
        self.check_name(entry);
        let Some(map) = entry.value.as_map() else {
            let subject = format!("the schedule `{}`", self.name);
            self.problems
                .push(entry.value.type_mismatch(subject, "a map"));
            return None;
        };
        self.check_keys(map);
        let action = self.action(map, entry);
        let timing = self.timing(map, entry);
        let jitter = self.duration(map, "jitter").unwrap_or_default();
        self.check_jitter(jitter, timing.as_ref(), map);
        let time_limit = self.duration(map, "time_limit");
        if let Some(node) = time_limit
            .filter(Duration::is_zero)
            .and(map.get("time_limit"))
        {
            self.wrong(
                node,
                "`time_limit` must be longer than 0 s",
                "write a limit such as `30m`",
            );
        }
        let ensembles = self.names(map, "ensembles");
        let action = action?;
        self.check_contradictions(map, &action);
        Some(ScheduleSpec {
            name: Arc::clone(self.name),
            span: entry.key_span,
            timing: timing?,
            jitter,
            ensembles: ensembles.unwrap_or_else(|| vec!["*".into()]),
            environment: self.text(map, "environment"),
            hosts: self.names(map, "hosts").unwrap_or_default(),
            overlap: match self.word(map, "overlap", OVERLAP_WORDS) {
                Some("wait") => Overlap::Wait,
                _ => Overlap::Skip,
            },
            missed: match self.word(map, "missed", MISSED_WORDS) {
                Some("run") => Missed::Run,
                _ => Missed::Skip,
            },
            time_limit: time_limit.unwrap_or(DEFAULT_TIME_LIMIT),
            at_most: self.at_most(map),
            unless_deployed_within: self.duration(map, "unless_deployed_within"),
            notify: self.notify(map),
            action,
        })
    }

    fn wrong(&mut self, node: &Node, message: impl Into<String>, help: &str) {
        let message = format!("the schedule `{}`: {}", self.name, message.into());
        let problem = Diagnostic::error(message).label(node.span(), "");
        self.problems.push(problem.help(help));
    }

    fn check_name(&mut self, entry: &MapEntry) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let begins = self.name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if begins && self.name.chars().all(is_plain) && self.name.len() <= MAX_NAME {
            return;
        }
        let message = format!("`{}` cannot be the name of a schedule", self.name);
        let problem = Diagnostic::error(message).label(entry.key_span, "");
        self.problems.push(problem.help(
            "write letters, digits, `_`, `-` and `.`, beginning with a letter or digit, at most 64 characters",
        ));
    }

    fn check_keys(&mut self, map: &Mapping) {
        for (key, entry) in map {
            if SCHEDULE_KEYS.has_key(key) {
                continue;
            }
            let message = format!("the schedule `{}` has no key `{key}`", self.name);
            let problem = Diagnostic::error(message).label(entry.key_span, "unknown");
            let names: Vec<&str> = SCHEDULE_KEYS.names().collect();
            let hint = did_you_mean(key, SCHEDULE_KEYS.names())
                .unwrap_or_else(|| format!("its keys are `{}`", names.join("`, `")));
            self.problems.push(problem.help(hint));
        }
    }

    /// Returns the value under a key unless it is missing or null.
    fn value<'m>(map: &'m Mapping, key: &str) -> Option<&'m Node> {
        map.get(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, map: &Mapping, key: &str) -> Option<Arc<str>> {
        let node = Self::value(map, key)?;
        match node.as_str().filter(|text| !text.is_empty()) {
            Some(text) => Some(text.into()),
            None => {
                self.wrong(
                    node,
                    format!("`{key}` must be a text, not {}", node.kind_name()),
                    "put the value in quotes",
                );
                None
            }
        }
    }

    fn names(&mut self, map: &Mapping, key: &str) -> Option<Vec<Arc<str>>> {
        let node = Self::value(map, key)?;
        let items = node.as_seq().unwrap_or(std::slice::from_ref(node));
        let mut names = Vec::new();
        for item in items {
            match item.as_str().filter(|text| !text.is_empty()) {
                Some(text) => names.push(text.into()),
                None => {
                    let message = format!(
                        "`{key}` must be a text or a list of texts, not {}",
                        item.kind_name()
                    );
                    self.wrong(item, message, "write a name or a list of names");
                }
            }
        }
        if items.is_empty() {
            self.wrong(
                node,
                format!("`{key}` is an empty list"),
                "name at least one, or leave out the key",
            );
        }
        Some(names)
    }

    fn word(&mut self, map: &Mapping, key: &str, words: &[&'static str]) -> Option<&'static str> {
        let node = Self::value(map, key)?;
        let given = node.as_str().unwrap_or_default();
        let found = words.iter().find(|word| **word == given);
        if found.is_none() {
            let shown = node.to_value();
            let listed = format!("use one of `{}`", words.join("`, `"));
            let hint = did_you_mean(given, words.iter().copied()).unwrap_or(listed);
            self.wrong(node, format!("`{key}` cannot be `{shown}`"), &hint);
        }
        found.copied()
    }

    fn duration(&mut self, map: &Mapping, key: &str) -> Option<Duration> {
        let node = Self::value(map, key)?;
        let text = node.to_value().to_string();
        match read_duration(&text) {
            Ok(duration) => Some(duration),
            Err(reason) => {
                self.wrong(
                    node,
                    format!("`{key}`: {reason}"),
                    "write a duration such as `15m`",
                );
                None
            }
        }
    }

    fn at_most(&mut self, map: &Mapping) -> Option<usize> {
        let node = Self::value(map, "at_most")?;
        let number = node
            .as_int()
            .and_then(|number| usize::try_from(number).ok());
        let number = number.filter(|number| *number > 0);
        if number.is_none() {
            self.wrong(
                node,
                "`at_most` must be a number from 1",
                "write a number such as `20`",
            );
        }
        number
    }

    fn notify(&mut self, map: &Mapping) -> Vec<NotifyRule> {
        let Some(node) = Self::value(map, "notify") else {
            return Vec::new();
        };
        let items = node.as_seq();
        if items.is_none() {
            self.wrong(
                node,
                format!("`notify` must be a list, not {}", node.kind_name()),
                "begin each entry with `- `",
            );
        }
        read_notify(items.unwrap_or_default(), &mut self.problems)
    }

    fn action(&mut self, map: &Mapping, entry: &MapEntry) -> Option<ScheduleAction> {
        if Self::value(map, "action").is_none() {
            let message = format!("the schedule `{}` needs an `action`", self.name);
            let problem = Diagnostic::error(message).label(entry.key_span, "");
            let help = format!("use one of `{}`", ACTION_WORDS.join("`, `"));
            self.problems.push(problem.help(help));
            return None;
        }
        match self.word(map, "action", ACTION_WORDS)? {
            "drift" => Some(ScheduleAction::Drift),
            "check" => Some(ScheduleAction::Check),
            "deploy" => Some(ScheduleAction::Deploy),
            "task" => {
                let task = self.text(map, "task");
                if let (None, Some(node)) = (&task, map.get("action")) {
                    self.wrong(
                        node,
                        "`action: task` needs the name of a task",
                        "add `task: NAME`",
                    );
                }
                task.map(ScheduleAction::Task)
            }
            _ => {
                let states = self.names(map, "states").unwrap_or_default();
                Some(ScheduleAction::StateTest(states))
            }
        }
    }

    fn timing(&mut self, map: &Mapping, entry: &MapEntry) -> Option<Timing> {
        match (Self::value(map, "cron"), Self::value(map, "every")) {
            (Some(_), Some(every)) => {
                self.wrong(
                    every,
                    "`cron` and `every` exclude each other",
                    "remove one of the two",
                );
                None
            }
            (None, None) => {
                let message = format!("the schedule `{}` is never due", self.name);
                let problem = Diagnostic::error(message).label(entry.key_span, "");
                self.problems
                    .push(problem.help("add `every: 15m` or `cron: 15 6 * * *`"));
                None
            }
            (Some(cron), None) => self.cron(map, cron),
            (None, Some(every)) => {
                if let Some(zone) = Self::value(map, "timezone") {
                    self.wrong(
                        zone,
                        "`timezone` has no effect on `every`",
                        "remove it, or use `cron`",
                    );
                }
                let interval = self.duration(map, "every")?;
                if interval < MIN_INTERVAL {
                    self.wrong(
                        every,
                        "`every` must be at least 1 s",
                        "write an interval such as `15m`",
                    );
                }
                Some(Timing::Every(interval.max(MIN_INTERVAL)))
            }
        }
    }

    fn cron(&mut self, map: &Mapping, node: &Node) -> Option<Timing> {
        let zone = self.zone(map);
        let text = self.text(map, "cron")?;
        match CronLine::parse(&text) {
            Ok(line) => {
                let (zone, zone_name) = zone?;
                Some(Timing::Cron {
                    line: Box::new(line),
                    zone,
                    zone_name,
                })
            }
            Err(error) => {
                self.wrong(node, error.to_string(), error.hint());
                None
            }
        }
    }

    fn zone(&mut self, map: &Mapping) -> Option<(TimeZone, Arc<str>)> {
        if Self::value(map, "timezone").is_none() {
            return Some((TimeZone::UTC, "UTC".into()));
        }
        let name = self.text(map, "timezone")?;
        if let Ok(zone) = TimeZone::get(&name) {
            return Some((zone, name));
        }
        let names: Vec<String> = db().available().map(|name| name.to_string()).collect();
        let hint = did_you_mean(&name, names.iter().map(String::as_str)).unwrap_or_else(|| {
            "use a name of the time zone database, such as `Europe/Berlin`, or `UTC`".to_owned()
        });
        if let Some(node) = map.get("timezone") {
            self.wrong(node, format!("the time zone `{name}` is unknown"), &hint);
        }
        None
    }

    fn check_jitter(&mut self, jitter: Duration, timing: Option<&Timing>, map: &Mapping) {
        let Some(node) = map.get("jitter") else {
            return;
        };
        match timing {
            Some(Timing::Every(interval)) if jitter >= *interval => {
                self.wrong(
                    node,
                    "`jitter` must be shorter than `every`",
                    "write a shorter delay",
                );
            }
            _ if jitter > Duration::from_hours(24) => {
                self.wrong(
                    node,
                    "`jitter` is longer than a day",
                    "write a shorter delay",
                );
            }
            _ => {}
        }
    }

    fn check_contradictions(&mut self, map: &Mapping, action: &ScheduleAction) {
        let has_hosts = !matches!(action, ScheduleAction::Check | ScheduleAction::Deploy);
        let rules = [
            ("task", matches!(action, ScheduleAction::Task(_))),
            ("states", matches!(action, ScheduleAction::StateTest(_))),
            ("hosts", has_hosts),
            ("ensembles", action.is_per_ensemble()),
            ("at_most", action.is_per_ensemble()),
            ("unless_deployed_within", action.is_per_ensemble()),
        ];
        for (key, is_fitting) in rules {
            if let Some(node) = Self::value(map, key).filter(|_| !is_fitting) {
                let message = format!("`{key}` has no effect on `action: {}`", action.word());
                self.wrong(node, message, "remove the key, or use another action");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};

    fn read(text: &str) -> (Schedules, Vec<String>) {
        let mut sources = Sources::default();
        let id = sources.add("unfurl.yaml", text, None);
        let document = parse(&sources, id, &Limits::default()).unwrap();
        let schedules = Schedules::read(&document);
        let shown = schedules.problems.iter().map(|problem| {
            let place = problem.span().and_then(|span| sources.position(span));
            let place = place.map_or(String::new(), |place| format!("{place}: "));
            let help = problem
                .help
                .as_ref()
                .map_or(String::new(), |help| format!(" ({help})"));
            format!("{place}{}{help}", problem.message)
        });
        let shown = shown.collect();
        (schedules, shown)
    }

    #[test]
    fn a_schedule_is_read() {
        let (schedules, problems) = read(
            "nightly: {cron: 15 2 * * *, timezone: Europe/Berlin, jitter: 10m, action: drift, ensembles: [web*, db],
  environment: prod, hosts: web1, overlap: wait, missed: run, time_limit: 30m, at_most: 20,
  unless_deployed_within: 1d, notify: [{command: x}]}
fast: {every: 1s, action: task, task: backup}
",
        );
        assert_eq!(problems, Vec::<String>::new());
        let [nightly, fast] = &*schedules.specs else {
            panic!()
        };
        assert_eq!(nightly.timing.to_string(), "15 2 * * * (Europe/Berlin)");
        assert_eq!(nightly.ensembles, ["web*".into(), "db".into()]);
        assert_eq!(
            (nightly.overlap, nightly.missed),
            (Overlap::Wait, Missed::Run)
        );
        assert_eq!(
            nightly.unless_deployed_within,
            Some(Duration::from_hours(24))
        );
        assert_eq!((nightly.at_most, nightly.notify.len()), (Some(20), 1));
        assert_eq!(fast.action, ScheduleAction::Task("backup".into()));
        assert_eq!(fast.time_limit, Duration::from_hours(1));
        assert_eq!(
            schedules.get("fast").unwrap().timing.to_string(),
            "every 1s"
        );
    }

    #[test]
    fn a_wrong_schedule_is_reported_and_the_others_stay() {
        let (schedules, problems) = read(
            "a: {cron: 61 * * * *, action: drift}
b: {cron: 0 2 * * *, timezone: Europe/Berlim, action: drift}
c: {every: 0.5s, action: drift}
d: {every: soon, action: drift}
e: {every: 15m, cron: 0 2 * * *, action: drift}
f: {every: 15m, action: drfit}
g: {every: 15m, action: deploy, hosts: web1, task: x}
h: {action: check}
i: {every: 1m, jitter: 2m, timezone: UTC, acton: drift}
../j: {every: 1m, action: task}
k: 3
ok: {every: 1m, action: check}
",
        );
        insta::assert_snapshot!(problems.join("\n"), @"
        unfurl.yaml:1:11: the schedule `a`: the minute `61` of the cron line is wrong (a minute is 0-59, `*/15` or a list such as `0,30`)
        unfurl.yaml:2:32: the schedule `b`: the time zone `Europe/Berlim` is unknown (did you mean `Europe/Berlin`?)
        unfurl.yaml:3:12: the schedule `c`: `every` must be at least 1 s (write an interval such as `15m`)
        unfurl.yaml:4:12: the schedule `d`: `every`: `soon` is no duration: write a number with `ms`, `s`, `m`, `h` or `d`, such as `15m` (write a duration such as `15m`)
        unfurl.yaml:5:12: the schedule `e`: `cron` and `every` exclude each other (remove one of the two)
        unfurl.yaml:6:25: the schedule `f`: `action` cannot be `drfit` (did you mean `drift`?)
        unfurl.yaml:7:52: the schedule `g`: `task` has no effect on `action: deploy` (remove the key, or use another action)
        unfurl.yaml:7:40: the schedule `g`: `hosts` has no effect on `action: deploy` (remove the key, or use another action)
        unfurl.yaml:8:1: the schedule `h` is never due (add `every: 15m` or `cron: 15 6 * * *`)
        unfurl.yaml:9:43: the schedule `i` has no key `acton` (did you mean `action`?)
        unfurl.yaml:9:1: the schedule `i` needs an `action` (use one of `drift`, `check`, `deploy`, `task`, `state test`)
        unfurl.yaml:9:38: the schedule `i`: `timezone` has no effect on `every` (remove it, or use `cron`)
        unfurl.yaml:9:24: the schedule `i`: `jitter` must be shorter than `every` (write a shorter delay)
        unfurl.yaml:10:1: `../j` cannot be the name of a schedule (write letters, digits, `_`, `-` and `.`, beginning with a letter or digit, at most 64 characters)
        unfurl.yaml:10:27: the schedule `../j`: `action: task` needs the name of a task (add `task: NAME`)
        unfurl.yaml:11:4: the schedule `k` must be a map, not an integer
        ");
        assert_eq!(schedules.specs.len(), 1);
        assert_eq!(schedules.invalid.len(), 11);
    }

    #[test]
    fn a_section_of_another_kind_is_reported() {
        assert_eq!(read("[]").1.len(), 1);
        assert_eq!(read("").1.len(), 0);
    }
}
