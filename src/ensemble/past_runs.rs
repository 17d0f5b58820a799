//! Reads the times of earlier successful operations from the latest records, latest first.

use std::path::PathBuf;
use std::sync::Arc;

use super::record_file::RecordFile;
use super::record_store::RecordStore;
use super::record_time::parse_stamp;
use crate::job::PastRun;
use crate::value::{List, Value};
use crate::yaml::{Schema, parse_text};

/// The maximum number of record files that are read.
const MAX_FILES: usize = 20;
/// No further record file is read after so many bytes.
const MAX_BYTES: usize = 16 << 20;

/// The records of the latest jobs, of which none was read yet.
#[derive(Debug, Clone, Default)]
pub struct RecentRecords {
    base: PathBuf,
    /// The paths of the latest record files, latest first.
    paths: Vec<Arc<str>>,
    /// The records inside the manifest, if the manifest contains records.
    inline: Option<Arc<List>>,
}

impl RecentRecords {
    pub(super) fn of(store: &RecordStore) -> Self {
        Self {
            base: store.base().to_owned(),
            paths: store.latest_files(MAX_FILES),
            inline: store.inline_records(),
        }
    }

    /// Returns the successful runs with known times, latest first. Each file is read when the iterator comes to
    /// its first record, and a file that cannot be read is left out.
    pub fn runs(self) -> impl Iterator<Item = PastRun> {
        let inline = self.inline.into_iter();
        let inline = inline.flat_map(|all| all.iter().rev().filter_map(run_of).collect::<Vec<_>>());
        let mut budget = MAX_BYTES;
        let files = self.paths.into_iter().map_while(move |path| {
            if budget == 0 {
                return None;
            }
            let file = RecordFile::read(&self.base, &path).ok();
            let size = file.as_ref().map_or(0, RecordFile::size);
            budget = budget.saturating_sub(size);
            Some(file)
        });
        inline.chain(files.flatten().flat_map(|file| runs_of(&file)))
    }
}

/// Returns the runs of a record file, latest first.
fn runs_of(file: &RecordFile) -> Vec<PastRun> {
    let places = (0..file.len()).rev();
    let runs = places.filter_map(|place| match file.text_of_task(place) {
        Some(text) => run_of_text(text),
        None => run_of(&file.task(place).ok()?),
    });
    runs.collect()
}

/// Returns the run that a record describes. None for a task that failed or has no times.
fn run_of(record: &Value) -> Option<PastRun> {
    let text = |key: &str| record.get(key).and_then(Value::as_str);
    let within = |key: &str, inner: &str| record.get(key)?.get(inner)?.as_str();
    past_run(&Fields {
        target: text("digestOf").or_else(|| text("target")),
        operation: within("implementation", "operation"),
        status: within("readyState", "local"),
        start: text("startTime"),
        end: text("endTime"),
    })
}

/// The fields of a record that a run is made of.
#[derive(Debug, Default)]
struct Fields<'a> {
    target: Option<&'a str>,
    operation: Option<&'a str>,
    status: Option<&'a str>,
    start: Option<&'a str>,
    end: Option<&'a str>,
}

fn past_run(fields: &Fields<'_>) -> Option<PastRun> {
    if fields.status != Some("ok") {
        return None;
    }
    let time = parse_stamp(fields.end?)?.duration_since(parse_stamp(fields.start?)?);
    Some(PastRun {
        target: plain(fields.target?)?,
        operation: plain(fields.operation?)?,
        time: time.try_into().ok()?,
    })
}

/// Returns the text of a YAML scalar.
fn plain(scalar: &str) -> Option<String> {
    if !scalar.starts_with(['"', '\'']) {
        return Some(scalar.to_owned());
    }
    let node = parse_text(Schema::Core, scalar).ok()?;
    Some(node.to_value().as_str()?.to_owned())
}

