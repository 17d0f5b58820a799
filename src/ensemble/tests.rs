//! Property tests of crash recovery: wherever a journal ends, the recovered record must equal the record
//! built directly from the events in the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest,
};
use proptest::sample::Index;
use proptest::test_runner::{RngSeed, TestCaseError};
use serde_json::{Value as Json, json};

use super::change_records::JobStats;
use super::job_journal::JobJournal;
use super::journal_file::JournalFile;
use super::journal_recovery::CrashedJob;
use super::manifest::{Manifest, ManifestSource};
use super::record::{Record, RecordFacts};
use super::saved_templates::SavedTemplateIndex;
use crate::diagnostic::Sources;
use crate::job::{
    self, Completion, DependencyRecord, FolderKey, InstanceChange, JobEvent, JobFacts, JobHead,
    JobStart, LogLevel, Report, ReportedTask, ReportedValues, SecretDigest, TargetName,
    TargetState, TaskData, TaskDigest, TaskEnd, TaskRecord, TaskUnit,
};
use crate::name::{ChangeId, NodeState, OperationRef, Priority, Status};
use crate::plan::{JobGoal, Plan, ResumedPlan};
use crate::secret::{KeyName, Keys};
use crate::system::fs;
use crate::topology::testing::Model;
use crate::value::{Map, Value};
use crate::yaml;

/// An ensemble in which `a` is recorded by an earlier job and `z` by a job that started later.
const ENSEMBLE: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  discovered:
    older: {type: Thing}
status:
  inputs: {size: 3}
  instances:
    a:
      template: a
      readyState: {local: ok, effective: error, state: started}
      lastConfigChange: A5BL7ntS0001
      instances:
        old: {template: old, readyState: {local: ok}}
    z: {template: z, readyState: {local: ok}, lastStateChange: A7BL7ntS0001}
";
/// The message in the record of a task that never ended.
const IN_DOUBT: &str =
    "its job crashed while this task ran, so it is unknown whether the task completed";

/// The instances: name, whole key and path in the `status` section. The third is hosted on the first, the
/// fourth is in the nested topology of the second.
const INSTANCES: [(&str, &str, &[&str]); 5] = [
    ("a", "::a", &["instances", "a"]),
    ("b", "::b", &["instances", "b"]),
    ("c", "::c", &["instances", "a", "instances", "c"]),
    (
        "n",
        "::b:::n",
        &["instances", "b", "substitution", "instances", "n"],
    ),
    ("z", "::z", &["instances", "z"]),
];
const OPERATIONS: [(&str, &str); 6] = [
    ("Standard", "create"),
    ("Standard", "delete"),
    ("Configure", "add_target"),
    ("Install", "check"),
    ("Install", "discover"),
    ("Mine", "sing: it"),
];
const WORKFLOWS: [Option<&str>; 4] = [None, Some("deploy"), Some("undeploy"), Some("check")];

/// A randomly chosen event of a job.
#[derive(Debug, Clone)]
enum Pick {
    Start(TaskPick),
    /// A task ends: a running one, or one whose start was not recorded.
    End(Option<Index>, TaskPick, EndPick),
    /// The record of an ended task changes.
    Amend(Index, EndPick),
    Template(u8, String),
    Settle(usize),
    Instance(Index, Status, bool),
    Say(String),
    /// A running task reports a message.
    Progress(Index, String),
    Finish(Status),
}

/// A randomly chosen task: its target, operation, group and texts.
#[derive(Debug, Clone)]
struct TaskPick {
    instance: Index,
    operation: Index,
    group: Option<usize>,
    workflow: Index,
    text: String,
}

/// A randomly chosen end of a task.
#[derive(Debug, Clone)]
struct EndPick {
    status: Status,
    completion: Index,
    changed: bool,
    target: Option<Status>,
    digest: String,
}

fn status() -> impl Strategy<Value = Status> {
    (0..Status::ALL.len()).prop_map(|place| Status::ALL[place])
}

