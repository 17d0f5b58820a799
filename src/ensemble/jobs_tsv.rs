//! The format of `jobs.tsv`: one line for each job and for each relevant task, with the fields that the next
//! job needs.
//!
//! [`job_line`] and [`task_line`] write it; [`RecordedHistory`] reads it and answers the questions of the job
//! engine about earlier runs.

use std::collections::HashMap;
use std::sync::Arc;

use super::past_runs::RecentRecords;
use super::record_file::recorded_reads;
use super::record_store::RecordStore;
use super::saved_templates::SavedTemplateIndex;
use crate::job::{LastOperation, OperationHistory, PortError, RecordedReads, UnfinishedWork};
use crate::name::{ChangeId, OperationName};
use crate::secret::KeyName;
use crate::text::{escape_controls, is_unsafe};
use crate::value::{Map, Value, decode_percent, encode_percent};

/// The key of the digests of node templates in the line of a job.
pub(super) const TEMPLATES_KEY: &str = "digestTemplates";

/// The key of the keyed digests of secret inputs in the line of a job.
const SECRET_INPUTS_KEY: &str = "digestSecretInputs";

/// The keys of the id and of the salt of the key that made digests of secrets.
const DIGEST_KEY: &str = "digestKey";
const DIGEST_SALT: &str = "digestSalt";

/// The keyed digests of the secret inputs of a job, by which the next job detects other values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretInputs {
    /// The names of the inputs with their digests.
    pub digests: Vec<(String, String)>,
    /// The key that made the digests.
    pub key: KeyName,
}

/// Returns the fields of a record that name the key of its digests.
pub(super) fn key_fields(key: &KeyName) -> impl Iterator<Item = (&'static str, &str)> {
    let fields = [(DIGEST_KEY, key.id.as_str()), (DIGEST_SALT, &key.salt)];
    fields.into_iter().filter(|(_, text)| !text.is_empty())
}

/// Reads the fields that [`key_fields`] made.
fn key_name(field: &impl Fn(&str) -> Option<String>) -> KeyName {
    KeyName {
        id: field(DIGEST_KEY).unwrap_or_default(),
        salt: field(DIGEST_SALT).unwrap_or_default(),
    }
}

/// The key that marks a task's record after a crash. Its value is the whole key of the instance that the job
/// was working on.
pub(super) const CRASH_KEY: &str = "cutOff";

/// Formats the line of a job.
pub(super) fn job_line(record: &Map, status: &str) -> String {
    let mut line = text(record, "changeId");
    if record.contains_key("previousId") {
        push(&mut line, "previousId", &text(record, "previousId"));
    }
    push(&mut line, "status", status);
    for key in [
        "startTime",
        "specDigest",
        "startCommit",
        "summary",
        "changelog",
    ] {
        if record.contains_key(key) {
            push(&mut line, key, &text(record, key));
        }
    }
    line.push('\n');
    line
}

/// Appends the digests of saved node templates to the line of a job.
pub(super) fn add_templates(line: &mut String, digests: &str) {
    if !digests.is_empty() {
        line.pop();
        push(line, TEMPLATES_KEY, digests);
        line.push('\n');
    }
}

/// Appends the digests of secret inputs to the line of a job.
pub(super) fn add_secret_inputs(line: &mut String, inputs: Option<&SecretInputs>) {
    if let Some(inputs) = inputs {
        let pairs = inputs.digests.iter();
        let flat: Vec<String> = pairs
            .flat_map(|(name, digest)| [name.clone(), digest.clone()])
            .collect();
        line.pop();
        push(line, SECRET_INPUTS_KEY, &join_keys(&flat));
        for (name, text) in key_fields(&inputs.key) {
            push(line, name, text);
        }
        line.push('\n');
    }
}

