//! Publishes what a job has done: new files beside the old, synced and renamed, `ensemble.yaml`
//! last.

use std::path::{Path, PathBuf};

use super::changes::{JobFacts, is_committed, job_record, stamp, task_record};
use super::jobs_tsv::{job_line, task_line};
use super::manifest::Manifest;
use super::status::status_section;
use crate::job::Engine;
use crate::system::fs;
use crate::value::{Map, Value};
use crate::yaml;

/// Why a job's record cannot be saved.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] fs::Error),
    /// The ensemble's own text cannot take the record.
    #[error("the record does not fit into `{}`: {source}", path.display())]
    Patch {
        /// The ensemble.
        path: PathBuf,
        /// Why.
        source: yaml::PatchError,
    },
    /// The ensemble changed on disk while the job ran.
    #[error("`{}` was changed by somebody else while the job ran; the record is in `{}`", path.display(), kept.display())]
    Changed {
        /// The ensemble.
        path: PathBuf,
        /// Where the new text was put instead.
        kept: PathBuf,
    },
    /// The job's ids cannot be made.
    #[error(transparent)]
    Job(#[from] crate::job::Error),
}

/// Where a job's record went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "the log goes beside the record"]
pub struct Published {
    /// The record that is committed, if anything changed.
    pub changelog: Option<PathBuf>,
    /// The record with all tasks.
    pub job_file: Option<PathBuf>,
}

/// The base of the names of a job's files: `job<time>-<id>`.
pub fn job_file_name(start: jiff::Timestamp, id: &str) -> String {
    let time = stamp(start);
    let seconds = time
        .rsplit_once('-')
        .map_or(time.as_str(), |(seconds, _)| seconds);
    format!("job{seconds}-{}", &id[..id.len().saturating_sub(4)])
}

/// Saves the record of a job. A dry run leaves the ensemble as it is and puts a copy of what it
/// would be under `planned`.
pub fn publish(
    manifest: &Manifest,
    engine: &mut Engine,
    facts: &JobFacts,
) -> Result<Published, PublishError> {
    if engine.work.is_empty() {
        return Ok(Published::default());
    }
    let dry = engine.options.goal.dry_run;
    let (inputs, outputs) = (engine.inputs(), engine.outputs());
    let status = status_section(&engine.topology, inputs, outputs);
    let id = engine.id()?.to_string();
    let mut record = job_record(engine, &id, facts);
    let (tasks, committed) = task_records(engine);
    let name = job_file_name(engine.options.start, &id);
    let base = manifest.base_dir();
    if manifest.keeps_changes_inline() {
        return inline(
            manifest,
            status,
            record,
            &tasks,
            dry.then_some(name.as_str()),
        );
    }
    let folder = match (dry, committed.is_empty()) {
        (true, _) => "planned",
        (false, true) => "jobs",
        (false, false) => "changes",
    };
    let changelog = format!("{folder}/{name}.yaml");
    record.insert("changelog".into(), Value::from(changelog.as_str()));
    let changed = folder == "changes";
    if changed {
        let full = base.join(format!("jobs/{name}.yaml"));
        write_changelog(manifest, &full, &record, &tasks)?;
        write_changelog(manifest, &base.join(&changelog), &record, &committed)?;
        let mut lines = job_line(&record, engine.status().as_str());
        lines.extend(committed.iter().map(task_line));
        append_tsv(&base.join("jobs.tsv"), &lines)?;
    } else {
        write_changelog(manifest, &base.join(&changelog), &record, &tasks)?;
    }
    let mut sections = vec![("status", status)];
    if changed || dry {
        sections.push(("lastJob", Value::from(record)));
    }
    sections.push(("jobsLog", Value::from("jobs.tsv")));
    save(manifest, &sections, dry.then_some(name.as_str()))?;
    Ok(Published {
        job_file: Some(base.join(format!(
            "{}/{name}.yaml",
            if dry { "planned" } else { "jobs" }
        ))),
        changelog: changed.then(|| base.join(&changelog)),
    })
}

/// The records of all tasks, and of those that are committed.
fn task_records(engine: &Engine) -> (Vec<Map>, Vec<Map>) {
    let tasks = engine.work.iter().map(|index| &engine.tasks[*index]);
    let records: Vec<Map> = tasks
        .clone()
        .map(|task| task_record(engine, task))
        .collect();
    let committed = tasks
        .zip(&records)
        .filter(|(task, _)| is_committed(task))
        .map(|(_, record)| without_result(record))
        .collect();
    (records, committed)
}

fn without_result(record: &Map) -> Map {
    let mut record = record.clone();
    if record.get("result").and_then(Value::as_str) != Some("skipped") {
        record.shift_remove("result");
    }
    record
}

/// The ensemble carries its changes itself.
fn inline(
    manifest: &Manifest,
    status: Value,
    record: Map,
    tasks: &[Map],
    dry: Option<&str>,
) -> Result<Published, PublishError> {
    let old = manifest
        .inline_changes()
        .as_list()
        .cloned()
        .unwrap_or_default();
    let new = tasks.iter().cloned().map(Value::from);
    let changes = Value::list(old.into_iter().chain(new));
    let sections = [
        ("status", status),
        ("lastJob", Value::from(record)),
        ("changes", changes),
    ];
    save(manifest, &sections, dry)?;
    Ok(Published::default())
}

fn write_changelog(
    manifest: &Manifest,
    path: &Path,
    record: &Map,
    changes: &[Map],
) -> Result<(), PublishError> {
    let file = manifest
        .path()
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let changes = changes.iter().cloned().map(Value::from);
    let content = Value::map([
        ("manifest", Value::from(format!("../{file}"))),
        ("job", Value::from(record.clone())),
        ("changes", Value::list(changes)),
    ]);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write_atomic(path, yaml::emit(&content, 0).as_bytes(), None)?;
    Ok(())
}

/// Appends whole lines; a last line that a crash left without its end is ended first.
fn append_tsv(path: &Path, lines: &str) -> Result<(), PublishError> {
    let unfinished = match fs::read(path) {
        Ok(bytes) => bytes.last().is_some_and(|byte| *byte != b'\n'),
        Err(_) => false,
    };
    let lead = if unfinished { "\n" } else { "" };
    fs::append_durable(path, format!("{lead}{lines}").as_bytes())?;
    Ok(())
}

/// Splices sections into the ensemble's text; every other byte stays.
fn save(
    manifest: &Manifest,
    sections: &[(&str, Value)],
    dry: Option<&str>,
) -> Result<(), PublishError> {
    let path = manifest.path();
    let text = manifest
        .with_sections(sections)
        .map_err(|source| PublishError::Patch {
            path: path.to_path_buf(),
            source,
        })?;
    if let Some(name) = dry {
        let copy = manifest
            .base_dir()
            .join(format!("planned/{name}.ensemble.yaml"));
        if let Some(folder) = copy.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write_atomic(&copy, text.as_bytes(), None)?;
        return Ok(());
    }
    if text == manifest.text() {
        return Ok(());
    }
    if fs::read_to_string(path)? != manifest.text() {
        let kept = path.with_extension("yaml.rescued");
        fs::write_atomic(&kept, text.as_bytes(), None)?;
        return Err(PublishError::Changed {
            path: path.to_path_buf(),
            kept,
        });
    }
    fs::write_atomic(path, text.as_bytes(), None)?;
    Ok(())
}
