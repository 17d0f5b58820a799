//! The States configurator: brings the operation's machine to the state that state files describe (rules
//! S and P).
//!
//! It compiles the states and drives a [`HostRun`], whose reads and changes it passes to the job as
//! effects.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::result_template::apply_result_template;
use super::state_tree::OperationTrees;
use super::template::error_outcome;
use crate::diagnostic::{Diagnostics, Sources};
use crate::expr::{Error, LocalContext, Var};
use crate::host::fact::Fact;
use crate::host::{Action, ActionResult, Command, Location, Program, UnavailableOutput};
use crate::name::Status;
use crate::plan::CheckAbility;
use crate::states::{
    ActionId, Chunk, CompileInput, CompilePurpose, EngineOptions, HostRun, Mode, NextAction,
    Preparation, PreparedStates, RunOrdering, StateResult, StateSummary, StateTargets, Timestamp,
    reverse_states, to_value,
};
use crate::task::{
    Configurator, EffectResult, EffectRole, OperationRun, RenderedTask, RunStep, TaskEffect,
    TaskOutcome, TaskView, TaskWork, WorkInputs,
};
use crate::value::{Map, Value};

/// The input that holds the digests of the state tree.
const FILES_INPUT: &str = "state_files";

/// Runs the states of `sls`, or those of the top file.
#[derive(Debug)]
pub(super) struct StatesConfigurator;

impl Configurator for StatesConfigurator {
    fn class_name(&self) -> &'static str {
        "unfurl.configurators.states.StatesConfigurator"
    }

    fn runs_on_operation_host(&self) -> bool {
        true
    }

    fn excluded_from_digest(&self) -> &'static [&'static str] {
        &["resultTemplate"]
    }

    fn add_inputs(&self, inputs: &mut Map, local_context: &dyn LocalContext, base_dir: &Path) {
        inputs.shift_remove(FILES_INPUT);
        // Errors in the tree are reported when the task is rendered.
        if let Ok(tree) = OperationTrees::read(inputs, local_context, base_dir) {
            inputs.insert(FILES_INPUT.into(), Value::from(tree.digests));
        }
    }

    fn check_ability(&self, _inputs: &Map) -> CheckAbility {
        CheckAbility::Compares
    }

    fn can_dry_run(&self, _task: &TaskView<'_>) -> Result<bool, Error> {
        Ok(true)
    }

    fn work(&self, inputs: &WorkInputs<'_>, _rendered: Option<&Value>) -> TaskWork {
        TaskWork::States(inputs.get("sls").map(Value::redacted).unwrap_or_default())
    }

    fn render(&self, task: &TaskView<'_>) -> Result<RenderedTask, Error> {
        compile_input(task)?;
        // If the machine has no address yet, the task waits for it.
        task.machine()?;
        task.input(FILES_INPUT)?;
        Ok(RenderedTask::default())
    }

    fn begin(&self, _rendered: RenderedTask) -> Box<dyn OperationRun> {
        Box::new(StatesRun::default())
    }
}

fn input_error(problem: impl Into<String>) -> Error {
    Error::Function {
        function: "States".to_owned(),
        problem: problem.into(),
    }
}

/// An input that is a map; an empty one where the input is missing.
fn map_input(task: &TaskView<'_>, name: &str) -> Result<Map, Error> {
    match task.input(name)?.unwrap_or_default().reveal() {
        Value::Null => Ok(Map::new()),
        Value::Map(map) => Ok(Map::clone(map)),
        other => {
            let kind = other.kind();
            Err(input_error(format!("`{name}` must be a map, not {kind}")))
        }
    }
}

