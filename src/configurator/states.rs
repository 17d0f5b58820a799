//! States: brings the machine of an operation to what state files describe (spec/hosts.md S, P).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::result::apply_result_template;
use super::state_tree::StateTree;
use super::template::failed;
use crate::converge::{
    DeedId, Ground, HostRun, Mode, Next, Ordering, Preparation, Prepared, Setup, Stamp,
    StateResult, Summary, Targets, reversed, to_value,
};
use crate::diagnostic::{Diagnostics, Sources};
use crate::expr::{Error, LocalContext};
use crate::host::fact::Fact;
use crate::host::{Action, ActionResult, Command, Place, Program};
use crate::name::Status;
use crate::task::{
    Configurator, Effect, EffectResult, Outcome, Part, Progress, Rendered, Run, TaskView,
};
use crate::value::{Map, Value};

/// The input that stands for the texts of the state tree.
const FILES: &str = "state_files";

/// Runs the states of `sls`, or those of the top file.
#[derive(Debug)]
pub(super) struct States;

impl Configurator for States {
    fn class_name(&self) -> &'static str {
        "unfurl.configurators.states.StatesConfigurator"
    }

    fn excluded_from_digest(&self) -> &'static [&'static str] {
        &["resultTemplate"]
    }

    fn add_inputs(&self, inputs: &mut Map, world: &dyn LocalContext, base_dir: &Path) {
        inputs.shift_remove(FILES);
        // What is wrong with the tree is said when the task is rendered.
        if let Ok(tree) = StateTree::read(stated_root(inputs), world, base_dir) {
            inputs.insert(FILES.into(), Value::from(tree.digests));
        }
    }

    fn can_dry_run(&self, _task: &TaskView<'_>) -> Result<bool, Error> {
        Ok(true)
    }

    fn render(&self, task: &TaskView<'_>) -> Result<Rendered, Error> {
        ground(task)?;
        // Where the machine has no address yet, the task waits for it.
        task.machine()?;
        task.input(FILES)?;
        Ok(Rendered::default())
    }

    fn begin(&self, _rendered: Rendered) -> Box<dyn Run> {
        Box::new(StatesRun::default())
    }
}

fn stated_root(inputs: &Map) -> Option<&Value> {
    inputs.get("file_root").filter(|root| !root.is_null())
}

fn wrong(problem: impl Into<String>) -> Error {
    Error::Function {
        function: "States".to_owned(),
        problem: problem.into(),
    }
}

/// What the inputs ask for.
fn ground(task: &TaskView<'_>) -> Result<Ground, Error> {
    let base = task.settings.base_dir;
    let tree = StateTree::read(stated_root(task.inputs), task.world(), base).map_err(wrong)?;
    if let Some(digests) = task.input(FILES)?
        && digests != Value::from(tree.digests.clone())
    {
        return Err(wrong("the state files have changed since the job began"));
    }
    let sls = match task.input("sls")?.unwrap_or_default().reveal() {
        Value::Null => Vec::new(),
        Value::Str(text) => text.split(',').map(|it| it.trim().to_owned()).collect(),
        Value::List(items) => items.iter().map(|item| item.reveal().to_string()).collect(),
        other => {
            let kind = other.kind();
            return Err(wrong(format!("`sls` must be a text or a list, not {kind}")));
        }
    };
    let top = task.input("top")?.is_some_and(|top| top.is_truthy());
    let targets = match (sls.is_empty(), top) {
        (false, false) => Targets::Sls(sls),
        (true, true) => Targets::Highstate,
        (true, false) => return Err(wrong("name state files with `sls`, or say `top: true`")),
        (false, true) => return Err(wrong("`sls` and `top` exclude each other")),
    };
    let map = |name: &str| -> Result<Map, Error> {
        match task.input(name)?.unwrap_or_default().reveal() {
            Value::Null => Ok(Map::new()),
            Value::Map(map) => Ok(Map::clone(map)),
            other => {
                let kind = other.kind();
                Err(wrong(format!("`{name}` must be a map, not {kind}")))
            }
        }
    };
    let ordering = match task.input_text("ordering")?.as_deref() {
        None | Some("classic") => Ordering::Classic,
        Some("dag") => Ordering::Dag,
        Some(other) => {
            return Err(wrong(format!(
                "`ordering: {other}` is neither `classic` nor `dag`"
            )));
        }
    };
    let id = task.machine()?.place.to_string();
    Ok(Ground {
        id: id.into(),
        roots: Arc::new(tree),
        pillar: map("pillar")?.into(),
        grains: map("grains")?,
        options: Map::new().into(),
        targets,
        ordering,
    })
}

