//! New change ids for jobs of this clone whose ids another clone has used as well.
//!
//! A change id contains a time of 16.2 ms and nothing of the machine, so that clones which start at the same moment
//! choose the same id. The clone that pushes later renames its own jobs, because only its own files have these ids.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::name::{ChangeId, next_tick};

/// The keys of records whose values are change ids.
const ID_KEYS: [&str; 5] = [
    "changeId",
    "created",
    "lastConfigChange",
    "lastStateChange",
    "previousId",
];

/// The top-level keys of manifests and change records under which jobs write ids.
const RECORD_KEYS: [&str; 4] = ["changes", "job", "lastJob", "status"];

/// The keys of records that contain data of the user, which may look like an id.
const DATA_KEYS: [&str; 11] = [
    "attributes",
    "changes",
    "computedProperties",
    "dependencies",
    "inputs",
    "messages",
    "options",
    "outputs",
    "properties",
    "result",
    "templates",
];

/// The prefixes of change ids to replace, each with its new prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct IdRenames {
    prefixes: BTreeMap<String, String>,
}

impl IdRenames {
    /// Chooses new prefixes for those of `ours` that `theirs` contains as well. No new prefix is in `used`. The order
    /// of `ours` stays, so that later jobs may get new prefixes too.
    pub(super) fn new(
        ours: &BTreeSet<String>,
        theirs: &BTreeSet<String>,
        used: &BTreeSet<String>,
    ) -> Self {
        let mut prefixes = BTreeMap::new();
        let mut last: Option<String> = None;
        for prefix in ours {
            let is_free =
                !theirs.contains(prefix) && last.as_ref().is_none_or(|last| prefix > last);
            let chosen = if is_free {
                prefix.clone()
            } else {
                let from = last.as_ref().map_or(prefix, |last| last.max(prefix));
                let Some(free) = next_free(from, used) else {
                    continue;
                };
                prefixes.insert(prefix.clone(), free.clone());
                free
            };
            last = Some(chosen);
        }
        Self { prefixes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// Returns the ids of the renamed jobs, old and new.
    pub(super) fn jobs(&self) -> impl Iterator<Item = (String, String)> {
        let pairs = self.prefixes.iter();
        pairs.map(|(old, new)| (format!("{old}0000"), format!("{new}0000")))
    }

    /// Returns the new path of a file of a job; `None` if its name has no renamed id.
    pub(super) fn path(&self, path: &Path) -> Option<PathBuf> {
        let name = self.file_name(path.file_name()?.to_str()?)?;
        Some(path.with_file_name(name))
    }

    /// Renames the id in the name of a job's file: `job<time>-<prefix>.yaml`.
    fn file_name(&self, name: &str) -> Option<String> {
        let (stem, extension) = name.split_once('.')?;
        let (job, prefix) = stem.rsplit_once('-')?;
        let new = self.prefixes.get(prefix)?;
        job.starts_with("job")
            .then(|| format!("{job}-{new}.{extension}"))
    }

    fn id(&self, id: &str) -> Option<String> {
        let prefix = ChangeId::parse(id).ok()?.prefix().to_owned();
        let new = self.prefixes.get(&prefix)?;
        Some(format!("{new}{}", &id[prefix.len()..]))
    }

    /// Renames the ids in a text of words, such as the message of a commit.
    pub(super) fn words(&self, text: &str) -> String {
        let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
        let mut renamed = String::with_capacity(text.len());
        for word in words {
            let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            match self.id(bare) {
                Some(new) => {
                    renamed.push_str(&new);
                    renamed.push_str(&word[bare.len()..]);
                }
                None => renamed.push_str(word),
            }
        }
        renamed
    }

    /// Renames the ids in `jobs.tsv`.
    pub(super) fn job_list(&self, text: &str) -> String {
        let mut renamed = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            for (place, field) in line.split_inclusive('\t').enumerate() {
                let bare = field.trim_end();
                let (key, value) = bare.split_once('=').unwrap_or(("", bare));
                let new = match key {
                    "" if place == 0 => self.id(value),
                    "previousId" => self.id(value),
                    "changelog" => self.changelog(value),
                    _ => None,
                };
                let Some(new) = new else {
                    renamed.push_str(field);
                    continue;
                };
                renamed.push_str(&bare[..bare.len() - value.len()]);
                renamed.push_str(&new);
                renamed.push_str(&field[bare.len()..]);
            }
        }
        renamed
    }

    /// Renames the ids in a manifest or a change record. The user's own sections and data stay as they are.
    pub(super) fn yaml(&self, text: &str) -> String {
        let mut renamed = String::with_capacity(text.len());
        for line in RecordLines::new(text) {
            let new = match line.key {
                Some("changelog") => self.changelog(line.value),
                Some(key) if ID_KEYS.contains(&key) => self.id(line.value),
                _ => None,
            };
            match new {
                Some(new) => renamed.push_str(&line.with_value(&new)),
                None => renamed.push_str(line.text),
            }
        }
        renamed
    }

    fn changelog(&self, path: &str) -> Option<String> {
        let (folder, name) = path.rsplit_once('/')?;
        Some(format!("{folder}/{}", self.file_name(name)?))
    }
}

/// Returns the next prefix after `prefix` that is not in use.
fn next_free(prefix: &str, used: &BTreeSet<String>) -> Option<String> {
    let id = ChangeId::parse(&format!("{prefix}0000")).ok()?;
    let mut time = id.tick()?;
    loop {
        time = next_tick(time);
        let next = ChangeId::job(time).ok()?.prefix().to_owned();
        if !used.contains(&next) {
            return Some(next);
        }
    }
}

/// Returns the lines of `jobs.tsv`, each with the prefix of its id.
pub(super) fn records_in_job_list(text: &str) -> BTreeSet<(String, String)> {
    let lines = text.lines().filter_map(|line| {
        let id = line.split('\t').next()?;
        Some((prefix_of(id)?, line.to_owned()))
    });
    lines.collect()
}

/// Returns the records of jobs and tasks that a manifest or a change record contains, each with the prefix of its
/// id.
pub(super) fn records_in_yaml(text: &str) -> BTreeSet<(String, String)> {
    let mut records = BTreeSet::new();
    let mut current: Option<(String, String)> = None;
    for line in RecordLines::new(text) {
        if line.key == Some("changeId") {
            records.extend(current.take());
            current = prefix_of(line.value).map(|prefix| (prefix, String::new()));
        }
        if let Some((_, record)) = &mut current {
            record.push_str(line.text);
        }
    }
    records.extend(current);
    records
}

fn prefix_of(id: &str) -> Option<String> {
    let id = ChangeId::parse(id).ok()?;
    Some(id.prefix().to_owned())
}

/// A line of a manifest or a change record.
struct RecordLine<'t> {
    /// The whole line with its end.
    text: &'t str,
    /// The key, if the line belongs to the parts that jobs write.
    key: Option<&'t str>,
    /// The value after the key.
    value: &'t str,
}

