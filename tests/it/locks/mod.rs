//! Locks for all machines, through git-lfs: against a real server over SSH, and against one that
//! speaks HTTP and does what it is told.

mod http;
mod over_ssh;
mod sshd;
mod web;

/// An ensemble that is locked for all machines, with one task that runs a command.
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