/// Reads the inputs of the operation into the input of the state compiler.
fn compile_input(task: &TaskView<'_>) -> Result<CompileInput, Error> {
    let base = task.settings.base_dir;
    let tree =
        OperationTrees::read(task.inputs, task.local_context(), base).map_err(input_error)?;
    if let Some(digests) = task.input(FILES_INPUT)?
        && digests != Value::from(tree.digests.clone())
    {
        return Err(input_error(
            "the state files have changed since the job began",
        ));
    }
    let sls = match task.input("sls")?.unwrap_or_default().reveal() {
        Value::Null => Vec::new(),
        Value::Str(text) => text.split(',').map(|it| it.trim().to_owned()).collect(),
        Value::List(items) => items.iter().map(|item| item.reveal().to_string()).collect(),
        other => {
            let kind = other.kind();
            return Err(input_error(format!(
                "`sls` must be a text or a list, not {kind}"
            )));
        }
    };
    let top = task.input("top")?.is_some_and(|top| top.is_truthy());
    let targets = match (sls.is_empty(), top) {
        (false, false) => StateTargets::Sls(sls),
        (true, true) => StateTargets::Highstate,
        (true, false) => {
            return Err(input_error(
                "name the state files with `sls`, or set `top: true`",
            ));
        }
        (false, true) => return Err(input_error("`sls` and `top` cannot be used together")),
    };
    let ordering = match task.input_text("ordering")?.as_deref() {
        None | Some("classic") => RunOrdering::Classic,
        Some("dag") => RunOrdering::Dag,
        Some(other) => {
            return Err(input_error(format!(
                "`ordering: {other}` is neither `classic` nor `dag`"
            )));
        }
    };
    let mut options = Map::new();
    if let Some(env) = task.input_text("saltenv")? {
        options.insert("saltenv".into(), env.into());
    }
    let id = task.machine()?.location.to_string();
    Ok(CompileInput {
        id: id.into(),
        roots: tree.trees,
        programs: None,
        pillar: map_input(task, "pillar")?.into(),
        grains: map_input(task, "grains")?,
        options: options.into(),
        targets,
        ordering,
        purpose: CompilePurpose::Run,
    })
}

/// The way in which an operation uses states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StatesOperation {
    /// Applies the states to the machine.
    #[default]
    Apply,
    /// Checks whether the machine is in the described state (test mode).
    Check,
    /// Reverts the states that can be reverted.
    Revert,
}

impl StatesOperation {
    fn of(task: &TaskView<'_>) -> Self {
        match task.settings.operation.operation.as_str() {
            _ if task.settings.check_only => Self::Check,
            "check" | "discover" => Self::Check,
            "delete" => Self::Revert,
            _ => Self::Apply,
        }
    }
}

/// A run of the States configurator.
#[derive(Debug, Default)]
struct StatesRun {
    execution: Option<Box<StatesExecution>>,
}

impl OperationRun for StatesRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> RunStep {
        if let (Some(execution), Some(EffectResult::Action(result))) = (&mut self.execution, last) {
            return match execution.receive_result(result, task) {
                Ok(()) => execution.advance(task),
                Err(problem) => execution.finish_with_problem(task, problem),
            };
        }
        match StatesExecution::begin(task) {
            Ok(execution) => self.execution.insert(Box::new(execution)).advance(task),
            Err(error) => {
                let mut outcome = error_outcome(&error);
                outcome.modified = Some(false);
                RunStep::Done(Box::new(outcome))
            }
        }
    }
}

/// The request to the machine that the run waits for.
#[derive(Debug)]
enum PendingRequest {
    Read(Vec<Fact>),
    Change(ActionId),
    Sleep(ActionId),
}

/// The execution of states on the machine.
#[derive(Debug)]
struct StatesExecution {
    operation: StatesOperation,
    test: bool,
    compile_input: CompileInput,
    location: Location,
    run: HostRun,
    pending: Option<PendingRequest>,
    /// Whether the facts that the states need first have been read.
    is_ready: bool,
    /// Whether any change of the machine was started.
    acted: bool,
    /// Descriptions of states that cannot be reverted.
    irreversible: Vec<String>,
}

impl StatesExecution {
    fn begin(task: &TaskView<'_>) -> Result<Self, Error> {
        let operation = StatesOperation::of(task);
        let compile_input = compile_input(task)?;
        let place = task.machine()?.location;
        Ok(Self {
            operation,
            test: operation == StatesOperation::Check || task.settings.dry_run,
            compile_input,
            run: HostRun::default(),
            location: place,
            pending: None,
            is_ready: false,
            acted: false,
            irreversible: Vec::new(),
        })
    }
}

impl StatesExecution {
    /// Handles the result of the pending request.
    fn receive_result(&mut self, result: ActionResult, task: &TaskView<'_>) -> Result<(), String> {
        let exit = result.exit().clone();
        match (self.pending.take(), result) {
            (Some(PendingRequest::Read(facts)), ActionResult::Read(output)) => {
                if !exit.is_ok() {
                    return Err(exit.to_string());
                }
                self.run.learn(facts, output.readings);
            }
            (Some(PendingRequest::Change(action_id)), ActionResult::Change(output)) => {
                let is_lost = exit.code().is_none();
                self.run
                    .finish_change(action_id, output.outputs, stamp(task));
                if is_lost {
                    return Err(exit.to_string());
                }
            }
            (Some(PendingRequest::Sleep(action_id)), _) => {
                if !exit.is_ok() {
                    return Err(exit.to_string());
                }
                self.run.finish_sleep(action_id, stamp(task));
            }
            _ => return Err("internal error: the result does not match the request".to_owned()),
        }
        Ok(())
    }

