//! Services react to changes that they watch.

use super::way::{Service, Status, Verb, change, process_note, with_way};
use crate::converge::module::command::{act, failure, one, unchanged};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};

/// What happens when something that the service watches has changed (S23).
pub(super) fn watch(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let function = call.text("sfun")?.unwrap_or_else(|| call.fun.to_owned());
    let service = Service::of(call)?;
    if function != "running" && function != "dead" {
        return failure(format!("Unable to trigger watch for service.{function}"));
    }
    let status = service.status(facts)?;
    if function == "dead" && !status.is_running {
        return unchanged("Service is already stopped");
    }
    let (verb, word) = reaction(call, &function, &status);
    let past = if verb == Verb::Stop {
        "stopped".to_owned()
    } else {
        format!("{word}ed")
    };
    let no_block = call.flag("no_block", false);
    let mut text = service.command(verb, &status, no_block);
    if verb == Verb::Start {
        // What was left half dead goes first.
        let stop = service.command(Verb::Stop, &status, false);
        text = format!("{{ {stop}; }} >/dev/null 2>&1; {text}");
    }
    if let Some(seconds) = call.int("init_delay")? {
        text = format!("{{ {text}; }} && sleep {}", seconds.max(0));
    }
    let note = process_note(&status);
    let predicted = Outcome::planned(format!("Service is set to be {past}{note}"));
    let predicted = with_way(predicted, &status);
    let steps = vec![change(text)];
    act(predicted, steps, move |complaint, _| {
        let is_well = complaint.is_none();
        let comment = complaint.map_or_else(
            || format!("Service {past}{note}"),
            |why| format!("Failed to {word} the service{note}\n{why}"),
        );
        let outcome = Outcome {
            result: Some(is_well),
            ..Outcome::changed(one(&service.name, is_well), comment)
        };
        Ok(with_way(outcome, &status))
    })
}

fn reaction(call: &Call<'_>, function: &str, status: &Status) -> (Verb, &'static str) {
    if function == "dead" {
        (Verb::Stop, "stop")
    } else if !status.is_running {
        (Verb::Start, "start")
    } else if call.flag("reload", false) && call.flag("force", false) {
        (Verb::ForceReload, "forcefully reload")
    } else if call.flag("reload", false) {
        (Verb::Reload, "reload")
    } else {
        (Verb::Restart, "restart")
    }
}
