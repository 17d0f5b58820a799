//! The machines on which a task's commands run: resolves operation hosts and executor chains.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::evaluation::Evaluation;
use crate::expr::{Error, Evaluator};
use crate::host::services::{HostResolver, HostServices, NoRoles};
use crate::host::{ActionRequest, ChainExecutor, ExecutorChain, Location, LocationError};
use crate::task::{EffectRole, TaskEffect};
use crate::topology::InventoryHost;
use crate::tosca::Operation;
use crate::value::Handle;

/// The function name in errors about an operation's host.
const HOST_SUBJECT: &str = "operation_host";
/// The function name in errors about a task list's hosts.
const HOSTS_SUBJECT: &str = "hosts";

impl Evaluation<'_> {
    /// Returns the request to the runner for an effect.
    pub(super) fn request(&self, effect: TaskEffect) -> ActionRequest {
        let chain = self.options.chain.clone();
        let chain = chain.filter(|_| effect.role == EffectRole::Primary);
        ActionRequest {
            chain: match (chain, effect.chain) {
                (Some(of_job), Some(own)) => Some(Arc::new(join_chains(&of_job, &own))),
                (of_job, own) => of_job.or(own),
            },
            host: effect.host,
            ..ActionRequest::new(effect.location, effect.action)
        }
    }

    /// Returns the instance that an operation names as its host. None if that is this machine or does not
    /// exist.
    pub(super) fn operation_host(&self, target: Handle, operation: &Operation) -> Option<Handle> {
        let word = operation_host_name(operation);
        self.topology.operation_host(target, word).ok().flatten()
    }

    /// Returns the machine on which the commands of an operation run.
    pub(super) fn operation_location(
        &self,
        target: Handle,
        operation: &Operation,
        evaluator: &Evaluator,
    ) -> Result<Location, Error> {
        let failed = |problem: String| host_error(HOST_SUBJECT, problem);
        let word = operation_host_name(operation);
        let found = self.topology.operation_host(target, word);
        let Some(host) = found.map_err(failed)? else {
            return Ok(Location::Local);
        };
        self.instance_location(host, evaluator, HOST_SUBJECT)
    }

    /// Returns the machine on which a playbook of an operation runs, as a host of an inventory. None stands for this
    /// machine.
    pub(super) fn inventory_host(
        &self,
        target: Handle,
        operation: &Operation,
        evaluator: &Evaluator,
    ) -> Result<Option<InventoryHost>, Error> {
        let word = operation_host_name(operation);
        let found = self.topology.playbook_host(target, word, evaluator)?;
        let host = found.map_err(|problem| host_error(HOST_SUBJECT, problem))?;
        let host = host.map(|host| self.topology.inventory_host(host, evaluator));
        host.transpose()
    }

    /// Returns the machine that an instance is or is hosted on. `subject` is the input named in errors.
    fn instance_location(
        &self,
        host: Handle,
        evaluator: &Evaluator,
        subject: &str,
    ) -> Result<Location, Error> {
        let failed = |problem: String| host_error(subject, problem);
        let name = &self.topology.entity(host).name;
        let Some(endpoint) = self.topology.endpoint(host, evaluator)? else {
            return Err(failed(format!(
                "cannot connect to `{name}`: the model gives no address; add a capability of type \
                 `unfurl.capabilities.Endpoint.SSH`, or set the attribute `public_ip` or \
                 `private_ip`"
            )));
        };
        if endpoint.is_local {
            return Ok(Location::Local);
        }
        let place = self.context.host_locator.locate(&endpoint);
        place.map_err(|why| failed(format!("`{name}` cannot be reached: {why}")))
    }

    /// Returns the services that a run of a task list over hosts needs.
    pub(super) fn host_services_for(
        &self,
        target: Handle,
        hosts: &[String],
        evaluator: &Evaluator,
    ) -> Result<HostServices, Error> {
        let chain = self.options.chain.as_deref();
        let mut executors = chain.into_iter().flat_map(ExecutorChain::executors);
        if let Some(other) = executors.find(|it| changes_root(it)) {
            let name = other.name();
            let problem = format!(
                "tasks cannot run through the executor `{name}`, because it uses another file \
                 system"
            );
            return Err(host_error(HOSTS_SUBJECT, problem));
        }
        let mut instances = HashMap::new();
        for name in hosts {
            let found = self.topology.find_from(target, name);
            let node = found.filter(|of| self.topology.entity(*of).node().is_some());
            if let Some(of) = node {
                instances.insert(
                    name.clone(),
                    self.instance_location(of, evaluator, HOSTS_SUBJECT)?,
                );
            }
        }
        let others = self
            .context
            .host_locator
            .host_directory()
            .map_err(|why| host_error(HOSTS_SUBJECT, why.to_string()))?;
        Ok(HostServices {
            resolver: Rc::new(InstanceDirectory {
                instances,
                host_strings: others,
            }),
            roles: Rc::new(NoRoles),
            context: Arc::clone(&self.context.local_context),
        })
    }
}

/// A directory of the hosts of a task list.
#[derive(Debug)]
struct InstanceDirectory {
    /// Hosts that are instances of the topology, by name.
    instances: HashMap<String, Location>,
    /// The resolver of all other hosts, which are host strings.
    host_strings: Rc<dyn HostResolver>,
}

impl HostResolver for InstanceDirectory {
    fn locate(&self, host: &str, user: Option<&str>) -> Result<Location, LocationError> {
        match self.instances.get(host) {
            Some(place) => Ok(place.clone()),
            None => self.host_strings.locate(host, user),
        }
    }
}

/// Joins the executors of a job with those of an effect. The effect decides which user it runs as, so the
/// job's `sudo` and `su` are dropped.
fn join_chains(of_job: &ExecutorChain, own: &ExecutorChain) -> ExecutorChain {
    let ends = |executor: &&ChainExecutor| {
        !matches!(
            executor,
            ChainExecutor::Direct | ChainExecutor::Sudo(_) | ChainExecutor::Su(_)
        )
    };
    let executors = of_job.executors().iter().filter(ends);
    let mut chain = ExecutorChain::new(executors.chain(own.executors()).cloned().collect());
    chain.on_unhandled = of_job.on_unhandled;
    chain
}

/// Whether an executor changes the root file system, so that task lists cannot follow it.
fn changes_root(executor: &ChainExecutor) -> bool {
    matches!(
        executor,
        ChainExecutor::Container { .. }
            | ChainExecutor::Chroot(_)
            | ChainExecutor::TransactionalUpdate(_)
    )
}

fn host_error(subject: &str, problem: String) -> Error {
    Error::Function {
        function: subject.to_owned(),
        problem,
    }
}

fn operation_host_name(operation: &Operation) -> Option<&str> {
    let implementation = operation.implementation.as_ref()?;
    implementation.operation_host.as_deref()
}
