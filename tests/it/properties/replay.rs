//! Recovery from complete journals. Random service templates are deployed and torn down by a simulated runner
//! with failing effects. Recovery from the journal must give the same record as the job itself.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::rc::Rc;

use proptest::prelude::{TestCaseError, any, proptest};
use serde_json::Value as Json;
use unfurl::testing::job::JobEvent;
use unfurl::testing::plan::{JobGoal, WorkflowKind};

use super::config;
use super::lab::Lab;
use super::model::{Implementation, Model, Op};
use super::performer::{Chance, Script, Simulated};
use super::picks;

/// The path of a journal left by a job.
const JOURNAL: &str = "jobs/01M82BFY299Z7XGXVSS6DJECWD.journal";

/// The script of a job in which a fifth of the effects fail.
#[derive(Debug)]
struct Running {
    chance: Chance,
    /// The content of the journal at the end of the job.
    journal: Option<Vec<u8>>,
    folder: std::path::PathBuf,
}

impl Script for Running {
    fn chance(&mut self) -> &mut Chance {
        &mut self.chance
    }

    fn ends(&mut self, _id: u64) -> i32 {
        i32::from(self.chance.below(5) == 0)
    }

    fn handle_event(&mut self, event: &JobEvent) {
        if matches!(event, JobEvent::JobFinished { .. }) {
            let entries = fs::read_dir(self.folder.join("jobs")).unwrap();
            let mut paths = entries.map(|entry| entry.unwrap().path());
            let journal = paths.find(|path| path.extension().is_some_and(|it| it == "journal"));
            self.journal = journal.map(|path| fs::read(path).unwrap());
        }
    }
}

/// Runs a job and returns its journal.
fn journal_of(lab: &mut Lab, workflow: WorkflowKind, seed: u64) -> Result<Option<Vec<u8>>, String> {
    let running = Running {
        chance: Chance(seed),
        journal: None,
        folder: lab.path().parent().unwrap().to_owned(),
    };
    let running = Rc::new(RefCell::new(running));
    let goal = JobGoal {
        workflow,
        ..JobGoal::default()
    };
    let ran = lab.run((goal, 3), &mut Simulated::new(&running));
    ran.map_err(|failure| format!("{failure}\n{}", lab.text()))?;
    Ok(running.borrow_mut().journal.take())
}

/// The record of an ensemble's last job and instances, reduced to the parts that a journal contains.
#[derive(Debug, PartialEq)]
struct JournaledRecord {
    /// The head of the last change record, without its time and its summary, which counts tasks that never
    /// ran.
    job: Json,
    status: Json,
    /// The records of tasks, by change id.
    tasks: BTreeMap<String, Json>,
    /// The lines of tasks in `jobs.tsv`.
    lines: BTreeSet<String>,
}

/// Returns the record of the last job, or None if no job of the ensemble has run a task.
fn journaled_record(lab: &Lab) -> Option<JournaledRecord> {
    let ensemble: Json = serde_yaml::from_str(&lab.text()).unwrap();
    let mut job = ensemble["lastJob"].clone();
    let changelog = job["changelog"].as_str()?.to_owned();
    for key in ["endTime", "summary", "changed"] {
        job.as_object_mut().unwrap().shift_remove(key);
    }
    let files = lab.tracked();
    let changes: Json = serde_yaml::from_str(&files[&changelog]).unwrap();
    let tasks = changes["changes"].as_array().into_iter().flatten();
    let tasks = tasks.map(|task| (task["changeId"].as_str().unwrap().to_owned(), task.clone()));
    let lines = files["jobs.tsv"]
        .lines()
        .filter(|line| line.contains("\ttarget="));
    Some(JournaledRecord {
        job,
        status: ensemble["status"].clone(),
        tasks: tasks.collect(),
        lines: lines.map(str::to_owned).collect(),
    })
}

