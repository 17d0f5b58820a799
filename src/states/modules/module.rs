//! The state module `module`: runs functions of execution modules as states.
//!
//! Functions that only read are answered from facts ([`call_execution`]). Functions that change
//! something are listed in [`CHANGING_FUNCTIONS`] and run as commands. Both the legacy and the keyed
//! call syntax of Salt are supported.

use crate::states::modules::decision::{act_on_outputs, failure, unchanged};
use std::sync::Arc;

use crate::host::change::{Change, CommandRun};
use crate::host::fact::Domain;
use crate::host::{CapturedOutput, RunOutput};
use crate::states::command_args::{parse_setting, trimmed_output};
use crate::states::execution_modules::{ExecutionCall, call_execution, is_known};
use crate::states::{
    ChangeOutcome, ChangeSet, FactCache, Halt, Mode, StateCall, StateDecision, StateFunction,
    StateModule, StateOutcome, refuse,
};
use crate::text::quote_word;
use crate::value::{Map, Value};

pub(in crate::states) static MODULE: StateModule = StateModule {
    name: "module",
    functions: &[
        StateFunction::new("run", run)
            .about("Calls functions of execution modules.")
            .options("*")
            .irreversible(IRREVERSIBLE_REASON),
        StateFunction::new("wait", |_, _| unchanged(""))
            .about("Calls a function only if a watched state has changed.")
            .options("*")
            .irreversible(IRREVERSIBLE_REASON),
    ],
    watch: Some(run),
    aggregate: None,
};

const IRREVERSIBLE_REASON: &str = "the effects of the function are unknown";