fn end() -> impl Strategy<Value = EndPick> {
    let ends = prop_oneof![3 => Just(Status::Ok), 1 => Just(Status::Error)];
    let parts = (
        ends,
        any::<Index>(),
        any::<bool>(),
        weighted(0.8, status()),
        "[a-f0-9]{1,8}",
    );
    parts.prop_map(|(status, completion, changed, target, digest)| EndPick {
        status,
        completion,
        changed,
        target,
        digest,
    })
}

fn task() -> impl Strategy<Value = TaskPick> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        "(\\PC|\n|\t){0,8}",
        Just("<<REDACTED>>".to_owned()),
        Just("1: {\n- yes".to_owned())
    ];
    let parts = (
        any::<Index>(),
        any::<Index>(),
        weighted(0.7, 0usize..4),
        any::<Index>(),
        text,
    );
    parts.prop_map(|(instance, operation, group, workflow, text)| TaskPick {
        instance,
        operation,
        group,
        workflow,
        text,
    })
}

fn picks() -> impl Strategy<Value = Vec<(bool, Pick)>> {
    let pick = prop_oneof![
        6 => task().prop_map(Pick::Start),
        6 => (weighted(0.8, any::<Index>()), task(), end()).prop_map(|(of, task, end)| Pick::End(of, task, end)),
        1 => (any::<Index>(), end()).prop_map(|(of, end)| Pick::Amend(of, end)),
        1 => (0u8..3, "[ -~\n]{0,9}").prop_map(|(name, text)| Pick::Template(name, text)),
        2 => (0usize..4).prop_map(Pick::Settle),
        6 => (any::<Index>(), status(), any::<bool>()).prop_map(|(of, status, gone)| Pick::Instance(of, status, gone)),
        1 => "[a-z]{0,5}".prop_map(Pick::Say),
        2 => (any::<Index>(), "[ -~]{0,8}").prop_map(|(of, text)| Pick::Progress(of, text)),
    ];
    let finish = weighted(0.4, prop_oneof![Just(Status::Ok), Just(Status::Error)]);
    (vec((any::<bool>(), pick), 0..24), finish).prop_map(|(mut all, finish)| {
        all.extend(finish.map(|status| (true, Pick::Finish(status))));
        all
    })
}

fn start_of_job() -> jiff::Timestamp {
    "2026-11-21T07:49:55.123456Z".parse().unwrap()
}

fn time_after_start(seconds: usize) -> jiff::Timestamp {
    let seconds = i64::try_from(seconds).unwrap();
    jiff::Timestamp::from_second(start_of_job().as_second() + seconds).unwrap()
}

fn job_start() -> JobStart {
    JobStart {
        head: JobHead {
            id: ChangeId::job(start_of_job()).unwrap(),
            start: start_of_job(),
            workflow: "deploy".to_owned(),
            facts: JobFacts {
                previous: Some("A5BL7ntS0000".to_owned()),
                options: Map::from_iter([("force".into(), Value::Bool(true))]),
                start_commit: Some("0123abc".to_owned()),
                spec_digest: "4567def".to_owned(),
            },
        },
        started: start_of_job(),
        steps: 3,
        goal: JobGoal {
            force: true,
            resumed: ResumedPlan {
                done: [("::y".to_owned(), "Standard.create".to_owned())].into(),
                ..ResumedPlan::default()
            },
            ..JobGoal::default()
        },
        planned: BTreeMap::from([("::a".to_owned(), vec!["Standard.create".to_owned()])]),
    }
}

/// Generates the events of a simulated job from random picks.
#[derive(Debug, Default)]
struct EventGenerator {
    tasks: usize,
    number: u32,
    running: Vec<TaskRecord>,
    ended: Vec<TaskRecord>,
}