/// Formats the line of a task.
pub(super) fn task_line(record: &Map) -> String {
    let mut line = text(record, "changeId");
    push(&mut line, "previousId", &text(record, "previousId"));
    let ready = record.get("readyState");
    let status = ready.and_then(|ready| ready.get("effective").or_else(|| ready.get("local")));
    push(
        &mut line,
        "status",
        status.and_then(Value::as_str).unwrap_or(""),
    );
    push(&mut line, "target", &text(record, "target"));
    let operation = record
        .get("implementation")
        .and_then(|i| i.get("operation"));
    push(
        &mut line,
        "operation",
        operation.and_then(Value::as_str).unwrap_or(""),
    );
    push(&mut line, "changed", &text(record, "changed"));
    for (key, value) in record.iter().filter(|(key, _)| key.starts_with("digest")) {
        match &**key {
            "digestKeys" => push(&mut line, key, &portable_keys(record)),
            _ => push(&mut line, key, &value.to_string()),
        }
    }
    if record.contains_key(CRASH_KEY) {
        push(&mut line, CRASH_KEY, &text(record, CRASH_KEY));
    }
    push(&mut line, "summary", &text(record, "summary"));
    line.push('\n');
    line
}

/// Returns the digest keys of a record in a form that every version of Unfurl understands.
///
/// Versions after 1.2 add an undeclared input `arguments` to commands of one word. Version 1.2 would see it
/// as a removed input, hence as a change. An empty `arguments` does not influence the digest, so its key is
/// left out.
pub(super) fn portable_keys(record: &Map) -> String {
    let keys = text(record, "digestKeys");
    let arguments = record.get("inputs").and_then(|i| i.get("arguments"));
    let is_empty = arguments
        .and_then(Value::as_map)
        .is_some_and(indexmap::IndexMap::is_empty);
    let kept = keys
        .split(',')
        .filter(|key| !is_empty || *key != "arguments");
    kept.collect::<Vec<_>>().join(",")
}

fn text(record: &Map, key: &str) -> String {
    record.get(key).map(ToString::to_string).unwrap_or_default()
}

fn push(line: &mut String, key: &str, value: &str) {
    line.push('\t');
    line.push_str(key);
    line.push('=');
    // A tab or a line end within a value would split the line.
    let value = value.replace(['\t', '\n', '\r'], " ");
    line.push_str(&escape_controls(&value));
}

/// Joins the keys of this program's own digests with commas. Names may contain any character, so separators
/// and control characters are escaped.
pub(super) fn join_keys(keys: &[String]) -> String {
    let mut joined = String::new();
    for (place, key) in keys.iter().enumerate() {
        if place > 0 {
            joined.push(',');
        }
        for c in key.chars() {
            if matches!(c, '%' | ',' | '\t' | '\n') || is_unsafe(c) {
                joined.push_str(&encode_percent(c.encode_utf8(&mut [0; 4]), b""));
            } else {
                joined.push(c);
            }
        }
    }
    joined
}

/// Splits and unescapes a text that [`join_keys`] produced.
fn split_keys(text: &str) -> Vec<String> {
    let keys = text.split(',').filter(|key| !key.is_empty());
    keys.map(decode_percent).collect()
}

/// Reads the digests that [`add_secret_inputs`] wrote.
fn secret_inputs(field: &impl Fn(&str) -> Option<String>) -> Option<SecretInputs> {
    let flat = split_keys(&field(SECRET_INPUTS_KEY)?);
    let pairs = flat.chunks_exact(2);
    Some(SecretInputs {
        digests: pairs
            .map(|pair| (pair[0].clone(), pair[1].clone()))
            .collect(),
        key: key_name(field),
    })
}

/// The recorded results of earlier jobs, by target and operation.
#[derive(Debug, Clone, Default)]
pub struct RecordedHistory {
    last: HashMap<(String, String), LastOperation>,
    /// The unfinished operations of crashed jobs, by target.
    unfinished_work: HashMap<String, UnfinishedWork>,
    last_job: Option<ChangeId>,
    /// The digests of the secret inputs of the last job.
    secret_inputs: Option<SecretInputs>,
    /// The salt in the latest line that has one, with the id of that line.
    salt: Option<(ChangeId, String)>,
    last_id: Option<ChangeId>,
    records: RecordStore,
    templates: Arc<SavedTemplateIndex>,
}

impl RecordedHistory {
    /// Reads the text of `jobs.tsv`. Lines of another form are skipped.
    pub fn from_tsv(text: &str) -> Self {
        let mut history = Self::default();
        for line in text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
        {
            let mut terms = line.trim().split('\t');
            let Some(Ok(id)) = terms.next().map(ChangeId::parse) else {
                continue;
            };
            let fields: HashMap<&str, &str> =
                terms.filter_map(|term| term.split_once('=')).collect();
            if let Some(path) = fields.get("changelog") {
                history.records.add_changelog(id, path);
            }
            history.add(id, |key| fields.get(key).map(|value| (*value).to_owned()));
        }
        history
    }

