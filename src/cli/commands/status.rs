//! The command `status`: shows the recorded instances of an ensemble as a tree.

use std::time::Duration;

use clap::Args;

use crate::cli::args::format::{OutputFormat, TextFormatArg, positive_duration};
use crate::cli::commands::job::show_trace;
use crate::cli::output::{Context, Output, relative};
use crate::cli::request::session::{session_options, warn_interrupted_job};
use crate::diagnostic::SourceLocator;
use crate::job::LogLevel;
use crate::name::{NodeState, Status};
use crate::ops::status::{RecordedStatus, StatusAnswer};
use crate::ops::{self, Failure, QueryRequest, SessionOptions};
use crate::system::clock;
use crate::system::console::{self, StandardStream};
use crate::topology::{Creator, Topology};
use crate::ui::{StatusLine, drift_note, drift_note_json, pretty, status_tree, upstream, words};
use crate::value::{Handle, Map, Value};

/// The maximum number of characters of what a check said.
const MAX_FOUND: usize = 200;

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
    #[command(flatten)]
    text: TextFormatArg,
    /// Show the instances again when they have changed, until Ctrl-C; look every 2 seconds, or at this
    /// interval
    #[arg(
        long,
        value_name = "DURATION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        value_parser = positive_duration,
        conflicts_with_all = ["query", "reveal"]
    )]
    watch: Option<Duration>,
}

/// Shows the recorded status and returns the exit code.
pub(in crate::cli) fn status(args: &StatusArgs, cx: &Context) -> Result<u8, Failure> {
    let options = session_options(&args.ensemble, args.use_environment.as_deref(), cx);
    warn_interrupted_job(&options, &cx.output);
    let query = args.query.as_ref().map(|expression| QueryRequest {
        expression: expression.clone(),
        depth: args.trace,
    });
    if let Some(interval) = args.watch {
        return watch(args, &options, interval, cx);
    }
    let status = ops::status::status(&options, query.as_ref(), &args.reveal)?;
    let json = args.output == OutputFormat::Json;
    match status.answer {
        StatusAnswer::Outputs(outputs) => show_outputs(&outputs, json, &cx.output),
        StatusAnswer::Query(answer) => {
            let mut query = show_trace(&answer, &cx.output);
            if json {
                let mut answer = serde_json::json!({});
                query.add_to(&mut answer);
                cx.output.json(&answer);
            } else {
                let is_unfurl = args.text.is_unfurl();
                query.result = in_words(&query.expression, query.result.redacted(), is_unfurl);
                cx.output.print_result(&if is_unfurl {
                    format!("Query: {}\nResult:\n{}\n", query.expression, query.result)
                } else {
                    query.text()
                });
            }
        }
        StatusAnswer::None => {
            for problem in &status.drift.problems {
                cx.output.print_stderr(&format!("note: {problem}\n"));
            }
            let text = instances_text(args, &status, true, &cx.output);
            cx.output.print_styled_result(&text);
        }
    }
    Ok(0)
}

/// Replaces the numbers of statuses and states by their words, which Unfurl writes as `Status.ok`.
fn in_words(query: &str, result: Value, is_unfurl: bool) -> Value {
    let word = |value: &Value| {
        let Value::Int(number) = value else {
            return None;
        };
        let (class, word) = match query.rsplit("::").next()? {
            ".status" => ("Status", Status::from_number(*number)?.as_str()),
            ".state" => ("NodeState", NodeState::from_number(*number)?.as_str()),
            _ => return None,
        };
        Some(Value::from(if is_unfurl {
            format!("{class}.{word}")
        } else {
            word.to_owned()
        }))
    };
    match &result {
        Value::List(items) => Value::list(
            items
                .iter()
                .map(|it| word(it).unwrap_or_else(|| it.clone())),
        ),
        one => word(one).unwrap_or(result),
    }
}

/// Shows the instances again whenever they have changed, until the user interrupts the command.
///
/// On a terminal, the screen is cleared before. Elsewhere each change is one more document.
fn watch(
    args: &StatusArgs,
    options: &SessionOptions,
    interval: Duration,
    cx: &Context,
) -> Result<u8, Failure> {
    let is_terminal = StandardStream::Stdout.is_terminal();
    let mut last = None;
    loop {
        match ops::status::status(options, None, &[]) {
            Ok(status) => {
                let text = instances_text(args, &status, is_terminal, &cx.output);
                if last.as_ref() != Some(&text) {
                    if is_terminal {
                        console::clear_screen();
                    }
                    let written = console::write_styled(StandardStream::Stdout, &text);
                    if written.is_err() {
                        // The reader has gone.
                        return Ok(0);
                    }
                    last = Some(text);
                }
            }
            Err(failure) if last.is_none() => return Err(failure),
            // A person may be editing the file. The next round shows the instances again.
            Err(failure) => {
                if last.as_deref() != Some("") {
                    cx.output.diagnostics(&failure.problems, &failure.sources);
                    last = Some(String::new());
                }
            }
        }
        std::thread::sleep(interval);
    }
}

