//! Reads service templates with conditional imports or decorators.
//!
//! Both are expressions over the model itself. The model is therefore read twice: first with all imports,
//! then without those whose condition is false and with decorated node templates.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::decorators::decorated_templates;
use super::expression_writes::ExpressionWrites;
use super::local_system_context::LocalSystem;
use super::secret_source::SecretSource;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::ensemble::JobTemporaryFolder;
use crate::expr::{Context, Evaluator, Memo};
use crate::name::InstanceName;
use crate::project::{FolderKeys, MANIFEST, ReadScope, Trust};
use crate::system::env::Env;
use crate::topology::{Topology, TopologyInputs};
use crate::tosca::{self, Importer, ReadOptions, ServiceTemplate};
use crate::value::{Map, Value};
use crate::yaml::Node;

/// Reads a service template and evaluates its import conditions and decorators.
pub(crate) fn read_service(
    root: &Node,
    base: &Path,
    importer: &mut dyn Importer,
    options: &ReadOptions,
    env: &Env,
) -> (Option<ServiceTemplate>, Diagnostics) {
    let (service, problems) = tosca::read(root, base, importer, options);
    let service = match service {
        Some(service) if !service.conditions.is_empty() || !service.decorators.is_empty() => {
            Arc::new(service)
        }
        other => return (other, problems),
    };
    let temporary = JobTemporaryFolder::without_ensemble();
    let system_context = LocalSystem {
        base: base.to_path_buf(),
        project: base.to_path_buf(),
        planned: base.join("planned"),
        variables: env.all().clone(),
        secret_variables: BTreeSet::new(),
        locals: Map::new(),
        secrets: Map::new(),
        backends: SecretSource::default(),
        keys: Arc::new(FolderKeys::new(base, None)),
        metadata: Map::new(),
        trust: Trust::default(),
        scope: ReadScope::of_folder(base),
        writes: ExpressionWrites::new(&base.join(MANIFEST), Arc::new(temporary)),
    };
    let mut failed = Diagnostics::default();
    let topology = Arc::new(instances_of(&service));
    let scope: Arc<dyn crate::expr::Scope> = Arc::clone(&topology) as _;
    let evaluator = Evaluator::new(scope, Arc::new(system_context), Arc::new(Memo::default()));
    let options = ReadOptions {
        skipped_imports: unmet_imports(&service, &topology, &evaluator, &mut failed),
        decorated_templates: decorated_templates(&service, &topology, &evaluator, &mut failed),
        ..options.clone()
    };
    let (service, mut problems) = tosca::read(root, base, importer, &options);
    problems.append(failed);
    (service, problems)
}

/// Creates one instance of each template, for the evaluation of expressions.
fn instances_of(service: &Arc<ServiceTemplate>) -> Topology {
    let mut topology = Topology::new(Arc::clone(service), TopologyInputs::default());
    for (name, template) in &service.topology.nodes {
        let name = InstanceName::new(name.shared());
        topology.add_node(name, Arc::clone(template), topology.root(), None);
    }
    topology
}

/// Returns the source positions of imports whose condition is false.
fn unmet_imports(
    service: &ServiceTemplate,
    topology: &Topology,
    evaluator: &Evaluator,
    failed: &mut Diagnostics,
) -> HashSet<Span> {
    let context = Context::new(topology.root());
    let mut skipped = HashSet::new();
    for (span, condition) in &service.conditions {
        match evaluator.query(condition, &context) {
            // As everywhere, several results form a list, which is true.
            Ok(results) if results.len() > 1 || results.iter().any(Value::is_truthy) => {}
            Ok(_) => drop(skipped.insert(*span)),
            Err(error) => {
                let message = format!("the condition of an import cannot be evaluated: {error}");
                failed.push(Diagnostic::error(message).label(*span, "imported here"));
            }
        }
    }
    skipped
}
