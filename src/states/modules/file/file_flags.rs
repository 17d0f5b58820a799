//! The argument `attrs` of `file.managed`: flags of the file system, such as `i` for an immutable file.
//!
//! The programs `lsattr` and `chattr` of the machine read and set them.

use super::plan::{dry_run_comment, put_text};
use crate::host::RunOutput;
use crate::host::change::{Change, CommandRun};
use crate::host::fact::Domain;
use crate::states::modules::decision::{failure_message, old_new, run_probe, stdout_text};
use crate::states::{
    ChangeOutcome, ChangeSet, FactCache, Halt, StateCall, StateDecision, StateOutcome, refuse,
};
use crate::text::force_quote_word;

/// The flags that can be set.
const FLAGS: &str = "aAcCdDeijPsStTu";

/// The exit code of the probe if the machine has no `lsattr`.
const EXIT_NO_PROGRAM: i32 = 94;

/// Adds the argument `attrs` to the decision about a file.
pub(super) fn add_flags(
    call: &StateCall<'_>,
    path: &str,
    decision: StateDecision,
    facts: &FactCache,
) -> Result<StateDecision, Halt> {
    let Some(desired) = call.text("attrs")? else {
        return Ok(decision);
    };
    if let Some(unknown) = desired.chars().find(|flag| !FLAGS.contains(*flag)) {
        return refuse(format!(
            "`attrs: {desired}` has the unknown flag `{unknown}`: write letters of {FLAGS}"
        ));
    }
    let is_final =
        matches!(&decision, StateDecision::Done(outcome) if outcome.result != Some(true));
    if is_final {
        return Ok(decision);
    }
    let word = force_quote_word(path);
    let text = format!(
        "command -v lsattr >/dev/null || exit {EXIT_NO_PROGRAM}; [ -e {word} ] || exit 0; lsattr -d {word} 2>/dev/null || :"
    );
    let probed = run_probe(facts, text, Domain::Path(path.to_owned()))?;
    if probed.code == EXIT_NO_PROGRAM {
        return Ok(with_warning(decision, path));
    }
    let output = stdout_text(probed);
    let present = (!output.trim().is_empty()).then(|| flags_of(&output));
    let differs = present.as_deref().map(|present| differ(present, &desired));
    if differs == Some(false) && matches!(decision, StateDecision::Done(_)) {
        return Ok(decision);
    }
    Ok(flags_decision(path, &desired, differs, decision))
}

/// Returns the decision with the change of the flags. `differs` is None if the present flags are not known.
fn flags_decision(
    path: &str,
    desired: &str,
    differs: Option<bool>,
    decision: StateDecision,
) -> StateDecision {
    let (mut predicted, mut steps, finish) = match decision {
        StateDecision::Done(outcome) => {
            let comment = dry_run_comment(path);
            let predicted = StateOutcome::would_change(outcome.changes.clone(), comment);
            let mut updated =
                StateOutcome::changed(outcome.changes, format!("File {path} updated"));
            updated.warnings = outcome.warnings;
            (predicted, Vec::new(), ChangeOutcome::Fixed(updated))
        }
        StateDecision::Change(set) => (set.predicted, set.steps, set.finish),
    };
    if differs == Some(true) {
        put_text(&mut predicted.changes, "attrs", desired);
    }
    let before = steps.len();
    steps.push(flags_change(path, desired));
    let desired = desired.to_owned();
    let finish =
        ChangeOutcome::Computed(Box::new(move |outputs: &[RunOutput], facts: &FactCache| {
            let (first, last) = outputs.split_at(before.min(outputs.len()));
            let mut outcome = match &finish {
                ChangeOutcome::Fixed(outcome) => match failure_message(first, before) {
                    None => outcome.clone(),
                    Some(why) => StateOutcome::failed(why),
                },
                ChangeOutcome::Computed(compute) => compute(first, facts)?,
            };
            if outcome.result == Some(true)
                && let Some(output) = last.first()
            {
                report_flags(&mut outcome, &desired, &output.stdout.text());
            }
            Ok(outcome)
        }));
    StateDecision::Change(ChangeSet {
        predicted,
        steps,
        finish,
    })
}

/// Returns the change that sets the flags, and that prints them as they were, and as they are then.
fn flags_change(path: &str, desired: &str) -> Change {
    let word = force_quote_word(path);
    let flags: Vec<String> = FLAGS.chars().map(String::from).collect();
    let text = format!(
        "l() {{ f=$(LC_ALL=C lsattr -d {word} 2>/dev/null); f=${{f%% *}}; printf '%s\\n' \"$f\"; }}\n\
         l; a= r=\n\
         for c in {}; do\n\
         case {desired}/$f in *$c*/*$c*) ;; *$c*/*) a=$a$c;; */*$c*) [ $c = e ] || r=$r$c;; esac\n\
         done\n\
         [ -z \"$a\" ] || chattr \"+$a\" {word}\n\
         [ -z \"$r\" ] || chattr \"-$r\" {word}\n\
         l",
        flags.join(" ")
    );
    Change::Run(CommandRun::new(text).touching([Domain::Path(path.to_owned())]))
}

/// Adds the change of the flags to the outcome of a real run.
fn report_flags(outcome: &mut StateOutcome, desired: &str, output: &str) {
    let mut lines = output.lines();
    let old = flags_of(lines.next().unwrap_or_default());
    let new = flags_of(lines.next().unwrap_or_default());
    let is_set = !differ(&new, desired);
    let shown = if is_set { desired } else { &new };
    if (differ(&old, desired) || !is_set) && old != shown {
        let change = old_new(old, shown);
        outcome.changes.insert("attrs".into(), change);
    }
    if !is_set {
        outcome.result = Some(false);
        outcome.comment = format!("Failed to change attributes to {desired}");
    }
}

/// Returns the flags in a line of `lsattr`.
fn flags_of(line: &str) -> String {
    let column = line.split_whitespace().next().unwrap_or_default();
    column
        .chars()
        .filter(|flag| FLAGS.contains(*flag))
        .collect()
}

/// Returns true if flags are to be set or removed. The flag `e` cannot be removed.
fn differ(present: &str, desired: &str) -> bool {
    let is_removed = |flag: char| flag != 'e' && !desired.contains(flag);
    desired.chars().any(|flag| !present.contains(flag)) || present.chars().any(is_removed)
}

/// Adds the warning that the machine cannot set flags. Salt ignores the argument without a word.
fn with_warning(mut decision: StateDecision, path: &str) -> StateDecision {
    let warning = format!("`attrs` of {path} is ignored: the program `lsattr` is not installed");
    match &mut decision {
        StateDecision::Done(outcome) => outcome.warnings.push(warning),
        StateDecision::Change(set) => {
            set.predicted.warnings.push(warning.clone());
            if let ChangeOutcome::Fixed(outcome) = &mut set.finish {
                outcome.warnings.push(warning);
            }
        }
    }
    decision
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_compared_without_the_one_that_cannot_be_removed() {
        assert_eq!(flags_of("----i--A------e------- /srv/a file"), "iAe");
        assert!(!differ("Ae", "A"));
        assert!(differ("Ae", ""));
        assert!(differ("e", "i"));
    }
}
