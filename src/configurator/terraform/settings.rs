//! The settings of a task: what the tool is to do, and where its files and its state are.

use std::path::PathBuf;

use crate::expr::Error;
use crate::task::{TaskView, WorkFolder};
use crate::value::Value;

/// Inputs that are not part of digests.
pub(super) const EXCLUDED_FROM_DIGEST: &[&str] = &[
    "resultTemplate",
    "done",
    "cwd",
    "echo",
    "dryrun_outputs",
    "dryrun_mode",
    "stop_timeout",
];

/// The metadata of properties that are variables of the module.
pub(super) const VARIABLE_METADATA: &str = "tfvar";
/// The metadata of attributes that get an output of the module.
pub(super) const OUTPUT_METADATA: &str = "tfoutput";

/// The programs that can be the tool. The first one that is installed is.
pub(super) const PROGRAMS: &[&str] = &["terraform", "tofu"];

/// The name of files with a state between jobs.
const STATE_FILE: &str = "terraform.tfstate.yaml";

/// Returns an error about an input.
pub(super) fn input_error(problem: impl Into<String>) -> Error {
    Error::Function {
        function: "Terraform".to_owned(),
        problem: problem.into(),
    }
}

/// The work of the tool for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Apply,
    Destroy,
    /// Compares what exists with the configuration.
    Check,
    /// Shows what `Apply` or `Destroy` would do.
    Preview {
        destroys: bool,
    },
}

impl Goal {
    pub(super) fn of(task: &TaskView<'_>) -> Result<Self, Error> {
        let operation = task.settings.operation.operation.as_str();
        let destroys = operation == "delete" || task.tool().removes_target();
        if matches!(operation, "check" | "discover") || task.settings.check_only {
            return Ok(Self::Check);
        }
        if operation == "stop" {
            return Err(input_error(
                "the operation `stop` cannot be done: the tool creates and destroys, and stops nothing; implement it otherwise",
            ));
        }
        Ok(match (Self::previews(task)?, destroys) {
            (true, destroys) => Self::Preview { destroys },
            (false, true) => Self::Destroy,
            (false, false) => Self::Apply,
        })
    }

    /// Returns true for a dry run, unless `dryrun_mode` says that it is done for real.
    fn previews(task: &TaskView<'_>) -> Result<bool, Error> {
        if !task.settings.dry_run {
            return Ok(false);
        }
        match task.input_text("dryrun_mode")?.as_deref() {
            None | Some("plan") => Ok(true),
            Some("real") => Ok(false),
            Some(other) => Err(input_error(format!(
                "`dryrun_mode: {other}` is neither `plan` nor `real`"
            ))),
        }
    }

    /// Returns true if the tool may change what exists.
    pub(super) fn changes(self) -> bool {
        matches!(self, Self::Apply | Self::Destroy)
    }

    /// Returns the subcommand of the tool.
    pub(super) fn subcommand(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Destroy => "destroy",
            Self::Check | Self::Preview { .. } => "plan",
        }
    }
}

/// The place of the state between jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateLocation {
    /// The folder `secrets` of the instance, encrypted as a whole.
    Secrets,
    /// The folder `artifacts` of the instance, with its secret values encrypted.
    Artifacts,
    /// The backend of the configuration.
    Remote,
}

impl StateLocation {
    pub(super) fn of(task: &TaskView<'_>) -> Result<Self, Error> {
        Self::parse(task.input_text("stateLocation")?.as_deref().unwrap_or(""))
    }

    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        match text {
            "" | "secrets" => Ok(Self::Secrets),
            "artifacts" => Ok(Self::Artifacts),
            "remote" => Ok(Self::Remote),
            other => Err(input_error(format!(
                "`stateLocation: {other}` is none of `secrets`, `artifacts` and `remote`"
            ))),
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Secrets => "secrets",
            Self::Artifacts => "artifacts",
            Self::Remote => "remote",
        }
    }

    /// Returns the file of the state, relative to the ensemble. None if the backend has it.
    pub(super) fn file(self, instance: &str, root: &str) -> Option<PathBuf> {
        let folder = match self {
            Self::Remote => return None,
            other => other.as_str(),
        };
        let path = PathBuf::from(root).join(folder).join(instance);
        Some(path.join(STATE_FILE))
    }

    /// Returns the encrypted copy of the state for commits, relative to the ensemble. None if git has the file itself.
    pub(super) fn committed_copy(self, instance: &str) -> Option<PathBuf> {
        let folder = PathBuf::from("active/.secrets").join(instance);
        (self == Self::Secrets).then(|| folder.join(STATE_FILE))
    }
}