/// A function that changes something: its name, its command, and the format of its return value.
type ChangingFunction = (&'static str, FunctionCommand, ReturnFormat);

/// The command that a function runs.
#[derive(Debug, Clone, Copy)]
enum FunctionCommand {
    /// The shell command given as argument.
    ShellCommand,
    /// The shell command given as argument, with standard error merged into standard output.
    ShellWithStderr,
    /// A fixed command in which `{}` stands for the path argument.
    OnPath(&'static str),
    /// A verb of the service manager, such as `restart`, for the service given as argument.
    Service(&'static str),
    Fixed(&'static str),
    /// A pause of the given number of seconds.
    Sleep,
}

/// The return value that is made from a command's result.
#[derive(Debug, Clone, Copy)]
enum ReturnFormat {
    Text,
    Code,
    /// A map of exit code, standard output and standard error.
    All,
    /// Whether the exit code is 0.
    Success,
}

static CHANGING_FUNCTIONS: &[ChangingFunction] = &[
    (
        "cmd.retcode",
        FunctionCommand::ShellCommand,
        ReturnFormat::Code,
    ),
    (
        "cmd.run",
        FunctionCommand::ShellWithStderr,
        ReturnFormat::Text,
    ),
    (
        "cmd.run_all",
        FunctionCommand::ShellCommand,
        ReturnFormat::All,
    ),
    (
        "cmd.run_stdout",
        FunctionCommand::ShellCommand,
        ReturnFormat::Text,
    ),
    (
        "cmd.shell",
        FunctionCommand::ShellWithStderr,
        ReturnFormat::Text,
    ),
    (
        "file.makedirs",
        FunctionCommand::OnPath(MAKEDIRS_COMMAND),
        ReturnFormat::Success,
    ),
    (
        "file.mkdir",
        FunctionCommand::OnPath("mkdir -p -- {}"),
        ReturnFormat::Success,
    ),
    (
        "file.remove",
        FunctionCommand::OnPath("rm -rf -- {}"),
        ReturnFormat::Success,
    ),
    (
        "file.touch",
        FunctionCommand::OnPath("touch -- {}"),
        ReturnFormat::Success,
    ),
    (
        "service.disable",
        FunctionCommand::Service("disable"),
        ReturnFormat::Success,
    ),
    (
        "service.enable",
        FunctionCommand::Service("enable"),
        ReturnFormat::Success,
    ),
    (
        "service.reload",
        FunctionCommand::Service("reload"),
        ReturnFormat::Success,
    ),
    (
        "service.restart",
        FunctionCommand::Service("restart"),
        ReturnFormat::Success,
    ),
    (
        "service.start",
        FunctionCommand::Service("start"),
        ReturnFormat::Success,
    ),
    (
        "service.stop",
        FunctionCommand::Service("stop"),
        ReturnFormat::Success,
    ),
    (
        "service.systemctl_reload",
        FunctionCommand::Fixed("systemctl daemon-reload"),
        ReturnFormat::Success,
    ),
    ("test.sleep", FunctionCommand::Sleep, ReturnFormat::Success),
];

const MAKEDIRS_COMMAND: &str = "mkdir -p -- \"$(dirname -- {})\"";

/// The positional and named arguments of a function.
struct FunctionArguments {
    args: Vec<Value>,
    named: Map,
}

impl FunctionArguments {
    /// Returns an argument by name, else the first positional one; fails if neither exists.
    fn required_text(&self, name: &str) -> Result<String, Halt> {
        let found = self.named.get(name).or_else(|| self.args.first());
        let missing = || Halt::Failed(format!("The following arguments are missing: {name}"));
        Ok(found.ok_or_else(missing)?.reveal().to_string())
    }
}

impl FunctionCommand {
    /// Builds the command for these arguments.
    fn build_run(self, arguments: &FunctionArguments) -> Result<CommandRun, Halt> {
        Ok(match self {
            Self::ShellCommand => {
                let mut run = CommandRun::new(arguments.required_text("cmd")?);
                run.setting = parse_setting(|key| arguments.named.get(key))?;
                run
            }
            Self::ShellWithStderr => {
                let mut run = Self::ShellCommand.build_run(arguments)?;
                run.text = format!("{{ {}\n}} 2>&1", run.text);
                run
            }
            Self::OnPath(text) => {
                let path = arguments
                    .named
                    .get("name")
                    .or_else(|| arguments.named.get("path"));
                let path = match path {
                    Some(path) => path.to_string(),
                    None => arguments.required_text("path")?,
                };
                let run = CommandRun::new(text.replace("{}", &quote_word(&path)));
                run.touching([Domain::Path(path)])
            }
            Self::Service(verb) => CommandRun::new(service_command(
                &quote_word(&arguments.required_text("name")?),
                verb,
            )),
            Self::Fixed(text) => CommandRun::new(text.to_owned()),
            Self::Sleep => CommandRun::new(format!(
                "sleep {}",
                quote_word(&arguments.required_text("length")?)
            )),
        })
    }
}

fn service_command(name: &str, verb: &str) -> String {
    let other = match verb {
        "enable" => format!("update-rc.d {name} enable"),
        "disable" => format!("update-rc.d {name} disable"),
        _ => format!("service {name} {verb}"),
    };
    format!("if [ -d /run/systemd/system ]; then systemctl {verb} {name}; else {other}; fi")
}

/// Returns the syntax of the call, and the functions with their arguments.
fn parse_functions(call: &StateCall<'_>) -> (CallSyntax, Vec<(String, FunctionArguments)>) {
    let passed_over = |key: &str| matches!(key, "name" | "__reqs__" | "sfun" | "returner");
    let keys: Vec<&Arc<str>> = call.args.keys().filter(|key| !passed_over(key)).collect();
    if keys.is_empty() || keys.iter().any(|key| !key.contains('.')) {
        return (
            CallSyntax::Legacy,
            vec![(call.name.to_owned(), legacy_arguments(call))],
        );
    }
    let arguments = |key: &&Arc<str>| (key.to_string(), keyed_arguments(&call.args[&***key]));
    (CallSyntax::Keyed, keys.iter().map(arguments).collect())
}

fn run(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let (form, functions) = parse_functions(call);
    let name = |key: &str| key.split(':').next().unwrap_or(key).to_owned();
    let is_there = |key: &String| {
        let name = name(key);
        is_known(&name) || find_changing_function(&name).is_some()
    };
    let missing: Vec<String> = functions
        .iter()
        .map(|(key, _)| name(key))
        .filter(|it| !is_there(it))
        .collect();
    if !missing.is_empty() {
        return failure(form.missing_comment(&missing));
    }
    let names: Vec<String> = functions.iter().map(|(key, _)| name(key)).collect();
    if call.mode == Mode::Test {
        return Ok(dry_run_decision(&functions, form.planned_comment(&names)));
    }
    let mut steps = Vec::new();
    let mut answers: Vec<(String, FunctionResult)> = Vec::new();
    for (key, arguments) in functions {
        let fun = name(&key);
        if let Some((_, command, answer)) = find_changing_function(&fun) {
            let mut run = command.build_run(&arguments)?;
            // A failure is reported together with the results of the other functions.
            run.good_codes = (0..=255).collect();
            answers.push((key, FunctionResult::Change(steps.len(), *answer)));
            steps.push(Change::Run(run));
            continue;
        }
        let query = ExecutionCall {
            fun: &fun,
            args: &arguments.args,
            named: &arguments.named,
            context: call.context,
            facts,
        };
        match call_execution(&query) {
            Some(Ok(answer)) => answers.push((key, FunctionResult::Known(answer))),
            Some(Err(halt)) => return Err(halt),
            None => return refuse(form.missing_comment(&[fun])),
        }
    }
    let predicted = StateOutcome::planned(form.planned_comment(&names));
    act_on_outputs(predicted, steps, move |ended, _| {
        Ok(form.outcome(&answers, ended.outputs))
    })
}

fn find_changing_function(fun: &str) -> Option<&'static ChangingFunction> {
    CHANGING_FUNCTIONS.iter().find(|(name, ..)| *name == fun)
}

/// Returns the decision of a dry run. Functions that only read are not among the predicted changes.
fn dry_run_decision(functions: &[(String, FunctionArguments)], comment: String) -> StateDecision {
    let changes = functions.iter().filter_map(|(key, arguments)| {
        let (_, command, _) = find_changing_function(key.split(':').next().unwrap_or(key))?;
        command.build_run(arguments).ok().map(Change::Run)
    });
    StateDecision::Change(ChangeSet {
        predicted: StateOutcome::planned(comment.clone()),
        steps: changes.collect(),
        finish: ChangeOutcome::Fixed(StateOutcome::unchanged(comment)),
    })
}

/// The result of one function of a call.
enum FunctionResult {
    Known(Value),
    /// The index of the function's change, and the format of its return value.
    Change(usize, ReturnFormat),
}

/// The two syntaxes of `module.run`: Salt's legacy and current one.
#[derive(Debug, Clone, Copy)]
enum CallSyntax {
    /// The legacy syntax: one function, given as `name`.
    Legacy,
    /// The current syntax: functions as keys, each with a list of arguments.
    Keyed,
}

impl CallSyntax {
    fn missing_comment(self, names: &[String]) -> String {
        match self {
            Self::Legacy => format!("Module function {} is not available", names.join(", ")),
            Self::Keyed => {
                let plural = if names.len() > 1 { "True" } else { "" };
                format!("Unavailable function{plural}: {}.", names.join(", "))
            }
        }
    }

    fn planned_comment(self, names: &[String]) -> String {
        match self {
            Self::Legacy => format!("Module function {} is set to execute", names.join(", ")),
            Self::Keyed => {
                let plural = if names.len() > 1 { "True" } else { "" };
                format!("Function{plural} {} to be executed.", names.join(", "))
            }
        }
    }

    fn outcome(self, answers: &[(String, FunctionResult)], outputs: &[RunOutput]) -> StateOutcome {
        let mut outcome = StateOutcome::unchanged("");
        let (mut failures, mut successes) = (Vec::new(), Vec::new());
        for (key, step) in answers {
            let value = match step {
                FunctionResult::Known(value) => value.clone(),
                FunctionResult::Change(index, answer) => {
                    let Some(output) = outputs.get(*index) else {
                        failures.push(format!("'{key}' failed: it was not run"));
                        continue;
                    };
                    format_return(*answer, output)
                }
            };
            let is_good = is_success(&value);
            if let Self::Legacy = self {
                outcome.changes.insert("ret".into(), value);
                outcome.comment = format!("Module function {key} executed");
                outcome.result = Some(is_good);
                return outcome;
            }
            if is_good {
                let message = value.get("comment").map_or_else(
                    || {
                        if value.as_map().is_some() {
                            "Success".to_owned()
                        } else {
                            value.to_string()
                        }
                    },
                    Value::to_string,
                );
                successes.push(format!("{key}: {message}"));
                outcome.changes.insert(Arc::from(key.as_str()), value);
            } else if value.as_map().is_some() {
                let message = value.get("comment").map(Value::to_string);
                let message = message.unwrap_or_else(|| "(error message N/A)".to_owned());
                failures.push(format!("'{key}' failed: {message}"));
            } else {
                failures.push(format!("'{key}': {value}"));
            }
        }
        outcome.result = Some(failures.is_empty());
        failures.extend(successes);
        outcome.comment = failures.join(", ");
        outcome
    }
}

fn format_return(answer: ReturnFormat, run: &RunOutput) -> Value {
    let code = i64::from(run.exit.code().unwrap_or(1));
    let text = |output: &CapturedOutput| Value::from(trimmed_output(output.text().as_bytes()));
    let stdout = || text(&run.stdout);
    match answer {
        ReturnFormat::Text => stdout(),
        ReturnFormat::Code => code.into(),
        ReturnFormat::Success => (code == 0).into(),
        ReturnFormat::All => Value::map([
            ("pid", 0.into()),
            ("retcode", code.into()),
            ("stdout", stdout()),
            ("stderr", text(&run.stderr)),
        ]),
    }
}

/// Whether a return value means success. `False`, and a map that reports a failure at any depth, mean
/// failure.
fn is_success(value: &Value) -> bool {
    match value.reveal() {
        Value::Bool(truth) => *truth,
        Value::Map(map) => map
            .iter()
            .all(|(key, value)| match (&**key, value.reveal()) {
                ("result", Value::Bool(false)) => false,
                ("retcode", code) => code.as_int() == Some(0),
                (_, inner @ Value::Map(_)) => is_success(inner),
                _ => true,
            }),
        _ => true,
    }
}

/// Reads the arguments of the legacy syntax.
///
/// `m_name`, `m_fun` and so on pass arguments whose names the state itself uses.
fn legacy_arguments(call: &StateCall<'_>) -> FunctionArguments {
    let mut arguments = FunctionArguments {
        args: Vec::new(),
        named: Map::new(),
    };
    for (key, value) in call.args {
        match (&**key, value.reveal()) {
            ("name" | "__reqs__" | "sfun" | "returner", _) => {}
            ("args", Value::List(items)) => arguments.args.extend(items.iter().cloned()),
            ("kwargs", Value::Map(map)) => {
                arguments.named.extend(Map::clone(map));
            }
            (key, _) => {
                let key = key.strip_prefix("m_").unwrap_or(key);
                arguments.named.insert(Arc::from(key), value.clone());
            }
        }
    }
    arguments
}

/// Reads the arguments of the keyed syntax: a list of positional values and of maps of named ones.
fn keyed_arguments(written: &Value) -> FunctionArguments {
    let mut arguments = FunctionArguments {
        args: Vec::new(),
        named: Map::new(),
    };
    let items = match written.reveal() {
        Value::Null => return arguments,
        Value::List(items) => items.to_vec(),
        one => vec![one.clone()],
    };
    for item in items {
        match item.reveal() {
            Value::Map(map) => {
                arguments.named.extend(Map::clone(map));
            }
            _ => arguments.args.push(item),
        }
    }
    arguments
}
