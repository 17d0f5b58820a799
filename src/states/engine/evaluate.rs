//! The evaluation of one state: checks its conditions, calls its function, requests its changes and judges
//! their results (S32–S35, S43–S45).
//!
//! Entry: [`Engine::advance_running`], a loop over the stages of [`RunStage`] that stops when the state needs
//! facts, changes or a pause.

use super::arguments::{argument_warnings, call_arguments, callable_function, not_found_comment};
use super::conditions::StateConditions;
use super::engine::{Engine, NextAction, StepOutcome};
use super::prefetch::note_present_modes;
use super::retry::Retry;
use super::running::{
    ActionOwner, CallPurpose, PendingChanges, RunDecision, RunStage, RunningState, failure_message,
};
use crate::host::RunOutput;
use crate::host::fact::Fact;
use crate::states::slot;
use crate::states::state_function::ENVIRON_KEY;
use crate::states::{
    ChangeOutcome, Chunk, FactCache, Halt, Mode, StateCall, StateDecision, StateFn, StateFunction,
    StateOutcome,
};
use crate::value::Value;

/// The variant of a state function call.
struct CallVariants<'a> {
    run: StateFn,
    function: &'a StateFunction,
    /// Whether the module's watch function is called instead of the state's own.
    is_watch: bool,
    /// Whether the call is made only to collect the facts it needs, along with those of the conditions.
    is_prefetch: bool,
}

impl Engine {
    /// Advances a state until it needs an action or ends.
    pub(super) fn advance_running(
        &mut self,
        running: &mut RunningState,
        owner: ActionOwner,
        facts: &mut FactCache,
    ) -> StepOutcome {
        loop {
            let stage = std::mem::replace(&mut running.stage, RunStage::Decide);
            match stage {
                RunStage::Decide | RunStage::CallFunction => {
                    let fresh = matches!(stage, RunStage::Decide);
                    match self.decide_tracking_doubt(running, fresh, facts) {
                        Err(needs) => {
                            running.stage = stage;
                            return StepOutcome::Next(NextAction::Read(needs));
                        }
                        Ok(RunDecision::Invalid(outcome)) => return StepOutcome::Finished(outcome),
                        Ok(RunDecision::Skip(outcome)) => {
                            running.stage = RunStage::CheckCmd(outcome);
                        }
                        Ok(RunDecision::Parallel) => {
                            running.stage = RunStage::CallFunction;
                            return StepOutcome::Parallel;
                        }
                        Ok(RunDecision::Evaluated(decision, warnings)) => {
                            running.warnings = warnings;
                            if let Some(next) = self.apply_decision(running, owner, decision, facts)
                            {
                                return StepOutcome::Next(next);
                            }
                        }
                    }
                }
                RunStage::Applying(_) | RunStage::RetryPause => {
                    running.stage = stage;
                    return StepOutcome::Waiting;
                }
                RunStage::Evaluate(pending, outputs) => {
                    match evaluate_changes(&pending, &outputs, facts) {
                        Ok(outcome) => running.stage = RunStage::CheckCmd(outcome),
                        Err(needs) => {
                            running.stage = RunStage::Evaluate(pending, outputs);
                            return StepOutcome::Next(NextAction::Read(needs));
                        }
                    }
                }
                RunStage::CheckCmd(outcome) => {
                    return self.check_and_finish(running, outcome, owner, facts);
                }
            }
        }
    }

    /// Runs the `check_cmd` of a state, then retries or finishes the state.
    fn check_and_finish(
        &mut self,
        running: &mut RunningState,
        outcome: StateOutcome,
        owner: ActionOwner,
        facts: &FactCache,
    ) -> StepOutcome {
        match self.run_check_cmd(running, outcome.clone(), facts) {
            Ok(checked) => {
                let outcome = self.settle_outcome(running, checked);
                match self.retry_or_finish(running, outcome, owner) {
                    Ok(outcome) => StepOutcome::Finished(outcome),
                    Err(pause) => StepOutcome::Next(pause),
                }
            }
            Err(needs) => {
                running.stage = RunStage::CheckCmd(outcome);
                StepOutcome::Next(NextAction::Read(needs))
            }
        }
    }

    fn mode_of(&self, purpose: CallPurpose) -> Mode {
        if purpose.is_test() {
            Mode::Test
        } else {
            self.options.mode
        }
    }

    pub(super) fn decide_tracking_doubt(
        &self,
        running: &mut RunningState,
        fresh: bool,
        facts: &FactCache,
    ) -> Result<RunDecision, Vec<Fact>> {
        facts.take_used_doubtful();
        let decided = self.decide(running, fresh, facts);
        if facts.take_used_doubtful() && self.options.mode == Mode::Test {
            running.doubtful = true;
        }
        decided
    }