impl EventGenerator {
    fn begin(&mut self, pick: &TaskPick) -> TaskRecord {
        self.tasks += 1;
        let (name, key, route) = *pick.instance.get(&INSTANCES);
        let (interface, operation) = *pick.operation.get(&OPERATIONS);
        let workflow = pick.group.and_then(|_| *pick.workflow.get(&WORKFLOWS));
        TaskRecord {
            task: self.tasks,
            target: TargetName {
                key: format!("::{name}").into(),
                unique_key: key.to_owned(),
                is_nested: name == "n",
                name: name.to_owned(),
                nested_name: name.to_owned(),
                template: "a".to_owned(),
                type_name: "Thing".to_owned(),
            },
            operation: OperationRef::new(interface, operation),
            class_name: "unfurl.configurators.shell.ShellConfigurator",
            reason: "add".to_owned(),
            priority: Priority::Required,
            start_state: Some(NodeState::Creating),
            target_state: TargetState {
                status: Some(Status::Pending),
                state: Some(NodeState::Creating),
            },
            unit: TaskUnit {
                group: pick.group,
                workflow: workflow.map(str::to_owned),
                instance: key.to_owned(),
                record_path: route.iter().map(|key| (*key).to_owned()).collect(),
            },
            place: crate::diagnostic::Span::NONE,
            folder: FolderKey {
                instance: name.to_owned(),
                operation: operation.to_owned(),
            },
            started: time_after_start(self.tasks),
            end: None,
            data: TaskData {
                inputs: Map::from_iter([("say".into(), Value::from(pick.text.as_str()))]),
                ..TaskData::default()
            },
            digest: TaskDigest::default(),
        }
    }

    fn end(&mut self, mut task: TaskRecord, pick: &EndPick) -> TaskRecord {
        self.number += 1;
        let said = task.data.inputs["say"].clone();
        task.end = Some(TaskEnd {
            id: ChangeId::task(start_of_job(), self.number).unwrap(),
            number: self.number,
            status: pick.status,
            time: time_after_start(100 + self.tasks),
            previous: ChangeId::parse("A5BL7ntS0001")
                .ok()
                .filter(|_| pick.changed),
            blocked: false,
            changed: pick.changed,
            completion: Completion::Complete,
        });
        task.data.changes = Map::from_iter([("::a".into(), said.clone())]);
        task.data.outputs = Some(Map::from_iter([("out".into(), said.clone())]));
        task.data.result = said.clone();
        task.data.dependencies = vec![DependencyRecord {
            key: "::a::x".to_owned(),
            value: said,
            write_only: pick.changed,
        }];
        if pick.status == Status::Error {
            task.data.messages = vec!["it broke: at\nonce".to_owned()];
        }
        amend(&mut task, pick);
        task
    }

    /// Returns the event of a pick; `None` if it is impossible in the current state.
    fn event(&mut self, pick: &Pick) -> Option<JobEvent> {
        Some(match pick {
            Pick::Start(pick) => {
                let task = self.begin(pick);
                self.running.push(task.clone());
                JobEvent::TaskStarted(Arc::new(task))
            }
            Pick::End(of, task, end) => {
                let running = of.filter(|_| !self.running.is_empty());
                let task = match running {
                    Some(of) => self.running.remove(of.index(self.running.len())),
                    None => self.begin(task),
                };
                let task = self.end(task, end);
                self.ended.push(task.clone());
                JobEvent::TaskFinished(Arc::new(task))
            }
            Pick::Amend(..) if self.ended.is_empty() => return None,
            Pick::Amend(of, end) => {
                let of = of.index(self.ended.len());
                amend(&mut self.ended[of], end);
                JobEvent::TaskAmended(Arc::new(self.ended[of].clone()))
            }
            Pick::Template(name, text) => JobEvent::TemplateAdded {
                name: format!("added: {name}").into(),
                template: Value::map([("type", Value::from(text.as_str()))]),
            },
            Pick::Settle(group) => JobEvent::GroupsSettled(vec![*group]),
            Pick::Instance(of, status, gone) => self.instance(*of, *status, *gone),
            Pick::Say(text) => JobEvent::Message {
                level: LogLevel::Info,
                text: text.clone(),
            },
            Pick::Progress(of, text) if !self.running.is_empty() => JobEvent::TaskProgress {
                task: self.running[of.index(self.running.len())].task,
                message: text.clone(),
            },
            Pick::Progress(..) => return None,
            Pick::Finish(status) => JobEvent::JobFinished {
                id: job_start().head.id,
                status: status.as_str(),
            },
        })
    }

