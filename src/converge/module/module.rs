//! The state module `module`: functions of execution modules, called as states.

use crate::converge::module::command::{act_on_outputs, failure, unchanged};
use std::sync::Arc;

use crate::converge::execution::{Asked, ask, is_known};
use crate::converge::shell::{output, setting};
use crate::converge::{
    Call, Deed, Facts, Finish, Function, Halt, Mode, Module, Outcome, Verdict, refuse,
};
use crate::host::RunOutput;
use crate::host::change::{Change, Run};
use crate::host::fact::Domain;
use crate::text::quoted;
use crate::value::{Map, Value};

/// The module.
pub(in crate::converge) static MODULE: Module = Module {
    name: "module",
    functions: &[
        Function::new("run", run).options("*").irreversible(NEVER),
        Function::new("wait", |_, _| unchanged(""))
            .options("*")
            .irreversible(NEVER),
    ],
    watch: Some(run),
    aggregate: None,
};

const NEVER: &str = "what a function did is not known";

/// A function that changes something: its name, the command that does it, and how its answer is
/// made of the result of the command.
type Doer = (&'static str, Does, Answer);

/// The command that a function runs.
#[derive(Debug, Clone, Copy)]
enum Does {
    /// The one that it is given.
    Command,
    /// The same, with its errors among its output.
    Merged,
    /// This one, with a path for the braces.
    OnPath(&'static str),
    /// This verb for a service.
    Service(&'static str),
    /// This one.
    Fixed(&'static str),
    /// A pause of the seconds that it is given.
    Sleep,
}

/// How a command answers.
#[derive(Debug, Clone, Copy)]
enum Answer {
    /// With what it printed.
    Text,
    /// With its exit code.
    Code,
    /// With all that it gave.
    All,
    /// With whether it succeeded.
    Success,
}

static DOERS: &[Doer] = &[
    ("cmd.retcode", Does::Command, Answer::Code),
    ("cmd.run", Does::Merged, Answer::Text),
    ("cmd.run_all", Does::Command, Answer::All),
    ("cmd.run_stdout", Does::Command, Answer::Text),
    ("cmd.shell", Does::Merged, Answer::Text),
    ("file.makedirs", Does::OnPath(MAKE_PARENTS), Answer::Success),
    (
        "file.mkdir",
        Does::OnPath("mkdir -p -- {}"),
        Answer::Success,
    ),
    ("file.remove", Does::OnPath("rm -rf -- {}"), Answer::Success),
    ("file.touch", Does::OnPath("touch -- {}"), Answer::Success),
    ("service.disable", Does::Service("disable"), Answer::Success),
    ("service.enable", Does::Service("enable"), Answer::Success),
    ("service.reload", Does::Service("reload"), Answer::Success),
    ("service.restart", Does::Service("restart"), Answer::Success),
    ("service.start", Does::Service("start"), Answer::Success),
    ("service.stop", Does::Service("stop"), Answer::Success),
    (
        "service.systemctl_reload",
        Does::Fixed("systemctl daemon-reload"),
        Answer::Success,
    ),
    ("test.sleep", Does::Sleep, Answer::Success),
];

const MAKE_PARENTS: &str = "mkdir -p -- \"$(dirname -- {})\"";

/// The arguments of a function.
struct Given {
    args: Vec<Value>,
    named: Map,
}

impl Given {
    /// The first argument.
    fn text(&self, name: &str) -> Result<String, Halt> {
        let found = self.named.get(name).or_else(|| self.args.first());
        let missing = || Halt::Failed(format!("The following arguments are missing: {name}"));
        Ok(found.ok_or_else(missing)?.reveal().to_string())
    }
}

impl Does {
    /// The command for these arguments.
    fn run(self, given: &Given) -> Result<Run, Halt> {
        Ok(match self {
            Self::Command => {
                let mut run = Run::new(given.text("cmd")?);
                run.setting = setting(|key| given.named.get(key))?;
                run
            }
            Self::Merged => {
                let mut run = Self::Command.run(given)?;
                run.text = format!("{{ {}\n}} 2>&1", run.text);
                run
            }
            Self::OnPath(text) => {
                let path = given.named.get("name").or_else(|| given.named.get("path"));
                let path = match path {
                    Some(path) => path.to_string(),
                    None => given.text("path")?,
                };
                let run = Run::new(text.replace("{}", &quoted(&path)));
                run.touching([Domain::Path(path)])
            }
            Self::Service(verb) => Run::new(service(&quoted(&given.text("name")?), verb)),
            Self::Fixed(text) => Run::new(text.to_owned()),
            Self::Sleep => Run::new(format!("sleep {}", quoted(&given.text("length")?))),
        })
    }
}

fn service(name: &str, verb: &str) -> String {
    let other = match verb {
        "enable" => format!("update-rc.d {name} enable"),
        "disable" => format!("update-rc.d {name} disable"),
        _ => format!("service {name} {verb}"),
    };
    format!("if [ -d /run/systemd/system ]; then systemctl {verb} {name}; else {other}; fi")
}

/// The form in which functions are written, and the functions with what they are given.
fn written(call: &Call<'_>) -> (Form, Vec<(String, Given)>) {
    let passed_over = |key: &str| matches!(key, "name" | "__reqs__" | "sfun" | "returner");
    let keys: Vec<&Arc<str>> = call.args.keys().filter(|key| !passed_over(key)).collect();
    if keys.is_empty() || keys.iter().any(|key| !key.contains('.')) {
        return (Form::Old, vec![(call.name.to_owned(), old_arguments(call))]);
    }
    let given = |key: &&Arc<str>| (key.to_string(), new_arguments(&call.args[&***key]));
    (Form::New, keys.iter().map(given).collect())
}

fn run(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let (form, functions) = written(call);
    let name = |key: &str| key.split(':').next().unwrap_or(key).to_owned();
    let is_there = |key: &String| {
        let name = name(key);
        is_known(&name) || doer(&name).is_some()
    };
    let missing: Vec<String> = functions
        .iter()
        .map(|(key, _)| name(key))
        .filter(|it| !is_there(it))
        .collect();
    if !missing.is_empty() {
        return failure(form.missing(&missing));
    }
    let names: Vec<String> = functions.iter().map(|(key, _)| name(key)).collect();
    if call.mode == Mode::Test {
        return Ok(would(&functions, form.would(&names)));
    }
    let mut steps = Vec::new();
    let mut answers: Vec<(String, Step)> = Vec::new();
    for (key, given) in functions {
        let fun = name(&key);
        if let Some((_, does, answer)) = doer(&fun) {
            let mut run = does.run(&given)?;
            // Its failure is told with the others.
            run.good_codes = (0..=255).collect();
            answers.push((key, Step::Change(steps.len(), *answer)));
            steps.push(Change::Run(run));
            continue;
        }
        let asked = Asked {
            fun: &fun,
            args: &given.args,
            named: &given.named,
            world: call.world,
            facts,
        };
        match ask(&asked) {
            Some(Ok(answer)) => answers.push((key, Step::Known(answer))),
            Some(Err(halt)) => return Err(halt),
            None => return refuse(form.missing(&[fun])),
        }
    }
    let predicted = Outcome::planned(form.would(&names));
    act_on_outputs(predicted, steps, move |ended, _| {
        Ok(form.outcome(&answers, ended.outputs))
    })
}

fn doer(fun: &str) -> Option<&'static Doer> {
    DOERS.iter().find(|(name, ..)| *name == fun)
}

/// What a dry run says: the functions that only look have no part in what would be changed.
fn would(functions: &[(String, Given)], comment: String) -> Verdict {
    let changes = functions.iter().filter_map(|(key, given)| {
        let (_, does, _) = doer(key.split(':').next().unwrap_or(key))?;
        does.run(given).ok().map(Change::Run)
    });
    Verdict::Act(Deed {
        predicted: Outcome::planned(comment.clone()),
        steps: changes.collect(),
        finish: Finish::Then(Outcome::same(comment)),
    })
}

/// What one function gives.
enum Step {
    Known(Value),
    /// The place of its change.
    Change(usize, Answer),
}

/// The two forms in which functions are written.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// One function, by name.
    Old,
    /// Functions as keys, with lists of arguments.
    New,
}

impl Form {
    fn missing(self, names: &[String]) -> String {
        match self {
            Self::Old => format!("Module function {} is not available", names.join(", ")),
            Self::New => {
                let plural = if names.len() > 1 { "True" } else { "" };
                format!("Unavailable function{plural}: {}.", names.join(", "))
            }
        }
    }

    fn would(self, names: &[String]) -> String {
        match self {
            Self::Old => format!("Module function {} is set to execute", names.join(", ")),
            Self::New => {
                let plural = if names.len() > 1 { "True" } else { "" };
                format!("Function{plural} {} to be executed.", names.join(", "))
            }
        }
    }

    fn outcome(self, answers: &[(String, Step)], outputs: &[RunOutput]) -> Outcome {
        let mut outcome = Outcome::same("");
        let (mut failures, mut successes) = (Vec::new(), Vec::new());
        for (key, step) in answers {
            let value = match step {
                Step::Known(value) => value.clone(),
                Step::Change(place, answer) => {
                    let Some(output) = outputs.get(*place) else {
                        failures.push(format!("'{key}' failed: it was not run"));
                        continue;
                    };
                    answered(*answer, output)
                }
            };
            let is_good = is_good(&value);
            if let Self::Old = self {
                outcome.changes.insert("ret".into(), value);
                outcome.comment = format!("Module function {key} executed");
                outcome.result = Some(is_good);
                return outcome;
            }
            if is_good {
                let said = value.get("comment").map_or_else(
                    || {
                        if value.as_map().is_some() {
                            "Success".to_owned()
                        } else {
                            value.to_string()
                        }
                    },
                    Value::to_string,
                );
                successes.push(format!("{key}: {said}"));
                outcome.changes.insert(Arc::from(key.as_str()), value);
            } else if value.as_map().is_some() {
                let said = value.get("comment").map(Value::to_string);
                let said = said.unwrap_or_else(|| "(error message N/A)".to_owned());
                failures.push(format!("'{key}' failed: {said}"));
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

fn answered(answer: Answer, run: &RunOutput) -> Value {
    let code = i64::from(run.exit.code().unwrap_or(1));
    let stdout = || Value::from(output(&run.stdout.head));
    match answer {
        Answer::Text => stdout(),
        Answer::Code => code.into(),
        Answer::Success => (code == 0).into(),
        Answer::All => Value::map([
            ("pid", 0.into()),
            ("retcode", code.into()),
            ("stdout", stdout()),
            ("stderr", output(&run.stderr.head).into()),
        ]),
    }
}

/// False, and a map that says failure at any depth, are failures.
fn is_good(value: &Value) -> bool {
    match value.reveal() {
        Value::Bool(truth) => *truth,
        Value::Map(map) => map
            .iter()
            .all(|(key, value)| match (&**key, value.reveal()) {
                ("result", Value::Bool(false)) => false,
                ("retcode", code) => code.as_int() == Some(0),
                (_, inner @ Value::Map(_)) => is_good(inner),
                _ => true,
            }),
        _ => true,
    }
}

/// `m_name`, `m_fun` and so on stand for arguments whose names have another meaning here.
fn old_arguments(call: &Call<'_>) -> Given {
    let mut given = Given {
        args: Vec::new(),
        named: Map::new(),
    };
    for (key, value) in call.args {
        match (&**key, value.reveal()) {
            ("name" | "__reqs__" | "sfun" | "returner", _) => {}
            ("args", Value::List(items)) => given.args.extend(items.iter().cloned()),
            ("kwargs", Value::Map(map)) => {
                given.named.extend(Map::clone(map));
            }
            (key, _) => {
                let key = key.strip_prefix("m_").unwrap_or(key);
                given.named.insert(Arc::from(key), value.clone());
            }
        }
    }
    given
}

/// A list of values and of maps of named ones.
fn new_arguments(written: &Value) -> Given {
    let mut given = Given {
        args: Vec::new(),
        named: Map::new(),
    };
    let items = match written.reveal() {
        Value::Null => return given,
        Value::List(items) => items.to_vec(),
        one => vec![one.clone()],
    };
    for item in items {
        match item.reveal() {
            Value::Map(map) => {
                given.named.extend(Map::clone(map));
            }
            _ => given.args.push(item),
        }
    }
    given
}
