//! Takes the replies to requests of the engine and continues the tasks.
//!
//! Replies are results of actions, secrets, and answers to prompts. The methods extend
//! [`TaskEngine`].

use std::sync::Arc;

use super::command_options::OptionStack;
use super::engine::{EngineRequest, PendingReply, ReadyItem};
use super::failure::{TaskFailure, TaskFailureKind};
use super::repeat::AttemptEnd;
use super::run_state::RegisteredResult;
use super::template::RenderedText;
use super::{HostEvent, OutputKinds, StepAction, Task, TaskEngine, TaskStep};
use crate::host::{ActionResult, AttemptCounter, DeferredOutput, Exit, Question, Secret};
use crate::value::{REDACTED, Value};

impl TaskEngine {
    /// Takes the result of an action.
    pub fn complete_action(&mut self, id: u64, result: &ActionResult) {
        match self.pending.remove(&id) {
            Some(PendingReply::Action(run)) => {
                self.show_surplus(run, result);
                if let Err(failure) = self.complete_step_action(run, result) {
                    self.fail_run(run, failure);
                }
            }
            Some(PendingReply::Role(role, planned)) => {
                self.receive_role_hosts(role, *planned, result);
            }
            Some(PendingReply::Pause(run)) if self.is_interrupted() => {
                self.fail_run(run, TaskFailure::interrupted());
            }
            Some(PendingReply::Pause(run)) => self.ready.push_back(ReadyItem::Run(run)),
            other => self.restore_pending(id, other),
        }
    }

    /// Names the entries that a mirrored folder lacks. A dry run copies no file.
    fn show_surplus(&mut self, run: usize, result: &ActionResult) {
        let ActionResult::Transfer(output) = result else {
            return;
        };
        let verb = if output.files == 0 {
            "would delete"
        } else {
            "deleted"
        };
        for path in &output.surplus {
            let host = self.runs[run].host.clone();
            let text = self.secrets.redact(&format!("{verb} `{path}`"));
            self.events.push(HostEvent::Message { host, text });
        }
    }

    /// Takes the answer to a request for a secret. None if the user gave no answer.
    pub fn answer_secret(&mut self, id: u64, answer: Option<&Secret>) {
        match self.pending.remove(&id) {
            Some(PendingReply::Secret(run, question)) => match answer {
                Some(answer) => {
                    self.runs[run].trials.add(&question, answer.clone());
                    self.ready.push_back(ReadyItem::Run(run));
                }
                None => self.fail_unanswered(run, &question),
            },
            other => self.restore_pending(id, other),
        }
    }

    /// Takes the answer to a prompt. None if the user gave no answer.
    pub fn answer_prompt(&mut self, id: u64, answer: Option<&str>) {
        match (self.pending.remove(&id), answer) {
            (Some(PendingReply::Prompt(run)), Some(answer)) => {
                if let Err(failure) = self.accept_prompt_answer(run, answer.trim()) {
                    self.fail_run(run, failure);
                }
            }
            (Some(PendingReply::Host(run)), Some(host)) if !host.trim().is_empty() => {
                self.runs[run].prompted_host = Some(host.trim().into());
                self.ready.push_back(ReadyItem::Run(run));
            }
            (Some(PendingReply::Prompt(run)), _) => {
                let failure = TaskFailure::new(
                    TaskFailureKind::NeedsInput,
                    "the question of the step was not answered",
                );
                self.fail_run(run, failure);
            }
            (Some(PendingReply::Host(run)), _) => {
                let reason = "needs a host to run on, but none was entered; name one with `-H`";
                self.fail_run(run, TaskFailure::new(TaskFailureKind::NeedsInput, reason));
            }
            (other, _) => self.restore_pending(id, other),
        }
    }

    /// Restores a pending reply after a reply of the wrong kind.
    fn restore_pending(&mut self, id: u64, waiting: Option<PendingReply>) {
        if let Some(waiting) = waiting {
            self.pending.insert(id, waiting);
        }
    }

    fn task_of(&self, run: usize) -> Arc<Task> {
        Arc::clone(&self.batches[self.runs[run].batch].task)
    }

