//! The text of a node template that Terraform deploys.

use super::writer::TemplateWriter;
use crate::ops::terraform_module::{ModuleVariable, TerraformModule};
use crate::value::Value;

/// A module that needs nothing but Terraform.
const EXAMPLE: &str = r#"variable "text" {
  type = string
}

# This resource exists in the state of Terraform only. Replace it by what you want to deploy.
resource "terraform_data" "example" {
  input = var.text
}

output "text" {
  value = terraform_data.example.output
}
"#;

/// The value of a variable of the module.
#[derive(Debug, Clone, PartialEq)]
pub struct VariableValue {
    pub name: String,
    pub value: Value,
}

/// Everything about a node template for a module in a folder.
#[derive(Debug)]
pub struct TerraformNode<'a> {
    /// The folder of the module, from the folder of the ensemble.
    pub folder: &'a str,
    pub module: &'a TerraformModule,
    pub variables: &'a [VariableValue],
    /// The first comment of the template.
    pub about: &'a str,
}

/// Returns the lines of a node template for a module in a folder, without its name.
pub fn terraform_template(node: &TerraformNode<'_>) -> String {
    let mut writer = TemplateWriter::default();
    writer.comment(node.about);
    write_template(&mut writer, &node.module.outputs_to_map(), |writer| {
        writer.comment("The folder of the module, from the folder of this file.");
        writer.entry("main", &Value::from(node.folder));
        write_variables(writer, node);
        write_state(writer);
    });
    writer.finish()
}

/// Returns the lines of a node template with an example of a module, without its name.
pub(super) fn example_template(text: &Value) -> String {
    let mut writer = TemplateWriter::default();
    writer.comment(
        "Terraform creates this node on `unfurl deploy` and destroys it on `unfurl teardown`.",
    );
    write_template(&mut writer, &["text".to_owned()], |writer| {
        writer.comment("The module. The path of a folder with `.tf` files works, too.");
        writer.block_text("main", EXAMPLE);
        writer.comment("Values of the variables. Expressions work, such as `{get_input: region}`.");
        writer.section("tfvars", |writer| writer.entry("text", text));
        write_state(writer);
    });
    writer.finish()
}

fn write_template(
    writer: &mut TemplateWriter,
    outputs: &[String],
    inputs: impl FnOnce(&mut TemplateWriter),
) {
    writer.line("type: tosca.nodes.Root");
    writer.section("interfaces", |writer| {
        writer.section("defaults", |writer| {
            writer.line("implementation: Terraform");
            writer.section("inputs", inputs);
        });
        writer.section("Standard", |writer| {
            writer.section("operations", |writer| {
                write_outputs(writer, outputs);
                writer.line("delete:");
            });
        });
        writer.section("Install", |writer| {
            writer.section("operations", |writer| {
                writer.comment("`unfurl check` compares the resources with the module.");
                writer.line("check:");
            });
        });
    });
}

fn write_outputs(writer: &mut TemplateWriter, outputs: &[String]) {
    if outputs.is_empty() {
        return writer.line("configure:");
    }
    writer.section("configure", |writer| {
        writer.comment("Outputs of the module, and the attributes of the node that they set.");
        writer.section("outputs", |writer| {
            for name in outputs {
                writer.entry(name, &Value::from(name.as_str()));
            }
        });
    });
}

fn write_variables(writer: &mut TemplateWriter, node: &TerraformNode<'_>) {
    let variables = &node.module.variables;
    if variables.is_empty() && node.variables.is_empty() {
        return;
    }
    let given = |name: &str| node.variables.iter().find(|value| value.name == name);
    writer.comment("Values of the variables. Expressions work, such as `{get_input: region}`.");
    let unset: Vec<&ModuleVariable> = variables
        .iter()
        .filter(|it| given(&it.name).is_none())
        .collect();
    if node.variables.is_empty() {
        writer.line("tfvars: {}");
    } else {
        writer.section("tfvars", |writer| {
            for VariableValue { name, value } in node.variables {
                let variable = node.module.variable(name);
                if let Some(text) = variable.and_then(|it| it.description.as_deref()) {
                    writer.comment(text);
                }
                writer.entry(name, value);
            }
        });
    }
    if !unset.is_empty() {
        let names: Vec<String> = unset.iter().map(|it| format!("`{}`", it.name)).collect();
        writer.comment(&format!(
            "These keep the defaults of the module: {}.",
            names.join(", ")
        ));
    }
}

fn write_state(writer: &mut TemplateWriter) {
    writer.comment(
        "The state is kept encrypted in `active/secrets`. `artifacts` encrypts sensitive values only.",
    );
    writer.line("stateLocation: secrets");
}

impl TerraformModule {
    /// Returns the names of the outputs that become attributes.
    fn outputs_to_map(&self) -> Vec<String> {
        self.outputs
            .iter()
            .map(|output| output.name.clone())
            .collect()
    }
}