/// What an operation does with states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Aim {
    /// Brings the machine there.
    #[default]
    Apply,
    /// Looks whether it is there.
    Look,
    /// Takes back what can be.
    Reverse,
}

impl Aim {
    fn of(task: &TaskView<'_>) -> Self {
        match task.settings.operation.operation.as_str() {
            "check" | "discover" => Self::Look,
            "delete" => Self::Reverse,
            _ => Self::Apply,
        }
    }
}

/// One run of the operation.
#[derive(Debug, Default)]
struct StatesRun {
    going: Option<Box<Going>>,
}

impl Run for StatesRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> Progress {
        if let (Some(going), Some(EffectResult::Action(result))) = (&mut self.going, last) {
            return match going.heard(result, task) {
                Ok(()) => going.go_on(task),
                Err(problem) => going.broken(task, problem),
            };
        }
        match Going::begin(task) {
            Ok(going) => self.going.insert(Box::new(going)).go_on(task),
            Err(error) => {
                let mut outcome = failed(&error);
                outcome.modified = Some(false);
                Progress::Done(Box::new(outcome))
            }
        }
    }
}

/// What was asked of the machine.
#[derive(Debug)]
enum Asked {
    Read(Vec<Fact>),
    Change(DeedId),
    Sleep(DeedId),
}

/// States that are under way.
#[derive(Debug)]
struct Going {
    aim: Aim,
    test: bool,
    ground: Ground,
    place: Place,
    run: HostRun,
    asked: Option<Asked>,
    /// Whether all was read that the states need first.
    is_ready: bool,
    /// Whether anything was changed, or begun to be.
    acted: bool,
    /// What cannot be taken back, in words.
    kept: Vec<String>,
}

impl Going {
    fn begin(task: &TaskView<'_>) -> Result<Self, Error> {
        let aim = Aim::of(task);
        let ground = ground(task)?;
        let place = task.machine()?.place;
        Ok(Self {
            aim,
            test: aim == Aim::Look || task.settings.dry_run,
            ground,
            run: HostRun::new(&place),
            place,
            asked: None,
            is_ready: false,
            acted: false,
            kept: Vec::new(),
        })
    }
}

impl Going {
    /// Takes what came of what was asked for.
    fn heard(&mut self, result: ActionResult, task: &TaskView<'_>) -> Result<(), String> {
        let exit = result.exit().clone();
        match (self.asked.take(), result) {
            (Some(Asked::Read(facts)), ActionResult::Read(output)) => {
                if !exit.is_ok() {
                    return Err(exit.to_string());
                }
                self.run.learned(facts, output.readings);
            }
            (Some(Asked::Change(deed)), ActionResult::Change(output)) => {
                let is_lost = exit.code().is_none();
                self.run.changed(deed, output.outputs, stamp(task));
                if is_lost {
                    return Err(exit.to_string());
                }
            }
            (Some(Asked::Sleep(deed)), _) => {
                if !exit.is_ok() {
                    return Err(exit.to_string());
                }
                self.run.slept(deed, stamp(task));
            }
            _ => return Err("it was answered with what it did not ask".to_owned()),
        }
        Ok(())
    }

    /// Goes on until something is to be performed, or to the end.
    fn go_on(&mut self, task: &TaskView<'_>) -> Progress {
        let (aim, test, kept) = (self.aim, self.test, &mut self.kept);
        let begin = |prepared: &Prepared| {
            let low = match aim {
                Aim::Reverse => {
                    let (low, cannot) = reversed(&prepared.low);
                    *kept = cannot;
                    low
                }
                Aim::Apply | Aim::Look => Arc::clone(&prepared.low),
            };
            let mode = if test { Mode::Test } else { Mode::Apply };
            let setup = Setup {
                mode,
                ..Setup::default()
            };
            (low, setup)
        };
        if !self.is_ready {
            match self.run.prepare(|| self.ground.clone(), begin) {
                Preparation::Ready => self.is_ready = true,
                Preparation::Read(facts) => return self.read(facts),
                Preparation::Stuck(reason) => return self.broken(task, reason),
                Preparation::Refused(problems, sources) => {
                    return self.broken(task, told(&problems, &sources));
                }
            }
        }
        match self.run.next(None, stamp(task)) {
            Next::Read(facts) => self.read(facts),
            Next::Change { deed, changes, .. } => {
                self.acted = true;
                self.asked = Some(Asked::Change(deed));
                self.effect(Action::Change(changes), Part::Deed)
            }
            Next::Sleep { deed, time, .. } => {
                self.asked = Some(Asked::Sleep(deed));
                let mut effect = Effect::here(Action::Run(pause(time)));
                effect.part = Part::Help;
                Progress::Do(Box::new(effect))
            }
            Next::Wait | Next::AtGate => self.broken(
                task,
                "states wait for something that nobody does".to_owned(),
            ),
            Next::Done => Progress::Done(Box::new(self.finish(task))),
        }
    }

