//! The commands of the tool: their words, their environment, and how they are ended.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::settings::{Goal, input_error};
use crate::expr::Error;
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::Fact;
use crate::host::{Command, Program, Variables};
use crate::task::TaskView;
use crate::text::parse_size;

/// The longest time that the tool gets to end by itself after an interrupt, unless the input `stop_timeout` says
/// otherwise. It waits for the calls of its providers.
const STOP_TIMEOUT: Duration = Duration::from_mins(10);
/// The folder of providers that all projects of the user share, in the folder of caches.
const PLUGIN_CACHE: &str = "unfurl/terraform-plugins";

/// The files of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RunFiles {
    /// The folder in which the tool runs.
    pub(super) cwd: PathBuf,
    /// The private folder.
    pub(super) private: PathBuf,
    /// The data folder of the tool.
    pub(super) data: PathBuf,
    /// The file with variables in the working folder.
    pub(super) variables: Option<String>,
    /// The file with variables in the private folder.
    pub(super) secret_variables: Option<String>,
    /// True if the state is a file of the private folder.
    pub(super) has_state: bool,
    /// True if the plan in the private folder is applied. It has the values of the variables.
    pub(super) applies_plan: bool,
}

impl RunFiles {
    /// Returns the words of the command for a goal, after those that start the tool.
    pub(super) fn words(&self, goal: Goal) -> Vec<String> {
        let mut words = vec![goal.subcommand().to_owned(), "-json".to_owned()];
        words.push("-input=false".to_owned());
        match goal {
            Goal::Apply if self.applies_plan => {}
            Goal::Apply | Goal::Destroy => words.push("-auto-approve".to_owned()),
            Goal::Check | Goal::Preview { .. } => {
                words.extend(["-detailed-exitcode", "-refresh=true"].map(str::to_owned));
                words.push(format!("-out={}", self.private.join(PLAN).display()));
                if goal == (Goal::Preview { destroys: true }) {
                    words.push("-destroy".to_owned());
                }
            }
        }
        if self.has_state {
            words.push(format!("-state={}", self.private.join(STATE).display()));
        }
        if self.applies_plan && goal == Goal::Apply {
            words.push(self.private.join(PLAN).display().to_string());
            return words;
        }
        if let Some(file) = &self.variables {
            words.push(format!("-var-file={file}"));
        }
        if let Some(file) = &self.secret_variables {
            words.push(format!("-var-file={}", self.private.join(file).display()));
        }
        words
    }
}

/// The state in the private folder.
pub(super) const STATE: &str = "terraform.tfstate";
/// The state before the last write, in the private folder.
pub(super) const BACKUP: &str = "terraform.tfstate.backup";
/// The plan in the private folder.
pub(super) const PLAN: &str = "job.plan";
/// The output of the running command, in the private folder.
pub(super) const STREAM: &str = "output.jsonl";
/// The description of the private folder.
pub(super) const ORIGIN: &str = "origin.json";

/// Returns a command of the tool that runs in its working folder.
pub(super) fn command(
    task: &TaskView<'_>,
    files: &RunFiles,
    words: Vec<String>,
) -> Result<Command, Error> {
    let mut command = Command::new(Program::Argv(words), &files.cwd);
    command.env = environment(task, &files.data)?;
    command.time_limit = task.settings.time_limit;
    // A long output must not go to a file, because it may have secrets.
    command.capture_limit = MAX_STREAM_BYTES;
    command.total_capture_limit = 0;
    Ok(command)
}

/// The maximum size of the tool's output that is kept whole.
const MAX_STREAM_BYTES: usize = 256 << 20;

/// Returns the time that the tool gets to end by itself: the input `stop_timeout`, in seconds.
pub(super) fn stop_timeout(task: &TaskView<'_>) -> Result<Duration, Error> {
    let Some(text) = task.input_text("stop_timeout")? else {
        return Ok(STOP_TIMEOUT);
    };
    let seconds = parse_size(&text).filter(|seconds| (1..=86_400).contains(seconds));
    let seconds = seconds.ok_or_else(|| {
        input_error(format!(
            "`stop_timeout: {text}` is not a number of seconds from 1 to 86400"
        ))
    })?;
    Ok(Duration::from_secs(seconds))
}

fn environment(task: &TaskView<'_>, data: &Path) -> Result<Variables, Error> {
    let mut variables = task.environment()?;
    variables.add("TF_IN_AUTOMATION", "1");
    variables.add("TF_INPUT", "0");
    if variables.get("CHECKPOINT_DISABLE").is_none() {
        variables.add("CHECKPOINT_DISABLE", "1");
    }
    if variables.get("TF_DATA_DIR").is_none() {
        variables.add("TF_DATA_DIR", data.display().to_string());
    }
    Ok(variables)
}

/// Returns the fact of the user's own settings of the tool. None if they cannot matter.
pub(super) fn user_settings(task: &TaskView<'_>) -> Result<Option<Fact>, Error> {
    let variables = task.environment()?;
    if cache_folder(task, &variables).is_none() {
        return Ok(None);
    }
    let of_user = variables.get("TF_CLI_CONFIG_FILE");
    let of_user = of_user.filter(|path| !path.is_empty()).map(str::to_owned);
    let of_home = || Some(format!("{}/.terraformrc", variables.get("HOME")?));
    Ok(of_user.or_else(of_home).map(Fact::Content))
}

/// Returns the command that initialises the working folder, with the shared folder of providers if it uses one.
///
/// Two of them must not fill the shared folder at the same time, so a lock is held meanwhile.
pub(super) fn init_command(
    task: &TaskView<'_>,
    files: &RunFiles,
    tool: &[String],
    user_settings: &[u8],
) -> Result<(Command, Option<PathBuf>), Error> {
    let mut words: Vec<String> = tool.to_vec();
    words.extend(["init", "-input=false", "-no-color"].map(str::to_owned));
    let mut made = command(task, files, words.clone())?;
    let is_chosen = String::from_utf8_lossy(user_settings).contains("plugin_cache_dir");
    let cache = cache_folder(task, &made.env).filter(|_| !is_chosen);
    let Some(cache) = cache else {
        return Ok((made, None));
    };
    let lock = cache.join(".unfurl.lock");
    let mut locked = vec!["flock".to_owned(), lock.display().to_string()];
    locked.extend(words);
    made.program = Program::Argv(locked);
    made.env
        .add("TF_PLUGIN_CACHE_DIR", cache.display().to_string());
    Ok((made, Some(cache)))
}

/// Returns the change that makes the shared folder of providers.
pub(super) fn make_cache(folder: &Path) -> Change {
    Change::Folder {
        path: folder.display().to_string(),
        parents: true,
        like: ModeAndOwner::default(),
    }
}

/// Returns the shared folder of providers. None if the user has chosen one, if the tool is not installed, or if access
/// to the folder cannot be limited to one command at a time.
fn cache_folder(task: &TaskView<'_>, variables: &Variables) -> Option<PathBuf> {
    let value = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    if value("TF_PLUGIN_CACHE_DIR").is_some() || !task.has_program("flock") {
        return None;
    }
    let caches = value("XDG_CACHE_HOME").map(PathBuf::from);
    let caches = caches.filter(|path| path.is_absolute());
    let caches = caches.or_else(|| Some(PathBuf::from(value("HOME")?).join(".cache")))?;
    Some(caches.join(PLUGIN_CACHE))
}
