//! Where the commands of a task run.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::evaluation::Evaluation;
use crate::expr::{Error, Evaluator};
use crate::host::helpers::{Book, Helpers, NoRoles};
use crate::host::{Chain, Executor, Place, PlaceError, Request};
use crate::task::{Effect, Part};
use crate::tosca::Operation;
use crate::value::Handle;

/// What errors about the host of an operation are told of.
const HOST: &str = "operation_host";
/// What errors about the hosts of tasks are told of.
const HOSTS: &str = "hosts";

impl Evaluation<'_> {
    /// What the runner is asked to do for an effect.
    pub(super) fn request(&self, effect: Effect) -> Request {
        let chain = self.options.chain.clone();
        let chain = chain.filter(|_| effect.part == Part::Deed);
        Request {
            chain: match (chain, effect.chain) {
                (Some(of_job), Some(own)) => Some(Arc::new(joined(&of_job, &own))),
                (of_job, own) => of_job.or(own),
            },
            host: effect.host,
            ..Request::at(effect.place, effect.action)
        }
    }

    /// The instance that an operation names as its host; none where that is this machine, or is
    /// not there.
    pub(super) fn operation_host(&self, target: Handle, operation: &Operation) -> Option<Handle> {
        let word = word_of(operation);
        self.topology.operation_host(target, word).ok().flatten()
    }

    /// The machine on which the commands of an operation run.
    pub(super) fn place_of(
        &self,
        target: Handle,
        operation: &Operation,
        evaluator: &Evaluator,
    ) -> Result<Place, Error> {
        let failed = |problem: String| failed(HOST, problem);
        let word = word_of(operation);
        let found = self.topology.operation_host(target, word);
        let Some(host) = found.map_err(failed)? else {
            return Ok(Place::Here);
        };
        self.machine_of(host, evaluator, HOST)
    }

    /// The machine that an instance is or is hosted on; `what` asks for it.
    fn machine_of(&self, host: Handle, evaluator: &Evaluator, what: &str) -> Result<Place, Error> {
        let failed = |problem: String| failed(what, problem);
        let name = &self.topology.entity(host).name;
        let Some(endpoint) = self.topology.endpoint(host, evaluator)? else {
            return Err(failed(format!(
                "nothing says how to reach `{name}`: it has neither a capability of type \
                 `unfurl.capabilities.Endpoint.SSH` nor an attribute `public_ip` or `private_ip`"
            )));
        };
        if endpoint.is_here {
            return Ok(Place::Here);
        }
        let place = self.surroundings.places.place(&endpoint);
        place.map_err(|why| failed(format!("`{name}` cannot be reached: {why}")))
    }

    /// What a run of tasks over hosts needs for an operation.
    pub(super) fn helpers_for(
        &self,
        target: Handle,
        hosts: &[String],
        evaluator: &Evaluator,
    ) -> Result<Helpers, Error> {
        let chain = self.options.chain.as_deref();
        let mut executors = chain.into_iter().flat_map(Chain::executors);
        if let Some(other) = executors.find(|it| moves(it)) {
            let name = other.name();
            let problem = format!("tasks cannot go through the executor `{name}`");
            return Err(failed(HOSTS, problem));
        }
        let mut instances = HashMap::new();
        for name in hosts {
            let found = self.topology.find_from(target, name);
            let node = found.filter(|of| self.topology.entity(*of).node().is_some());
            if let Some(of) = node {
                instances.insert(name.clone(), self.machine_of(of, evaluator, HOSTS)?);
            }
        }
        let others = self
            .surroundings
            .places
            .book()
            .map_err(|why| failed(HOSTS, why.to_string()))?;
        Ok(Helpers {
            book: Rc::new(Known { instances, others }),
            roles: Rc::new(NoRoles),
            world: Arc::clone(&self.surroundings.world),
        })
    }
}

/// Where the hosts of tasks are.
#[derive(Debug)]
struct Known {
    /// Those that are instances.
    instances: HashMap<String, Place>,
    /// All others are host strings.
    others: Rc<dyn Book>,
}

impl Book for Known {
    fn place(&self, host: &str, user: Option<&str>) -> Result<Place, PlaceError> {
        match self.instances.get(host) {
            Some(place) => Ok(place.clone()),
            None => self.others.place(host, user),
        }
    }
}

/// The executors of a job, and then those that an effect asks for itself: who it runs as is what
/// it says, and not what the job says.
fn joined(of_job: &Chain, own: &Chain) -> Chain {
    let ends = |executor: &&Executor| {
        !matches!(
            executor,
            Executor::Direct | Executor::Sudo(_) | Executor::Su(_)
        )
    };
    let executors = of_job.executors().iter().filter(ends);
    let mut chain = Chain::new(executors.chain(own.executors()).cloned().collect());
    chain.nobody = of_job.nobody;
    chain
}

/// Whether an executor takes what it performs to where nothing can follow it.
fn moves(executor: &Executor) -> bool {
    matches!(executor, Executor::Container { .. } | Executor::Chroot(_))
}

fn failed(what: &str, problem: String) -> Error {
    Error::Function {
        function: what.to_owned(),
        problem,
    }
}

fn word_of(operation: &Operation) -> Option<&str> {
    let implementation = operation.implementation.as_ref()?;
    implementation.operation_host.as_deref()
}
