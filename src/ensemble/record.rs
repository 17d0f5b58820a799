//! What a job leaves on record: files, lines and sections, all as data.

use std::sync::Arc;

use crate::job::Report;
use crate::name::ChangeId;
use crate::value::{Map, Value};
use crate::yaml;

use super::change_records::{job_record, stamp, task_record};
use super::jobs_tsv::{TEMPLATES_KEY, add_templates, job_line, portable_keys, task_line};
use super::manifest::Manifest;
use super::saved_templates::{NewTemplates, SavedTemplateIndex};

/// What a record needs besides the report of its job.
#[derive(Debug, Clone)]
pub struct RecordFacts {
    /// The node templates that earlier records keep.
    pub saved_templates: Arc<SavedTemplateIndex>,
    /// When the job ended.
    pub ended: jiff::Timestamp,
}

/// What a job leaves on record. Nothing of it is on disk before it is published.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a record that is not published is lost"]
pub struct Record {
    /// The job.
    pub job: ChangeId,
    /// Files with their whole text, by their paths from the ensemble's folder, in the order in
    /// which they are written.
    pub files: Vec<(String, String)>,
    /// Lines for `jobs.tsv`, those of no other job among them.
    pub lines: String,
    /// The ensemble's sections that jobs write, with their new values: `name` at its root, or
    /// `name/name` within.
    pub sections: Vec<(String, Value)>,
    /// Where a copy of the ensemble goes, relative to its folder, which itself stays as it is: for
    /// dry runs.
    pub copy: Option<String>,
}

/// The base of the names of a job's files: `job<time>-<id>`.
pub fn job_file_name(start: jiff::Timestamp, id: &str) -> String {
    let time = stamp(start);
    let seconds = time
        .rsplit_once('-')
        .map_or(time.as_str(), |(seconds, _)| seconds);
    format!("job{seconds}-{}", &id[..id.len().saturating_sub(4)])
}

impl Record {
    /// What a job that has ended leaves on record; none where it came to no task.
    pub fn of(manifest: &Manifest, report: &Report, facts: &RecordFacts) -> Option<Self> {
        let status = report.values.status_section.clone();
        if report.tasks.is_empty() {
            return None;
        }
        let mut ours = Self::of_status(report.head.id, status.unwrap_or_default());
        let record = job_record(report, facts.ended);
        if manifest.keeps_changes_inline() {
            ours.add_inline(manifest, report, record, facts);
        } else {
            ours.add_files(manifest, report, record, facts);
        }
        let discovered = report.values.discovered.clone();
        ours.sections
            .extend(discovered_section(manifest, discovered));
        if report.is_dry_run() {
            let name = job_file_name(report.head.start, ours.job.as_str());
            ours.copy = Some(format!("planned/{name}.ensemble.yaml"));
        }
        Some(ours)
    }

    /// The record of a job of which nothing is known but the `status` section.
    pub fn of_status(job: ChangeId, status: Value) -> Self {
        Self {
            job,
            files: Vec::new(),
            lines: String::new(),
            sections: vec![("status".to_owned(), status)],
            copy: None,
        }
    }

    /// The records of job and tasks go into files of their own.
    fn add_files(
        &mut self,
        manifest: &Manifest,
        report: &Report,
        mut record: Map,
        facts: &RecordFacts,
    ) {
        let name = job_file_name(report.head.start, self.job.as_str());
        let dry = report.is_dry_run();
        let changelogs = Changelogs::of(report);
        let folder = match (dry, changelogs.committed.is_empty()) {
            (true, _) => "planned",
            (false, true) => "jobs",
            (false, false) => "changes",
        };
        let changelog = format!("{folder}/{name}.yaml");
        record.insert("changelog".into(), Value::from(changelog.as_str()));
        let changed = folder == "changes";
        let mut add = |path: String, templates: Map, changes: &str| {
            let text = changelog_text(manifest, &record, templates, changes);
            self.files.push((path, text));
        };
        if changed {
            let new = NewTemplates::of(report, &facts.saved_templates.read());
            add(format!("jobs/{name}.yaml"), Map::new(), &changelogs.all);
            add(changelog, new.templates, &changelogs.committed);
            self.lines = job_line(&record, report.status.as_str());
            add_templates(&mut self.lines, &new.digests);
            self.lines.push_str(&changelogs.lines);
        } else {
            add(changelog, Map::new(), &changelogs.all);
        }
        if changed || dry {
            self.sections.push(("lastJob".into(), Value::from(record)));
        }
        self.sections
            .push(("jobsLog".into(), Value::from("jobs.tsv")));
    }

