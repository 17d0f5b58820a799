//! Takes what came of what was asked for, and decides how a task goes on.

use std::sync::Arc;

use super::engine::{Do, Waiting, Work};
use super::failure::{Failure, FailureKind};
use super::{Deed, Event, Runbook, Step, Task};
use crate::host::{ActionResult, Exit, Question, Secret, Tries};
use crate::value::Value;

impl Runbook {
    /// Takes the result of an action.
    pub fn heard(&mut self, id: u64, result: &ActionResult) {
        match self.waiting.remove(&id) {
            Some(Waiting::Action(run)) => {
                if let Err(failure) = self.acted(run, result) {
                    self.end_run(run, Err(failure));
                }
            }
            Some(Waiting::Role(role, planned)) => self.hosts_came(role, *planned, result),
            other => self.still_waits(id, other),
        }
    }

    /// Takes the answer to a question for a secret; none if nobody answers.
    pub fn answered(&mut self, id: u64, answer: Option<&Secret>) {
        match self.waiting.remove(&id) {
            Some(Waiting::Secret(run, question)) => match answer {
                Some(answer) => {
                    self.passwords.answered(&question, answer.clone());
                    self.ready.push_back(Work::Run(run));
                }
                None => self.unanswered(run, &question),
            },
            other => self.still_waits(id, other),
        }
    }

    /// Takes the answer to a prompt; none if nobody answers.
    pub fn prompted(&mut self, id: u64, answer: Option<&str>) {
        match (self.waiting.remove(&id), answer) {
            (Some(Waiting::Prompt(run)), Some(answer)) => {
                if let Err(failure) = self.prompt_came(run, answer.trim()) {
                    self.end_run(run, Err(failure));
                }
            }
            (Some(Waiting::Host(run)), Some(host)) if !host.trim().is_empty() => {
                self.runs[run].asked_host = Some(host.trim().into());
                self.ready.push_back(Work::Run(run));
            }
            (Some(Waiting::Prompt(run)), _) => {
                let failure = Failure::new(FailureKind::Asked, "nobody answers its question");
                self.end_run(run, Err(failure));
            }
            (Some(Waiting::Host(run)), _) => {
                let reason = "needs a host to run on, and nobody names one";
                self.end_run(run, Err(Failure::new(FailureKind::Asked, reason)));
            }
            (other, _) => self.still_waits(id, other),
        }
    }

    /// Somebody answered something else than what was asked: it is waited for still.
    fn still_waits(&mut self, id: u64, waiting: Option<Waiting>) {
        if let Some(waiting) = waiting {
            self.waiting.insert(id, waiting);
        }
    }

    fn task_of(&self, run: usize) -> Arc<Task> {
        Arc::clone(&self.batches[self.runs[run].batch].task)
    }

    fn acted(&mut self, id: usize, result: &ActionResult) -> Result<(), Failure> {
        let task = self.task_of(id);
        let run = &mut self.runs[id];
        run.elapsed += result.elapsed();
        let Some(step) = task.steps.get(run.step) else {
            return Ok(());
        };
        if let Exit::Asked { question, refused } = result.exit() {
            return self.ask(id, question, *refused);
        }
        let ok = is_ok(step, result);
        let value = value_of(result, ok, step);
        if ok {
            self.register(id, step.register.as_ref(), value);
            self.step_done(id);
            self.ready.push_back(Work::Run(id));
            return Ok(());
        }
        let failure = Failure::of_action(result, &self.secrets);
        if self.is_interrupted() && *result.exit() == Exit::Cancelled {
            return Err(Failure::interrupted());
        }
        if failure.kind == FailureKind::Unreachable {
            return Err(failure);
        }
        let run = &self.runs[id];
        let switches = &self.envs[run.env].switches;
        let warn_only = task.warn_only.unwrap_or(switches.warn_only);
        if !step.warn_only && !warn_only {
            return Err(failure);
        }
        if !step.warn_only || step.register.is_none() {
            let host = run
                .target()
                .map_or(String::new(), |host| format!("[{host}] "));
            let line = failure.last_line.as_ref();
            let line = line.map_or(String::new(), |line| format!(": {line}"));
            let (name, reason) = (&task.name, &failure.reason);
            self.warn(format!("{host}task `{name}` goes on after {reason}{line}"));
        }
        if !step.warn_only {
            self.tolerate(id, failure);
        }
        self.register(id, step.register.as_ref(), value);
        self.step_done(id);
        self.ready.push_back(Work::Run(id));
        Ok(())
    }

