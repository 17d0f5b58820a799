//! Commands that state modules run and ask, and what they answer.

use std::borrow::Cow;

use crate::converge::{Deed, Facts, Finish, Halt, Outcome, Verdict};
use crate::host::RunOutput;
use crate::host::change::{Change, Run};
use crate::host::fact::{Domain, Fact, Probe, Probed, Setting};
use crate::value::{Map, Value};

/// A question to the machine, in the words of no country.
pub(super) fn question(text: impl Into<String>, reads: Domain) -> Probe {
    let env = vec![("LC_ALL".to_owned(), "C".to_owned())];
    Probe {
        text: text.into(),
        setting: Setting {
            env,
            ..Setting::default()
        },
        reads,
    }
}

/// Asks the machine.
pub(super) fn asked(
    facts: &Facts,
    text: impl Into<String>,
    reads: Domain,
) -> Result<&Probed, Halt> {
    facts.probe(question(text, reads))
}

/// Asks for all facts that are missing at once, so that a machine is asked once and not often.
pub(super) fn need(facts: &Facts, wanted: impl IntoIterator<Item = Fact>) -> Result<(), Halt> {
    let missing: Vec<Fact> = wanted.into_iter().filter(|fact| !facts.has(fact)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Halt::Needs(missing))
}

/// What a probe printed, as text.
pub(super) fn answer(probed: &Probed) -> Cow<'_, str> {
    String::from_utf8_lossy(&probed.stdout)
}

/// The value of a line `key value` of an answer.
pub(super) fn field<'a>(answer: &'a str, key: &str) -> Option<&'a str> {
    answer.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        rest.strip_prefix(' ')
            .or_else(|| rest.is_empty().then_some(rest))
    })
}

/// A command that touches these parts of the machine.
pub(super) fn run(text: impl Into<String>, touches: impl IntoIterator<Item = Domain>) -> Change {
    Change::Run(Run::new(text).touching(touches))
}

/// A verdict that there is nothing to change.
#[expect(
    clippy::unnecessary_wraps,
    reason = "it ends functions that may also halt"
)]
pub(super) fn done(outcome: Outcome) -> Result<Verdict, Halt> {
    Ok(Verdict::Done(outcome))
}

/// A verdict that all is as described.
pub(super) fn unchanged(comment: impl Into<String>) -> Result<Verdict, Halt> {
    done(Outcome::same(comment))
}

/// A verdict that it cannot be.
pub(super) fn failure(comment: impl Into<String>) -> Result<Verdict, Halt> {
    done(Outcome::failed(comment))
}

/// Changes, and what becomes of them: this outcome, or a failure whose comment is these words and
/// the complaint of the change that failed.
pub(super) fn act_or_fail(
    predicted: Outcome,
    steps: Vec<Change>,
    done: Outcome,
    failure: impl Into<String>,
) -> Result<Verdict, Halt> {
    let failure = failure.into();
    act(predicted, steps, move |complaint, _| {
        Ok(complaint.map_or_else(
            || done.clone(),
            |why| Outcome::failed(format!("{failure}{why}")),
        ))
    })
}

/// Changes, and what becomes of them: the judge is told what the commands gave and why one
/// failed, if one did.
pub(super) fn act(
    predicted: Outcome,
    steps: Vec<Change>,
    judge: impl Fn(Option<&str>, &Facts) -> Result<Outcome, Halt> + Send + Sync + 'static,
) -> Result<Verdict, Halt> {
    act_on_outputs(predicted, steps, move |ended, facts| {
        judge(ended.complaint.as_deref(), facts)
    })
}

/// How steps ended.
pub(super) struct Ended<'a> {
    /// Why one failed, if one did.
    pub(super) complaint: Option<String>,
    /// What they gave.
    pub(super) outputs: &'a [RunOutput],
}

impl Ended<'_> {
    /// The exit code of the last one that ran.
    pub(super) fn code(&self) -> Option<i32> {
        self.outputs.last().and_then(|output| output.exit.code())
    }
}

/// The same for a judge that reads the outputs.
#[expect(
    clippy::unnecessary_wraps,
    reason = "it ends functions that may also halt"
)]
pub(super) fn act_on_outputs(
    predicted: Outcome,
    steps: Vec<Change>,
    judge: impl Fn(&Ended<'_>, &Facts) -> Result<Outcome, Halt> + Send + Sync + 'static,
) -> Result<Verdict, Halt> {
    let count = steps.len();
    Ok(Verdict::Act(Deed {
        predicted,
        steps,
        finish: Finish::Ask(Box::new(move |outputs, facts| {
            let complaint = complaint(outputs, count);
            judge(&Ended { complaint, outputs }, facts)
        })),
    }))
}

/// Why one of so many commands failed, in its own words if it had any; none if none failed.
fn complaint(outputs: &[RunOutput], count: usize) -> Option<String> {
    let failed = outputs.iter().find(|output| !output.exit.is_ok());
    let Some(failed) = failed else {
        return (outputs.len() < count).then(|| "a change failed".to_owned());
    };
    let texts = [failed.stderr.text(), failed.stdout.text()];
    let said = texts
        .iter()
        .map(|text| text.trim())
        .find(|text| !text.is_empty());
    Some(said.map_or_else(|| failed.exit.to_string(), str::to_owned))
}

/// What was and what is, as changes show it.
pub(super) fn old_new(old: impl Into<Value>, new: impl Into<Value>) -> Value {
    Value::map([("old", old.into()), ("new", new.into())])
}

/// Changes with one key.
pub(super) fn one(key: &str, value: impl Into<Value>) -> Map {
    Map::from_iter([(key.into(), value.into())])
}

/// Texts as a list value.
pub(super) fn texts<'a>(items: impl IntoIterator<Item = &'a str>) -> Value {
    Value::list(items.into_iter().map(Value::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Captured, Exit};

    #[test]
    fn a_field_is_the_rest_of_its_line() {
        assert_eq!(field("way sysv\nrunning\n", "way"), Some("sysv"));
        assert_eq!(field("way sysv\nrunning\n", "running"), Some(""));
        assert_eq!(field("way sysv\n", "wa"), None);
    }

    #[test]
    fn a_failure_is_told_behind_the_words_for_it() {
        let (planned, good) = (Outcome::planned("would"), Outcome::same("done"));
        let verdict = act_or_fail(planned, vec![run("true", [])], good, "not done: ");
        let Ok(Verdict::Act(deed)) = verdict else {
            panic!("there is something to change");
        };
        let Finish::Ask(judge) = deed.finish else {
            panic!("the results are judged");
        };
        let facts = Facts::default();
        let comment = |output: RunOutput| judge(&[output], &facts).unwrap().comment;
        let bad = RunOutput {
            stderr: Captured::of("E: no\n"),
            ..RunOutput::not_run(Exit::Code(1))
        };
        assert_eq!(comment(RunOutput::not_run(Exit::Code(0))), "done");
        assert_eq!(comment(bad), "not done: E: no");
    }

    #[test]
    fn a_failure_is_told_in_the_words_of_the_command() {
        let good = RunOutput::not_run(Exit::Code(0));
        let bad = RunOutput {
            stderr: Captured::of("E: no\n"),
            ..RunOutput::not_run(Exit::Code(100))
        };
        assert_eq!(complaint(&[good.clone(), bad], 3).as_deref(), Some("E: no"));
        assert_eq!(complaint(std::slice::from_ref(&good), 1), None);
        assert_eq!(complaint(&[good], 2).as_deref(), Some("a change failed"));
    }
}
