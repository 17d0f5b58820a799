//! The command `state doc`: shows the state functions, and the functions, filters and grains of templates.

use serde_json::json;

use crate::cli::args::format::HostOutput;
use crate::cli::args::state::DocArgs;
use crate::cli::output::Context;
use crate::ops::Failure;
use crate::states::reference::{
    GRAINS, describe, describe_modules, function_name, reference, reversal, state_functions,
};
use crate::states::{MODULES, StateFunction, StateModule, find};
use crate::text::did_you_mean;
use crate::ui::{Table, nested};
use crate::value::Value;

/// The topics besides the state modules.
const TOPICS: [&str; 3] = ["functions", "filters", "grains"];

/// Runs `state doc` and returns the exit code.
pub(in crate::cli) fn doc(args: &DocArgs, cx: &Context) -> Result<u8, Failure> {
    let shown = match args.name.as_deref() {
        None => Shown::All,
        Some(name) => Shown::find(name)?,
    };
    match args.output {
        HostOutput::Json => cx.output.json(&json!(shown.data())),
        HostOutput::Text => {
            let layout = cx.output.table_layout();
            let text = match &shown {
                Shown::All => modules_table(MODULES).render(layout),
                Shown::Module(module) => modules_table(&[module]).render(layout),
                Shown::Topic("grains") => {
                    let mut table = Table::new(&["Grain", "Meaning"]).prose(1);
                    for (name, about) in GRAINS {
                        table.row([*name, *about]);
                    }
                    table.render(layout)
                }
                Shown::Function(module, function) => {
                    function_table(module, function).render(layout)
                }
                Shown::Topic(_) => {
                    let mut text = String::new();
                    nested(&shown.data(), 0, &mut text);
                    text
                }
            };
            cx.output.print_result(&text);
        }
    }
    Ok(0)
}

/// The part of the reference to show.
enum Shown {
    All,
    Module(&'static StateModule),
    Function(&'static StateModule, &'static StateFunction),
    Topic(&'static str),
}

impl Shown {
    /// Finds a module, a state function or a topic by its name.
    fn find(name: &str) -> Result<Self, Failure> {
        if let Some(topic) = TOPICS.iter().find(|topic| **topic == name) {
            return Ok(Self::Topic(topic));
        }
        let (module, function) = name.split_once('.').unwrap_or((name, ""));
        match find(module, function) {
            (Some(module), Some(function)) => Ok(Self::Function(module, function)),
            (Some(module), None) if function.is_empty() => Ok(Self::Module(module)),
            _ => Err(unknown(name)),
        }
    }

    fn data(&self) -> Value {
        match self {
            Self::All => reference(),
            Self::Module(module) => describe_modules(&[module]),
            Self::Function(module, function) => {
                Value::map([(function_name(module, function), describe(module, function))])
            }
            Self::Topic(topic) => reference().get(topic).cloned().unwrap_or_default(),
        }
    }
}

fn unknown(name: &str) -> Failure {
    let functions = state_functions(MODULES);
    let mut names: Vec<String> = functions
        .map(|(module, function)| function_name(module, function))
        .collect();
    names.extend(MODULES.iter().map(|module| module.name.to_owned()));
    names.extend(TOPICS.map(str::to_owned));
    let similar = did_you_mean(name, names.iter().map(String::as_str));
    let hint = similar.unwrap_or_else(|| "`unfurl state doc` lists all state functions".to_owned());
    let message = format!("there is no state module or state function `{name}`");
    Failure::usage_with(message, &hint)
}

/// Returns a table of the properties of a state function.
fn function_table(module: &StateModule, function: &StateFunction) -> Table {
    let mut table = Table::new(&[&function_name(module, function), function.about]).prose(1);
    let required: Vec<_> = function.required().collect();
    table.row(["required", &required.join(" ")]);
    let optional: Vec<_> = function.optional().filter(|name| *name != "*").collect();
    table.row(["optional", &optional.join(" ")]);
    if function.takes_any() {
        table.row(["others", "any other argument is taken"]);
    }
    if module.watch.is_none() {
        table.row(["watch", "counts as `require`"]);
    }
    table.row(["on removal", &reversal(module, function)]);
    table
}

/// Returns a table of the state functions of some modules.
fn modules_table(modules: &[&StateModule]) -> Table {
    let mut table = Table::new(&["State", "Description", "Required arguments"])
        .prose(1)
        .prose(2);
    for (module, function) in state_functions(modules) {
        let required: Vec<_> = function.required().collect();
        let name = function_name(module, function);
        table.row([&name, function.about, &required.join(" ")]);
    }
    table
}
