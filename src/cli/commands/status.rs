//! The command `status`: shows the recorded instances of an ensemble as a tree.

use clap::Args;

use crate::cli::args::format::OutputFormat;
use crate::cli::commands::job::show_trace;
use crate::cli::output::{Context, Output};
use crate::cli::request::session::{session_options, warn_interrupted_job};
use crate::ops::status::StatusAnswer;
use crate::ops::{self, Failure, QueryRequest};
use crate::topology::{Creator, Topology};
use crate::ui::{StatusLine, status_text};
use crate::value::{Handle, Map, Value};

/// The options of the command `status`.
#[derive(Debug, Args)]
pub(in crate::cli) struct StatusArgs {
    /// The ensemble
    #[arg(default_value = "")]
    ensemble: String,
    /// Print the result of this expression instead
    #[arg(long, value_name = "EXPRESSION")]
    query: Option<String>,
    /// Print the attributes that the query reads: 1 those it names, 2 also those they are computed
    /// from
    #[arg(long, value_name = "N", default_value_t = 0)]
    trace: u8,
    /// Print this output instead, although it is a secret, to the standard output only; may be given
    /// more than once
    #[arg(long, value_name = "OUTPUT", conflicts_with = "query")]
    reveal: Vec<String>,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Shows the recorded status and returns the exit code.
pub(in crate::cli) fn status(args: &StatusArgs, cx: &Context) -> Result<u8, Failure> {
    let json = args.output == OutputFormat::Json;
    let options = session_options(&args.ensemble, args.use_environment.as_deref(), cx);
    warn_interrupted_job(&options, &cx.output);
    let query = args.query.as_ref().map(|expression| QueryRequest {
        expression: expression.clone(),
        depth: args.trace,
    });
    match ops::status::status(&options, query.as_ref(), &args.reveal)? {
        (_, StatusAnswer::Outputs(outputs)) => show_outputs(&outputs, json, &cx.output),
        (_, StatusAnswer::Query(answer)) => {
            show_trace(&answer, &cx.output);
            let (query, result) = (answer.expression, answer.value);
            if json {
                cx.output
                    .json(&serde_json::json!({ "query": query, "result": result }));
            } else {
                cx.output
                    .print_result(&format!("Query: {query}\nResult:\n{}\n", result.redacted()));
            }
        }
        (topology, StatusAnswer::None) => {
            let lines = lines(&topology);
            match args.output {
                OutputFormat::Json => cx.output.json(&tree(&topology)),
                OutputFormat::Text => cx.output.print_result(&status_text(&lines)),
                OutputFormat::None => {}
            }
        }
    }
    Ok(0)
}

/// Prints outputs with their secrets: a single one as it is, several with their names.
fn show_outputs(outputs: &Map, is_json: bool, output: &Output) {
    if is_json {
        return output.json(&serde_json::json!({ "outputs": Value::from(outputs.clone()) }));
    }
    let mut text = String::new();
    for (name, value) in outputs {
        if outputs.len() > 1 {
            text.push_str(&format!("{name}: "));
        }
        text.push_str(&format!("{value}\n"));
    }
    output.print_result(&text);
}

fn lines(topology: &Topology) -> Vec<StatusLine> {
    let mut lines = vec![StatusLine {
        kind: "TopologyInstance",
        name: "root".to_owned(),
        marks: vec!["", "computed"],
        ..StatusLine::default()
    }];
    for handle in topology.nodes() {
        let entity = topology.entity(handle);
        let depth = depth_of(topology, handle);
        let is_virtual = entity
            .node()
            .is_some_and(|node| node.template.has_directive("virtual"));
        let mut marks = Vec::new();
        if entity.computed {
            marks.push("computed");
        }
        if is_virtual {
            marks.push("virtual");
        }
        lines.push(StatusLine {
            depth,
            kind: "NodeInstance",
            name: entity.name.to_string(),
            type_name: None,
            marks,
            local: entity.local,
            effective: Some(topology.effective(handle)),
            state: entity.state,
            created: entity
                .created
                .as_ref()
                .map_or(Value::Null, Creator::to_value),
        });
    }
    lines
}

/// Returns how many ancestors an instance has.
///
/// The instances of a substituted topology count as children of the node that it substitutes.
fn depth_of(topology: &Topology, handle: Handle) -> usize {
    let mut depth = 0;
    let mut next = Some(handle);
    while let Some(at) = next {
        depth += topology.ancestors(at).len() - 1;
        next = topology.outer_entity(topology.root_of(at));
    }
    depth
}

fn tree(topology: &Topology) -> serde_json::Value {
    let instances = topology
        .nodes()
        .into_iter()
        .map(|handle| instance(topology, handle));
    serde_json::json!({ "instances": instances.collect::<Vec<_>>() })
}

fn instance(topology: &Topology, handle: Handle) -> serde_json::Value {
    let entity = topology.entity(handle);
    let parent = entity.parent.filter(|parent| *parent != entity.scope);
    let parent = parent.or_else(|| topology.outer_entity(entity.scope));
    serde_json::json!({
        "name": entity.name.as_str(),
        "template": entity.template_name(),
        "type": entity.type_name(),
        "parent": parent.map(|parent| topology.entity(parent).name.to_string()),
        "status": entity.local.map(crate::name::Status::as_str),
        "effective": topology.effective(handle).as_str(),
        "state": entity.state.map(crate::name::NodeState::as_str),
        "created": entity.created.as_ref().map(Creator::to_value),
        "lastConfigChange": entity.last_config_change.map(|id| id.to_string()),
    })
}
