//! The text of a node template that Ansible sets up.

use super::writer::TemplateWriter;
use crate::value::{Map, Value};

/// The parts of a node template that Ansible sets up.
#[derive(Debug, Default)]
pub(super) struct AnsibleNode {
    /// The path of the playbook, from the folder of the ensemble.
    pub(super) playbook: Option<String>,
    /// The path of the inventory, from the folder of the ensemble.
    pub(super) inventory: Option<String>,
    /// The variables for the playbook.
    pub(super) variables: Map,
}

/// Returns the lines of a node template, without its name.
pub(super) fn ansible_template(node: &AnsibleNode) -> String {
    let mut writer = TemplateWriter::default();
    writer.comment(
        "Ansible sets this node up: `unfurl deploy` runs the playbook, and `unfurl deploy --dryrun` runs it with `--check --diff`.",
    );
    writer.line("type: tosca.nodes.Root");
    writer.section("interfaces", |writer| {
        writer.section("Standard", |writer| {
            writer.section("operations", |writer| {
                writer.section("configure", |writer| write_configure(writer, node));
            });
        });
    });
    writer.finish()
}

fn write_configure(writer: &mut TemplateWriter, node: &AnsibleNode) {
    writer.line("implementation: Ansible");
    writer.section("inputs", |writer| {
        match &node.playbook {
            Some(path) => {
                writer.comment("The playbook, from the folder of this file.");
                writer.entry("playbook", &Value::from(path.as_str()));
            }
            None => write_example(writer),
        }
        match &node.inventory {
            Some(path) => writer.entry("inventory", &Value::from(path.as_str())),
            None => writer.comment(
                "The inventory is made of the node's host, or is this machine. `inventory: hosts.ini` uses a file instead.",
            ),
        }
        if !node.variables.is_empty() {
            writer.comment("Variables of the playbook.");
            writer.entry("arguments", &Value::from(node.variables.clone()));
        }
    });
    if node.playbook.is_none() {
        writer.comment("Facts of the playbook, and the attributes of the node that they set.");
        writer.section("outputs", |writer| {
            writer.line("greeting: greeting");
        });
    }
}

fn write_example(writer: &mut TemplateWriter) {
    writer.comment(
        "Tasks, or plays with `hosts`. `q` keeps the templates for Ansible. The path of a file works, too.",
    );
    writer.section("playbook", |writer| {
        writer.section("q", |writer| {
            for line in [
                "- name: Greet the host",
                "  ansible.builtin.set_fact:",
                "    greeting: hello {{ inventory_hostname }}",
            ] {
                writer.line(line);
            }
        });
    });
}