    fn instance(&self, of: Index, status: Status, gone: bool) -> JobEvent {
        let (name, _, route) = *of.get(&INSTANCES);
        let last = self.ended.last().and_then(|task| task.end.as_ref());
        let last = last.map(|end| end.id.to_string());
        // An instance that was already recorded has a last change.
        let last = last.or_else(|| (name == "a").then(|| "A5BL7ntS0001".to_owned()));
        let ready = [
            ("local", Value::from(status.as_str())),
            ("state", Value::from("created")),
        ];
        let mut record = Map::from_iter([
            ("template".into(), Value::from(name)),
            ("readyState".into(), Value::map(ready)),
        ]);
        record.extend(last.map(|id| ("lastConfigChange".into(), Value::from(id))));
        JobEvent::InstanceChanged(InstanceChange {
            record_path: route.iter().map(|key| (*key).to_owned()).collect(),
            // Only an instance that hosts no other instance can be removed.
            record: (!gone || name != "c").then_some(record),
        })
    }
}

fn amend(task: &mut TaskRecord, pick: &EndPick) {
    task.target_state.status = pick.target;
    task.digest = TaskDigest {
        keys: vec!["arguments".to_owned(), "::a::x".to_owned()],
        value: pick.digest.clone(),
        put: vec!["::a::y".to_owned()],
        exact_keys: vec!["a,b".to_owned()],
        exact_value: pick.digest.clone(),
        secret: pick.changed.then(|| SecretDigest {
            keys: vec!["command".to_owned()],
            value: pick.digest.clone(),
            key: KeyName {
                id: "key".to_owned(),
                salt: "salt".to_owned(),
            },
        }),
    };
    let end = task.end.as_mut().unwrap();
    let completions = match end.status {
        Status::Ok => [
            Completion::Complete,
            Completion::HalfDone,
            Completion::Complete,
        ],
        _ => [
            Completion::Complete,
            Completion::Interrupted,
            Completion::InDoubt,
        ],
    };
    end.completion = *pick.completion.get(&completions);
}

/// Returns the events of a job in batches, as they reach the journal.
fn batches(picks: &[(bool, Pick)]) -> Vec<Vec<JobEvent>> {
    let mut happening = EventGenerator::default();
    let mut batches: Vec<Vec<JobEvent>> = vec![vec![JobEvent::JobStarted(Box::new(job_start()))]];
    for (at_once, pick) in picks {
        let Some(event) = happening.event(pick) else {
            continue;
        };
        match batches.last_mut() {
            Some(last) if *at_once => last.push(event),
            _ => batches.push(vec![event]),
        }
    }
    // The start of the job is a batch of its own.
    let rest = batches[0].split_off(1);
    if !rest.is_empty() {
        batches.insert(1, rest);
    }
    batches
}

/// The state of a job computed from its events, without a journal.
#[derive(Debug, Default)]
struct Replay {
    running: Vec<Arc<TaskRecord>>,
    ended: Vec<Arc<TaskRecord>>,
    instances: Vec<(Vec<String>, Option<Map>)>,
    settled: BTreeSet<usize>,
    templates: Map,
    finished: Option<Status>,
    /// The messages of tasks, by their number.
    progress: BTreeMap<usize, Vec<String>>,
}

