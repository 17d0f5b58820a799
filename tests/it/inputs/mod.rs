//! Inputs of the topology: their sources and precedence, changes since the last job, and `--save-inputs`.

mod changes;
mod documents;
mod saved;
mod sources;

use super::drafts::{Draft, topology};
use super::support::{Run, TestEnv};

/// A service with the inputs `port`, `greeting`, `size` and the secret `token`, which writes them to `out`.
fn service() -> Draft {
    topology(
        "
        inputs:
          port: {type: integer, default: 8080, constraints: [{in_range: [1, 65535]}]}
          greeting: {type: string, default: hello}
          size: {type: string, constraints: [{valid_values: [small, large]}], default: small}
          token: {type: string, default: t0ken, metadata: {sensitive: true}}
        node_templates:
          app:
            type: tosca.nodes.Root
            interfaces:
              Install:
                operations:
                  check: echo {{ '::root::inputs::port' | eval }} >> checked
              Standard:
                configure:
                  implementation: echo {{ inputs.text }} >> out
                  inputs:
                    text: {concat: [{get_input: greeting}, ' ', {get_input: port}]}
                delete: echo {{ '::root::inputs::port' | eval }} >> deleted
        ",
    )
}

/// The service in an ensemble with this text behind the service template.
fn service_with(rest: &str) -> TestEnv {
    TestEnv::with_ensemble(&format!("{}{rest}", service().build()))
}

/// Calls a command with environment variables.
fn with_variables(env: &TestEnv, variables: &[(&str, &str)], arguments: &[&str]) -> Run {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let variables: Vec<_> = variables.iter().map(pair).collect();
    env.unfurl_in(".", &variables, arguments)
}
