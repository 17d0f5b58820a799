//! Where the commands of a task run.

use super::engine::Engine;
use crate::expr::{Error, Evaluator};
use crate::host::{Place, Request};
use crate::task::{Effect, Part};
use crate::tosca::Operation;
use crate::value::Handle;

/// What errors about the host of an operation are told of.
const HOST: &str = "operation_host";

impl Engine {
    /// What the runner is asked to do for an effect.
    pub(super) fn request(&self, effect: Effect) -> Request {
        let chain = self.options.chain.clone();
        Request {
            chain: chain.filter(|_| effect.part == Part::Deed),
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
        let failed = |problem: String| Error::Function {
            function: HOST.to_owned(),
            problem,
        };
        let word = word_of(operation);
        let found = self.topology.operation_host(target, word);
        let Some(host) = found.map_err(failed)? else {
            return Ok(Place::Here);
        };
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
        let place = self.places.place(&endpoint);
        place.map_err(|why| failed(format!("`{name}` cannot be reached: {why}")))
    }
}

fn word_of(operation: &Operation) -> Option<&str> {
    let implementation = operation.implementation.as_ref()?;
    implementation.operation_host.as_deref()
}
