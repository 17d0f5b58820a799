//! The record of a job as data: the files, `jobs.tsv` lines and manifest sections to write.
//!
//! [`Record::of`] builds it from the job's report; `publish` writes it; a rescue file can hold it in the
//! meantime.

use std::sync::Arc;

use crate::job::Report;
use crate::name::ChangeId;
use crate::value::{Map, Value};
use crate::yaml;

use super::change_records::{job_record, task_record};
use super::jobs_tsv::{
    SecretInputs, TEMPLATES_KEY, add_secret_inputs, add_templates, job_line, portable_keys,
    task_line,
};
use super::manifest::Manifest;
use super::record_time::stamp;
use super::saved_templates::{NewTemplates, SavedTemplateIndex};

/// Data that a record needs in addition to the job's report.
#[derive(Debug, Clone)]
pub struct RecordFacts {
    /// The node templates that earlier records saved.
    pub saved_templates: Arc<SavedTemplateIndex>,
    /// The end time of the job.
    pub ended: jiff::Timestamp,
    /// The digests of the job's secret inputs.
    pub secret_inputs: Option<SecretInputs>,
}

/// The data that a job saves. Nothing is on disk until the record is published.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a record that is not published is lost"]
pub struct Record {
    pub job: ChangeId,
    /// Files with their complete text, by path relative to the ensemble's folder, in writing order.
    pub files: Vec<(String, String)>,
    /// Lines to add to `jobs.tsv`. All of them belong to this job.
    pub lines: String,
    /// New values of manifest sections: `name` is a top-level key, `name/name` a nested one.
    pub sections: Vec<(String, Value)>,
    /// For dry runs: the relative path of a copy of the manifest that gets the sections. The manifest itself
    /// stays unchanged.
    pub copy: Option<String>,
}

/// Returns the base name of a job's files: `job<time>-<id>`.
pub fn job_file_name(start: jiff::Timestamp, id: &str) -> String {
    let time = stamp(start);
    let seconds = time
        .rsplit_once('-')
        .map_or(time.as_str(), |(seconds, _)| seconds);
    format!("job{seconds}-{}", &id[..id.len().saturating_sub(4)])
}

impl Record {
    /// Builds the record of a job that has ended; `None` if it had no tasks.
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
        let discovered = report.values.added_templates.clone();
        ours.sections
            .extend(discovered_section(manifest, discovered));
        if report.is_dry_run() {
            let name = job_file_name(report.head.start, ours.job.as_str());
            ours.copy = Some(format!("planned/{name}.ensemble.yaml"));
        }
        Some(ours)
    }

    /// Creates a record that contains only the `status` section.
    pub fn of_status(job: ChangeId, status: Value) -> Self {
        Self::of_sections(job, vec![("status".to_owned(), status)])
    }

    /// Creates a record that only sets sections of the manifest.
    pub fn of_sections(job: ChangeId, sections: Vec<(String, Value)>) -> Self {
        Self {
            job,
            files: Vec::new(),
            lines: String::new(),
            sections,
            copy: None,
        }
    }

    /// Adds the records of the job and its tasks as separate files.
    fn add_files(
        &mut self,
        manifest: &Manifest,
        report: &Report,
        mut record: Map,
        facts: &RecordFacts,
    ) {
        let name = job_file_name(report.head.start, self.job.as_str());
        let dry = report.is_dry_run();
        let changelogs = Changelogs::of(manifest, report);
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
            add_secret_inputs(&mut self.lines, facts.secret_inputs.as_ref());
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

    /// Adds the records of the job and its tasks to the manifest itself.
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

    /// Adds task records to the `changes` section of the manifest.
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
        // Records of the same job exist only if an earlier attempt to save it was interrupted; they are
        // replaced.
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

/// Encrypts the secrets in the record of a task.
fn sealed(manifest: &Manifest, record: Map) -> Map {
    let entries = record.into_iter();
    entries
        .map(|(key, value)| (key, manifest.sealed(&value)))
        .collect()
}

/// The records of a job's tasks as YAML text.
#[derive(Debug, Default)]
pub(super) struct Changelogs {
    /// YAML list items of all tasks, with results.
    pub(super) all: String,
    /// YAML list items of the tasks to commit. Results are left out, because they may contain confidential
    /// data.
    pub(super) committed: String,
    pub(super) lines: String,
}

impl Changelogs {
    fn of(manifest: &Manifest, report: &Report) -> Self {
        let mut texts = Self::default();
        for task in report.records() {
            let record = sealed(manifest, task_record(task, report.head.id.as_str()));
            texts.add(record, task.end.is_none(), task.is_committed());
        }
        texts
    }

    /// Adds the record of a task to the texts that it belongs to.
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

/// Returns the `spec/discovered` section extended with new node templates; `None` if there are no new ones.
pub(super) fn discovered_section(manifest: &Manifest, new: Map) -> Option<(String, Value)> {
    if new.is_empty() {
        return None;
    }
    let mut all = manifest.discovered();
    all.extend(new);
    Some(("spec/discovered".to_owned(), Value::from(all)))
}

/// Returns the text of a record file: the job's record, saved node templates and the list items of its tasks.
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
