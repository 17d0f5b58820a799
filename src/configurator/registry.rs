//! The registry of configurators: selects the implementation for an operation.

use std::sync::Arc;

use super::ansible::AnsibleConfigurator;
use super::delegate::DelegateConfigurator;
use super::named_task::TaskConfigurator;
use super::script::Script;
use super::shell::ShellConfigurator;
use super::states::StatesConfigurator;
use super::template::TemplateConfigurator;
use super::terraform::TerraformConfigurator;
use crate::task::{ChooseError, Configurator};
use crate::tosca::{Implementation, ImplementationKind, Operation};
use crate::value::{Map, Value};

/// Returns a configurator by its short name or class name.
pub fn find_configurator(name: &str) -> Option<Arc<dyn Configurator>> {
    Some(match name {
        "Shell"
        | "Cmd"
        | "unfurl.configurators.shell.ShellConfigurator"
        | "unfurl.configurators.CmdConfigurator" => Arc::new(ShellConfigurator::local()),
        "Template" | "unfurl.configurators.TemplateConfigurator" => Arc::new(TemplateConfigurator),
        "Delegate" | "unfurl.configurators.DelegateConfigurator" => Arc::new(DelegateConfigurator),
        "Task" | "unfurl.configurators.task.TaskConfigurator" => Arc::new(TaskConfigurator),
        "States" | "unfurl.configurators.states.StatesConfigurator" => Arc::new(StatesConfigurator),
        "Terraform" | "unfurl.configurators.terraform.TerraformConfigurator" => {
            Arc::new(TerraformConfigurator)
        }
        "Ansible" | "unfurl.configurators.ansible.AnsibleConfigurator" => {
            Arc::new(AnsibleConfigurator)
        }
        _ => return None,
    })
}

/// Selects the configurator of an operation, and returns it with the inputs. A plain command adds to
/// these.
pub fn choose(operation: &Operation) -> Result<(Arc<dyn Configurator>, Map), ChooseError> {
    let inputs = operation.inputs.clone();
    let Some(implementation) = &operation.implementation else {
        return Err(ChooseError::NoImplementation);
    };
    match &implementation.kind {
        ImplementationKind::Configurator(name) => {
            let inputs = match &**name {
                "Task" | "unfurl.configurators.task.TaskConfigurator"
                    if !implementation.is_local() =>
                {
                    return Err(ChooseError::TaskOnRemoteHost);
                }
                "Cmd" | "unfurl.configurators.CmdConfigurator" => {
                    let inputs = with_cmd(inputs);
                    if !implementation.is_local() {
                        return Ok((Arc::new(ShellConfigurator::on_operation_host()), inputs));
                    }
                    inputs
                }
                _ => inputs,
            };
            let found = find_configurator(name).map(|configurator| (configurator, inputs));
            found.ok_or_else(|| ChooseError::Unknown {
                name: name.to_string(),
                from: artifact_suffix(implementation),
            })
        }
        ImplementationKind::Command(command) => {
            Ok(shell_for_command(implementation, command, inputs))
        }
        ImplementationKind::Unsupported(class) => Err(ChooseError::PythonClass {
            class: class.to_string(),
            from: artifact_suffix(implementation),
        }),
        ImplementationKind::Artifact(artifact) => Err(ChooseError::Artifact(artifact.to_string())),
    }
}

/// Returns a message suffix with the artifact that names a configurator, if there is one.
fn artifact_suffix(implementation: &Implementation) -> String {
    let artifact = implementation.primary.as_ref();
    artifact.map_or_else(String::new, |artifact| {
        let (name, of) = (&artifact.name, &artifact.type_name);
        format!(" for artifact `{name}` of type `{of}`")
    })
}

fn shell_for_command(
    implementation: &Implementation,
    command: &str,
    inputs: Map,
) -> (Arc<dyn Configurator>, Map) {
    let shell = if implementation.is_local() {
        ShellConfigurator::local().with_script(Script::of(implementation))
    } else {
        ShellConfigurator::on_operation_host()
    };
    (Arc::new(shell), with_command(command, inputs))
}

fn with_cmd(inputs: Map) -> Map {
    match inputs.get("cmd").and_then(Value::as_str) {
        Some(command) if !command.is_empty() => {
            let command = command.to_owned();
            with_command(&command, inputs)
        }
        _ => inputs,
    }
}

/// Adds the `command` input. A single word is a program; anything else is a shell line.
fn with_command(command: &str, inputs: Map) -> Map {
    let command = command.trim_start();
    let plain = !command.is_empty()
        && command
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
    let shell = inputs.get("shell").map_or(!plain, Value::is_truthy);
    let value = if shell {
        Value::from(command)
    } else {
        Value::list([Value::from(command)])
    };
    let mut all = Map::from_iter([("command".into(), value)]);
    all.extend(inputs);
    all
}
