//! The goal of a job: the workflow, its filters and its options.
//!
//! An interrupted job keeps its goal as data (JSON), so that another job can resume it. Options of a
//! single run, such as a dry run, are not part of that data.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::{EnumWords, InstanceName, OperationRef, Status, TemplateName};

/// The kind of change that a job makes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WorkflowKind {
    /// Create, configure and start instances of all templates.
    #[default]
    Deploy,
    /// Remove the instances that this ensemble created.
    Undeploy,
    Stop,
    /// Query the status of each instance.
    Check,
    /// Find instances that exist already.
    Discover,
    /// Run a single operation or command.
    Run,
    /// A workflow that the model defines.
    Custom(Arc<str>),
}

impl WorkflowKind {
    /// The names of workflows that the model need not define.
    pub const BUILT_IN: [&str; 7] = [
        "deploy", "undeploy", "stop", "check", "discover", "connect", "run",
    ];

    /// Returns the workflow of a name. Unknown names become [`Self::Custom`].
    pub fn parse(name: &str) -> Self {
        match name {
            "deploy" => Self::Deploy,
            "undeploy" | "teardown" => Self::Undeploy,
            "stop" => Self::Stop,
            "check" => Self::Check,
            "discover" => Self::Discover,
            "run" => Self::Run,
            other => Self::Custom(other.into()),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Deploy => "deploy",
            Self::Undeploy => "undeploy",
            Self::Stop => "stop",
            Self::Check => "check",
            Self::Discover => "discover",
            Self::Run => "run",
            Self::Custom(name) => name,
        }
    }

    /// Returns the status that an instance has after the workflow of this name succeeded. None if the
    /// workflow implies none.
    pub fn success_status(name: &str) -> Option<Status> {
        match name {
            "deploy" => Some(Status::Ok),
            "stop" => Some(Status::Pending),
            "undeploy" => Some(Status::Absent),
            _ => None,
        }
    }
}

impl Display for WorkflowKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which failed instances are deployed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repair {
    None,
    #[default]
    Error,
    /// Instances in error and degraded ones.
    Degraded,
}

impl EnumWords for Repair {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Error, "error", "Instances in error"),
        (
            Self::Degraded,
            "degraded",
            "Instances in error and degraded instances",
        ),
        (Self::None, "none", "No instances"),
    ];
}

/// Whether working instances are compared with the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeDetection {
    Skip,
    /// Compares all instances except customised ones.
    #[default]
    Evaluate,
    Always,
}

impl EnumWords for ChangeDetection {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Skip, "skip", "No instances"),
        (Self::Always, "always", "All instances"),
        (
            Self::Evaluate,
            "evaluate",
            "All instances except customised ones",
        ),
    ];
}

macro_rules! serialize_as_word {
    ($name:ident, $parse:expr) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(|word| $parse(&word))
            }
        }
    };
}

serialize_as_word!(WorkflowKind, WorkflowKind::parse);
serialize_as_word!(Repair, |word| Self::parse(word).unwrap_or_default());
serialize_as_word!(ChangeDetection, |word| Self::parse(word)
    .unwrap_or_default());

/// The goal of a job: what to reach and what the job may do.
///
/// In serialised form, missing fields have their default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option that users switch on"
)]
pub struct JobGoal {
    pub workflow: WorkflowKind,
    /// Only this template. None means all.
    pub template: Option<TemplateName>,
    /// Only these instances. Empty means all.
    pub instances: Vec<InstanceName>,
    /// Excludes these instances, the instances of these templates, and everything nested in them.
    pub excluded: BTreeSet<InstanceName>,
    /// Run operations whatever the status is.
    pub force: bool,
    pub skip_new: bool,
    pub repair: Repair,
    pub change_detection: ChangeDetection,
    /// Configure again the instances whose properties changed, customised or not.
    pub upgrade: bool,
    /// Check new instances before they are created.
    pub check: bool,
    #[serde(flatten)]
    pub removal: Removal,
    #[serde(skip)]
    pub dry_run: bool,
    /// Only look at recorded instances: run their checks, or compare what their operations have made.
    #[serde(skip)]
    pub drift: bool,
    /// The operation or command of an ad-hoc run.
    #[serde(flatten)]
    pub ad_hoc: AdHoc,
    /// Repeat operations that may have been completed already.
    #[serde(skip)]
    pub redo_in_doubt: bool,
    /// The plan of the interrupted job that this job resumes.
    #[serde(skip)]
    pub resumed: ResumedPlan,
    /// The drifted instances that the job repairs, with the statuses that a look found. They replace the recorded ones.
    #[serde(skip)]
    pub found: BTreeMap<InstanceName, Status>,
}

/// Options to remove more instances than the workflow does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Removal {
    /// Whether to remove instances whose templates are missing from the model (`--prune`).
    pub prune: bool,
    /// Whether to remove instances that this ensemble did not create (`--destroyunmanaged`).
    #[serde(rename = "destroy_unmanaged")]
    pub unmanaged: bool,
}

/// The operation or command of an ad-hoc run (`unfurl run`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AdHoc {
    pub operation: Option<OperationRef>,
    pub command: Vec<String>,
    /// The module of Ansible that runs with the words of `command` as its arguments. None for a plain command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The instance on whose machine the command runs. None stands for this machine.
    #[serde(rename = "operation_host")]
    pub host: Option<InstanceName>,
}

