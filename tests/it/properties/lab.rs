//! An environment for the property tests: it runs jobs in this process, in a folder in memory if possible.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value as Json;
use unfurl::testing::diagnostic::{Diagnostic, Diagnostics, Sources};
use unfurl::testing::job::{JobEvent, Proposal, Readiness, Report, StepState};
use unfurl::testing::ops::{
    self, Decision, Failure, JobFrontend, JobReport, JobRequest, RunSettings, SaveSettings,
    SessionOptions,
};
use unfurl::testing::plan::{
    JobGoal, Plan, Reason, StepActivity, StepId, StepTarget, WorkflowKind,
};
use unfurl::testing::topology::Topology;
use unfurl::testing::value::Handle;

use crate::memory_disk::memory_folder;
use crate::support::{delete_ignored_files, is_ignored};

/// A temporary folder with an ensemble, in which jobs run one after the other.
#[derive(Debug)]
pub(super) struct Lab {
    folder: tempfile::TempDir,
    jobs: u32,
}

/// A step of a plan, identified by names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    /// The instance whose turn this is. A step of a relationship belongs to its source or its target.
    pub(super) instance: String,
    /// The key of the instance or relationship that the operation acts on.
    pub(super) target: String,
    pub(super) operation: String,
    pub(super) reason: String,
}

/// The state in which a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StepEnd {
    Succeeded,
    Failed,
    /// Skipped because its inputs have not changed.
    Skipped,
    /// Passed over because the target already has the desired status.
    Passed,
    /// Planned, but not run.
    Open,
    /// Not decided when planned: whether the step has to run depends on attributes that other tasks set.
    Deferred,
}

/// The result of a finished job.
#[derive(Debug)]
pub(super) struct JobResult {
    /// The steps in the order of the plan.
    pub(super) steps: Vec<(Step, StepEnd)>,
    /// The start and the end of each step that ran, as positions in the sequence of events.
    pub(super) times: Vec<(Step, usize, usize)>,
    pub(super) ok: bool,
    pub(super) problems: Vec<String>,
    /// The instances and their parts after the job. Empty if the job had nothing to do.
    pub(super) picture: Picture,
}

/// The recorded state of instances and their parts, by key.
pub(super) type Picture = BTreeMap<String, String>;

fn picture(topology: &Topology) -> Picture {
    let parts = topology.nodes().into_iter().flat_map(|node| {
        let parts = topology.entity(node).node().unwrap();
        let parts = parts
            .capabilities
            .iter()
            .chain(&parts.requirements)
            .copied();
        std::iter::once(node).chain(parts).collect::<Vec<_>>()
    });
    let shown = parts.map(|part| {
        let it = topology.entity(part);
        let what = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            topology.effective(part),
            it.local,
            it.state,
            it.created,
            it.protected,
            it.customized,
            it.last_config_change,
            it.last_state_change,
            it.attributes,
            it.properties
        );
        (it.key.to_string(), what)
    });
    shown.collect()
}

impl JobResult {
    /// The steps that ended in this state, sorted.
    pub(super) fn with(&self, end: StepEnd) -> Vec<&Step> {
        let mut all: Vec<&Step> = self
            .steps
            .iter()
            .filter(|(_, e)| *e == end)
            .map(|(s, _)| s)
            .collect();
        all.sort();
        all
    }
}

impl Lab {
    pub(super) fn new(text: &str) -> Self {
        let lab = Self {
            folder: memory_folder(),
            jobs: 0,
        };
        fs::write(lab.path(), text).unwrap();
        lab
    }

