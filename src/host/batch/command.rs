//! The one command that performs a whole `Read` or `Change` action through a shell, and the parser
//! of its output.

use super::{change_script, read_script};
use crate::host::{
    Action, ActionResult, Background, ChangeOutput, Command, Exit, Program, ReadOutput, RunOutput,
};
use crate::value::Secrets;

/// The capture limit of a script's output. It must be kept complete to be parsed.
///
/// A host that prints more fails: the output would be in the memory of this machine.
pub(in crate::host) const MAX_OUTPUT_BYTES: usize = 512 << 20;

/// The shell's `-c` argument: reads the script from stdin and evaluates it only if its end marker
/// `#.` has arrived.
const START_SHELL_SCRIPT: &str =
    "_s=$(cat); case $_s in *'#.') eval \"unset _s; $_s\";; *) exit 97;; esac";

/// Returns the command that reads all facts or makes all changes of an action.
///
/// None for other actions.
pub(in crate::host) fn command(action: &Action) -> Option<Command> {
    let text = match action {
        Action::Read(facts) => read_script::script(facts),
        Action::Change(changes) => change_script::script(changes),
        Action::Run(_) | Action::Put(_) | Action::Get(_) | Action::Private(_) | Action::Call(_) => {
            return None;
        }
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

/// Returns the secrets of the changes, which must not appear in a command line or an environment.
fn secrets(action: &Action) -> Secrets {
    let Action::Change(changes) = action else {
        return Secrets::default();
    };
    changes
        .iter()
        .filter_map(change_script::change_secret)
        .collect()
}

/// Parses the output of the command into the result of the action.
pub(in crate::host) fn result(action: &Action, output: &RunOutput) -> ActionResult {
    let bytes = match output.stdout.whole() {
        Ok(bytes) => bytes,
        Err(incomplete) => {
            return ActionResult::not_performed(action, Exit::Failed(incomplete.to_string()));
        }
    };
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
            let mut changed = change_script::parse(changes, &bytes, || truncation_exit(output));
            // A stop may end a command before the shell that waits for it. The shell then still reports the command.
            let is_stopped = matches!(output.exit, Exit::Cancelled | Exit::TimedOut);
            if is_stopped && matches!(changed.exit, Exit::Code(129..)) {
                changed.outputs.pop();
                changed.exit = output.exit.clone();
            }
            ActionResult::Change(ChangeOutput {
                elapsed: output.elapsed,
                ..changed
            })
        }
        other => ActionResult::not_performed(other, output.exit.clone()),
    }
}

/// Returns the reason why a script ended early.
fn truncation_exit(output: &RunOutput) -> Exit {
    let stderr = output.stderr.text();
    let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    match (&output.exit, last) {
        (Exit::Code(97), _) => Exit::Failed("the script did not arrive completely".to_owned()),
        (Exit::Code(_) | Exit::Signal(_), Some(last)) => Exit::Failed(last.to_owned()),
        (Exit::Code(_) | Exit::Signal(_), None) => Exit::Failed(format!(
            "the shell of the host ended early: {}",
            output.exit
        )),
        (other, _) => other.clone(),
    }
}
