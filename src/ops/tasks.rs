//! Runs named tasks and single commands on hosts, as Fabric does (`unfurl task`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::failure::Failure;
use crate::ensemble::JobTemporaryFolder;
use crate::fleet::tasks::{
    HostsView, LoadedTasks, TasksReport, TasksRequest, find_tasks, run_tasks,
};
use crate::host::PASSWORD_VARIABLES;
use crate::project::{FolderKeys, MANIFEST, ReadScope, Trust};
use crate::session::{ExpressionWrites, LocalSystem, SecretSource, current_dir};
use crate::system::env::Env;
use crate::tasks::TaskOptions;
use crate::value::Map;

/// Reads the tasks of a file, or of the `tasks.yaml` in this folder or the nearest parent folder.
pub fn load(file: Option<&Path>, allowed: &[String]) -> Result<LoadedTasks, Failure> {
    Ok(find_tasks(file, &current_dir()?, allowed)?)
}

/// Runs the task calls and the command of a request, and shows the progress in `view`.
pub fn perform(request: &TasksRequest, view: &mut dyn HostsView) -> Result<TasksReport, Failure> {
    let mut env = Env::of_this_process();
    // Commands of this machine and templates have no use for the passwords of hosts.
    env.remove(&PASSWORD_VARIABLES);
    let options = fill_defaults(&request.options, &env)?;
    let context = Arc::new(system_context(
        options.folder.clone(),
        &env,
        &request.allowed,
    ));
    Ok(run_tasks(request, options, context, &env, view)?)
}

/// Fills empty options with values of this process: folder, user and environment variables.
fn fill_defaults(options: &TaskOptions, env: &Env) -> Result<TaskOptions, Failure> {
    let mut options = options.clone();
    if options.folder.as_os_str().is_empty() {
        options.folder = current_dir()?;
    }
    if options.local_user.is_empty() {
        options.local_user = local_user(env);
    }
    if options.variables.is_empty() {
        let all = env.all().iter();
        options.variables = all
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
    }
    Ok(options)
}

/// Returns the system context for templates.
fn system_context(base: PathBuf, env: &Env, allowed: &[String]) -> LocalSystem {
    let temporary = JobTemporaryFolder::without_ensemble();
    let keys = Arc::new(FolderKeys::new(&base, None));
    LocalSystem {
        // Templates of tasks are rendered while the tasks run, which can read every file anyway.
        scope: ReadScope::unrestricted(),
        writes: ExpressionWrites::new(&base.join(MANIFEST), Arc::new(temporary)),
        project: base.clone(),
        planned: base.clone(),
        base,
        variables: env.all().clone(),
        secret_variables: BTreeSet::new(),
        locals: Map::new(),
        secrets: Map::new(),
        backends: SecretSource::default(),
        keys,
        metadata: Map::new(),
        trust: Trust::new(allowed.iter().cloned(), false),
    }
}

/// Returns the name of the user who runs this program.
fn local_user(env: &Env) -> String {
    let variable = ["LOGNAME", "USER"]
        .iter()
        .find_map(|name| env.non_empty(name));
    variable.map_or_else(crate::system::user::name, str::to_owned)
}