    /// Evaluates the conditions and calls the function of a state. With `fresh` false the conditions were met
    /// before and are not evaluated again.
    pub(super) fn decide(
        &self,
        running: &RunningState,
        fresh: bool,
        facts: &FactCache,
    ) -> Result<RunDecision, Vec<Fact>> {
        let chunk = &self.low.chunks[running.chunk as usize];
        let (module, function) = match callable_function(self.options.modules, chunk) {
            Ok(found) => found,
            Err(comment) => return Ok(RunDecision::Invalid(StateOutcome::failed(comment))),
        };
        let watches = matches!(running.purpose, CallPurpose::Watch | CallPurpose::Listen);
        let run = if watches {
            module.watch
        } else {
            Some(function.run)
        };
        let Some(run) = run else {
            let comment = not_found_comment(self.options.modules, chunk, "mod_watch");
            return Ok(RunDecision::Invalid(StateOutcome::failed(comment)));
        };
        let conditions = fresh.then(|| self.conditions(chunk, facts).skip_outcome());
        let needs = match conditions {
            None | Some(Ok(None)) => None,
            Some(Ok(Some(outcome))) => return Ok(RunDecision::Skip(outcome)),
            Some(Err(Halt::Failed(comment))) => {
                return Ok(RunDecision::Skip(StateOutcome::failed(comment)));
            }
            Some(Err(Halt::Needs(needs))) => Some(needs),
        };
        let continues_parallel =
            fresh && Self::is_parallel(chunk) && matches!(running.purpose, CallPurpose::Run { .. });
        if continues_parallel {
            return needs.map_or(Ok(RunDecision::Parallel), Err);
        }
        let function_call = CallVariants {
            run,
            function,
            is_watch: watches,
            is_prefetch: needs.is_some(),
        };
        let decision = self.call_function(running, &function_call, facts);
        match (needs, decision) {
            (Some(mut needs), Err(Halt::Needs(more))) => {
                needs.extend(more);
                Err(needs)
            }
            (Some(needs), _) | (None, Err(Halt::Needs(needs))) => Err(needs),
            (None, Ok(decision)) => Ok(RunDecision::Evaluated(
                decision,
                argument_warnings(chunk, function),
            )),
            (None, Err(Halt::Failed(comment))) => Ok(RunDecision::Evaluated(
                StateDecision::Done(StateOutcome::failed(comment)),
                Vec::new(),
            )),
        }
    }