    /// An action needs what only a person knows.
    fn ask(&mut self, id: usize, question: &Question, refused: bool) -> Result<(), Failure> {
        let host = self.runs[id].target().cloned();
        if let Some(mut failure) = self.nobody_to_ask(id, &question.to_string()) {
            if refused {
                failure.reason = format!("{question} was refused");
            }
            let question = question.clone();
            self.events.push(Event::Needed { host, question });
            return Err(failure);
        }
        if let Question::Prompt(text) = question {
            let reason = format!("the command asks `{}`", text.trim());
            return Err(Failure::new(FailureKind::Asked, reason));
        }
        if !self.runs[id].tries.again() {
            let reason = format!("{question} was refused {} times", Tries::MAX);
            return Err(Failure::new(FailureKind::Asked, reason));
        }
        let id = self.wait_for(Waiting::Secret(id, question.clone()));
        let question = question.clone();
        self.todo.push(Do::Ask { id, question });
        Ok(())
    }

    fn unanswered(&mut self, run: usize, question: &Question) {
        let host = self.runs[run].target().cloned();
        let reason = format!("needs {question}, and nobody answers");
        let question = question.clone();
        self.events.push(Event::Needed { host, question });
        self.end_run(run, Err(Failure::new(FailureKind::Asked, reason)));
    }

    fn prompt_came(&mut self, id: usize, answer: &str) -> Result<(), Failure> {
        let task = self.task_of(id);
        let Some(step) = task.steps.get(self.runs[id].step) else {
            return Ok(());
        };
        let Deed::Prompt {
            default, validate, ..
        } = &step.deed
        else {
            return Ok(());
        };
        let scene = self.scene(id);
        let answer = match default {
            Some(default) if answer.is_empty() => self.text(default, &scene)?.text,
            _ => answer.to_owned(),
        };
        if validate
            .as_ref()
            .is_some_and(|pattern| !pattern.is_match(&answer))
        {
            let tries = &mut self.runs[id].tries;
            tries.again();
            if tries.are_over() {
                let reason = format!("none of {} answers was right", Tries::MAX);
                return Err(Failure::new(FailureKind::Asked, reason));
            }
            self.warn("this answer is not right");
        } else {
            let value = Value::from(answer).sensitive_if(step.how.secret);
            self.register(id, step.register.as_ref(), value);
            self.step_done(id);
        }
        self.ready.push_back(Work::Run(id));
        Ok(())
    }

    /// Takes what a task gave that another one executes.
    pub(super) fn executed(&mut self, run: usize, result: Result<Value, Failure>) {
        self.runs[run].executed = Some(result);
        self.ready.push_back(Work::Run(run));
    }
}

/// Whether an action succeeded, by the codes that its step says (F39).
fn is_ok(step: &Step, result: &ActionResult) -> bool {
    match result.exit() {
        Exit::Code(code) if !step.how.ok_codes.is_empty() => step.how.ok_codes.contains(code),
        exit => exit.is_ok(),
    }
}

/// What later steps see of a result (F38).
fn value_of(result: &ActionResult, ok: bool, step: &Step) -> Value {
    let code = result.exit().code();
    let code = code.map_or(Value::Null, |code| i64::from(code).into());
    let reason = if ok {
        Value::Null
    } else {
        result.exit().to_string().into()
    };
    let elapsed = Value::Float(result.elapsed().as_secs_f64());
    let own = match result {
        ActionResult::Run(output) => {
            let text = |text: &str| Value::from(text.trim_end()).sensitive_if(step.how.secret);
            vec![
                ("stdout", text(&output.stdout.text())),
                ("stderr", text(&output.stderr.text())),
            ]
        }
        ActionResult::Transfer(output) => {
            let number = |count: u64| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
            vec![
                ("files", number(output.files)),
                ("bytes", number(output.bytes)),
            ]
        }
        // No step of a task asks for these.
        ActionResult::Read(_) | ActionResult::Change(_) => Vec::new(),
    };
    let of_all = [
        ("code", code),
        ("ok", ok.into()),
        ("failed", (!ok).into()),
        ("reason", reason),
        ("elapsed", elapsed),
    ];
    Value::map(own.into_iter().chain(of_all))
}