    /// Sets the ensemble's folder, from which record files are read.
    #[must_use]
    pub fn with_base(mut self, base: impl Into<std::path::PathBuf>) -> Self {
        self.records.set_base(base);
        self
    }

    /// Returns the records of the latest jobs.
    pub fn recent_records(&self) -> RecentRecords {
        RecentRecords::of(&self.records)
    }

    /// Adds record files that are not on disk, by their paths relative to the ensemble's folder.
    #[must_use]
    pub fn with_files(mut self, files: &[(String, String)]) -> Self {
        for (path, text) in files {
            self.records.add_file(path, text.clone());
        }
        self
    }

    /// Gives access to the full records of tasks.
    pub fn records(&self) -> &RecordStore {
        &self.records
    }

    /// Reads the records in the manifest's `changes` section.
    pub fn from_changes(changes: &Value) -> Self {
        let mut history = Self::default();
        history.records.set_inline(changes);
        for record in changes.as_list().into_iter().flatten() {
            let id = record.get("changeId").and_then(Value::as_str);
            let Some(Ok(id)) = id.map(ChangeId::parse) else {
                continue;
            };
            history.add(id, |key| {
                let operation = || record.get("implementation")?.get(key);
                let ready = || record.get("readyState")?.get(key);
                let found = record.get(key).or_else(operation).or_else(ready);
                found.map(ToString::to_string)
            });
        }
        history
    }

    fn add(&mut self, id: ChangeId, field: impl Fn(&str) -> Option<String>) {
        self.last_id = self.last_id.max(Some(id));
        if let Some(salt) = field(DIGEST_SALT) {
            self.salt = self.salt.take().max(Some((id, salt)));
        }
        if let Some(digests) = field(TEMPLATES_KEY) {
            let changelog = field("changelog").map(Arc::from);
            Arc::make_mut(&mut self.templates).push(changelog, digests);
        }
        let list = |key: &str| {
            let text = field(key).unwrap_or_default();
            text.split(',')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let (Some(target), Some(operation)) = (field("target"), field("operation")) else {
            if self.last_job <= Some(id) {
                self.last_job = Some(id);
                self.secret_inputs = secret_inputs(&field);
            }
            return;
        };
        let record = LastOperation {
            id: Some(id),
            digest_keys: list("digestKeys"),
            digest_value: field("digestValue").unwrap_or_default(),
            digest_put: list("digestPut"),
            exact_keys: split_keys(&field("digestRead").unwrap_or_default()),
            exact_value: field("digestSha256").unwrap_or_default(),
            secret_keys: split_keys(&field("digestSecretRead").unwrap_or_default()),
            secret_value: field("digestSecret").unwrap_or_default(),
            secret_key: key_name(&field),
        };
        // Targets of nested topologies are identified by their whole key.
        let target = field("digestOf").unwrap_or(target);
        if self.add_unfinished_work(id, &target, &operation, &field) {
            return;
        }
        let last = self.last.entry((target, operation)).or_default();
        if last.id <= record.id {
            *last = record;
        }
    }

    /// Notes whether a task's record belongs to a crashed job.
    ///
    /// Returns true if the task is in doubt: its record then contains no usable result of the operation.
    fn add_unfinished_work(
        &mut self,
        id: ChangeId,
        target: &str,
        operation: &str,
        field: &impl Fn(&str) -> Option<String>,
    ) -> bool {
        let Some(instance) = field(CRASH_KEY) else {
            // A later job has run an operation on this target, so it has handled the unfinished work.
            if let Some(unfinished) = self.unfinished_work.get_mut(target) {
                unfinished.half_done.clear();
                unfinished.in_doubt.take_if(|(name, _)| name == operation);
            }
            return false;
        };
        let ready = field("status").or_else(|| field("local"));
        if ready.as_deref() == Some("unknown") {
            let unfinished = self.unfinished_work.entry(instance).or_default();
            unfinished.in_doubt = Some((operation.to_owned(), id));
            return true;
        }
        let removes = |name: &str| OperationName::from(name).is_teardown();
        let unfinished = self.unfinished_work.entry(target.to_owned()).or_default();
        // A completed teardown cancels half-done setup, and the reverse.
        unfinished
            .half_done
            .retain(|name| removes(name) == removes(operation));
        unfinished.half_done.push(operation.to_owned());
        false
    }

    /// Returns the last record of each operation: the target's key, the operation's name and the record.
    pub fn operations(&self) -> impl Iterator<Item = (&str, &str, &LastOperation)> {
        let all = self.last.iter();
        all.map(|((target, operation), last)| (target.as_str(), operation.as_str(), last))
    }

    /// Returns an index of the records that contain saved node templates.
    pub fn saved_templates(&self) -> Arc<SavedTemplateIndex> {
        Arc::clone(&self.templates)
    }

    /// Returns the salt of the key that made the latest digests of secrets, if it has one.
    pub fn digest_salt(&self) -> Option<&str> {
        self.salt.as_ref().map(|(_, salt)| salt.as_str())
    }

    /// Returns the digests of the secret inputs of the last job, if it recorded any.
    pub fn secret_inputs(&self) -> Option<&SecretInputs> {
        self.secret_inputs.as_ref()
    }

    /// Returns the highest recorded id, of a job or a task.
    pub fn last_id(&self) -> Option<ChangeId> {
        self.last_id
    }

    pub fn last_job(&self) -> Option<ChangeId> {
        self.last_job
    }
}

impl OperationHistory for RecordedHistory {
    fn last_operation(&self, target: &str, operation: &str) -> Option<LastOperation> {
        self.last
            .get(&(target.to_owned(), operation.to_owned()))
            .cloned()
    }