/// Returns the run of a record from its text, in the layout that this program writes.
///
/// Only the lines of the needed keys are read: parsing the records of thousands of tasks would delay the job.
fn run_of_text(text: &str) -> Option<PastRun> {
    let mut fields = Fields::default();
    let mut is_whole_key = false;
    let mut section = "";
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let Some((key, value)) = line.trim_start_matches(' ').split_once(':') else {
            continue;
        };
        let value = Some(value.trim()).filter(|value| !value.is_empty());
        match (indent, section, key) {
            (2, _, "startTime") => fields.start = value,
            (2, _, "endTime") => fields.end = value,
            (2, _, "digestOf") => (fields.target, is_whole_key) = (value, true),
            (2, _, "target") if !is_whole_key => fields.target = value,
            (4, "readyState", "local") => fields.status = value,
            (4, "implementation", "operation") => fields.operation = value,
            _ => {}
        }
        if indent == 2 {
            section = key;
        }
    }
    past_run(&fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::ChangeId;
    use crate::system::fs;
    use std::time::Duration;

    fn task(number: usize, target: &str, status: &str, micros: &str) -> String {
        format!(
            "- changeId: A6BL7ntS{number:04}\n  startTime: 2026-11-21-07-49-55-000000\n  \
             endTime: 2026-11-21-07-49-57-{micros}\n  target: {target}\n  readyState:\n    \
             local: {status}\n  implementation:\n    operation: create\n  inputs:\n    text: |\n      \
             x\n    readyState:\n      local: error\n"
        )
    }

    fn run(target: &str, micros: u64) -> PastRun {
        PastRun {
            target: target.to_owned(),
            operation: "create".to_owned(),
            time: Duration::from_secs(2) + Duration::from_micros(micros),
        }
    }

    #[test]
    fn successful_runs_come_latest_first_from_the_latest_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(&folder.path().join("changes")).unwrap();
        let mut store = RecordStore::new(folder.path());
        let old = format!("changes:\n{}", task(1, "'::web'", "ok", "5"));
        let no_times =
            "- changeId: A6BL7ntS0004\n  target: ::python\n  readyState:\n    local: ok\n";
        let new = format!(
            "manifest: x\nchanges:\n{}{}{}{no_times}",
            task(1, "::web", "ok", "000001"),
            task(2, "::web", "error", "000002"),
            task(3, "::x\n  digestOf: outer:::x", "ok", "000003"),
        );
        for (id, path, text) in [("A6BL7ntS0000", "a", &old), ("A6BL7ntT0000", "b", &new)] {
            let path = format!("changes/{path}.yaml");
            fs::write_plain(&folder.path().join(&path), text.as_bytes(), None).unwrap();
            store.add_changelog(ChangeId::parse(id).unwrap(), &path);
        }
        store.add_changelog(
            ChangeId::parse("A6BL7ntU0000").unwrap(),
            "changes/lost.yaml",
        );
        let runs: Vec<_> = RecentRecords::of(&store).runs().collect();
        assert_eq!(
            runs,
            [run("outer:::x", 3), run("::web", 1), run("::web", 500_000)]
        );
    }

    #[test]
    fn both_ways_to_read_a_record_find_the_same() {
        for (target, status) in [("::web", "ok"), ("\"::a b\"", "ok"), ("::web", "error")] {
            let text = task(1, target, status, "000001");
            let whole = parse_text(Schema::Core, &text).unwrap().to_value();
            let whole = run_of(&whole.as_list().unwrap()[0]);
            assert_eq!(run_of_text(&text), whole);
            assert_eq!(whole.is_some(), status == "ok");
        }
    }

    #[test]
    fn records_in_the_manifest_are_read_too() {
        let text = task(1, "::web", "ok", "000001") + &task(2, "::db", "ok", "000002");
        let mut store = RecordStore::new("/nowhere");
        store.set_inline(&parse_text(Schema::Core, &text).unwrap().to_value());
        let runs: Vec<_> = RecentRecords::of(&store).runs().collect();
        assert_eq!(runs, [run("::db", 2), run("::web", 1)]);
    }
}
