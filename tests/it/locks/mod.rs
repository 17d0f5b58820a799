//! Remote locks through git-lfs, which hold for all machines: tested against a real server over SSH and
//! against an HTTP server with prepared answers.

mod hanging;
mod http;
mod lost_answers;
mod over_ssh;
mod sshd;
pub(crate) mod web;

/// An ensemble with a remote lock and one task that runs a command.
fn ensemble(lock: &str, command: &str) -> String {
    format!(
        "\
apiVersion: unfurl/v1alpha1
kind: Ensemble
environment:
  lfs_lock: {lock}
spec:
  service_template:
    topology_template:
      node_templates:
        one:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              operations:
                configure:
                  implementation: Shell
                  inputs:
                    command: {command}
"
    )
}
