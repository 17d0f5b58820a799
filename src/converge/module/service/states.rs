//! The states of the module `service`.

use super::way::{Service, Status, Verb, Way, change, process_note, with_way};
use crate::converge::module::command::{act, done, failure, old_new, one, unchanged};
use crate::converge::{Call, Facts, Function, Halt, Module, Outcome, Verdict, refuse};
use crate::host::change::Change;
use crate::value::{Map, Value};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "service",
    functions: &[
        Function::new("running", running)
            .options(OPTIONS)
            .reversed_by("dead"),
        Function::new("dead", dead)
            .options(OPTIONS)
            .reversed_by("running"),
        Function::new("enabled", enabled)
            .options(OPTIONS)
            .reversed_by("disabled"),
        Function::new("disabled", disabled)
            .options(OPTIONS)
            .reversed_by("enabled"),
        Function::new("masked", masked)
            .options("runtime")
            .reversed_by("unmasked"),
        Function::new("unmasked", unmasked)
            .options("runtime")
            .reversed_by("masked"),
    ],
    watch: Some(watch),
    aggregate: None,
};

const OPTIONS: &str =
    "enable sig init_delay no_block unmask unmask_runtime reload full_restart force timeout cmd";

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

/// Masks a service.
pub(super) fn masked(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    mask(call, facts, true)
}

/// Unmasks a service.
pub(super) fn unmasked(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    mask(call, facts, false)
}

fn mask(call: &Call<'_>, facts: &Facts, wanted: bool) -> Result<Verdict, Halt> {
    let service = Service::of(call)?;
    let runtime = call.flag("runtime", false);
    let status = service.status(facts)?;
    if status.way != Some(Way::Systemd) {
        return failure("Service masking not available on this minion");
    }
    let prefix = if runtime { "runtime " } else { "" };
    let is_masked = move |status: &Status| {
        if runtime {
            status.is_runtime_masked
        } else {
            status.is_masked
        }
    };
    let name = service.name.clone();
    let word = if wanted { "masked" } else { "unmasked" };
    if is_masked(&status) == wanted {
        let verb = if wanted { "is" } else { "was" };
        return unchanged(format!("Service {name} {verb} already {prefix}{word}"));
    }
    let changes = one(&format!("{prefix}masked"), old_new(!wanted, wanted));
    let predicted = Outcome::would(
        changes.clone(),
        format!("Service {name} would be {prefix}{word}"),
    );
    let verb = if wanted { "mask" } else { "unmask" };
    let steps = vec![service.mask(verb, runtime)];
    act(predicted, steps, move |complaint, facts| {
        let after = service.status(facts)?;
        if is_masked(&after) == wanted {
            let comment = format!("Service {name} was {prefix}{word}");
            return Ok(Outcome::changed(changes.clone(), comment));
        }
        let why = complaint.unwrap_or_default();
        let text = format!("Failed to {verb} service {name}\n{why}");
        Ok(Outcome::failed(text.trim_end().to_owned()))
    })
}

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