    fn complete_step_action(
        &mut self,
        id: usize,
        result: &ActionResult,
    ) -> Result<(), TaskFailure> {
        let run = &mut self.runs[id];
        run.elapsed += result.elapsed();
        if run.trials.settle(result.exit(), &mut self.passwords) {
            // The next question is another one.
            run.tries = AttemptCounter::default();
        }
        let Some((steps, index)) = run.cursor.current() else {
            return Ok(());
        };
        let Some(step) = steps.get(index) else {
            return Ok(());
        };
        let refusal = match result.exit() {
            Exit::NeedsAnswer { question, refused } => {
                match self.request_secret(id, question, *refused) {
                    Err(failure) if failure.kind == TaskFailureKind::Step => Some(failure),
                    other => return other,
                }
            }
            _ => None,
        };
        if self.is_interrupted() && *result.exit() == Exit::Cancelled {
            return Err(TaskFailure::interrupted());
        }
        let shown = self.result_options(id);
        let ok = is_ok(&shown.ok_codes, result);
        let value = result_value(result, ok, &shown);
        let is_refused = refusal.is_some();
        let mut failure =
            refusal.or_else(|| (!ok).then(|| TaskFailure::from_action(result, &self.secrets)));
        if let Some(until) = step.until.as_ref().filter(|_| !is_refused) {
            match self.end_attempt(id, until, &value, failure)? {
                AttemptEnd::Ended(end) => failure = end,
                AttemptEnd::Repeated => return Ok(()),
            }
        }
        if let Some(failure) = failure {
            self.tolerate(id, step, failure)?;
        }
        self.register(id, step.register.as_ref(), value);
        self.finish_step(id);
        self.ready.push_back(ReadyItem::Run(id));
        Ok(())
    }

    /// Returns the options of the current step that its result depends on.
    fn result_options(&self, id: usize) -> ResultOptions {
        let run = &self.runs[id];
        let task = &self.batches[run.batch].task;
        let options = run.cursor.options(&task.options);
        let options = OptionStack(&options);
        let codes = options.innermost(|it| Some(&it.ok_codes).filter(|codes| !codes.is_empty()));
        ResultOptions {
            ok_codes: codes.cloned().unwrap_or_default(),
            secret: options.any(|it| it.secret),
            is_item: run.cursor.items().next().is_some(),
            command: run.command.clone(),
        }
    }

    /// Returns the failure of a step unless it only causes a warning.
    fn tolerate(
        &mut self,
        id: usize,
        step: &TaskStep,
        failure: TaskFailure,
    ) -> Result<(), TaskFailure> {
        if failure.kind == TaskFailureKind::Unreachable {
            return Err(failure);
        }
        let task = self.task_of(id);
        let run = &self.runs[id];
        if !step.warn_only && !self.tolerance(run).warn_only {
            return Err(failure);
        }
        let options = run.cursor.options(&task.options);
        let is_hidden = OptionStack(&options).hidden().has(OutputKinds::WARNINGS);
        if (!step.warn_only || step.register.is_none()) && !is_hidden {
            let host = run.host_prefix();
            let line = failure.last_line.as_ref();
            let line = line.map_or(String::new(), |line| format!(": {line}"));
            let (name, reason) = (&task.name, &failure.reason);
            self.warn(format!(
                "{host}task `{name}` continues after a failure: {reason}{line}"
            ));
        }
        if !step.warn_only {
            self.record_tolerated(id, failure);
        }
        Ok(())
    }

    /// Asks the user for a secret that an action needs, or fails if this is not possible.
    fn request_secret(
        &mut self,
        id: usize,
        question: &Question,
        refused: bool,
    ) -> Result<(), TaskFailure> {
        let host = self.runs[id].target().cloned();
        if let Some(mut failure) = self.prompt_unavailable(id, &question.to_string()) {
            if refused {
                failure.reason = format!("{question} was refused");
            } else if let Some(option) = question.option() {
                failure.reason += &format!("; `{option}` asks once, before anything runs");
            }
            let question = question.clone();
            self.events.push(HostEvent::InputNeeded { host, question });
            return Err(failure);
        }
        if let Question::Prompt(text) | Question::Settled(text) = question {
            let reason = format!("the command asks for input: `{}`", text.trim());
            return Err(TaskFailure::new(TaskFailureKind::NeedsInput, reason));
        }
        // The login itself limits the questions that belong to it.
        if !question.is_limited_by_login() && !self.runs[id].tries.count_attempt() {
            let reason = format!("{question} was refused {} times", AttemptCounter::MAX);
            return Err(TaskFailure::new(TaskFailureKind::Step, reason));
        }
        let id = self.register_pending(PendingReply::Secret(id, question.clone()));
        let question = question.clone();
        self.requests
            .push(EngineRequest::PromptSecret { id, question });
        Ok(())
    }