/// Removes pending instances without a configuration change. Returns whether any were removed.
fn remove_idle(status: &mut Json) -> bool {
    let Some(instances) = status.get_mut("instances").and_then(Json::as_object_mut) else {
        return false;
    };
    let mut removed = false;
    for instance in instances.values_mut() {
        removed |= remove_idle(instance);
    }
    let count = instances.len();
    instances.retain(|_, instance| {
        let hosted = instance.get("instances").and_then(Json::as_object);
        let is_pending = instance["readyState"]["local"] == "pending";
        let is_bare = hosted.is_none_or(serde_json::Map::is_empty);
        !(is_pending && is_bare && instance.get("lastConfigChange").is_none())
    });
    removed |= instances.len() < count;
    if instances.is_empty() {
        status.as_object_mut().unwrap().shift_remove("instances");
    }
    removed
}

/// Removes the parts of a status that refer to other instances.
fn remove_references(status: &mut Json) {
    let Some(record) = status.as_object_mut() else {
        return;
    };
    record.shift_remove("outputs");
    record.shift_remove("requirements");
    let instances = record.get_mut("instances").and_then(Json::as_object_mut);
    for instance in instances.into_iter().flat_map(serde_json::Map::values_mut) {
        remove_references(instance);
    }
}

/// Removes values that follow from the model: properties, the default attribute `d`, and unset attributes.
///
/// The record of a job also has the values that other instances have read. The journal has only those that
/// tasks of the instance itself have read.
fn remove_values_of_the_model(status: &mut Json) {
    let instances = status.get_mut("instances").and_then(Json::as_object_mut);
    for instance in instances.into_iter().flat_map(serde_json::Map::values_mut) {
        remove_values_of_the_model(instance);
        let record = instance.as_object_mut().unwrap();
        record.shift_remove("properties");
        let attributes = record.get_mut("attributes").and_then(Json::as_object_mut);
        let is_empty = attributes.is_some_and(|attributes| {
            attributes.retain(|name, value| name != "d" && !value.is_null());
            attributes.is_empty()
        });
        if is_empty {
            record.shift_remove("attributes");
        }
    }
}

/// Removes the parts that only one of the two records has. Instances without operations are recorded by the
/// next job.
fn keep_journaled_parts(ours: &mut JournaledRecord, theirs: &mut JournaledRecord) {
    remove_values_of_the_model(&mut ours.status);
    remove_values_of_the_model(&mut theirs.status);
    remove_idle(&mut ours.status);
    if remove_idle(&mut theirs.status) {
        remove_references(&mut ours.status);
        remove_references(&mut theirs.status);
    }
}

/// A copy of the model in which each node has an operation that brings it up.
fn with_operations(model: &Model) -> Model {
    let mut model = model.clone();
    for node in &mut model.nodes {
        if !node.own.iter().any(|(op, _)| op.brings_up()) {
            let creates = Implementation {
                process: true,
                reads: Vec::new(),
                sets: None,
                reports: false,
            };
            node.own.push((Op::Create, creates));
        }
    }
    model
}

fn is_same(model: &Model, seed: u64) -> Result<(), String> {
    let mut lab = Lab::new(&with_operations(model).text());
    let workflows = [
        WorkflowKind::Deploy,
        WorkflowKind::Deploy,
        WorkflowKind::Undeploy,
    ];
    for (place, workflow) in (1..).zip(workflows) {
        let recovered = lab.copy();
        let journal = journal_of(&mut lab, workflow, seed ^ place)?;
        let Some(journal) = journal else {
            continue;
        };
        recovered.put(JOURNAL, &journal);
        recovered.recover().map_err(|failure| failure.to_string())?;
        let (mut ours, mut theirs) = (journaled_record(&recovered), journaled_record(&lab));
        if let (Some(ours), Some(theirs)) = (&mut ours, &mut theirs) {
            keep_journaled_parts(ours, theirs);
        }
        if ours != theirs {
            return Err(format!(
                "the journal tells {ours:#?}\nand the job {theirs:#?}\n{}",
                lab.text()
            ));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(6))]
    #[test]
    fn the_journal_of_any_job_gives_the_record_that_the_job_has_made(
        model in picks::models(),
        seed in any::<u64>(),
    ) {
        is_same(&model, seed).map_err(TestCaseError::fail)?;
    }
}
