//! Services start with the machine or do not.

use super::way::{Service, Status, Verb, Way, change, with_way};
use crate::converge::module::command::{act, done, one};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};

/// What became of having it start with the machine.
pub(super) fn enabling(name: &str, wanted: bool, before: bool, after: bool, state: &str) -> String {
    let word = if wanted { "enabled" } else { "disabled" };
    if before == wanted {
        return format!("Service {name} is already {word}, and {state}");
    }
    if after == wanted {
        return format!("Service {name} has been {word}, and {state}");
    }
    let not = if wanted { "" } else { "not " };
    format!("Failed when setting service {name} to {not}start at boot, and the service {state}")
}

/// Has a service start with the machine.
pub(super) fn enabled(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    start_with_machine(call, facts, true)
}

/// Has a service not start with the machine.
pub(super) fn disabled(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    start_with_machine(call, facts, false)
}

fn start_with_machine(call: &Call<'_>, facts: &Facts, wanted: bool) -> Result<Verdict, Halt> {
    let service = Service::of(call)?;
    let status = service.status(facts)?;
    let name = &service.name;
    if status.way.is_none() {
        if call.mode == crate::converge::Mode::Test && wanted {
            let comment = format!(
                "Service {name} not present; if created in this state run, it would have been enabled"
            );
            return done(Outcome::planned(comment));
        }
        let comment = format!("The named service {name} is not available");
        return done(if wanted {
            Outcome::failed(comment)
        } else {
            Outcome::same(comment)
        });
    }
    if status.is_enabled == wanted || status.way == Some(Way::Process) {
        let word = if wanted { "enabled" } else { "disabled" };
        let comment = format!("Service {name} is already {word}, and is in the desired state");
        return done(with_way(Outcome::same(comment), &status));
    }
    toggle(&service, &status, wanted)
}

/// Enables or disables a service that is not as wanted.
pub(super) fn toggle(service: &Service, before: &Status, wanted: bool) -> Result<Verdict, Halt> {
    let (verb, word) = if wanted {
        (Verb::Enable, "enabled")
    } else {
        (Verb::Disable, "disabled")
    };
    if before.way == Some(Way::Process) {
        let comment = format!(
            "The service {} is already as described; a plain process starts with no machine",
            service.name
        );
        return done(with_way(Outcome::same(comment), before));
    }
    let comment = format!("Service {} set to be {word}", service.name);
    let predicted = with_way(Outcome::planned(comment), before);
    let steps = vec![change(service.command(verb, before, false))];
    let (service, before) = (service.clone(), before.clone());
    act(predicted, steps, move |complaint, facts| {
        let after = service.status(facts)?;
        let (was, is) = (before.is_enabled, after.is_enabled);
        let comment = enabling(&service.name, wanted, was, is, "is in the desired state");
        let outcome = if after.is_enabled == wanted {
            Outcome::changed(one(&service.name, true), comment)
        } else {
            let why = complaint.unwrap_or_default();
            Outcome::failed(format!("{comment}\n{why}").trim_end().to_owned())
        };
        Ok(with_way(outcome, &before))
    })
}
