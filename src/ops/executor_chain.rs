//! Resolves the chain of executors through which a job's commands run (rules X4 to X6).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::failure::{Failure, FailureKind};
use super::request::JobRequest;
use crate::diagnostic::Diagnostic;
use crate::host::{
    ChainExecutor, ChainSpec, ExecutorChain, ExecutorEnvironment, ExecutorError, UnhandledPolicy,
};
use crate::session::LocalSystem;
use crate::session::Session;
use crate::topology::Topology;

/// The section of an environment that configures executors.
const SECTION: &str = "executors";

/// Returns the chain of a job; `None` if all commands are executed directly.
pub(super) fn resolve_chain(
    request: &JobRequest,
    session: &mut Session,
    topology: &Arc<Topology>,
    system_context: &Arc<LocalSystem>,
    environment: &BTreeMap<String, String>,
) -> Result<Option<Arc<ExecutorChain>>, Failure> {
    let configuration = configured_executors(session, topology, system_context)?;
    let environment = ExecutorEnvironment {
        folder: session.manifest.base_dir().to_path_buf(),
        environment: environment.clone().into_iter().collect(),
        ..ExecutorEnvironment::default()
    };
    let resolved = request
        .run
        .executors
        .resolve(&configuration, &environment)?;
    for warning in resolved.warnings {
        session.warnings.push(Diagnostic::warning(warning));
    }
    let mut chain = resolved.chain;
    // An operation counts as completed only if its command has succeeded.
    chain.on_unhandled = UnhandledPolicy::Fail;
    let is_dry_run = chain.executors().contains(&ChainExecutor::DryRun);
    if is_dry_run && request.save.record && !request.goal.dry_run {
        let message = "with the executor `dryrun`, the job would record operations that never ran";
        let help = "add `--dryrun`, which runs nothing and records nothing";
        return Err(Failure::usage_with(message, help));
    }
    Ok((!chain.is_direct()).then(|| Arc::new(chain)))
}

/// Returns the executors that the environment configures.
pub(super) fn configured_executors(
    session: &mut Session,
    topology: &Arc<Topology>,
    system_context: &Arc<LocalSystem>,
) -> Result<ChainSpec, Failure> {
    Ok(match session.section(SECTION, topology, system_context)? {
        Some(section) => ChainSpec::from_value(&section)?,
        None => ChainSpec::default(),
    })
}

impl From<ExecutorError> for Failure {
    fn from(error: ExecutorError) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self::new(FailureKind::Usage, error, hint)
    }
}
