//! The command `task`: runs named tasks of `tasks.yaml` over hosts, or lists them.

use std::path::PathBuf;
use std::rc::Rc;

use clap::{ArgAction, Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::cli::args::format::HostOutput;
use crate::cli::args::host::HostOptions;
use crate::cli::commands::ad_hoc::perform_shown;
use crate::cli::commands::task_import::{self, TaskImportArgs};
use crate::cli::output::{Context, Output, relative, shown_path};
use crate::cli::prompt::AnswerSource;
use crate::cli::request::given_values::GivenValues;
use crate::cli::request::hosts::set_variables;
use crate::cli::request::yaml_maps::map_of_text;
use crate::diagnostic::Sources;
use crate::fleet::tasks::{AdHocTask, LoadedTasks, TasksRequest};
use crate::host::ExecutorConfiguration;
use crate::ops::tasks::load;
use crate::ops::watch_signals;
use crate::ops::{Failure, FailureKind};
use crate::tasks::{RunOrder, Task, TaskCall};
use crate::value::{Map, Value};

/// Run named tasks over hosts
///
/// The tasks are defined in `tasks.yaml`, in the current folder or a folder above it. Arguments
/// follow the name of a task after a colon: `deploy:1.2,env=prod,hosts=web1;web2`. `host`, `hosts`,
/// `role`, `roles` and `exclude_hosts` replace the hosts of the task. The words after `--` are a
/// command that runs after the tasks.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(in crate::cli) struct TaskArgs {
    #[command(subcommand)]
    action: Option<TaskCommand>,
    /// The tasks, each as `NAME` or `NAME:ARGUMENTS`; by default, the default task
    #[arg(value_name = "TASK")]
    calls: Vec<String>,
    /// List the tasks
    #[arg(short, long)]
    list: bool,
    /// Show the details of a task
    #[arg(short, long, value_name = "TASK", conflicts_with = "list")]
    details: Option<String>,
    /// The file with the tasks, or its folder
    #[arg(short, long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Skip tasks that do not exist
    #[arg(long)]
    skip_unknown_tasks: bool,
    /// Variables for templates: `NAME=VALUE`, or `NAME` for true; separated by commas
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A variable for templates. `@FILE` takes the text of a file, `-` the standard input, and `@@` begins a
    /// text with `@`. `NAME=VALUE` can be one word
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], action = ArgAction::Append)]
    var: Vec<String>,
    /// A YAML or JSON file with variables for templates, `-` for the standard input; may be given more than
    /// once, and later files win
    #[arg(long, value_name = "FILE")]
    var_file: Vec<PathBuf>,
    #[command(flatten)]
    hosts: HostOptions,
    /// The command that runs after the tasks
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The commands about tasks files.
#[derive(Debug, Subcommand)]
enum TaskCommand {
    Import(TaskImportArgs),
}

/// Runs or shows tasks and returns the exit code.
///
/// `whole` builds the clap command of the whole program. The help of `task` is printed from it if
/// no task is named and no default task exists.
pub(in crate::cli) fn task(
    args: &TaskArgs,
    cli_command: fn() -> clap::Command,
    cx: &Context,
) -> Result<u8, Failure> {
    if let Some(TaskCommand::Import(args)) = &args.action {
        return task_import::import(args, cx);
    }
    let is_json = args.hosts.output == HostOutput::Json;
    let loaded = load(args.file.as_deref(), &cx.global.allow)?;
    if args.list {
        list(&loaded, is_json, &cx.output)
    } else if let Some(name) = &args.details {
        details(&loaded, name, is_json, &cx.output)
    } else {
        run(args, loaded, cli_command, cx)
    }
}

fn run(
    args: &TaskArgs,
    loaded: LoadedTasks,
    whole: fn() -> clap::Command,
    cx: &Context,
) -> Result<u8, Failure> {
    let request = request(args, loaded, cx)?;
    if request.calls.is_empty() && request.command.is_none() {
        cx.output.print_stderr(&help(whole()));
        return Ok(1);
    }
    perform_shown(&request, args.hosts.output, cx)
}

/// Builds the request from the options and the loaded tasks.
fn request(args: &TaskArgs, loaded: LoadedTasks, cx: &Context) -> Result<TasksRequest, Failure> {
    let mut calls = Vec::new();
    for text in &args.calls {
        calls.push(TaskCall::parse(text).map_err(Failure::usage)?);
    }
    let command = args.command.join(" ");
    let command = (!command.is_empty()).then(|| AdHocTask::Command {
        options: Box::default(),
        text: command,
        sudo: args.hosts.order.sudo.clone(),
    });
    if calls.is_empty() && command.is_none() {
        let default = loaded.tasks.default_task();
        calls.extend(default.map(|task| TaskCall::new(&*task.name)));
    }
    let known = args.hosts.fleet_hosts(AnswerSource::Stdin, cx)?;
    let mut options = args.hosts.options(&known)?;
    options.vars = variables(args, cx)?;
    options.switches.skip_unknown_tasks = args.skip_unknown_tasks;
    let configured = loaded.tasks.executors().iter().chain(&known.executors);
    let configured: Vec<&ExecutorConfiguration> = configured.collect();
    let chain = args.hosts.chain(&configured, &cx.output)?;
    Ok(TasksRequest {
        tasks: loaded.tasks,
        sources: loaded.sources,
        calls,
        command,
        options,
        resolver: Rc::clone(&known) as _,
        roles: known,
        chain,
        connections: args.hosts.connection.pool_limits(),
        allowed: cx.global.allow.clone(),
        interrupts: watch_signals(),
    })
}