    fn has_unfinished_work(&self) -> bool {
        !self.unfinished_work.is_empty()
    }

    fn unfinished_work(&self, target: &str) -> Option<&UnfinishedWork> {
        self.unfinished_work.get(target)
    }

    fn recorded_reads(&self, change: ChangeId) -> Result<Option<RecordedReads>, PortError> {
        let record = self.records.record(change).map_err(PortError::of)?;
        Ok(record.as_ref().map(recorded_reads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TSV: &str = "# a comment\n\
        A6BL7ntS0000\tstatus=ok\tsummary=1 tasks\n\
        A6BL7ntS0001\tpreviousId=\tstatus=ok\ttarget=::a\toperation=configure\tchanged=True\t\
        digestKeys=command,::a::x\tdigestValue=abc\tdigestPut=::a::y\tsummary=x\n\
        nonsense\n";

    #[test]
    fn the_last_record_of_an_operation_is_found() {
        let history = RecordedHistory::from_tsv(TSV);
        let last = history.last_operation("::a", "configure").unwrap();
        assert_eq!(last.digest_keys, ["command", "::a::x"]);
        assert_eq!(last.digest_put, ["::a::y"]);
        assert_eq!(history.last_operation("::a", "create"), None);
        assert_eq!(history.last_job().unwrap().as_str(), "A6BL7ntS0000");
    }

    #[test]
    fn arguments_that_are_empty_are_no_key_for_they_are_unknown_to_1_2() {
        let keys = |arguments: Value| {
            let inputs = Value::map([("command", Value::from("./run")), ("arguments", arguments)]);
            let keys = Value::from("command,arguments,::a::x");
            let record = Map::from_iter([("inputs".into(), inputs), ("digestKeys".into(), keys)]);
            portable_keys(&record)
        };
        assert_eq!(keys(Value::from(Map::new())), "command,::a::x");
        let some = Value::map([("to", Value::from("a"))]);
        assert_eq!(keys(some), "command,arguments,::a::x");
    }

    #[test]
    fn a_value_with_tabs_or_line_ends_stays_on_its_line() {
        let record = Map::from_iter([
            ("changeId".into(), Value::from("A6BL7ntS0001")),
            ("summary".into(), Value::from("a\tb\nc")),
        ]);
        assert_eq!(task_line(&record).lines().count(), 1);
        assert!(task_line(&record).contains("summary=a b c"));
    }

    #[test]
    fn keys_of_digests_have_no_separators_and_no_control_characters() {
        let keys = ["a,b", "100%2C", "t\ta\r\n", "\x1b[31m\u{9b}\u{202e}", "é"].map(str::to_owned);
        let joined = join_keys(&keys);
        assert_eq!(
            joined,
            "a%2Cb,100%252C,t%09a%0D%0A,%1B[31m%C2%9B%E2%80%AE,é"
        );
        assert_eq!(split_keys(&joined), keys);
    }
}