/// The plan of an interrupted job and its progress.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResumedPlan {
    /// Tasks that were completed, as keys of target and operation.
    pub done: HashSet<(String, String)>,
    /// Tasks that were planned: operations by the key of their target.
    pub planned: BTreeMap<String, Vec<String>>,
}

impl JobGoal {
    /// Returns the goal of a job that resumes an interrupted one.
    ///
    /// Options of the run itself are taken from this goal, and everything else from the interrupted one.
    #[must_use]
    pub fn resume_from(&self, interrupted: Self, resumed: ResumedPlan) -> Self {
        Self {
            dry_run: self.dry_run,
            redo_in_doubt: self.redo_in_doubt,
            resumed,
            ..interrupted
        }
    }

    /// Whether the goal resumes an interrupted job.
    pub fn is_resumed(&self) -> bool {
        !self.resumed.planned.is_empty() || !self.resumed.done.is_empty()
    }

    /// Whether the goal is limited to some instances or templates.
    pub fn is_filtered(&self) -> bool {
        self.template.is_some() || !self.instances.is_empty()
    }

    /// Whether an instance passes the filters by name. An instance nested in a named one passes too.
    pub fn admits(&self, name: &InstanceName) -> bool {
        let within = |outer: &InstanceName| {
            let rest = name.as_str().strip_prefix(outer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        let included = self.instances.is_empty() || self.instances.iter().any(within);
        included && !self.excludes(name.as_str())
    }

    /// Whether an instance or template of this name, or one that it is nested in, is excluded.
    pub(super) fn excludes(&self, name: &str) -> bool {
        if self.excluded.is_empty() {
            return false;
        }
        let outer = name.match_indices(':').map(|(end, _)| &name[..end]);
        outer.chain([name]).any(|name| self.excluded.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backup() -> JobGoal {
        JobGoal {
            workflow: WorkflowKind::parse("backup"),
            template: Some("web".into()),
            instances: vec!["z".into(), "a".into()],
            excluded: ["c".into(), "b".into()].into(),
            force: true,
            repair: Repair::Degraded,
            change_detection: ChangeDetection::Always,
            removal: Removal {
                prune: true,
                unmanaged: false,
            },
            ad_hoc: AdHoc {
                operation: Some(OperationRef::new("Standard", "create")),
                command: vec!["true".into()],
                host: Some("a".into()),
                ..AdHoc::default()
            },
            ..JobGoal::default()
        }
    }

    fn kept(goal: &JobGoal) -> String {
        serde_json::to_string(goal).unwrap()
    }

    fn read(json: &str) -> Option<JobGoal> {
        serde_json::from_str(json).ok()
    }

    #[test]
    fn a_goal_that_was_kept_is_the_same() {
        let goal = backup();
        assert_eq!(read(&kept(&goal)), Some(goal));
        assert_eq!(read(&kept(&JobGoal::default())), Some(JobGoal::default()));
        assert_eq!(read("[1]"), None);
    }

    #[test]
    fn a_kept_goal_is_written_as_it_ever_was() {
        let written = concat!(
            r#"{"workflow":"backup","template":"web","instances":["z","a"],"excluded":["b","c"],"#,
            r#""force":true,"skip_new":false,"repair":"degraded","change_detection":"always","#,
            r#""upgrade":false,"check":false,"prune":true,"destroy_unmanaged":false,"#,
            r#""operation":["Standard","create"],"command":["true"],"operation_host":"a"}"#,
        );
        assert_eq!(kept(&backup()), written);
        let written = concat!(
            r#"{"workflow":"deploy","template":null,"instances":[],"excluded":[],"#,
            r#""force":false,"skip_new":false,"repair":"error","change_detection":"evaluate","#,
            r#""upgrade":false,"check":false,"prune":false,"destroy_unmanaged":false,"#,
            r#""operation":null,"command":[],"operation_host":null}"#,
        );
        assert_eq!(kept(&JobGoal::default()), written);
    }

    #[test]
    fn a_word_that_is_not_known_stands_for_the_usual() {
        let read = read(r#"{"workflow":"stop","repair":"all","change_detection":"","new":1}"#);
        let usual = JobGoal {
            workflow: WorkflowKind::Stop,
            ..JobGoal::default()
        };
        assert_eq!(read, Some(usual));
    }

    #[test]
    fn words_stand_for_what_they_are_written_for() {
        for (repair, word, _) in Repair::WORDS {
            assert_eq!(Repair::parse(word), Some(*repair));
            assert_eq!(repair.as_str(), *word);
        }
        for (detection, word, _) in ChangeDetection::WORDS {
            assert_eq!(ChangeDetection::parse(word), Some(*detection));
            assert_eq!(detection.as_str(), *word);
        }
        assert_eq!(Repair::parse("all"), None);
    }

    #[test]
    fn a_job_that_goes_on_keeps_the_options_of_its_own_run() {
        let asked = JobGoal {
            force: false,
            dry_run: true,
            redo_in_doubt: true,
            ..JobGoal::default()
        };
        let resumed = ResumedPlan {
            done: [("::a".to_owned(), "Standard.create".to_owned())].into(),
            ..ResumedPlan::default()
        };
        let expected = JobGoal {
            dry_run: true,
            redo_in_doubt: true,
            resumed: resumed.clone(),
            ..backup()
        };
        assert_eq!(asked.resume_from(backup(), resumed), expected);
    }
}