impl Replay {
    fn of<'e>(events: impl Iterator<Item = &'e JobEvent>) -> Self {
        let mut replay = Self::default();
        for event in events {
            replay.take(event);
        }
        replay
    }

    fn take(&mut self, event: &JobEvent) {
        match event {
            JobEvent::TaskStarted(task) => self.running.push(Arc::clone(task)),
            JobEvent::TaskFinished(task) => {
                self.running.retain(|other| other.task != task.task);
                self.ended.push(Arc::clone(task));
            }
            JobEvent::TaskAmended(task) => {
                for before in self.ended.iter_mut().filter(|it| it.task == task.task) {
                    *before = Arc::clone(task);
                }
            }
            JobEvent::TemplateAdded { name, template } => {
                self.templates.insert(Arc::clone(name), template.clone());
            }
            JobEvent::GroupsSettled(groups) => self.settled.extend(groups),
            JobEvent::InstanceChanged(change) => {
                self.instances
                    .retain(|(route, _)| *route != change.record_path);
                self.instances
                    .push((change.record_path.clone(), change.record.clone()));
            }
            JobEvent::JobFinished { status, .. } => self.finished = Status::parse(status),
            JobEvent::TaskProgress { task, message } => {
                self.progress
                    .entry(*task)
                    .or_default()
                    .push(message.clone());
            }
            JobEvent::JobStarted(_) | JobEvent::Message { .. } | JobEvent::Problem(_) => {}
        }
    }

    /// Whether a task succeeded but its group of steps was not completed.
    fn is_half_done(&self, task: &TaskRecord) -> bool {
        let open = task
            .unit
            .group
            .filter(|group| !self.settled.contains(group));
        open.is_some() && task.is_ok()
    }

    /// Returns the tasks whose result is unknown, with the end that recovery assigns.
    fn doubts(&self) -> Vec<TaskRecord> {
        let acts = |task: &&Arc<TaskRecord>| task.operation.interface.as_str() != "Install";
        let numbers = self
            .ended
            .iter()
            .map(|task| task.end.as_ref().unwrap().number);
        let last = numbers.max().unwrap_or(0);
        let doubts = self.running.iter().filter(acts).zip(last + 1..);
        let doubts = doubts.map(|(task, number)| {
            let mut task = TaskRecord::clone(task);
            let reported = self.progress.get(&task.task).into_iter().flatten();
            let messages = std::iter::once(IN_DOUBT).chain(reported.map(String::as_str));
            task.data.messages = messages.map(str::to_owned).collect();
            task.end = Some(TaskEnd {
                id: ChangeId::task(start_of_job(), number).unwrap(),
                number,
                status: Status::Error,
                time: task.started,
                previous: None,
                blocked: false,
                changed: true,
                completion: Completion::InDoubt,
            });
            task
        });
        doubts.collect()
    }

    /// Returns the tasks as a report of the job lists them.
    fn tasks(&self) -> Vec<TaskRecord> {
        let ended = self.ended.iter().map(|task| {
            let mut task = TaskRecord::clone(task);
            if self.is_half_done(&task) {
                task.end.as_mut().unwrap().completion = Completion::HalfDone;
            }
            task
        });
        ended.chain(self.doubts()).collect()
    }

    fn report(&self, status_section: Value) -> Report {
        let tasks = self.tasks().into_iter().map(|task| ReportedTask {
            record: Arc::new(task),
            final_status: Status::Ok,
        });
        let JobStart { head, goal, .. } = job_start();
        Report {
            head,
            goal,
            status: self.finished.unwrap_or(Status::Error),
            interrupted: None,
            aborted: None,
            tasks: tasks.collect(),
            values: ReportedValues {
                status_section: Some(status_section),
                added_templates: self.templates.clone(),
                ..ReportedValues::default()
            },
            topology: Arc::new(Model::default().node("a").topology()),
            plan: Plan::default(),
            steps: Vec::new(),
            unrecorded: Vec::new(),
        }
    }

    /// Returns the job's summary. The final states of the targets are not known.
    fn summary(&self) -> String {
        let tasks = self.tasks();
        let ok = self.ended.iter().filter(|task| task.is_ok()).count();
        let stats = JobStats {
            total: tasks.len(),
            changed: tasks.iter().filter(|task| task.has_changed()).count(),
            ok,
            error: self.ended.len() - ok,
            unknown: tasks.len() - self.ended.len(),
            ..JobStats::default()
        };
        stats.line()
    }

    /// Returns the expected `status` section after the events.
    fn status(&self, before: &Json) -> Json {
        let mut latest: BTreeMap<(usize, &[String]), Option<Json>> = BTreeMap::new();
        for (route, record) in &self.instances {
            let record = record.clone().map(|record| json_of(&Value::from(record)));
            latest.insert((route.len(), route), record);
        }
        let acts = |task: &TaskRecord| task.operation.interface.is_lifecycle();
        for task in self
            .ended
            .iter()
            .filter(|task| self.is_half_done(task) && acts(task))
        {
            let brings = ["deploy", "undeploy", "stop"];
            let workflow = task.unit.workflow.as_deref();
            let key = (task.unit.record_path.len(), &*task.unit.record_path);
            if let Some(Some(record)) = latest.get_mut(&key)
                && workflow.is_some_and(|name| brings.contains(&name))
            {
                match record["readyState"]["local"].as_str() {
                    Some("ok" | "degraded") => record["readyState"]["local"] = json!("error"),
                    Some("absent") => record["readyState"]["local"] = json!("pending"),
                    _ => {}
                }
            }
        }
        let doubts = self.doubts();
        for task in doubts.iter().filter(|task| acts(task)) {
            let key = (task.unit.record_path.len(), &*task.unit.record_path);
            let record = latest
                .entry(key)
                .or_default()
                .get_or_insert_with(|| json!({}));
            record["readyState"]["local"] = json!("unknown");
            record["lastConfigChange"] = json!(task.end.as_ref().unwrap().id.as_str());
        }
        let mut status = before.clone();
        for ((_, route), record) in latest {
            record_at(&mut status, route, record);
        }
        status
    }
}