impl RecordLine<'_> {
    fn with_value(&self, value: &str) -> String {
        let end = self.text.trim_end().len();
        format!(
            "{}{value}{}",
            &self.text[..end - self.value.len()],
            &self.text[end..]
        )
    }
}

/// Reads the lines of a manifest or a change record, as the program writes them, and skips the user's data.
struct RecordLines<'t> {
    lines: std::str::SplitInclusive<'t, char>,
    /// The indentation of the key whose content is skipped.
    skipped: Option<usize>,
}

impl<'t> RecordLines<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            lines: text.split_inclusive('\n'),
            skipped: None,
        }
    }
}

impl<'t> Iterator for RecordLines<'t> {
    type Item = RecordLine<'t>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.lines.next()?;
        let mut line = RecordLine {
            text,
            key: None,
            value: "",
        };
        let content = text.trim_end();
        let mut rest = content.trim_start();
        let indentation = content.len() - rest.len();
        let is_item = rest.starts_with("- ");
        if rest.is_empty() {
            return Some(line);
        }
        if let Some(skipped) = self.skipped {
            if indentation > skipped || (indentation == skipped && is_item) {
                return Some(line);
            }
            self.skipped = None;
        }
        while let Some(item) = rest.strip_prefix("- ") {
            rest = item.trim_start();
        }
        let indentation = content.len() - rest.len();
        let Some((key, value)) = rest.split_once(':') else {
            return Some(line);
        };
        let is_top = indentation == 0;
        let is_skipped = if is_top {
            !RECORD_KEYS.contains(&key)
        } else {
            DATA_KEYS.contains(&key)
        };
        if is_skipped {
            self.skipped = Some(indentation);
        } else if let Some(value) = value.strip_prefix(' ') {
            (line.key, line.value) = (Some(key), value.trim_start());
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(prefixes: &[&str]) -> BTreeSet<String> {
        prefixes.iter().map(|&prefix| prefix.to_owned()).collect()
    }

    /// The renames where the other side has these prefixes as well, the first of them since the two separated.
    fn renames(ours: &[&str], theirs: &[&str]) -> Vec<(String, String)> {
        let renames = IdRenames::new(&set(ours), &set(&theirs[..1]), &set(theirs));
        let pair = |(old, new): (String, String)| (old[..8].to_owned(), new[..8].to_owned());
        renames.jobs().map(pair).collect()
    }

    fn pair(old: &str, new: &str) -> (String, String) {
        (old.to_owned(), new.to_owned())
    }

    #[test]
    fn the_next_free_tick_is_chosen_and_the_order_of_jobs_stays() {
        assert_eq!(renames(&["A6BN8sH1"], &["A6BN8sH2"]), []);
        assert_eq!(
            renames(&["A6BN8sH1"], &["A6BN8sH1", "A6BN8sH2"]),
            [pair("A6BN8sH1", "A6BN8sH3")]
        );
        assert_eq!(
            renames(&["A6BN8sH1", "A6BN8sH2", "A6BN8sH9"], &["A6BN8sH1"]),
            [pair("A6BN8sH1", "A6BN8sH2"), pair("A6BN8sH2", "A6BN8sH3")]
        );
        // The last tick of a second.
        assert_eq!(
            renames(&["A6BN8sHz"], &["A6BN8sHz"]),
            [pair("A6BN8sHz", "A6BN8sI0")]
        );
    }

    #[test]
    fn ids_are_renamed_in_records_only() {
        let same = set(&["A6BN8sH1"]);
        let renames = IdRenames::new(&same, &same, &same);
        let manifest = "spec:\n  x:\n    created: A6BN8sH10001\nstatus:\n  outputs:\n    changeId: \
                        A6BN8sH10001\n  instances:\n    a:\n      attributes:\n        created: \
                        A6BN8sH10001\n      lastConfigChange: A6BN8sH10001\r\n      created: \
                        A6BN8sH10001\nlastJob:\n  changeId: A6BN8sH10000\n  previousId: \
                        A6BN8sH00000\n  changelog: changes/job2026-11-23-08-54-17-A6BN8sH1.yaml\n";
        insta::assert_snapshot!(renames.yaml(manifest), @"
        spec:
          x:
            created: A6BN8sH10001
        status:
          outputs:
            changeId: A6BN8sH10001
          instances:
            a:
              attributes:
                created: A6BN8sH10001
              lastConfigChange: A6BN8sH20001
              created: A6BN8sH20001
        lastJob:
          changeId: A6BN8sH20000
          previousId: A6BN8sH00000
          changelog: changes/job2026-11-23-08-54-17-A6BN8sH2.yaml
        ");
        let record = "job:\n  changeId: A6BN8sH10000\nchanges:\n- changeId: A6BN8sH10001\n  changes:\n    \
                      ::a:\n      changeId: A6BN8sH10001\n- changeId: A6BN8sH10002\n  inputs:\n    \
                      created: A6BN8sH10002\n  lastStateChange: A6BN8sH10002\n";
        insta::assert_snapshot!(renames.yaml(record), @"
        job:
          changeId: A6BN8sH20000
        changes:
        - changeId: A6BN8sH20001
          changes:
            ::a:
              changeId: A6BN8sH10001
        - changeId: A6BN8sH20002
          inputs:
            created: A6BN8sH10002
          lastStateChange: A6BN8sH20002
        ");
        let list = "A6BN8sH00000\tstatus=ok\nA6BN8sH10000\tpreviousId=A6BN8sH10000\tsummary=A6BN8sH10000\t\
                    changelog=changes/job2026-11-23-08-54-17-A6BN8sH1.yaml\nA6BN8sH10001\tstatus=ok\r\n";
        assert_eq!(
            renames.job_list(list),
            "A6BN8sH00000\tstatus=ok\nA6BN8sH20000\tpreviousId=A6BN8sH20000\tsummary=A6BN8sH10000\t\
             changelog=changes/job2026-11-23-08-54-17-A6BN8sH2.yaml\nA6BN8sH20001\tstatus=ok\r\n"
        );
        assert_eq!(
            renames.words("job A6BN8sH10000: done, A6BN8sH1000"),
            "job A6BN8sH20000: done, A6BN8sH1000"
        );
        assert_eq!(
            renames.path(Path::new("changes/job2026-A6BN8sH1.yaml")),
            Some("changes/job2026-A6BN8sH2.yaml".into())
        );
        assert_eq!(renames.path(Path::new("changes/A6BN8sH1.yaml")), None);
        let records = records_in_yaml(record);
        assert_eq!(records.len(), 3, "{records:?}");
        assert!(records.iter().all(|(prefix, _)| prefix == "A6BN8sH1"));
    }
}