    /// Continues until a request is to be performed or the run ends.
    fn advance(&mut self, task: &TaskView<'_>) -> RunStep {
        let (operation, test, kept) = (self.operation, self.test, &mut self.irreversible);
        let begin = |prepared: &PreparedStates| {
            let low = match operation {
                StatesOperation::Revert => {
                    let (low, not_reversible) = reverse_states(&prepared.low);
                    *kept = not_reversible;
                    low
                }
                StatesOperation::Apply | StatesOperation::Check => Arc::clone(&prepared.low),
            };
            let mode = if test { Mode::Test } else { Mode::Apply };
            let setup = EngineOptions {
                mode,
                ..EngineOptions::default()
            };
            (low, setup)
        };
        if !self.is_ready {
            match self.run.prepare(|| self.compile_input.clone(), begin) {
                Preparation::Ready => self.is_ready = true,
                Preparation::Read(facts) => return self.read(facts),
                Preparation::Stuck(reason) => return self.finish_with_problem(task, reason),
                Preparation::Refused(problems, sources) => {
                    return self.finish_with_problem(task, describe_problems(&problems, &sources));
                }
            }
        }
        match self.run.next(None, stamp(task)) {
            NextAction::Read(facts) => self.read(facts),
            NextAction::Change {
                action: action_id,
                changes,
                ..
            } => {
                self.acted = true;
                self.pending = Some(PendingRequest::Change(action_id));
                self.effect(Action::Change(changes), EffectRole::Primary)
            }
            NextAction::Sleep {
                action: action_id,
                time,
                ..
            } => {
                self.pending = Some(PendingRequest::Sleep(action_id));
                let mut effect = TaskEffect::on_local(Action::Run(pause(time)));
                effect.role = EffectRole::Auxiliary;
                RunStep::Perform(Box::new(effect))
            }
            NextAction::Wait | NextAction::AtLimit => self.finish_with_problem(
                task,
                "internal error: states wait, but no action is running".to_owned(),
            ),
            NextAction::Done => RunStep::Done(Box::new(self.finish(task))),
        }
    }

    fn read(&mut self, facts: Vec<Fact>) -> RunStep {
        self.pending = Some(PendingRequest::Read(facts.clone()));
        self.effect(Action::Read(facts), EffectRole::Auxiliary)
    }

    fn effect(&self, action: Action, part: EffectRole) -> RunStep {
        let mut effect = TaskEffect::on(self.location.clone(), action);
        effect.role = part;
        RunStep::Perform(Box::new(effect))
    }

    /// Ends the run because of a problem.
    fn finish_with_problem(&mut self, task: &TaskView<'_>, problem: String) -> RunStep {
        let mut outcome = self.finish(task);
        outcome.success = false;
        outcome.notes.insert(0, problem);
        RunStep::Done(Box::new(outcome))
    }

    fn finish(&self, task: &TaskView<'_>) -> TaskOutcome {
        let results = self.run.results();
        let summary = StateSummary::of(results);
        let mut outcome = TaskOutcome {
            success: summary.failed == 0,
            modified: Some(!self.test && summary.changed > 0),
            ..TaskOutcome::default()
        };
        if self.acted && summary.failed > 0 {
            // A failed state may have changed something.
            outcome.modified = None;
        }
        let drifted = |result: &&StateResult| result.outcome.result.is_none();
        let failed = |result: &&StateResult| result.outcome.result == Some(false);
        outcome.notes = results.iter().filter(failed).map(describe_result).collect();
        let mut result = Map::new();
        if self.operation == StatesOperation::Check && !task.settings.dry_run {
            let differences: Vec<String> = results
                .iter()
                .filter(drifted)
                .map(describe_result)
                .collect();
            outcome.status = Some(if summary.failed > 0 {
                Status::Error
            } else if differences.is_empty() {
                Status::Ok
            } else {
                Status::Degraded
            });
            if !differences.is_empty() {
                let message = Value::from(differences.join("\n"));
                result.insert("message".into(), task.foreign(message));
            }
            let unconditional = self.unconditional_commands(results);
            if !unconditional.is_empty() {
                result.insert("unconditional".into(), Value::list(unconditional));
            }
        }
        outcome.notes.extend(self.irreversible.iter().cloned());
        result.insert("success".into(), outcome.success.into());
        result.insert("states".into(), task.foreign(to_value(results)));
        let variables = incomplete_outputs(results);
        apply_result_template(&task.with_variables(&variables), &result, &mut outcome);
        if !outcome.errors.is_empty() {
            outcome.success = false;
        }
        if !self.irreversible.is_empty() {
            let kept = self.irreversible.iter().map(|it| Value::from(it.as_str()));
            result.insert("kept".into(), Value::list(kept));
        }
        outcome.result = Some(Value::from(result));
        outcome
    }
}