/// Writes the record of an instance at its path, creating its hosts if they are missing.
fn record_at(status: &mut Json, route: &[String], record: Option<Json>) {
    let (last, way) = route.split_last().unwrap();
    let mut around = status;
    for (place, key) in way.iter().enumerate() {
        let hosts = place % 2 == 1 && route[place + 1] == "instances";
        let fresh = if hosts {
            json!({"readyState": {"local": "pending"}})
        } else {
            json!({})
        };
        let around_it = around.as_object_mut().unwrap();
        around = around_it.entry(key.as_str()).or_insert(fresh);
    }
    let around = around.as_object_mut().unwrap();
    let old = around.get(last).cloned().unwrap_or(json!({}));
    let change = |record: &Json| {
        let ids = ["lastConfigChange", "lastStateChange"]
            .map(|key| record[key].as_str().map(str::to_owned));
        ids.into_iter().max().flatten()
    };
    match record {
        None => drop(around.shift_remove(last)),
        // A later job has recorded a newer change.
        Some(record) if change(&record) < change(&old) => {}
        Some(mut record) => {
            for inside in ["instances", "substitution"] {
                if let Some(stays) = old.get(inside) {
                    record[inside] = stays.clone();
                }
            }
            around.insert(last.clone(), record);
        }
    }
}

fn json_of(value: &Value) -> Json {
    serde_yaml::from_str(&yaml::emit(value, 0)).unwrap()
}

fn manifest(folder: &Path, inline: bool) -> Manifest {
    let inline = if inline {
        "changes:\n- {changeId: A5BL7ntS0001}\n"
    } else {
        ""
    };
    let text = format!("{ENSEMBLE}{inline}");
    let path = folder.join("ensemble.yaml");
    let mut sources = Sources::default();
    let source = sources.add(&path, text.as_str(), None);
    let root = yaml::parse(&sources, source, &yaml::Limits::default()).unwrap();
    let expanded = yaml::Expanded {
        raw: root.clone(),
        root,
        merges: Vec::new(),
    };
    let text = text.into();
    Manifest::read(ManifestSource {
        path,
        text,
        source,
        expanded,
        writer: Arc::new(Keys::default()),
    })
    .unwrap()
}