    fn read(&mut self, facts: Vec<Fact>) -> Progress {
        self.asked = Some(Asked::Read(facts.clone()));
        self.effect(Action::Read(facts), Part::Help)
    }

    fn effect(&self, action: Action, part: Part) -> Progress {
        let mut effect = Effect::at(self.place.clone(), action);
        effect.part = part;
        Progress::Do(Box::new(effect))
    }

    /// The end where something stood in the way.
    fn broken(&mut self, task: &TaskView<'_>, problem: String) -> Progress {
        let mut outcome = self.finish(task);
        outcome.success = false;
        outcome.notes.insert(0, problem);
        Progress::Done(Box::new(outcome))
    }

    fn finish(&self, task: &TaskView<'_>) -> Outcome {
        let results = self.run.results();
        let summary = Summary::of(results);
        let mut outcome = Outcome {
            success: summary.failed == 0,
            modified: Some(!self.test && summary.changed > 0),
            ..Outcome::default()
        };
        if self.acted && summary.failed > 0 {
            // What failed may have changed something.
            outcome.modified = None;
        }
        let drifted = |result: &&StateResult| result.outcome.result.is_none();
        let failed = |result: &&StateResult| result.outcome.result == Some(false);
        outcome.notes = results.iter().filter(failed).map(in_words).collect();
        let mut result = Map::new();
        if self.aim == Aim::Look && !task.settings.dry_run {
            let differences: Vec<String> = results.iter().filter(drifted).map(in_words).collect();
            outcome.status = Some(if summary.failed > 0 {
                Status::Error
            } else if differences.is_empty() {
                Status::Ok
            } else {
                Status::Degraded
            });
            if !differences.is_empty() {
                result.insert("message".into(), differences.join("\n").into());
            }
        }
        outcome.notes.extend(self.kept.iter().cloned());
        result.insert("success".into(), outcome.success.into());
        result.insert("states".into(), to_value(results));
        apply_result_template(task, &result, &mut outcome);
        if !outcome.errors.is_empty() {
            outcome.success = false;
        }
        if !self.kept.is_empty() {
            let kept = self.kept.iter().map(|it| Value::from(it.as_str()));
            result.insert("kept".into(), Value::list(kept));
        }
        outcome.result = Some(Value::from(result));
        outcome
    }
}

/// A state whose result is worth telling, with its difference.
fn in_words(result: &StateResult) -> String {
    let StateResult { state, fun, id, .. } = result;
    let diff = result.outcome.changes.get("diff").and_then(Value::as_str);
    match diff.filter(|diff| diff.starts_with("---")) {
        // The names of the file before and after say nothing.
        Some(diff) => {
            let lines: Vec<&str> = diff.trim_end().lines().skip(2).collect();
            format!("{id} ({state}.{fun}):\n{}", lines.join("\n"))
        }
        None => format!("{id} ({state}.{fun}): {}", result.outcome.comment),
    }
}

/// What is wrong with state files, all of it, with the lines.
fn told(problems: &Diagnostics, sources: &Sources) -> String {
    let told = problems.iter().map(|problem| {
        let place = problem.span().and_then(|span| sources.place(span));
        match place {
            Some(place) => format!("{place}: {}", problem.message),
            None => problem.message.clone(),
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

/// A command of this machine that takes so long.
fn pause(time: Duration) -> Command {
    let words = vec!["sleep".to_owned(), time.as_secs_f64().to_string()];
    let mut command = Command::new(Program::Argv(words), "/");
    command.env.add("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}

fn stamp(task: &TaskView<'_>) -> Stamp {
    Stamp(task.world().now().as_microsecond())
}
