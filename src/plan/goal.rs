//! What a job is to reach.

use std::collections::{BTreeMap, HashSet};
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use crate::name::{InstanceName, OperationRef, Status, TemplateName};

/// What kind of change a job makes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Workflow {
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

impl Workflow {
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

impl Display for Workflow {
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

/// What a job is to reach and what it may do.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option that users switch on"
)]
pub struct Goal {
    /// The kind of change.
    pub workflow: Workflow,
    /// Only this template.
    pub template: Option<TemplateName>,
    /// Only these instances; empty means all.
    pub instances: Vec<InstanceName>,
    /// Not these instances, nor those of these templates, nor what is nested in them.
    pub excluded: HashSet<InstanceName>,
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
    pub removal: Removal,
    /// Run without changing anything.
    pub dry_run: bool,
    /// What an ad-hoc run runs.
    pub ad_hoc: AdHoc,
    /// Run again what may have been done already.
    pub redo_in_doubt: bool,
    /// The interrupted job that this one goes on with.
    pub resumed: Resumed,
}

/// Which instances are removed besides those that the workflow removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removal {
    /// Whether instances are removed whose templates have left the model (`--prune`).
    pub prune: bool,
    /// Whether instances are removed that this ensemble did not create (`--destroyunmanaged`).
    pub unmanaged: bool,
}

/// The operation or the command of an ad-hoc run (`unfurl run`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AdHoc {
    /// The operation.
    pub operation: Option<OperationRef>,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The instance on whose machine the command runs; on this one if none.
    pub host: Option<InstanceName>,
}

/// The plan of an interrupted job, and how much of it was done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resumed {
    /// The tasks that were done: keys of targets and operations.
    pub done: HashSet<(String, String)>,
    /// The tasks that were planned: operations by the keys of their targets.
    pub planned: BTreeMap<String, Vec<String>>,
}

impl Goal {
    /// Whether it is that of a job that is gone on with.
    pub fn resumes(&self) -> bool {
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
