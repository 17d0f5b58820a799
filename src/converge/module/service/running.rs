//! Services are started and stopped.

use super::enabled::{enabling, toggle};
use super::way::{Service, Status, Verb, Way, change, process_note, with_way};
use crate::converge::module::command::{act, done, one};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict, refuse};
use crate::host::change::Change;
use crate::value::{Map, Value};

/// What a state wants of a service.
#[derive(Debug, Clone)]
struct Desired {
    service: Service,
    /// Whether it runs in the end.
    runs: bool,
    /// Whether it starts with the machine, if that matters.
    enable: Option<bool>,
    delay: Option<i64>,
    no_block: bool,
}

impl Desired {
    fn of(call: &Call<'_>, runs: bool) -> Result<Self, Halt> {
        if call.args.contains_key("enabled") {
            return refuse(format!(
                "Service {} uses non-existent option \"enabled\".  Perhaps \"enable\" option was intended?",
                call.name
            ));
        }
        Ok(Self {
            service: Service::of(call)?,
            runs,
            enable: call.arg("enable").map(is_yes),
            delay: call.int("init_delay")?,
            no_block: call.flag("no_block", false),
        })
    }

    fn name(&self) -> &str {
        &self.service.name
    }
}

/// Words for yes are taken for it.
fn is_yes(value: &Value) -> bool {
    match value {
        Value::Str(text) => ["true", "yes", "on", "1"].contains(&text.to_lowercase().as_str()),
        other => other.is_truthy(),
    }
}

/// Has a service run.
pub(super) fn running(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    keep(call, facts, Desired::of(call, true)?)
}

/// Has a service not run.
pub(super) fn dead(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    keep(call, facts, Desired::of(call, false)?)
}

fn keep(call: &Call<'_>, facts: &Facts, desired: Desired) -> Result<Verdict, Halt> {
    let status = desired.service.status(facts)?;
    let name = desired.name();
    if status.way.is_none() {
        return missing(call, name, &desired);
    }
    let unmask = unmask_steps(call, &desired, &status);
    if status.is_running == desired.runs {
        let state = if desired.runs { "running" } else { "dead" };
        let mut comment = format!("The service {name} is already {state}");
        comment.push_str(process_note(&status));
        return match desired.enable {
            Some(wanted) if wanted != status.is_enabled => {
                toggle(&desired.service, &status, wanted)
            }
            _ if !unmask.is_empty() => {
                let text = format!("{comment}\nService {name} was unmasked");
                let changes = Map::new();
                act(
                    Outcome::would(changes, text.clone()),
                    unmask,
                    move |complaint, _| Ok(ended(complaint, Outcome::same(text.clone()))),
                )
            }
            _ => done(with_way(Outcome::same(comment), &status)),
        };
    }
    switch(desired, status, unmask)
}

/// A service that nobody knows.
fn missing(call: &Call<'_>, name: &str, desired: &Desired) -> Result<Verdict, Halt> {
    if call.mode == crate::converge::Mode::Test {
        let verb = if desired.runs { "started" } else { "stopped" };
        let comment = format!(
            "Service {name} not present; if created in this state run, it would have been {verb}"
        );
        return done(Outcome::planned(comment));
    }
    let comment = format!("The named service {name} is not available");
    done(if desired.runs {
        Outcome::failed(comment)
    } else {
        Outcome::same(comment)
    })
}

fn unmask_steps(call: &Call<'_>, desired: &Desired, status: &Status) -> Vec<Change> {
    let runtime = call.flag("unmask_runtime", false);
    let is_masked = if runtime {
        status.is_runtime_masked
    } else {
        status.is_masked
    };
    if desired.runs && call.flag("unmask", false) && is_masked {
        vec![desired.service.mask("unmask", runtime)]
    } else {
        Vec::new()
    }
}

/// Starts or stops it, and has it start with the machine or not.
fn switch(desired: Desired, before: Status, mut steps: Vec<Change>) -> Result<Verdict, Halt> {
    let name = desired.name().to_owned();
    let verb = if desired.runs {
        Verb::Start
    } else {
        Verb::Stop
    };
    let mut text = desired.service.command(verb, &before, desired.no_block);
    if let Some(seconds) = desired.delay {
        text = format!("{{ {text}; }} && sleep {}", seconds.max(0));
    }
    steps.push(change(text));
    let toggles = desired.enable.filter(|wanted| *wanted != before.is_enabled);
    if let Some(wanted) = toggles {
        let verb = if wanted { Verb::Enable } else { Verb::Disable };
        let text = desired.service.command(verb, &before, false);
        steps.push(change(text));
    }
    let predicted = if desired.runs {
        format!("Service {name} is set to start")
    } else {
        format!("Service {name} is set to be killed")
    };
    let predicted = with_way(Outcome::planned(predicted), &before);
    act(predicted, steps, move |complaint, facts| {
        judge_switch(&desired, &before, complaint, facts)
    })
}

fn judge_switch(
    desired: &Desired,
    before: &Status,
    complaint: Option<&str>,
    facts: &Facts,
) -> Result<Outcome, Halt> {
    let name = desired.name();
    let after = desired.service.status(facts)?;
    let is_well = after.is_running == desired.runs;
    let mut changes = Map::new();
    if after.is_running != before.is_running {
        changes = one(name, after.is_running);
    }
    if after.is_enabled != before.is_enabled {
        changes = one(name, true);
    }
    let verb = if desired.runs { "start" } else { "die" };
    let mut comment = match (is_well, desired.runs) {
        (false, _) => format!("Service {name} failed to {verb}"),
        (true, true) => format!("Started service {name}"),
        (true, false) => format!("Service {name} was killed"),
    };
    if is_well && let Some(wanted) = desired.enable {
        let state = if after.is_running {
            "is running"
        } else {
            "is dead"
        };
        comment = enabling(name, wanted, before.is_enabled, after.is_enabled, state);
    }
    if let Some(complaint) = complaint.filter(|_| !is_well) {
        comment = format!("{comment}\n{complaint}");
    }
    if let Some(seconds) = desired.delay.filter(|_| desired.runs) {
        comment = format!("{comment}\nDelayed return for {seconds} seconds");
    }
    comment.push_str(process_note(before));
    let is_set = desired
        .enable
        .is_none_or(|wanted| wanted == after.is_enabled || before.way == Some(Way::Process));
    let outcome = Outcome {
        result: Some(is_well && is_set),
        ..Outcome::changed(changes, comment)
    };
    Ok(with_way(outcome, before))
}

fn ended(complaint: Option<&str>, well: Outcome) -> Outcome {
    complaint.map_or(well, Outcome::failed)
}
