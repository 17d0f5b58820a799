//! The goal of a job: what it is to reach. An interrupted job keeps its goal as data, so that
//! another can go on with it; the options of the run itself are not part of that.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::{EnumWords, InstanceName, OperationRef, Status, TemplateName};

/// What kind of change a job makes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WorkflowKind {
    /// Bring all templates into being.
    #[default]
    Deploy,
    /// Remove what was created.
    Undeploy,
    /// Stop what runs.
    Stop,
    /// Ask each instance for its status.
    Check,
    /// Find what exists.
    Discover,
    /// Run one operation or command.
    Run,
    /// A workflow of the model.
    Custom(Arc<str>),
}

impl WorkflowKind {
    /// The names of those that need no model.
    pub const BUILT_IN: [&str; 7] = [
        "deploy", "undeploy", "stop", "check", "discover", "connect", "run",
    ];

    /// The workflow of a name.
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

    /// Its name.
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

    /// The status of an instance for which the workflow of a name has succeeded.
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

/// Which instances that do not work are run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repair {
    /// None.
    None,
    /// Those in error.
    #[default]
    Error,
    /// Those that are degraded, too.
    Degraded,
}

impl EnumWords for Repair {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Error, "error", "Instances in error"),
        (Self::Degraded, "degraded", "Degraded ones, too"),
        (Self::None, "none", "Nothing"),
    ];
}

/// Whether instances that work are compared with the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeDetection {
    /// They are not.
    Skip,
    /// They are, but not the customised ones.
    #[default]
    Evaluate,
    /// All of them are.
    Always,
}

impl EnumWords for ChangeDetection {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Skip, "skip", "No"),
        (Self::Always, "always", "All of them"),
        (Self::Evaluate, "evaluate", "Those that were not customised"),
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

/// What a job is to reach and what it may do. In data, what is not written is as it is by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option that users switch on"
)]
pub struct JobGoal {
    /// The kind of change.
    pub workflow: WorkflowKind,
    /// Only this template.
    pub template: Option<TemplateName>,
    /// Only these instances; empty means all.
    pub instances: Vec<InstanceName>,
    /// Not these instances, nor those of these templates, nor what is nested in them.
    pub excluded: BTreeSet<InstanceName>,
    /// Run operations whatever the status says.
    pub force: bool,
    /// Create no new instances.
    pub skip_new: bool,
    /// Which instances to repair.
    pub repair: Repair,
    /// Whether to compare with the model.
    pub change_detection: ChangeDetection,
    /// Configure again what was made from other properties, customised or not.
    pub upgrade: bool,
    /// Check new instances before they are created.
    pub check: bool,
    /// What else is removed.
    #[serde(flatten)]
    pub removal: Removal,
    /// Run without changing anything.
    #[serde(skip)]
    pub dry_run: bool,
    /// What an ad-hoc run runs.
    #[serde(flatten)]
    pub ad_hoc: AdHoc,
    /// Run again what may have been done already.
    #[serde(skip)]
    pub redo_in_doubt: bool,
    /// The interrupted job that this one goes on with.
    #[serde(skip)]
    pub resumed: ResumedPlan,
}

/// Which instances are removed besides those that the workflow removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Removal {
    /// Whether instances are removed whose templates have left the model (`--prune`).
    pub prune: bool,
    /// Whether instances are removed that this ensemble did not create (`--destroyunmanaged`).
    #[serde(rename = "destroy_unmanaged")]
    pub unmanaged: bool,
}

/// The operation or the command of an ad-hoc run (`unfurl run`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AdHoc {
    /// The operation.
    pub operation: Option<OperationRef>,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The instance on whose machine the command runs; on this one if none.
    #[serde(rename = "operation_host")]
    pub host: Option<InstanceName>,
}

/// The plan of an interrupted job, and how much of it was done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResumedPlan {
    /// The tasks that were done: keys of targets and operations.
    pub done: HashSet<(String, String)>,
    /// The tasks that were planned: operations by the keys of their targets.
    pub planned: BTreeMap<String, Vec<String>>,
}

impl JobGoal {
    /// The goal of a job that goes on with an interrupted one: the options of the run itself are
    /// those of this goal, and the rest is as it was.
    #[must_use]
    pub fn resume_from(&self, interrupted: Self, resumed: ResumedPlan) -> Self {
        Self {
            dry_run: self.dry_run,
            redo_in_doubt: self.redo_in_doubt,
            resumed,
            ..interrupted
        }
    }

    /// Whether it is that of a job that is gone on with.
    pub fn is_resumed(&self) -> bool {
        !self.resumed.planned.is_empty() || !self.resumed.done.is_empty()
    }

    /// Whether only some instances or templates are meant.
    pub fn is_filtered(&self) -> bool {
        self.template.is_some() || !self.instances.is_empty()
    }

    /// Whether an instance passes the filters by name: its own, or that of an instance whose
    /// stand-in it is part of.
    pub(super) fn admits(&self, name: &InstanceName) -> bool {
        let within = |outer: &InstanceName| {
            let rest = name.as_str().strip_prefix(outer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        let included = self.instances.is_empty() || self.instances.iter().any(within);
        included && !self.excludes(name.as_str())
    }

    /// Whether an instance or template of this name, or one that it is nested in, is left out.
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