    fn fail_unanswered(&mut self, run: usize, question: &Question) {
        let host = self.runs[run].target().cloned();
        let reason = format!("needs {question}, but no answer was given");
        let question = question.clone();
        self.events.push(HostEvent::InputNeeded { host, question });
        self.fail_run(run, TaskFailure::new(TaskFailureKind::NeedsInput, reason));
    }

    fn accept_prompt_answer(&mut self, id: usize, answer: &str) -> Result<(), TaskFailure> {
        let Some((steps, index)) = self.runs[id].cursor.current() else {
            return Ok(());
        };
        let Some(step) = steps.get(index) else {
            return Ok(());
        };
        let StepAction::Prompt {
            default, validate, ..
        } = &step.action
        else {
            return Ok(());
        };
        let context = self.template_context(id);
        let answer = match default {
            Some(default) if answer.is_empty() => self.text(default, &context)?.text,
            _ => answer.to_owned(),
        };
        if validate
            .as_ref()
            .is_some_and(|pattern| pattern.is_match(&answer) != Ok(true))
        {
            let tries = &mut self.runs[id].tries;
            tries.count_attempt();
            if tries.is_exhausted() {
                let reason = format!(
                    "none of the {} answers matched the pattern in `validate`",
                    AttemptCounter::MAX
                );
                return Err(TaskFailure::new(TaskFailureKind::NeedsInput, reason));
            }
            self.warn("this answer does not match the pattern in `validate`; try again");
        } else {
            let value = Value::from(answer).sensitive_if(step.options.secret);
            self.register(id, step.register.as_ref(), value);
            self.finish_step(id);
        }
        self.ready.push_back(ReadyItem::Run(id));
        Ok(())
    }

    /// Takes the result of a task that another task executed.
    pub(super) fn complete_execute(&mut self, run: usize, result: Result<Value, TaskFailure>) {
        self.runs[run].execute_result = Some(result);
        self.ready.push_back(ReadyItem::Run(run));
    }
}

/// The options of a step that its result depends on.
struct ResultOptions {
    ok_codes: Vec<i32>,
    secret: bool,
    /// True if the result is one of several of a loop, which expressions cannot read on demand.
    is_item: bool,
    command: Option<RenderedText>,
}

/// Returns true if an action succeeded, according to the `ok_codes` of its step (F39).
fn is_ok(ok_codes: &[i32], result: &ActionResult) -> bool {
    match result.exit() {
        Exit::Code(code) if !ok_codes.is_empty() => ok_codes.contains(code),
        exit => exit.is_ok(),
    }
}

/// Returns the result of an action as later steps see it (F38).
fn result_value(result: &ActionResult, ok: bool, options: &ResultOptions) -> RegisteredResult {
    let code = result.exit().code();
    let code = code.map_or(Value::Null, |code| i64::from(code).into());
    let reason = if ok {
        Value::Null
    } else {
        result.exit().to_string().into()
    };
    let elapsed = Value::Float(result.elapsed().as_secs_f64());
    let mut long_outputs = Vec::new();
    let mut own = match result {
        ActionResult::Run(output) => {
            let secret = options.secret || output.is_secret();
            let convert = move |text: &str| Value::from(text.trim_end()).sensitive_if(secret);
            let outputs = [("stdout", &output.stdout), ("stderr", &output.stderr)];
            let texts = outputs.map(|(name, captured)| {
                // The engine must know the whole of a secret output before anything is shown.
                if (secret || options.is_item)
                    && let Ok(text) = captured.whole_text()
                {
                    return (name, convert(&text));
                }
                long_outputs.extend(DeferredOutput::of_long(name, captured, convert));
                (name, convert(&captured.text()))
            });
            let mut own = Vec::from(texts);
            if let Some(command) = &options.command {
                // A sensitive part would make everything sensitive that reads the result.
                let is_secret = command.secret || options.secret;
                let text = if is_secret { REDACTED } else { &command.text };
                own.push(("command", text.into()));
            }
            own
        }
        ActionResult::Transfer(output) => {
            let number = |count: u64| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
            vec![
                ("files", number(output.files)),
                ("bytes", number(output.bytes)),
            ]
        }
        // No step of a task reads facts, applies changes or works on private files.
        ActionResult::Read(_) | ActionResult::Change(_) | ActionResult::Private(_) => Vec::new(),
    };
    own.extend([
        ("code", code.clone()),
        ("return_code", code),
        ("ok", ok.into()),
        ("succeeded", ok.into()),
        ("failed", (!ok).into()),
        ("reason", reason),
        ("elapsed", elapsed),
    ]);
    RegisteredResult {
        value: Value::map(own),
        long_outputs,
    }
}