    /// Creates another lab with a copy of all files that git would track.
    pub(super) fn copy(&self) -> Self {
        let copy = Self::new("");
        for (name, text) in self.tracked() {
            let path = copy.folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self {
            jobs: self.jobs,
            ..copy
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("ensemble.yaml")
    }

    pub(super) fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    pub(super) fn replace(&self, from: &str, to: &str) {
        let text = self.text();
        let at = text.find("\nstatus:").unwrap_or(text.len());
        let (spec, rest) = text.split_at(at);
        assert!(spec.contains(from), "{from} is not in\n{text}");
        fs::write(self.path(), format!("{}{rest}", spec.replace(from, to))).unwrap();
    }

    /// Writes a file into the folder of the ensemble.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn request(&mut self, goal: JobGoal, parallel: usize) -> JobRequest {
        self.jobs += 1;
        JobRequest {
            session: SessionOptions {
                ensemble: self.path().to_string_lossy().into_owned(),
                logfile: Some(self.folder.path().join("the.log")),
                ..SessionOptions::default()
            },
            goal,
            start: Some(format!(
                "2026-01-02-03-{:02}-{:02}-0",
                self.jobs / 60,
                self.jobs % 60
            )),
            run: RunSettings {
                parallel,
                grace: Duration::from_secs(30),
                ..RunSettings::default()
            },
            save: SaveSettings {
                record: true,
                ..SaveSettings::default()
            },
            command: "unfurl".to_owned(),
            ..JobRequest::default()
        }
    }

    pub(super) fn job(&mut self, workflow: WorkflowKind, parallel: usize) -> JobResult {
        let goal = JobGoal {
            workflow,
            ..JobGoal::default()
        };
        let request = self.request(goal, parallel);
        let mut watch = Watch::default();
        let report = ops::deploy::deploy(&request, &mut watch);
        let report = report.unwrap_or_else(|failure| panic!("{failure:?}\n{}", self.text()));
        watch.ran(&report)
    }

    /// Runs a job with the caller's own front end.
    pub(super) fn run(
        &mut self,
        (goal, parallel): (JobGoal, usize),
        view: &mut dyn JobFrontend,
    ) -> Result<JobReport, Failure> {
        let request = self.request(goal, parallel);
        ops::deploy::deploy(&request, view)
    }

    /// Runs `unfurl recover`, which records the results of an interrupted job.
    pub(super) fn recover(&self) -> Result<String, Failure> {
        let options = SessionOptions {
            ensemble: self.path().to_string_lossy().into_owned(),
            ..SessionOptions::default()
        };
        ops::rescue::recover(&options, None, "unfurl").map(|messages| messages.join("\n"))
    }

    /// The steps that a job would run or skip, and the state before the job.
    pub(super) fn plan(&mut self, workflow: WorkflowKind) -> (Vec<(Step, StepEnd)>, Picture) {
        let goal = JobGoal {
            workflow,
            ..JobGoal::default()
        };
        let request = self.request(goal, 1);
        // Planning does not count as a job, so it does not advance the clock.
        self.jobs -= 1;
        let planned = ops::plan::plan(&request, &mut Watch::default());
        let planned = planned.unwrap_or_else(|failure| panic!("{failure:?}\n{}", self.text()));
        let proposal = &planned.plan;
        let ids = 0..proposal.plan.steps.len();
        let steps = ids.filter_map(|id| {
            let task = proposal.task_of(id).filter(|task| task.is_included)?;
            let end = match task.readiness {
                Readiness::Skipped(_) => StepEnd::Skipped,
                Readiness::Deferred if task.reason == Reason::Reconfigure => StepEnd::Deferred,
                _ => StepEnd::Open,
            };
            let step = named(&proposal.plan, id, task.target, &proposal.topology);
            Some((step, end))
        });
        (steps.collect(), picture(&proposal.topology))
    }

    /// The status of every instance (its own and the effective one) and the attribute that a task set.
    pub(super) fn statuses(&self) -> BTreeMap<String, String> {
        let ensemble: Json = serde_yaml::from_str(&self.text()).unwrap();
        let mut found = BTreeMap::new();
        let mut left = vec![&ensemble["status"]["instances"]];
        while let Some(instances) = left.pop() {
            for (name, instance) in instances.as_object().into_iter().flatten() {
                let ready = &instance["readyState"];
                let (local, effective) = (&ready["local"], &ready["effective"]);
                let text = format!("{local} {effective} {}", instance["attributes"]["a"]);
                found.insert(name.clone(), text);
                left.push(&instance["instances"]);
            }
        }
        found
    }

    /// The instance's own status, without that of its dependencies.
    pub(super) fn local(&self, name: &str) -> Option<String> {
        let status = self.statuses().get(name)?.clone();
        Some(status.split('"').nth(1)?.to_owned())
    }

    /// The files that git would track, by path.
    pub(super) fn tracked(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.folder.path()).unwrap();
                let name = name.to_string_lossy().into_owned();
                if is_ignored(&name) {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
        files
    }

    /// Deletes the files that git ignores, like a fresh clone.
    pub(super) fn delete_ignored_files(&self) {
        delete_ignored_files(self.folder.path());
    }
}

/// Describes a step of a plan by names.
fn named(plan: &Plan, id: StepId, target: Handle, topology: &Topology) -> Step {
    let step = &plan.steps[id];
    let StepActivity::Operation { reference, .. } = &step.activity else {
        unreachable!("only operations have tasks");
    };
    let group = step.group.map(|group| &plan.groups[group].target);
    let of = match (&step.target, group) {
        (StepTarget::Node(name), _) | (_, Some(StepTarget::Node(name))) => name.to_string(),
        (StepTarget::Relationship { source, .. }, _) => source.to_string(),
    };
    Step {
        instance: of,
        target: topology.entity(target).key.to_string(),
        operation: reference.to_string(),
        reason: step.reason.to_string(),
    }
}

/// The steps of a job that run operations, with their task numbers. Steps that are only prepared are left
/// out.
fn steps(report: &Report) -> Vec<(usize, Step, StepEnd)> {
    let all = report.steps.iter().enumerate();
    all.filter_map(|(id, step)| {
        let number = step.task.filter(|_| step.is_included)?;
        let reason = &report.plan.steps[id].reason;
        let end = match step.state {
            StepState::Skipped | StepState::Untried => StepEnd::Skipped,
            StepState::Passed => StepEnd::Passed,
            StepState::Failed => StepEnd::Failed,
            StepState::Succeeded => StepEnd::Succeeded,
            StepState::Deferred if *reason == Reason::Reconfigure => StepEnd::Deferred,
            StepState::Deferred | StepState::Open => StepEnd::Open,
        };
        let step = named(&report.plan, id, step.target, &report.topology);
        Some((number, step, end))
    })
    .collect()
}

/// A front end that approves every plan and records events and problems.
#[derive(Debug, Default)]
struct Watch {
    events: Vec<(usize, bool)>,
    problems: Vec<String>,
}

impl Watch {
    fn ran(self, report: &JobReport) -> JobResult {
        let steps = steps(&report.job);
        let mut times = Vec::new();
        for (number, step, _) in &steps {
            let at = |end: bool| {
                self.events
                    .iter()
                    .position(|event| *event == (*number, end))
            };
            if let Some(ended) = at(true) {
                times.push((step.clone(), at(false).unwrap_or(ended), ended));
            }
        }
        JobResult {
            steps: steps
                .into_iter()
                .map(|(_, step, end)| (step, end))
                .collect(),
            times,
            ok: report.job.status == unfurl::testing::name::Status::Ok,
            problems: self.problems,
            picture: match report.plan {
                None => picture(&report.job.topology),
                Some(_) => Picture::new(),
            },
        }
    }
}

impl JobFrontend for Watch {
    fn warnings(&mut self, warnings: &Diagnostics, _sources: &Sources) {
        self.problems
            .extend(warnings.iter().map(|warning| warning.message.clone()));
    }

    fn problem(&mut self, problem: &Diagnostic, _sources: &Sources) {
        self.problems.push(problem.message.clone());
    }

    fn notice(&mut self, text: &str) {
        self.problems.push(text.to_owned());
    }

    fn approve(
        &mut self,
        _plan: &dyn Fn() -> Proposal,
        _sources: &Sources,
        _place: &str,
    ) -> Decision {
        Decision::Proceed
    }

    fn event(&mut self, event: &JobEvent, _sources: &Sources) {
        match event {
            JobEvent::TaskStarted(started) => self.events.push((started.task, false)),
            JobEvent::TaskFinished(finished) => self.events.push((finished.task, true)),
            JobEvent::Message {
                level:
                    unfurl::testing::job::LogLevel::Error | unfurl::testing::job::LogLevel::Warning,
                text,
            } => {
                self.problems.push(text.clone());
            }
            _ => {}
        }
    }
}