    /// The ensemble carries its changes itself.
    fn add_inline(
        &mut self,
        manifest: &Manifest,
        report: &Report,
        record: Map,
        facts: &RecordFacts,
    ) {
        let new = NewTemplates::of(report, &facts.saved_templates.read());
        let records = report.records();
        let mut records: Vec<Map> = records
            .map(|task| task_record(task, self.job.as_str()))
            .collect();
        if let Some(first) = records.first_mut().filter(|_| !new.templates.is_empty()) {
            first.insert("templates".into(), Value::from(new.templates));
            first.insert(TEMPLATES_KEY.into(), Value::from(new.digests));
        }
        self.add_inline_records(manifest, record, records);
    }

    /// Adds the records of a job's tasks to those that the ensemble carries itself.
    pub(super) fn add_inline_records(
        &mut self,
        manifest: &Manifest,
        record: Map,
        mut records: Vec<Map>,
    ) {
        for record in &mut records {
            let keys = portable_keys(record);
            record.insert("digestKeys".into(), Value::from(keys));
        }
        let old = manifest
            .inline_changes()
            .as_list()
            .cloned()
            .unwrap_or_default();
        // Those of the same job are there only where its record was cut off.
        let prefix = self.job.prefix();
        let is_old = |old: &Value| {
            let id = old.get("changeId").and_then(Value::as_str);
            !id.is_some_and(|id| id.starts_with(prefix))
        };
        let records = records.into_iter().map(Value::from);
        let changes = Value::list(old.into_iter().filter(is_old).chain(records));
        self.sections.push(("lastJob".into(), Value::from(record)));
        self.sections.push(("changes".into(), changes));
    }
}

/// The records of a job's tasks, as text.
#[derive(Debug, Default)]
pub(super) struct Changelogs {
    /// Items of a list: all tasks with their results.
    pub(super) all: String,
    /// Items of a list: the tasks that are committed, without results, which may hold what is
    /// not for everybody.
    pub(super) committed: String,
    /// Lines for `jobs.tsv`.
    pub(super) lines: String,
}

impl Changelogs {
    fn of(report: &Report) -> Self {
        let mut texts = Self::default();
        for task in report.records() {
            let record = task_record(task, report.head.id.as_str());
            texts.add(record, task.end.is_none(), task.is_committed());
        }
        texts
    }

    /// Adds the record of a task, which was skipped or not, and is committed or not.
    pub(super) fn add(&mut self, mut record: Map, skipped: bool, committed: bool) {
        let result = record.get_index_of("result").filter(|_| !skipped);
        let after = result.map(|place| {
            let after = record.split_off(place + 1);
            let result = record.split_off(place);
            (result, after)
        });
        if committed {
            let mut line = record.clone();
            line.extend(after.iter().flat_map(|(_, after)| after.clone()));
            self.lines.push_str(&task_line(&line));
        }
        let before = yaml::emit(&Value::list([Value::from(record)]), 0);
        let part = |part: Map| yaml::emit(&Value::from(part), 2);
        self.all.push_str(&before);
        if committed {
            self.committed.push_str(&before);
        }
        if let Some((result, after)) = after {
            let after = part(after);
            self.all.push_str(&part(result));
            self.all.push_str(&after);
            if committed {
                self.committed.push_str(&after);
            }
        }
    }
}

/// The section of node templates that tasks have added, with new ones; none if there are none.
pub(super) fn discovered_section(manifest: &Manifest, new: Map) -> Option<(String, Value)> {
    if new.is_empty() {
        return None;
    }
    let mut all = manifest.discovered();
    all.extend(new);
    Some(("spec/discovered".to_owned(), Value::from(all)))
}

/// The text of a file of records: the job's, node templates, and items of a list for its tasks.
pub(super) fn changelog_text(
    manifest: &Manifest,
    record: &Map,
    templates: Map,
    changes: &str,
) -> String {
    let file = manifest.path().file_name().unwrap_or_default();
    let mut head = Map::new();
    let file = format!("../{}", file.to_string_lossy());
    head.insert("manifest".into(), Value::from(file));
    head.insert("job".into(), Value::from(record.clone()));
    if !templates.is_empty() {
        head.insert("templates".into(), Value::from(templates));
    }
    let mut text = yaml::emit(&Value::from(head), 0);
    text.push_str("changes:\n");
    text.push_str(changes);
    text
}
