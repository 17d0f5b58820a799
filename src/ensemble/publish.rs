//! Publishes what a job has done: new files beside the old, synced and renamed, `ensemble.yaml`
//! last.

use std::path::{Path, PathBuf};

use super::changes::{JobFacts, is_committed, job_record, stamp, task_record};
use super::jobs_tsv::{TEMPLATES, add_templates, job_line, portable_keys, task_line};
use super::manifest::Manifest;
use super::status::{Values, status_section};
use super::templates::NewTemplates;
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
    engine.get_digest_key();
    let (inputs, outputs) = (engine.inputs(), engine.outputs());
    let values = Values {
        inputs,
        outputs,
        nested: &|root| engine.nested_values(root),
    };
    let status = status_section(&engine.topology, values);
    let id = engine.id()?.to_string();
    let mut record = job_record(engine, &id, facts);
    let name = job_file_name(engine.options.start, &id);
    let base = manifest.base_dir();
    let copy = dry.then_some(name.as_str());
    if manifest.keeps_changes_inline() {
        let templates = NewTemplates::of(engine, &facts.kept_templates.read());
        return inline(manifest, engine, (status, record, templates), copy);
    }
    let changelogs = Changelogs::of(engine);
    let folder = match (dry, changelogs.committed.is_empty()) {
        (true, _) => "planned",
        (false, true) => "jobs",
        (false, false) => "changes",
    };
    let changelog = format!("{folder}/{name}.yaml");
    record.insert("changelog".into(), Value::from(changelog.as_str()));
    let changed = folder == "changes";
    if changed {
        let new = NewTemplates::of(engine, &facts.kept_templates.read());
        let full = base.join(format!("jobs/{name}.yaml"));
        write_changelog(manifest, &full, (&record, Map::new()), &changelogs.all)?;
        let committed = &changelogs.committed;
        let path = base.join(&changelog);
        write_changelog(manifest, &path, (&record, new.templates), committed)?;
        let mut lines = job_line(&record, engine.status().as_str());
        add_templates(&mut lines, &new.digests);
        lines.push_str(&changelogs.lines);
        append_tsv(&base.join("jobs.tsv"), &lines)?;
    } else {
        let path = base.join(&changelog);
        write_changelog(manifest, &path, (&record, Map::new()), &changelogs.all)?;
    }
    let mut sections = vec![("status", status)];
    if changed || dry {
        sections.push(("lastJob", Value::from(record)));
    }
    sections.push(("jobsLog", Value::from("jobs.tsv")));
    sections.extend(discovered(manifest, engine));
    save(manifest, &sections, copy)?;
    let kept = if dry { "planned" } else { "jobs" };
    Ok(Published {
        job_file: Some(base.join(format!("{kept}/{name}.yaml"))),
        changelog: changed.then(|| base.join(&changelog)),
    })
}

/// The records of a job's tasks, as text.
#[derive(Debug, Default)]
struct Changelogs {
    /// Items of a list: all tasks with their results.
    all: String,
    /// Items of a list: the tasks that are committed, without results, which may hold what is
    /// not for everybody.
    committed: String,
    /// Lines for `jobs.tsv`.
    lines: String,
}

impl Changelogs {
    fn of(engine: &Engine) -> Self {
        let mut texts = Self::default();
        for task in engine.work.iter().map(|index| &engine.tasks[*index]) {
            let mut record = task_record(engine, task);
            let skipped = task.outcome.is_none();
            let result = record.get_index_of("result").filter(|_| !skipped);
            let after = result.map(|place| {
                let after = record.split_off(place + 1);
                let result = record.split_off(place);
                (result, after)
            });
            let committed = is_committed(task);
            if committed {
                let mut line = record.clone();
                line.extend(after.iter().flat_map(|(_, after)| after.clone()));
                texts.lines.push_str(&task_line(&line));
            }
            let before = yaml::emit(&Value::list([Value::from(record)]), 0);
            let part = |part: Map| yaml::emit(&Value::from(part), 2);
            texts.all.push_str(&before);
            if committed {
                texts.committed.push_str(&before);
            }
            if let Some((result, after)) = after {
                let after = part(after);
                texts.all.push_str(&part(result));
                texts.all.push_str(&after);
                if committed {
                    texts.committed.push_str(&after);
                }
            }
        }
        texts
    }
}

/// The node templates that tasks have added, with those added before.
fn discovered(manifest: &Manifest, engine: &Engine) -> Option<(&'static str, Value)> {
    if engine.discovered.is_empty() {
        return None;
    }
    let mut all = manifest.discovered();
    let new = engine.discovered.iter();
    all.extend(new.map(|(name, template)| (name.clone(), template.redacted())));
    Some(("spec/discovered", Value::from(all)))
}

/// The ensemble carries its changes itself.
fn inline(
    manifest: &Manifest,
    engine: &Engine,
    (status, record, new): (Value, Map, NewTemplates),
    dry: Option<&str>,
) -> Result<Published, PublishError> {
    let old = manifest
        .inline_changes()
        .as_list()
        .cloned()
        .unwrap_or_default();
    let tasks = engine.work.iter().map(|index| &engine.tasks[*index]);
    let records = tasks.map(|task| {
        let mut record = task_record(engine, task);
        let keys = portable_keys(&record);
        record.insert("digestKeys".into(), Value::from(keys));
        record
    });
    let mut records: Vec<Map> = records.collect();
    if let Some(first) = records.first_mut().filter(|_| !new.templates.is_empty()) {
        first.insert("templates".into(), Value::from(new.templates));
        first.insert(TEMPLATES.into(), Value::from(new.digests));
    }
    let records = records.into_iter().map(Value::from);
    let changes = Value::list(old.into_iter().chain(records));
    let mut sections = vec![
        ("status", status),
        ("lastJob", Value::from(record)),
        ("changes", changes),
    ];
    sections.extend(discovered(manifest, engine));
    save(manifest, &sections, dry)?;
    Ok(Published::default())
}

fn write_changelog(
    manifest: &Manifest,
    path: &Path,
    (record, templates): (&Map, Map),
    changes: &str,
) -> Result<(), PublishError> {
    let file = manifest
        .path()
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let mut head = Map::new();
    head.insert("manifest".into(), Value::from(format!("../{file}")));
    head.insert("job".into(), Value::from(record.clone()));
    if !templates.is_empty() {
        head.insert("templates".into(), Value::from(templates));
    }
    let mut text = yaml::emit(&Value::from(head), 0);
    text.push_str("changes:\n");
    text.push_str(changes);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write_atomic(path, text.as_bytes(), None)?;
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
    let now = fs::read_to_string(path)?;
    if now != manifest.text() {
        // Somebody edited the ensemble while the job ran: the record goes into what they wrote.
        if let Some(text) = manifest.with_sections_in(&now, sections) {
            fs::write_atomic(path, text.as_bytes(), None)?;
            return Ok(());
        }
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