/// Returns the instances in the format of the options. `with_age` says whether the tree has ages.
fn instances_text(
    args: &StatusArgs,
    status: &RecordedStatus,
    with_age: bool,
    output: &Output,
) -> String {
    let topology = &status.topology;
    match args.output {
        OutputFormat::Json => format!("{}\n", pretty(&tree(status))),
        OutputFormat::Text if args.text.is_unfurl() => {
            let verbose = output.level <= LogLevel::Verbose;
            upstream::status_text(&lines(status), verbose)
        }
        OutputFormat::Text => {
            let mut lines = lines(status);
            for line in lines.iter_mut().filter(|_| !with_age) {
                line.age = None;
            }
            let is_empty = topology.nodes().is_empty();
            let hint = if is_empty {
                "`unfurl deploy` creates those of the model.\n"
            } else {
                ""
            };
            let tree = status_tree(&lines, output.width, output.result_paint());
            format!("{tree}{hint}")
        }
        OutputFormat::None => String::new(),
    }
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

fn lines(status: &RecordedStatus) -> Vec<StatusLine> {
    let topology = &status.topology;
    let now = clock::now();
    let sources = relative(&status.sources);
    let places = SourceLocator::new(&sources);
    let line = |handle| {
        let entity = topology.entity(handle);
        let changed = entity.last_change().and_then(|id| id.time());
        let age = changed.map(|time| now.duration_since(time));
        StatusLine {
            depth: depth_of(topology, handle) - 1,
            name: entity.name.to_string(),
            type_name: entity.type_name().to_owned(),
            is_virtual: entity
                .node()
                .is_some_and(|node| node.template.has_directive("virtual")),
            is_computed: entity.computed,
            local: entity.local,
            effective: topology.effective(handle),
            state: entity.state,
            created: entity
                .created
                .as_ref()
                .map_or(Value::Null, Creator::to_value),
            age: age.map(|age| Duration::try_from(age).unwrap_or_default()),
            problem: problem(status, handle, &places),
            drift: drift_note(&status.drift.alarms_of(topology, handle)),
        }
    };
    topology.nodes().into_iter().map(line).collect()
}

/// Returns the reason for which an instance is not ok: its last failure, or the instance to blame.
fn problem(status: &RecordedStatus, handle: Handle, places: &SourceLocator<'_>) -> Option<String> {
    let topology = &status.topology;
    let failure = status.failures.get(&topology.unique_key(handle));
    if let Some(failure) = failure.filter(|failure| !failure.is_blocked) {
        let why = failure.messages.join("; ");
        let colon = if why.is_empty() { "" } else { ": " };
        let (operation, job) = (&failure.operation, failure.job);
        if failure.is_finding {
            let why = words::shorten(&why, MAX_FOUND);
            return Some(format!("{operation} found{colon}{why} (job {job})"));
        }
        let place = places.locate(topology.operation_span(handle, operation));
        let place = place.map_or_else(String::new, |place| format!(", {place}"));
        return Some(format!("{operation} failed{colon}{why} (job {job}{place})"));
    }
    if let Some(failure) = failure {
        let requirements = topology.operational_dependencies(handle).into_iter();
        let targets = requirements.map(|of| topology.target_of(of).unwrap_or(of));
        let mut failed = targets.filter(|of| {
            let failure = status.failures.get(&topology.unique_key(*of));
            failure.is_some_and(|failure| !failure.is_blocked)
        });
        return Some(match failed.next() {
            Some(cause) => format!("not run because `{}` failed", topology.entity(cause).name),
            None => format!("not run: {}", failure.messages.join("; ")),
        });
    }
    let is_ready = topology.effective(handle) == Status::Ok;
    let blamed = topology.blamed_for_status(handle).filter(|_| !is_ready)?;
    let blamed = topology.target_of(blamed).unwrap_or(blamed);
    let (name, effective) = (&topology.entity(blamed).name, topology.effective(blamed));
    Some(format!("because `{name}` is {effective}"))
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

fn tree(status: &RecordedStatus) -> serde_json::Value {
    let topology = &status.topology;
    let sources = relative(&status.sources);
    let places = SourceLocator::new(&sources);
    let instances = topology.nodes().into_iter().map(|handle| {
        let mut json = instance(topology, handle);
        if let Some(problem) = problem(status, handle, &places) {
            json["problem"] = problem.into();
        }
        if let Some(note) = drift_note_json(&status.drift.alarms_of(topology, handle)) {
            json["drift"] = note;
        }
        json
    });
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
        "status": entity.local.map(Status::as_str),
        "effective": topology.effective(handle).as_str(),
        "state": entity.state.map(NodeState::as_str),
        "created": entity.created.as_ref().map(Creator::to_value),
        "lastConfigChange": entity.last_config_change.map(|id| id.to_string()),
    })
}
