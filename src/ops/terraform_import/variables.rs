//! The values of a module's variables for a node template.

use crate::expr::needs_evaluation;
use crate::ops::add::{VariableValue, value_of_text};
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::terraform_module::TerraformModule;
use crate::value::{Map, Value};

/// The values of variables, and remarks about them.
#[derive(Debug, Default)]
pub(super) struct ImportedVariables {
    pub(super) values: Vec<VariableValue>,
    pub(super) notes: Vec<String>,
}

/// Returns the values that a node template needs. `from_files` are those of the folder's files, `given` those of the command
/// line. `has_secret` tells whether the project has a secret of a name.
///
/// # Errors
///
/// A value is missing, or a sensitive value is not among the secrets of the project.
pub(super) fn imported_variables(
    module: &TerraformModule,
    from_files: &Map,
    given: &[(String, String)],
    has_secret: &dyn Fn(&str) -> bool,
) -> Result<ImportedVariables, Failure> {
    if let Some((name, _)) = given
        .iter()
        .find(|(name, _)| module.variable(name).is_none())
    {
        let message = format!("the module has no variable `{name}`");
        return Err(Failure::usage_with(
            message,
            "look for its name in the files of the module",
        ));
    }
    let mut all = ImportedVariables::default();
    let (mut missing, mut unset) = (Vec::new(), Vec::new());
    for variable in &module.variables {
        let name = variable.name.as_str();
        let text = given.iter().find(|(given, _)| given == name);
        let from_file = || from_files.get(name).cloned().map(literal);
        let value = text.map(|(_, text)| value_of_text(text)).or_else(from_file);
        let value = match value {
            None if !variable.is_required => continue,
            _ if variable.is_sensitive => {
                if !has_secret(name) {
                    unset.push(name);
                }
                Value::map([("eval", Value::map([("secret", Value::from(name))]))])
            }
            Some(value) => value,
            None => {
                missing.push(name);
                continue;
            }
        };
        all.values.push(VariableValue {
            name: name.to_owned(),
            value,
        });
    }
    refuse_incomplete(&missing, &unset)?;
    all.notes.extend(undeclared_note(module, from_files));
    Ok(all)
}

/// Refuses variables without a value, and sensitive ones that are no secrets of the project.
fn refuse_incomplete(missing: &[&str], unset: &[&str]) -> Result<(), Failure> {
    if let Some(first) = missing.first() {
        let message = format!("the module needs a value for {}", quoted(missing));
        let help = format!("add `--var {first} VALUE`, or `--var-file FILE`");
        return Err(Failure::usage_with(message, &help));
    }
    if let Some(first) = unset.first() {
        let message = format!(
            "sensitive variables of the module are no secrets of the project: {}",
            quoted(unset)
        );
        let help = format!(
            "run `unfurl secret set {first}` with the value that Terraform used, then import again"
        );
        return Err(Failure::new(FailureKind::Refused, message, Some(help)));
    }
    Ok(())
}

/// Returns a note about values of variables that the module does not declare.
fn undeclared_note(module: &TerraformModule, from_files: &Map) -> Option<String> {
    let unknown: Vec<&str> = from_files
        .keys()
        .map(|name| &**name)
        .filter(|name| module.variable(name).is_none())
        .collect();
    (!unknown.is_empty()).then(|| {
        format!(
            "values of variables that the module does not declare were left out: {}",
            quoted(&unknown)
        )
    })
}

/// Returns a value that no expression or template in it changes.
fn literal(value: Value) -> Value {
    if needs_evaluation(&value) {
        return Value::map([("q", value)]);
    }
    value
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
