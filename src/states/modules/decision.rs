//! Probes, changes and decisions: the helpers that all state modules share.
//!
//! Probes run in the C locale so that their output can be parsed. `done`, `unchanged` and `failure` end
//! a state without changes; [`act`] and its variants return the changes and how to judge their result.

use std::borrow::Cow;

use crate::host::RunOutput;
use crate::host::change::{Change, CommandRun};
use crate::host::fact::{CommandSetting, Domain, Fact, Probe, ProbeOutput};
use crate::states::{ChangeOutcome, ChangeSet, FactCache, Halt, StateDecision, StateOutcome};
use crate::value::{Map, Value};

/// Returns a probe that runs in the C locale, so that its output is not translated.
pub(super) fn c_locale_probe(text: impl Into<String>, reads: Domain) -> Probe {
    let env = vec![("LC_ALL".to_owned(), "C".to_owned())];
    Probe {
        text: text.into(),
        setting: CommandSetting {
            env,
            ..CommandSetting::default()
        },
        reads,
    }
}

/// Runs a probe, or halts until the probe's result is known.
pub(super) fn run_probe(
    facts: &FactCache,
    text: impl Into<String>,
    reads: Domain,
) -> Result<&ProbeOutput, Halt> {
    facts.probe(c_locale_probe(text, reads))
}

/// Returns true if systemd runs the machine.
pub(super) fn runs_systemd(facts: &FactCache) -> Result<bool, Halt> {
    let probed = run_probe(facts, "[ -d /run/systemd/system ]", Domain::Fixed)?;
    Ok(probed.code == 0)
}

/// Halts with all missing facts at once, so that one round trip to the machine reads them.
pub(super) fn require_facts(
    facts: &FactCache,
    facts_needed: impl IntoIterator<Item = Fact>,
) -> Result<(), Halt> {
    let missing: Vec<Fact> = facts_needed
        .into_iter()
        .filter(|fact| !facts.has(fact))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Halt::Needs(missing))
}

pub(super) fn stdout_text(probed: &ProbeOutput) -> Cow<'_, str> {
    String::from_utf8_lossy(&probed.stdout)
}

/// Returns the value of a line `key value` in a probe's output; empty for a line with only the key.
pub(super) fn line_value<'a>(answer: &'a str, key: &str) -> Option<&'a str> {
    answer.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        rest.strip_prefix(' ')
            .or_else(|| rest.is_empty().then_some(rest))
    })
}

/// Returns the change that runs a command and touches these domains.
pub(super) fn run_change(
    text: impl Into<String>,
    touches: impl IntoIterator<Item = Domain>,
) -> Change {
    Change::Run(CommandRun::new(text).touching(touches))
}

/// Returns the decision to change nothing, with this outcome.
#[expect(
    clippy::unnecessary_wraps,
    reason = "callers return the result as it is"
)]
pub(super) fn done(outcome: StateOutcome) -> Result<StateDecision, Halt> {
    Ok(StateDecision::Done(outcome))
}

/// Returns the decision for a state that is already as desired.
pub(super) fn unchanged(comment: impl Into<String>) -> Result<StateDecision, Halt> {
    done(StateOutcome::unchanged(comment))
}

/// Returns the decision for a state that fails without a change.
pub(super) fn failure(comment: impl Into<String>) -> Result<StateDecision, Halt> {
    done(StateOutcome::failed(comment))
}

/// Returns the decision to make changes.
///
/// The outcome is `done`, or a failure whose comment is `failure` followed by the error of the failed
/// change.
pub(super) fn act_or_fail(
    predicted: StateOutcome,
    steps: Vec<Change>,
    done: StateOutcome,
    failure: impl Into<String>,
) -> Result<StateDecision, Halt> {
    let failure = failure.into();
    act(predicted, steps, move |complaint, _| {
        Ok(complaint.map_or_else(
            || done.clone(),
            |why| StateOutcome::failed(format!("{failure}{why}")),
        ))
    })
}

/// Returns the decision to make changes, whose outcome `judge` computes.
///
/// `judge` receives the error of the failed change, if any, and the facts after the changes.
pub(super) fn act(
    predicted: StateOutcome,
    steps: Vec<Change>,
    evaluate: impl Fn(Option<&str>, &FactCache) -> Result<StateOutcome, Halt> + Send + Sync + 'static,
) -> Result<StateDecision, Halt> {
    act_on_outputs(predicted, steps, move |ended, facts| {
        evaluate(ended.error.as_deref(), facts)
    })
}