/// A record in a comparable form, without the order of keys.
#[derive(Debug, PartialEq)]
struct ComparableRecord {
    job: ChangeId,
    sections: Vec<(String, Json)>,
    files: Vec<(String, Json)>,
    lines: Vec<BTreeSet<String>>,
    copy: Option<String>,
}

impl ComparableRecord {
    fn of(record: Record) -> Self {
        let sections = record.sections.into_iter();
        let files = record.files.into_iter();
        let lines = record.lines.lines().map(|line| {
            let terms = line
                .split('\t')
                .filter(|term| !is_empty_digest(term.split_once('=')));
            terms.map(str::to_owned).collect()
        });
        Self {
            job: record.job,
            sections: sections
                .map(|(name, value)| (name, without_empty_digests(json_of(&value))))
                .collect(),
            files: files
                .map(|(path, text)| {
                    (
                        path,
                        without_empty_digests(serde_yaml::from_str(&text).unwrap()),
                    )
                })
                .collect(),
            lines: lines.collect(),
            copy: record.copy,
        }
    }
}

/// Whether an entry is an empty digest. A task that never ended has no digest of the values it read.
fn is_empty_digest(entry: Option<(&str, &str)>) -> bool {
    matches!(
        entry,
        Some(("digestKeys" | "digestValue" | "digestPut", ""))
    )
}

fn without_empty_digests(value: Json) -> Json {
    match value {
        Json::Array(all) => all.into_iter().map(without_empty_digests).collect(),
        Json::Object(map) => {
            let map = map.into_iter();
            let kept =
                map.filter(|(key, value)| !is_empty_digest(value.as_str().map(|it| (&**key, it))));
            kept.map(|(key, value)| (key, without_empty_digests(value)))
                .collect()
        }
        other => other,
    }
}

/// Returns the record with its summary replaced.
fn with_summary(record: Record, from: &str, to: &str) -> Record {
    let replaced = |text: String| text.replace(from, to);
    let sections = record.sections.into_iter().map(|(name, value)| {
        let mut map = value.as_map().cloned().unwrap_or_default();
        if let Some(summary) = map.get_mut("summary") {
            *summary = Value::from(to);
        }
        let changed = map.contains_key("summary");
        (name, if changed { Value::from(map) } else { value })
    });
    let files = record.files.into_iter();
    Record {
        sections: sections.collect(),
        files: files.map(|(path, text)| (path, replaced(text))).collect(),
        lines: replaced(record.lines),
        ..record
    }
}

/// Returns the result of recovery from a journal.
fn recovered(path: &Path, manifest: &Manifest) -> Option<(CrashedJob, Option<Record>)> {
    let job = CrashedJob::read(path).unwrap()?;
    let record = job.record(manifest, time_after_start(1000)).unwrap();
    Some((job, record))
}

/// Writes events to a journal and returns its path and lines.
fn journal_of(manifest: &Path, batches: &[Vec<JobEvent>]) -> (PathBuf, Vec<Vec<u8>>) {
    let mut journal = JobJournal::begin(manifest, "token", &batches[0][0]).unwrap();
    for batch in batches {
        job::EventJournal::append(&mut journal, batch).unwrap();
        job::EventJournal::sync(&mut journal).unwrap();
    }
    let path = JournalFile::list_for(manifest).unwrap().remove(0);
    let bytes = fs::read(&path).unwrap();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    (path, lines.map(<[u8]>::to_vec).collect())
}

/// Whether the journal stores any event of a batch.
fn is_journaled(batch: &[JobEvent]) -> bool {
    batch
        .iter()
        .any(|event| !matches!(event, JobEvent::Message { .. }))
}

