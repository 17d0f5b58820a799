//! The command that reads or changes all that an action asks for, and what its output says.

use super::{change_script, read_script};
use crate::host::{
    Action, ActionResult, Background, ChangeOutput, Command, Exit, Program, ReadOutput, RunOutput,
};
use crate::value::Secrets;

/// The most bytes that are kept of what a script gives: all.
const MAX_OUTPUT_BYTES: usize = 1 << 31;

/// What the shell is told: to run the script that it reads, if it ends as all of it does.
const START_SHELL_SCRIPT: &str =
    "_s=$(cat); case $_s in *'#.') eval \"unset _s; $_s\";; *) exit 97;; esac";

/// The command that reads or changes all of it; none for any other action.
pub(in crate::host) fn command(action: &Action) -> Option<Command> {
    let text = match action {
        Action::Read(facts) => read_script::script(facts),
        Action::Change(changes) => change_script::script(changes),
        Action::Run(_) | Action::Put(_) | Action::Get(_) => return None,
    };
    let words = ["/bin/sh", "-c", START_SHELL_SCRIPT]
        .map(str::to_owned)
        .to_vec();
    let mut command = Command::new(Program::Argv(words), "");
    command.stdin = Some(text.into_bytes());
    command.capture_limit = MAX_OUTPUT_BYTES;
    command.secrets = secrets(action);
    if change_script::may_keep_background(action) {
        command.background = Background::Keep;
    }
    Some(command)
}

/// What may be on no command line and in no environment that others see.
fn secrets(action: &Action) -> Secrets {
    let Action::Change(changes) = action else {
        return Secrets::default();
    };
    changes
        .iter()
        .filter_map(change_script::change_secret)
        .collect()
}

/// What the output of the command says.
pub(in crate::host) fn result(action: &Action, output: &RunOutput) -> ActionResult {
    let bytes = output.stdout.bytes();
    match action {
        Action::Read(facts) => {
            let readings = read_script::parse(facts, &bytes);
            let exit = if readings.len() == facts.len() {
                Exit::Code(0)
            } else {
                truncation_exit(output)
            };
            ActionResult::Read(ReadOutput {
                exit,
                readings,
                elapsed: output.elapsed,
            })
        }
        Action::Change(changes) => {
            let changed = change_script::parse(changes, &bytes, || truncation_exit(output));
            ActionResult::Change(ChangeOutput {
                elapsed: output.elapsed,
                ..changed
            })
        }
        other => ActionResult::not_performed(other, output.exit.clone()),
    }
}

/// Why a script did not come to its end.
fn truncation_exit(output: &RunOutput) -> Exit {
    let stderr = output.stderr.text();
    let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    match (&output.exit, last) {
        (Exit::Code(97), _) => Exit::Failed("the script did not come there whole".to_owned()),
        (Exit::Code(_) | Exit::Signal(_), Some(last)) => Exit::Failed(last.to_owned()),
        (Exit::Code(_) | Exit::Signal(_), None) => {
            Exit::Failed(format!("the shell there ended early: {}", output.exit))
        }
        (other, _) => other.clone(),
    }
}