    fn conditions<'a>(&'a self, chunk: &'a Chunk, facts: &'a FactCache) -> StateConditions<'a> {
        StateConditions {
            chunk,
            context: self.contexts.of(&chunk.env),
            facts,
            environ: &self.environ,
        }
    }

    fn is_parallel(chunk: &Chunk) -> bool {
        chunk.keywords.get("parallel").is_some_and(Value::is_truthy)
    }

    fn call_function(
        &self,
        running: &RunningState,
        function_call: &CallVariants<'_>,
        facts: &FactCache,
    ) -> Result<StateDecision, Halt> {
        let chunk = &self.low.chunks[running.chunk as usize];
        let mut args = call_arguments(chunk, Some(function_call.function), &self.environ);
        if let Some(joined) = &running.args {
            for (key, value) in joined {
                args.to_mut().insert(key.clone(), value.clone());
            }
        }
        if function_call.is_watch {
            let fun = Value::Str(chunk.fun.clone());
            args.to_mut().insert("sfun".into(), fun);
            if &*chunk.state == "test" {
                let changed = self.changed_watched(running);
                args.to_mut().insert("__reqs__".into(), changed);
            }
        }
        let has_named_slot = slot::is_slot(&chunk.name);
        if function_call.is_prefetch && (has_named_slot || slot::has_slots(&args)) {
            return Err(Halt::Needs(Vec::new()));
        }
        if has_named_slot {
            let name = slot::fill_name(&chunk.name, self.contexts.of(&chunk.env), facts)?;
            running.name.get_or_init(|| name);
        }
        if slot::has_slots(&args) {
            let filled = slot::fill_slots(&args, self.contexts.of(&chunk.env), facts)?;
            *args.to_mut() = filled;
        }
        let call = StateCall {
            state: &chunk.state,
            fun: &chunk.fun,
            name: running.name.get().unwrap_or(&chunk.name),
            id: &chunk.id,
            sls: &chunk.sls,
            args: &args,
            mode: self.mode_of(running.purpose),
            context: self.contexts.of(&chunk.env),
            chunk: Some((&self.low, running.chunk)),
        };
        (function_call.run)(&call, facts)
    }

    /// Handles the decision of a function. Returns the action if there are changes to make; in test mode
    /// predicts their effects instead.
    fn apply_decision(
        &mut self,
        running: &mut RunningState,
        owner: ActionOwner,
        decision: StateDecision,
        facts: &mut FactCache,
    ) -> Option<NextAction> {
        let mut change_set = match decision {
            StateDecision::Done(outcome) => {
                running.stage = RunStage::CheckCmd(outcome);
                return None;
            }
            StateDecision::Change(change_set) => change_set,
        };
        if self.mode_of(running.purpose) == Mode::Test {
            if !matches!(running.purpose, CallPurpose::Test { .. }) {
                for step in &change_set.steps {
                    facts.predict(step);
                }
            }
            let mut predicted = change_set.predicted;
            predicted.steps = change_set.steps;
            running.stage = RunStage::CheckCmd(predicted);
            return None;
        }
        let pending = PendingChanges::of(&change_set.steps, change_set.finish);
        if change_set.steps.is_empty() {
            running.stage = RunStage::Evaluate(pending, Vec::new());
            return None;
        }
        note_present_modes(&mut change_set.steps, facts);
        // States that run at the same time read again what was read before this change.
        for domain in &pending.touched {
            facts.forget(domain);
        }
        running.stage = RunStage::Applying(pending);
        Some(NextAction::Change {
            action: self.new_action(owner),
            changes: change_set.steps,
            chunk: running.chunk,
        })
    }

    /// Evaluates `check_cmd`, unless the function takes this argument itself.
    fn run_check_cmd(
        &self,
        running: &mut RunningState,
        outcome: StateOutcome,
        facts: &FactCache,
    ) -> Result<StateOutcome, Vec<Fact>> {
        let chunk = &self.low.chunks[running.chunk as usize];
        let Some(written) = chunk.keywords.get("check_cmd") else {
            return Ok(outcome);
        };
        let found = callable_function(self.options.modules, chunk);
        if found.is_ok_and(|(_, function)| function.takes("check_cmd")) {
            return Ok(outcome);
        }
        facts.take_used_doubtful();
        let checked = self
            .conditions(chunk, facts)
            .apply_check_cmd(written, outcome);
        if facts.take_used_doubtful() && self.options.mode == Mode::Test {
            running.doubtful = true;
        }
        match checked {
            Ok(outcome) => Ok(outcome),
            Err(Halt::Failed(comment)) => Ok(StateOutcome::failed(comment)),
            Err(Halt::Needs(needs)) => Err(needs),
        }
    }

    /// Completes an outcome: turns a doubtful failure into a prediction, adds warnings and stores the
    /// environment variables that the function sets.
    pub(super) fn settle_outcome(
        &mut self,
        running: &mut RunningState,
        mut outcome: StateOutcome,
    ) -> StateOutcome {
        if running.doubtful && outcome.result == Some(false) {
            outcome.result = None;
        }
        outcome.warnings.append(&mut running.warnings);
        if let Some(Value::Map(set)) = outcome.more.shift_remove(ENVIRON_KEY) {
            for (key, value) in set.iter() {
                self.environ.insert(key.clone(), value.clone());
            }
        }
        outcome
    }

    /// Decides about a retry. Returns the final outcome, or a pause before the next attempt as `Err` (S35).
    fn retry_or_finish(
        &mut self,
        running: &mut RunningState,
        mut outcome: StateOutcome,
        owner: ActionOwner,
    ) -> Result<StateOutcome, NextAction> {
        let chunk = &self.low.chunks[running.chunk as usize];
        let Some(written) = chunk.keywords.get("retry") else {
            return Ok(outcome);
        };
        if matches!(running.purpose, CallPurpose::Test { .. }) {
            return Ok(outcome);
        }
        let retry = Retry::read(written);
        if self.options.mode == Mode::Test {
            outcome.comment.push_str(&retry.dry_run_note());
            return Ok(outcome);
        }
        let attempt = running.attempts + 1;
        if !retry.should_retry(attempt, outcome.result) {
            running.notes.push(outcome.comment);
            outcome.comment = running.notes.join("\n");
            return Ok(outcome);
        }
        let result = match outcome.result {
            Some(true) => "True",
            Some(false) => "False",
            None => "None",
        };
        running.notes.push(format!(
            "Attempt {attempt}: Returned a result of \"{result}\", with the following comment: \"{}\"",
            outcome.comment
        ));
        running.attempts = attempt;
        running.stage = RunStage::RetryPause;
        if running.number.is_none() {
            self.next_number();
        }
        let seed = u64::from(running.chunk) ^ self.now.0.unsigned_abs();
        Err(NextAction::Sleep {
            action: self.new_action(owner),
            time: retry.pause(seed),
            chunk: running.chunk,
        })
    }
}

/// Computes the outcome of changes from their outputs.
fn evaluate_changes(
    pending: &PendingChanges,
    outputs: &[RunOutput],
    facts: &FactCache,
) -> Result<StateOutcome, Vec<Fact>> {
    let outcome = match &pending.finish {
        ChangeOutcome::Fixed(outcome) => match pending.first_failure(outputs) {
            None => Ok(outcome.clone()),
            Some(place) => Ok(StateOutcome::failed(failure_message(outputs.get(place)))),
        },
        ChangeOutcome::Computed(compute) => compute(outputs, facts),
    };
    match outcome {
        Ok(outcome) => Ok(outcome),
        Err(Halt::Failed(comment)) => Ok(StateOutcome::failed(comment)),
        Err(Halt::Needs(needs)) => Err(needs),
    }
}