impl StatesExecution {
    /// Returns the keys of the commands that a test run predicts although nothing says that the machine needs them.
    fn unconditional_commands(&self, results: &[StateResult]) -> Vec<Value> {
        let Some(prepared) = self.run.prepared() else {
            return Vec::new();
        };
        let chunks = &prepared.low.chunks;
        let commands = results.iter().filter(|result| {
            let chunk = result.chunk.and_then(|index| chunks.get(index as usize));
            result.outcome.result.is_none() && chunk.is_some_and(Chunk::is_unconditional_command)
        });
        commands.map(|it| Value::from(it.key())).collect()
    }
}

/// Returns the variable `states` in which the use of an output that was not kept whole is an error, and the variables
/// that it refers to. Empty if all outputs are whole.
fn incomplete_outputs(results: &[StateResult]) -> Vec<(Arc<str>, Var)> {
    let with_outputs = |result| Some((result, StateResult::incomplete(result)?));
    let incomplete: Vec<_> = results.iter().filter_map(with_outputs).collect();
    if incomplete.is_empty() {
        return Vec::new();
    }
    let parts = |value: &Value| -> Map {
        let entries = value.as_map().into_iter().flatten();
        entries
            .map(|(key, value)| (Arc::clone(key), value.clone().data()))
            .collect()
    };
    let mut states = parts(&to_value(results));
    let mut variables = Vec::new();
    for (result, outputs) in incomplete {
        let mut state = parts(&result.to_value());
        let mut changes = parts(state.get("changes").unwrap_or(&Value::Null));
        for (name, reason) in outputs {
            let hidden = format!("_output_{}", variables.len());
            let read = Value::map([("eval", Value::from(format!("${hidden}")))]);
            changes.insert((*name).into(), read);
            let output = UnavailableOutput {
                name,
                reason: reason.clone(),
            };
            variables.push((hidden.into(), Var::Deferred(Arc::new(output))));
        }
        state.insert("changes".into(), changes.into());
        states.insert(result.key().into(), state.into());
    }
    variables.push(("states".into(), Var::Parts(states.into())));
    variables
}

/// Returns the text for a state's result, with its diff.
fn describe_result(result: &StateResult) -> String {
    let StateResult { state, fun, id, .. } = result;
    let diff = result.outcome.changes.get("diff").and_then(Value::as_str);
    match diff.filter(|diff| diff.starts_with("---")) {
        // The header lines with the file names are not informative.
        Some(diff) => {
            let lines: Vec<&str> = diff.trim_end().lines().skip(2).collect();
            format!("{id} ({state}.{fun}):\n{}", lines.join("\n"))
        }
        None => format!("{id} ({state}.{fun}): {}", result.outcome.comment),
    }
}

/// Returns all problems of state files with their positions, as one text.
fn describe_problems(problems: &Diagnostics, sources: &Sources) -> String {
    let lines = problems.iter().map(|problem| {
        let place = problem.span().and_then(|span| sources.position(span));
        match place {
            Some(place) => format!("{place}: {}", problem.message),
            None => problem.message.clone(),
        }
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// Returns a local command that waits for a duration.
fn pause(time: Duration) -> Command {
    let words = vec!["sleep".to_owned(), time.as_secs_f64().to_string()];
    let mut command = Command::new(Program::Argv(words), "/");
    command.env.add("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}

fn stamp(task: &TaskView<'_>) -> Timestamp {
    Timestamp(task.local_context().now().as_microsecond())
}