/// The result of the changes of a state.
pub(super) struct StepsResult<'a> {
    /// The error message of the change that failed; None if all succeeded.
    pub(super) error: Option<String>,
    /// The outputs of the commands that ran, in order.
    pub(super) outputs: &'a [RunOutput],
}

impl StepsResult<'_> {
    /// Returns the exit code of the last command that ran.
    pub(super) fn code(&self) -> Option<i32> {
        self.outputs.last().and_then(|output| output.exit.code())
    }
}

/// Like [`act`], for a `judge` that also reads the commands' outputs.
#[expect(
    clippy::unnecessary_wraps,
    reason = "callers return the result as it is"
)]
pub(super) fn act_on_outputs(
    predicted: StateOutcome,
    steps: Vec<Change>,
    judge: impl Fn(&StepsResult<'_>, &FactCache) -> Result<StateOutcome, Halt> + Send + Sync + 'static,
) -> Result<StateDecision, Halt> {
    let count = steps.len();
    Ok(StateDecision::Change(ChangeSet {
        predicted,
        steps,
        finish: ChangeOutcome::Computed(Box::new(move |outputs, facts| {
            let complaint = failure_message(outputs, count);
            judge(
                &StepsResult {
                    error: complaint,
                    outputs,
                },
                facts,
            )
        })),
    }))
}

/// Returns why one of `count` commands failed: its error output, else its output, else its exit.
///
/// None means that all ran and succeeded.
pub(super) fn failure_message(outputs: &[RunOutput], count: usize) -> Option<String> {
    let failed = outputs.iter().find(|output| !output.exit.is_ok());
    let Some(failed) = failed else {
        return (outputs.len() < count).then(|| "a change was not made".to_owned());
    };
    let texts = [failed.stderr.text(), failed.stdout.text()];
    let message = texts
        .iter()
        .map(|text| text.trim())
        .find(|text| !text.is_empty());
    Some(message.map_or_else(|| failed.exit.to_string(), str::to_owned))
}

/// Returns an old and a new value in the form of Salt's changes.
pub(super) fn old_new(old: impl Into<Value>, new: impl Into<Value>) -> Value {
    Value::map([("old", old.into()), ("new", new.into())])
}

pub(super) fn single_change(key: &str, value: impl Into<Value>) -> Map {
    Map::from_iter([(key.into(), value.into())])
}

pub(super) fn text_list<'a>(items: impl IntoIterator<Item = &'a str>) -> Value {
    Value::list(items.into_iter().map(Value::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{CapturedOutput, Exit};

    #[test]
    fn a_field_is_the_rest_of_its_line() {
        assert_eq!(line_value("way sysv\nrunning\n", "way"), Some("sysv"));
        assert_eq!(line_value("way sysv\nrunning\n", "running"), Some(""));
        assert_eq!(line_value("way sysv\n", "wa"), None);
    }

    #[test]
    fn a_failure_message_follows_its_prefix() {
        let (planned, good) = (
            StateOutcome::planned("would"),
            StateOutcome::unchanged("done"),
        );
        let verdict = act_or_fail(planned, vec![run_change("true", [])], good, "not done: ");
        let Ok(StateDecision::Change(change_set)) = verdict else {
            panic!("there is something to change");
        };
        let ChangeOutcome::Computed(judge) = change_set.finish else {
            panic!("the results are judged");
        };
        let facts = FactCache::default();
        let comment = |output: RunOutput| judge(&[output], &facts).unwrap().comment;
        let bad = RunOutput {
            stderr: CapturedOutput::from_bytes("E: no\n"),
            ..RunOutput::not_run(Exit::Code(1))
        };
        assert_eq!(comment(RunOutput::not_run(Exit::Code(0))), "done");
        assert_eq!(comment(bad), "not done: E: no");
    }

    #[test]
    fn a_failure_is_reported_in_the_words_of_the_command() {
        let good = RunOutput::not_run(Exit::Code(0));
        let bad = RunOutput {
            stderr: CapturedOutput::from_bytes("E: no\n"),
            ..RunOutput::not_run(Exit::Code(100))
        };
        assert_eq!(
            failure_message(&[good.clone(), bad], 3).as_deref(),
            Some("E: no")
        );
        assert_eq!(failure_message(std::slice::from_ref(&good), 1), None);
        assert_eq!(
            failure_message(&[good], 2).as_deref(),
            Some("a change was not made")
        );
    }
}
