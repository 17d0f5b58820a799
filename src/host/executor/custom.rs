//! The protocol of executors that are programs of the user's: the request as JSON on stdin, the
//! reply as JSON on stdout.
//!
//! The documentation of the parent module describes it for users.

use std::time::Duration;

use serde_json::{Value, json};

use super::function_name::function_of;
use crate::host::chain::CustomExecutor;
use crate::host::{
    Action, ActionRequest, ActionResult, CapturedOutput, ChangeOutput, Command, Exit, Program,
    RunOutput,
};

/// The maximum size of a reply in bytes.
const MAX_REPLY_BYTES: usize = 16 << 20;

/// The reply of an executor program.
#[derive(Debug)]
pub(super) enum ExecutorReply {
    /// The program leaves the action to the next executor.
    Next,
    /// The chain ends with this result.
    Result(ActionResult),
}

/// Returns the command that runs the program with the action, the host and the next executors as
/// its input.
pub(super) fn query_command(
    executor: &CustomExecutor,
    host: &str,
    next: &[&str],
    request: &ActionRequest,
) -> Command {
    let options = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let question = json!({
        "protocol": 1,
        "executor": executor.name,
        "host": host,
        "place": request.location.to_string(),
        "function": function_of(&request.action),
        "action": revealed_action(&request.action),
        "next": next,
        "options": options(executor.options.reveal()),
        "configuration": options(executor.configuration.reveal()),
    });
    let program = executor.program.to_string_lossy().into_owned();
    let mut command = Command::new(Program::Argv(vec![program]), &executor.folder);
    command.env = executor.environment.iter().cloned().collect();
    command.stdin = Some(question.to_string().into_bytes());
    command.capture_limit = MAX_REPLY_BYTES;
    if let Action::Run(original) = &request.action {
        command.time_limit = original.time_limit;
        command.secrets = original.hidden();
    }
    command
}

/// Serializes an action with its secrets in clear text, as the program must perform it.
fn revealed_action(action: &Action) -> Value {
    let mut shown = json!(action);
    if let Action::Run(command) = action {
        shown["run"]["env"] = json!(command.env.iter().collect::<Vec<_>>());
    }
    shown
}

/// Parses the reply.
///
/// A program that fails or writes an invalid reply ends the chain with a failure.
pub(super) fn parse_reply(result: &ActionResult, action: &Action) -> ExecutorReply {
    let failure =
        |why: String| ExecutorReply::Result(ActionResult::not_performed(action, Exit::Failed(why)));
    let ActionResult::Run(output) = result else {
        return failure("the executor gave no reply".to_owned());
    };
    match &output.exit {
        Exit::Code(0) => {}
        Exit::Code(_) | Exit::Signal(_) => {
            let complaint = output.stderr.text();
            let last = complaint.lines().rev().find(|line| !line.trim().is_empty());
            let why = last.map_or_else(String::new, |line| format!(": {}", line.trim()));
            return failure(format!("the executor failed with {}{why}", output.exit));
        }
        other => return ExecutorReply::Result(ActionResult::not_performed(action, other.clone())),
    }
    let text = match output.stdout.whole_text() {
        Ok(text) => text,
        Err(incomplete) => {
            return failure(format!("the executor's reply is too long: {incomplete}"));
        }
    };
    if text.trim().is_empty() {
        return ExecutorReply::Next;
    }
    let answer = match serde_json::from_str::<Value>(&text) {
        Ok(Value::Null) => return ExecutorReply::Next,
        Ok(Value::Object(answer)) => answer,
        Ok(_) => return failure("the executor's reply is not a JSON object".to_owned()),
        Err(error) => return failure(format!("the executor's reply is not valid JSON: {error}")),
    };
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        return failure(text_of(error));
    }
    match answer.get("result") {
        None | Some(Value::Null) if answer.keys().all(|key| key == "result" || key == "error") => {
            ExecutorReply::Next
        }
        Some(result) if !result.is_null() => {
            ExecutorReply::Result(result_of_value(result, action, output.elapsed))
        }
        _ => {
            let keys: Vec<&str> = answer.keys().map(String::as_str).collect();
            failure(format!(
                "the executor's reply has neither `result` nor `error`; its keys are {}",
                keys.join(", ")
            ))
        }
    }
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Converts the `result` of a reply into a result of the action.
fn result_of_value(result: &Value, action: &Action, elapsed: Duration) -> ActionResult {
    let code = exit_code(result);
    let (stdout, stderr) = if result.get("code").is_some() {
        let field = |name: &str| result.get(name).map(text_of).unwrap_or_default();
        (field("stdout"), field("stderr"))
    } else {
        (text_of(result), String::new())
    };
    match action {
        Action::Run(_) | Action::Call(_) => {}
        // Only commands have outputs, which would show the reason.
        _ if code != 0 => {
            let text = [stdout.trim(), stderr.trim()].join(" ");
            let why = format!(
                "the executor refuses with exit code {code}: {}",
                text.trim()
            );
            return ActionResult::not_performed(action, Exit::Failed(why));
        }
        Action::Read(_) => {
            let why = "the executor's reply has no facts".to_owned();
            return ActionResult::not_performed(action, Exit::Failed(why));
        }
        Action::Change(changes) => {
            return ActionResult::Change(ChangeOutput {
                exit: Exit::Code(0),
                outputs: vec![RunOutput::ok(); changes.len()],
                elapsed,
            });
        }
        Action::Put(_) | Action::Get(_) | Action::Private(_) => {
            return ActionResult::not_performed(action, Exit::Code(code));
        }
    }
    ActionResult::Run(RunOutput {
        exit: Exit::Code(code),
        stdout: CapturedOutput::from_bytes(stdout),
        stderr: CapturedOutput::from_bytes(stderr),
        elapsed,
    })
}

/// Returns the exit code of a result: its `code`, or 1 if its `result` or `success` is false (X11).
fn exit_code(result: &Value) -> i32 {
    if let Some(code) = result.get("code").and_then(Value::as_i64) {
        return i32::try_from(code).unwrap_or(1);
    }
    let is_false = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(true) => false,
    };
    let mut flags = ["result", "success"]
        .into_iter()
        .filter_map(|name| result.get(name));
    i32::from(flags.any(is_false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Location, Secret};

    #[test]
    fn a_program_of_the_users_learns_the_secrets_of_a_command_and_shows_none() {
        let mut command = Command::new(Program::Argv(vec!["login".to_owned()]), "/");
        command.env.add("USER", "joe");
        command.env.add_secret("TOKEN", "hunter2");
        let request = ActionRequest::new(Location::Local, Action::Run(command));
        let own = CustomExecutor {
            name: "own".to_owned(),
            program: "/own".into(),
            folder: "/".into(),
            environment: Vec::new(),
            options: Secret::new("{}"),
            configuration: Secret::new("{}"),
        };
        let call = query_command(&own, "web1", &["direct"], &request);
        let original = call.stdin.clone().unwrap_or_default();
        let original: Value = serde_json::from_slice(&original).unwrap();
        assert_eq!(
            original["action"]["run"]["env"],
            json!([["USER", "joe"], ["TOKEN", "hunter2"]])
        );
        assert!(call.hidden().occur_in("it is hunter2"));
        assert!(!format!("{call:?}").contains("hunter2"));
    }
}
