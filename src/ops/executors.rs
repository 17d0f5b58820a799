//! The executors that the commands of a job's operations go through (spec/hosts.md X4 to X6).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::failure::{Failure, FailureKind};
use super::request::JobRequest;
use crate::diagnostic::Diagnostic;
use crate::expr::{Context, Evaluator, Memo};
use crate::host::{Chain, ChainSpec, Executor, ExecutorError, Nobody, Surroundings};
use crate::session::RealWorld;
use crate::session::Session;
use crate::topology::Topology;
use crate::value::{Map, Value};
use crate::yaml::Node;

/// The section of an environment that configures executors.
const SECTION: &str = "executors";

/// The chain of a job; none where all is performed as it is.
pub(super) fn chain_of(
    request: &JobRequest,
    session: &mut Session,
    (topology, world): (&Arc<Topology>, &Arc<RealWorld>),
    environment: &BTreeMap<String, String>,
) -> Result<Option<Arc<Chain>>, Failure> {
    let configuration = configuration(session, topology, world)?;
    let surroundings = Surroundings {
        folder: session.manifest.base_dir().to_path_buf(),
        environment: environment.clone().into_iter().collect(),
    };
    let resolved = request
        .run
        .executors
        .resolve(&configuration, &surroundings)?;
    for warning in resolved.warnings {
        session.warnings.push(Diagnostic::warning(warning));
    }
    let mut chain = resolved.chain;
    // An operation counts as done where its command has succeeded.
    chain.nobody = Nobody::Fails;
    let tells_only = chain.executors().contains(&Executor::DryRun);
    if tells_only && request.save.record && !request.goal.dry_run {
        let message = "the executor `dryrun` would put operations on record that never ran";
        let help = "add `--dryrun`, which runs nothing and records nothing";
        return Err(Failure::new(
            FailureKind::Usage,
            message,
            Some(help.to_owned()),
        ));
    }
    Ok((!chain.is_direct()).then(|| Arc::new(chain)))
}

impl From<ExecutorError> for Failure {
    fn from(error: ExecutorError) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self::new(FailureKind::Usage, error, hint)
    }
}

/// What the environment says of executors, evaluated.
fn configuration(
    session: &Session,
    topology: &Arc<Topology>,
    world: &Arc<RealWorld>,
) -> Result<ChainSpec, Failure> {
    let Some(section) = session.environment.section(SECTION) else {
        return Ok(ChainSpec::default());
    };
    let scope: Arc<dyn crate::expr::Scope> = Arc::clone(topology) as _;
    let evaluator = Evaluator::new(scope, Arc::clone(world) as _, Arc::new(Memo::default()));
    let value = evaluated(section, &evaluator, &Context::new(topology.root()))?;
    Ok(ChainSpec::of(&value)?)
}

fn evaluated(section: &Node, evaluator: &Evaluator, context: &Context) -> Result<Value, Failure> {
    let raw = section.to_value();
    let one = |name: &str, raw: &Value| {
        evaluator.evaluate(raw, context).map_err(|error| {
            let message = format!("`{name}` of the environment: {error}");
            Failure::new(FailureKind::Load, message, None)
        })
    };
    let Some(map) = raw.as_map() else {
        return one(SECTION, &raw);
    };
    let mut options = Map::new();
    for (name, raw) in map {
        let value = one(&format!("{SECTION}: {name}"), raw)?;
        options.insert(Arc::clone(name), value);
    }
    Ok(Value::from(options))
}