/// The folder in which the tool runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WorkingFolder {
    /// A folder of the job, into which files are rendered.
    OfJob(WorkFolder),
    /// A folder of the project, relative to the ensemble. Nothing is written there.
    OfProject(PathBuf),
}

impl WorkingFolder {
    pub(super) fn of(task: &TaskView<'_>) -> Result<Self, Error> {
        let Some(text) = task.input_text("workdir")? else {
            return Ok(Self::OfJob(WorkFolder::Tasks));
        };
        Ok(match text.as_str() {
            "" | "tasks" => Self::OfJob(WorkFolder::Tasks),
            "operation" => Self::OfJob(WorkFolder::Operation),
            "artifacts" => Self::OfJob(WorkFolder::Artifacts),
            "secrets" => Self::OfJob(WorkFolder::Secrets),
            "local" => Self::OfJob(WorkFolder::Local),
            path => Self::OfProject(PathBuf::from(path)),
        })
    }

    pub(super) fn is_of_job(&self) -> bool {
        matches!(self, Self::OfJob(_))
    }

    /// Returns the path of the folder while the job runs.
    ///
    /// A job that writes no files uses a folder that is as deep as the usual one, so that relative paths are the same.
    pub(super) fn path(&self, task: &TaskView<'_>) -> PathBuf {
        let places = task.tool().facts();
        if !places.writes_files && self.is_of_job() {
            let local = task.settings.base_dir.join("active/local");
            return local.join(places.instance);
        }
        let folder = |kind: &str| {
            let planned = places.working.parent().and_then(|tasks| tasks.parent());
            let planned =
                planned.map_or_else(|| task.settings.base_dir.join("planned"), PathBuf::from);
            planned.join(kind).join(&places.instance)
        };
        match self {
            Self::OfJob(WorkFolder::Tasks) => places.working,
            Self::OfJob(WorkFolder::Operation) => places
                .working
                .join(task.settings.operation.operation.as_str()),
            Self::OfJob(WorkFolder::Artifacts) => folder("artifacts"),
            Self::OfJob(WorkFolder::Secrets) => folder("secrets"),
            Self::OfJob(WorkFolder::Local) => folder("local"),
            Self::OfProject(path) => task.settings.base_dir.join(path),
        }
    }
}

/// Returns the words that start the tool: the input `command`, or the first program that is installed.
pub(super) fn tool_words(task: &TaskView<'_>) -> Result<Vec<String>, Error> {
    let stated = task.input("command")?.filter(Value::is_truthy);
    let words = match stated.as_ref().map(Value::reveal) {
        None => {
            let installed = PROGRAMS.iter().find(|name| task.has_program(name));
            vec![installed.unwrap_or(&PROGRAMS[0]).to_string()]
        }
        Some(Value::List(words)) => words.iter().map(|word| word.reveal().to_string()).collect(),
        Some(text) => text
            .to_string()
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
    };
    if words.is_empty() {
        return Err(input_error("`command` has no words"));
    }
    Ok(words)
}

/// The inputs that a render reads first, in the order in which the model has them.
///
/// Unfurl's digest depends on the order of the reads.
pub(super) fn read_in_order(task: &TaskView<'_>) -> Result<(), Error> {
    const READ: [&str; 5] = ["main", "tfvars", "stateLocation", "workdir", "command"];
    for name in task.inputs.keys() {
        if READ.contains(&&**name) {
            task.input(name)?;
        }
    }
    Ok(())
}
