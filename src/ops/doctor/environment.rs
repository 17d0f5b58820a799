//! Checks the environment: the one that applies, its variables, and the inputs of the topology.

use std::collections::{BTreeMap, BTreeSet};

use super::check::{Check, DoctorReport};
use super::subject::{LoadedEnsemble, Subject};
use crate::tosca::ServiceTemplate;
use crate::value::{Map, Value};

/// The maximum depth at which values are searched for expressions.
const MAX_DEPTH: usize = 64;

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let Some(loaded) = subject.ensemble() else {
        return;
    };
    let environment = &loaded.session.environment;
    let message = match &environment.name {
        Some(name) => format!("`{name}` applies"),
        None => "the defaults apply".to_owned(),
    };
    report.push(Check::ok("environment", "environment", message));
    check_inputs(subject, loaded, report);
    for (name, is_passed_on) in missing_variables(subject, loaded) {
        let subject = "environment";
        let missing = if is_passed_on {
            let message = format!("the environment passes on `{name}`, which is not set");
            Check::warning("variables", subject, message)
        } else {
            let message = format!("an expression reads `{name}`, which is not set");
            Check::note("variables", subject, message)
        };
        report.push(missing.fix(format!("export {name}=VALUE")));
    }
}

fn check_inputs(subject: &Subject<'_>, loaded: &LoadedEnsemble, report: &mut DoctorReport) {
    let missing = loaded.session.missing_inputs();
    if missing.is_empty() {
        let count = loaded.topology.template().inputs.len();
        if count > 0 {
            let message = format!("all required inputs have values; inputs: {count}");
            report.push(Check::ok("inputs", "inputs", message));
        }
        return;
    }
    for name in missing {
        let message = format!("the required input `{name}` has no value");
        let help = "write it to `spec/inputs` of the ensemble or to `inputs` of the environment";
        let check = Check::error("inputs", "inputs", message).help(help);
        let command = subject.command(&format!("deploy --var input_{name} VALUE"));
        report.push(check.fix(command));
    }
}

/// Returns the variables without a value that expressions read without a default, and (with true) those that rules of
/// the environment pass on.
fn missing_variables(subject: &Subject<'_>, loaded: &LoadedEnsemble) -> BTreeMap<String, bool> {
    let mut passed_on = BTreeSet::new();
    let mut read = BTreeSet::new();
    for (rule, value) in &loaded.session.environment.variables {
        // `+NAME` with no value passes the variable of this process on.
        if let Some(name) = rule.strip_prefix('+')
            && (value.is_null() || value.as_str() == Some(""))
            && !name.contains(['*', '?', '!'])
        {
            passed_on.insert(name.to_owned());
        }
        add_variables(value, MAX_DEPTH, &mut read);
    }
    add_variables_of_model(&loaded.session.service, &mut read);
    let own = &loaded.session.environment.variables;
    let is_set =
        |name: &String| subject.env.get(name).is_some() || own.iter().any(|(rule, _)| rule == name);
    let read = read.into_iter().map(|name| (name, false));
    let passed_on = passed_on.into_iter().map(|name| (name, true));
    let mut missing: BTreeMap<_, _> = read.chain(passed_on).collect();
    missing.retain(|name, _| !is_set(name));
    missing
}

fn add_variables_of_model(service: &ServiceTemplate, read: &mut BTreeSet<String>) {
    let of_map = |map: &Map, read: &mut BTreeSet<String>| {
        map.values()
            .for_each(|value| add_variables(value, MAX_DEPTH, read));
    };
    for node in service.topology.nodes.values() {
        for property in node.properties.values() {
            add_variables(&property.value, MAX_DEPTH, read);
        }
        for operation in node.operations.iter().filter(|it| it.is_implemented()) {
            of_map(&operation.inputs, read);
            if let Some(implementation) = &operation.implementation {
                of_map(&implementation.environment, read);
            }
        }
    }
}

/// Adds the variables that `get_env: NAME` reads, without those that have a default.
fn add_variables(value: &Value, depth: usize, read: &mut BTreeSet<String>) {
    if depth == 0 {
        return;
    }
    if let Some(items) = value.as_list() {
        for item in items {
            add_variables(item, depth - 1, read);
        }
    }
    for (key, argument) in value.as_map().into_iter().flatten() {
        if &**key == "get_env" {
            let has_default = value.get("default").is_some();
            if let Some(name) = argument.as_str()
                && !has_default
                && is_variable(name)
            {
                read.insert(name.to_owned());
            }
            continue;
        }
        add_variables(argument, depth - 1, read);
    }
}

fn is_variable(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_part) && !name.as_bytes()[0].is_ascii_digit()
}