/// Returns the variables of the command line: those of files, of `--set` and of `--var`, later ones first.
fn variables(args: &TaskArgs, cx: &Context) -> Result<Map, Failure> {
    let given = GivenValues::read(&args.var, &args.var_file, cx)?;
    let mut vars = Map::new();
    for file in &given.files {
        vars.extend(map_of_text(&file.path.display().to_string(), &file.text)?);
    }
    vars.extend(set_variables(&args.set).map_err(Failure::usage)?);
    let typed = given.variables.iter();
    vars.extend(typed.map(|it| (it.name.as_str().into(), Value::from(it.text.as_str()))));
    Ok(vars)
}

/// Renders the help of `task`, which is a subcommand of the whole command line.
fn help(mut whole: clap::Command) -> String {
    whole.build();
    let own = whole.find_subcommand_mut("task");
    own.map_or_else(String::new, |command| command.render_help().to_string())
}

/// Lists the tasks, one line each, with the first line of their description.
fn list(loaded: &LoadedTasks, is_json: bool, output: &Output) -> Result<u8, Failure> {
    if loaded.file.is_none() {
        let message = "there is no `tasks.yaml` here or in a folder above";
        let help = "`--file PATH` names a file with tasks, or its folder".to_owned();
        return Err(Failure::new(FailureKind::Refused, message, Some(help)));
    }
    if is_json {
        let tasks: Vec<Json> = loaded.tasks.iter().map(|task| task_json(task)).collect();
        output.json(&json!({ "tasks": tasks }));
        return Ok(0);
    }
    let width = loaded.tasks.iter().map(|task| task.name.chars().count());
    let width = width.max().unwrap_or(0);
    let mut text = String::new();
    for task in loaded.tasks.iter() {
        let line = format!("{:width$}  {}", task.name, task.summary());
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if let Some(file) = loaded.file.as_ref().filter(|_| text.is_empty()) {
        text = format!("There are no tasks in `{}`.\n", shown_path(file));
    }
    output.print_result(&text);
    Ok(0)
}

fn details(
    loaded: &LoadedTasks,
    name: &str,
    is_json: bool,
    output: &Output,
) -> Result<u8, Failure> {
    let Some(task) = loaded.tasks.find(name, "") else {
        let message = format!("there is no task `{name}`");
        let hint = loaded.tasks.hint(name);
        return Err(Failure::new(FailureKind::Refused, message, hint));
    };
    if is_json {
        output.json(&task_json(task));
        return Ok(0);
    }
    output.print_result(&task_text(task, &loaded.sources));
    Ok(0)
}

/// Describes a task in full as text.
fn task_text(task: &Task, sources: &Sources) -> String {
    let place = relative(sources).position(task.span);
    let place = place.map_or(String::new(), |place| {
        format!(" in {}:{}", place.path.display(), place.line)
    });
    let mut lines = vec![format!("Task `{}`{place}", task.name)];
    let description = task.description.lines();
    lines.extend(description.map(|line| format!("  {}", line.trim_end())));
    let mut arguments: Vec<String> = Vec::new();
    for (name, default) in &task.parameters.named {
        arguments.push(match default {
            Some(default) => format!("{name}={}", default.redacted()),
            None => name.to_string(),
        });
    }
    if task.parameters.extra {
        arguments.push("…".to_owned());
    }
    let order = match task.order {
        RunOrder::Inherited => "",
        RunOrder::Serial => "one host after the other",
        RunOrder::Parallel => "all hosts at the same time",
    };
    let once = if task.runs_once {
        "on the first host only"
    } else {
        ""
    };
    for (name, value) in [
        ("arguments", arguments.join(", ")),
        ("hosts", task.scope.hosts.join(", ")),
        ("roles", task.scope.roles.join(", ")),
        ("without", task.scope.exclude_hosts.join(", ")),
        ("order", order.to_owned()),
        ("runs", once.to_owned()),
        ("steps", task.steps.len().to_string()),
    ] {
        if !value.is_empty() {
            lines.push(format!("  {name}: {value}"));
        }
    }
    lines.join("\n") + "\n"
}

/// Describes a task in full as JSON.
fn task_json(task: &Task) -> Json {
    let arguments: serde_json::Map<String, Json> = task
        .parameters
        .named
        .iter()
        .map(|(name, default)| {
            let default = default.as_ref().map(Value::redacted);
            (name.to_string(), json!(default))
        })
        .collect();
    json!({
        "name": &*task.name,
        "description": task.description,
        "arguments": arguments,
        "extraArguments": task.parameters.extra,
        "hosts": task.scope.hosts,
        "roles": task.scope.roles,
        "excludeHosts": task.scope.exclude_hosts,
        "runsOnce": task.runs_once,
    })
}