fn same_as_events(
    manifest: &Manifest,
    path: &Path,
    events: &[&JobEvent],
) -> Result<(), TestCaseError> {
    let replay = Replay::of(events.iter().copied());
    let Some((job, record)) = recovered(path, manifest) else {
        prop_assert_eq!(replay.ended.len() + replay.running.len(), 0);
        return Ok(());
    };
    prop_assert_eq!(&job.damaged_lines, &Vec::<usize>::new());
    let report = replay.report(Value::Null);
    let facts = RecordFacts {
        saved_templates: Arc::new(SavedTemplateIndex::default()),
        ended: time_after_start(1000),
        secret_inputs: None,
    };
    let expected = Record::of(manifest, &report, &facts).map(|record| {
        let counted = JobStats::of(report.records()).line();
        let mut reported = ComparableRecord::of(with_summary(record, &counted, &replay.summary()));
        reported.sections[0].1 = replay.status(&json_of(&manifest.status()));
        reported
    });
    prop_assert_eq!(record.map(ComparableRecord::of), expected);
    same_besides_the_record(&job, &replay)
}

/// Compares the data for resuming the job, and the working folders of its tasks.
fn same_besides_the_record(job: &CrashedJob, replay: &Replay) -> Result<(), TestCaseError> {
    let start = job_start();
    prop_assert_eq!(job.id(), start.head.id.as_str());
    let kept = JobGoal {
        resumed: ResumedPlan::default(),
        ..start.goal.clone()
    };
    prop_assert_eq!(job.goal(), Some(&kept));
    prop_assert_eq!(job.planned(), &start.planned);
    let name = |task: &TaskRecord| (task.target.unique_key.clone(), task.operation.to_string());
    let ok = replay.ended.iter().filter(|task| task.is_ok());
    let done = ok.map(|task| name(task)).chain(start.goal.resumed.done);
    prop_assert_eq!(job.completed(), done.collect::<Vec<_>>());
    let doubts = job.in_doubt();
    let doubts = doubts.map(|task| (task.target.clone(), task.operation.clone()));
    let expected: Vec<_> = replay.doubts().iter().map(name).collect();
    prop_assert_eq!(doubts.collect::<Vec<_>>(), expected);
    let folders = replay.tasks().into_iter().map(|task| {
        let end = task.end.as_ref().unwrap();
        let is_in_doubt = task.data.messages.first().is_some_and(|it| it == IN_DOUBT);
        let failed = !is_in_doubt && end.status == Status::Error;
        let failed = failed.then(|| end.id.to_string());
        ((task.folder.instance, task.folder.operation), failed)
    });
    prop_assert_eq!(job.folders(), folders.collect::<Vec<_>>());
    Ok(())
}

/// Runs a quarter of the cases that `UNFURL_PROPERTY_CASES` requests, with a fixed seed.
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
fn config() -> ProptestConfig {
    let cases = std::env::var("UNFURL_PROPERTY_CASES");
    ProptestConfig {
        cases: cases.map_or(40, |cases| cases.parse::<u32>().unwrap().div_ceil(4)),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn the_record_of_a_journal_is_that_of_the_events_in_it_wherever_it_ends(
        picks in picks(),
        inline in any::<bool>(),
        torn in any::<Index>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let manifest = manifest(folder.path(), inline);
        let mut batches = batches(&picks);
        batches.retain(|batch| is_journaled(batch));
        let (path, lines) = journal_of(manifest.path(), &batches);
        prop_assert_eq!(lines.len(), batches.len());
        for count in 1..=lines.len() {
            let mut bytes = lines[..count].concat();
            fs::write_plain(&path, &bytes, None).unwrap();
            let events: Vec<&JobEvent> = batches[..count].iter().flatten().collect();
            same_as_events(&manifest, &path, &events)?;
            // A line torn by a crash must have no effect.
            if let Some(next) = lines.get(count) {
                bytes.extend(&next[..torn.index(next.len())]);
                fs::write_plain(&path, &bytes, None).unwrap();
                same_as_events(&manifest, &path, &events)?;
            }
        }
    }
}
