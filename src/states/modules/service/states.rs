//! The states of the module `service`: running, dead, enabled, disabled, masked and unmasked.
//!
//! Each state reads the status, decides on one action, and reads the status again to judge the result.

use super::manager::{
    Service, ServiceAction, ServiceManager, ServiceStatus, process_note, service_change,
    with_manager,
};
use crate::host::change::Change;
use crate::states::modules::decision::{act, done, failure, old_new, single_change, unchanged};
use crate::states::{
    FactCache, Halt, StateCall, StateDecision, StateFunction, StateModule, StateOutcome, refuse,
};
use crate::value::{Map, Value};

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "service",
    functions: &[
        StateFunction::new("running", running)
            .about("Starts a service, and enables it if wanted.")
            .accepts_more()
            .options(OPTIONS)
            .without_effect("timeout")
            .reversed_by("dead"),
        StateFunction::new("dead", dead)
            .about("Stops a service, and disables it if wanted.")
            .accepts_more()
            .options(OPTIONS)
            .without_effect("timeout")
            .reversed_by("running"),
        StateFunction::new("enabled", enabled)
            .about("Starts a service at boot.")
            .accepts_more()
            .options(OPTIONS)
            .reversed_by("disabled"),
        StateFunction::new("disabled", disabled)
            .about("Does not start a service at boot.")
            .accepts_more()
            .options(OPTIONS)
            .reversed_by("enabled"),
        StateFunction::new("masked", masked)
            .about("Prevents any start of a service.")
            .options("runtime")
            .reversed_by("unmasked"),
        StateFunction::new("unmasked", unmasked)
            .about("Allows starts of a service again.")
            .options("runtime")
            .reversed_by("masked"),
    ],
    watch: Some(watch),
    aggregate: None,
};

const OPTIONS: &str =
    "enable sig init_delay no_block unmask unmask_runtime reload full_restart force timeout cmd";

/// A service as described by the arguments of `service.running` or `service.dead`.
#[derive(Debug, Clone)]
struct DesiredService {
    service: Service,
    /// Whether the service is to be running.
    should_run: bool,
    /// Whether the service is to start at boot; None if it does not matter.
    enable: Option<bool>,
    start_delay: Option<i64>,
    no_block: bool,
}

impl DesiredService {
    fn from_call(call: &StateCall<'_>, runs: bool) -> Result<Self, Halt> {
        if call.args.contains_key("enabled") {
            return refuse(format!(
                "Service {} uses non-existent option \"enabled\".  Perhaps \"enable\" option was intended?",
                call.name
            ));
        }
        Ok(Self {
            service: Service::from_call(call)?,
            should_run: runs,
            enable: call.arg("enable").map(is_truthy_text),
            start_delay: call.int("init_delay")?,
            no_block: call.flag("no_block", false),
        })
    }

    fn name(&self) -> &str {
        &self.service.name
    }
}

/// Whether a value is true; the texts `true`, `yes`, `on` and `1` are.
fn is_truthy_text(value: &Value) -> bool {
    match value {
        Value::Str(text) => ["true", "yes", "on", "1"].contains(&text.to_lowercase().as_str()),
        other => other.is_truthy(),
    }
}

/// Decides `service.running`: starts a service that does not run.
pub(super) fn running(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    ensure_running_state(call, facts, DesiredService::from_call(call, true)?)
}

/// Decides `service.dead`: stops a service that runs.
pub(super) fn dead(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    ensure_running_state(call, facts, DesiredService::from_call(call, false)?)
}

fn ensure_running_state(
    call: &StateCall<'_>,
    facts: &FactCache,
    desired: DesiredService,
) -> Result<StateDecision, Halt> {
    let status = desired.service.status(facts)?;
    let name = desired.name();
    if status.manager.is_none() {
        return missing_service(call, name, &desired);
    }
    let unmask = unmask_steps(call, &desired, &status);
    if status.is_running == desired.should_run {
        let state = if desired.should_run {
            "running"
        } else {
            "dead"
        };
        let mut comment = format!("The service {name} is already {state}");
        comment.push_str(process_note(&status));
        return match desired.enable {
            Some(enable) if enable != status.is_enabled => {
                change_enablement(&desired.service, &status, enable)
            }
            _ if !unmask.is_empty() => {
                let text = format!("{comment}\nService {name} was unmasked");
                let changes = Map::new();
                act(
                    StateOutcome::would_change(changes, text.clone()),
                    unmask,
                    move |complaint, _| {
                        Ok(outcome_or_failure(
                            complaint,
                            StateOutcome::unchanged(text.clone()),
                        ))
                    },
                )
            }
            _ => done(with_manager(StateOutcome::unchanged(comment), &status)),
        };
    }
    switch_state(desired, status, unmask)
}

/// Decides the state of a service that the machine does not know.
fn missing_service(
    call: &StateCall<'_>,
    name: &str,
    desired: &DesiredService,
) -> Result<StateDecision, Halt> {
    if call.mode == crate::states::Mode::Test {
        let verb = if desired.should_run {
            "started"
        } else {
            "stopped"
        };
        let comment = format!(
            "Service {name} not present; if created in this state run, it would have been {verb}"
        );
        return done(StateOutcome::planned(comment));
    }
    let comment = format!("The named service {name} is not available");
    done(if desired.should_run {
        StateOutcome::failed(comment)
    } else {
        StateOutcome::unchanged(comment)
    })
}

fn unmask_steps(
    call: &StateCall<'_>,
    desired: &DesiredService,
    status: &ServiceStatus,
) -> Vec<Change> {
    let runtime = call.flag("unmask_runtime", false);
    let is_masked = if runtime {
        status.is_runtime_masked
    } else {
        status.is_masked
    };
    if desired.should_run && call.flag("unmask", false) && is_masked {
        vec![desired.service.mask_change("unmask", runtime)]
    } else {
        Vec::new()
    }
}

/// Decides to start or stop a service, and to enable or disable it if the state says so.
fn switch_state(
    desired: DesiredService,
    before: ServiceStatus,
    mut steps: Vec<Change>,
) -> Result<StateDecision, Halt> {
    let name = desired.name().to_owned();
    let verb = if desired.should_run {
        ServiceAction::Start
    } else {
        ServiceAction::Stop
    };
    let mut text = desired.service.command(verb, &before, desired.no_block);
    if let Some(seconds) = desired.start_delay {
        text = format!("{{ {text}; }} && sleep {}", seconds.max(0));
    }
    steps.push(service_change(text));
    let toggles = desired.enable.filter(|enable| *enable != before.is_enabled);
    if let Some(enable) = toggles {
        let verb = if enable {
            ServiceAction::Enable
        } else {
            ServiceAction::Disable
        };
        let text = desired.service.command(verb, &before, false);
        steps.push(service_change(text));
    }
    let predicted = if desired.should_run {
        format!("Service {name} is set to start")
    } else {
        format!("Service {name} is set to be killed")
    };
    let predicted = with_manager(StateOutcome::planned(predicted), &before);
    act(predicted, steps, move |complaint, facts| {
        evaluate_switch(&desired, &before, complaint, facts)
    })
}

fn evaluate_switch(
    desired: &DesiredService,
    before: &ServiceStatus,
    complaint: Option<&str>,
    facts: &FactCache,
) -> Result<StateOutcome, Halt> {
    let name = desired.name();
    let after = desired.service.status(facts)?;
    let has_succeeded = after.is_running == desired.should_run;
    let mut changes = Map::new();
    if after.is_running != before.is_running {
        changes = single_change(name, after.is_running);
    }
    if after.is_enabled != before.is_enabled {
        changes = single_change(name, true);
    }
    let verb = if desired.should_run { "start" } else { "die" };
    let mut comment = match (has_succeeded, desired.should_run) {
        (false, _) => format!("Service {name} failed to {verb}"),
        (true, true) => format!("Started service {name}"),
        (true, false) => format!("Service {name} was killed"),
    };
    if has_succeeded && let Some(enable) = desired.enable {
        let state = if after.is_running {
            "is running"
        } else {
            "is dead"
        };
        comment = enablement_comment(name, enable, before.is_enabled, after.is_enabled, state);
    }
    if let Some(complaint) = complaint.filter(|_| !has_succeeded) {
        comment = format!("{comment}\n{complaint}");
    }
    if let Some(seconds) = desired.start_delay.filter(|_| desired.should_run) {
        comment = format!("{comment}\nDelayed return for {seconds} seconds");
    }
    comment.push_str(process_note(before));
    let is_set = desired.enable.is_none_or(|enable| {
        enable == after.is_enabled || before.manager == Some(ServiceManager::PlainProcess)
    });
    let outcome = StateOutcome {
        result: Some(has_succeeded && is_set),
        ..StateOutcome::changed(changes, comment)
    };
    Ok(with_manager(outcome, before))
}

fn outcome_or_failure(complaint: Option<&str>, well: StateOutcome) -> StateOutcome {
    complaint.map_or(well, StateOutcome::failed)
}

/// Returns Salt's comment about enabling or disabling a service.
pub(super) fn enablement_comment(
    name: &str,
    enable: bool,
    before: bool,
    after: bool,
    state: &str,
) -> String {
    let word = if enable { "enabled" } else { "disabled" };
    if before == enable {
        return format!("Service {name} is already {word}, and {state}");
    }
    if after == enable {
        return format!("Service {name} has been {word}, and {state}");
    }
    let not = if enable { "" } else { "not " };
    let end = match (state, enable) {
        ("is running", true) => "but the service is running",
        ("is running", false) => "and is running",
        ("is dead", _) => "and the service is dead",
        _ => "but the service was already running",
    };
    format!("Failed when setting service {name} to {not}start at boot, {end}")
}

/// Decides `service.enabled`: the service starts at boot.
pub(super) fn enabled(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    ensure_enablement(call, facts, true)
}

/// Decides `service.disabled`: the service does not start at boot.
pub(super) fn disabled(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    ensure_enablement(call, facts, false)
}

fn ensure_enablement(
    call: &StateCall<'_>,
    facts: &FactCache,
    enable: bool,
) -> Result<StateDecision, Halt> {
    let service = Service::from_call(call)?;
    let status = service.status(facts)?;
    let name = &service.name;
    if status.manager.is_none() {
        if call.mode == crate::states::Mode::Test && enable {
            let comment = format!(
                "Service {name} not present; if created in this state run, it would have been enabled"
            );
            return done(StateOutcome::planned(comment));
        }
        let comment = format!("The named service {name} is not available");
        return done(if enable {
            StateOutcome::failed(comment)
        } else {
            StateOutcome::unchanged(comment)
        });
    }
    if status.is_enabled == enable || status.manager == Some(ServiceManager::PlainProcess) {
        let word = if enable { "enabled" } else { "disabled" };
        let comment = format!("Service {name} is already {word}, and is in the desired state");
        return done(with_manager(StateOutcome::unchanged(comment), &status));
    }
    change_enablement(&service, &status, enable)
}

/// Decides to enable or disable a service whose setting differs.
pub(super) fn change_enablement(
    service: &Service,
    before: &ServiceStatus,
    enable: bool,
) -> Result<StateDecision, Halt> {
    let (verb, word) = if enable {
        (ServiceAction::Enable, "enabled")
    } else {
        (ServiceAction::Disable, "disabled")
    };
    if before.manager == Some(ServiceManager::PlainProcess) {
        let comment = format!(
            "The service {} runs as a plain process, which cannot start at boot: nothing to change",
            service.name
        );
        return done(with_manager(StateOutcome::unchanged(comment), before));
    }
    let comment = format!("Service {} set to be {word}", service.name);
    let predicted = with_manager(StateOutcome::planned(comment), before);
    let steps = vec![service_change(service.command(verb, before, false))];
    let (service, before) = (service.clone(), before.clone());
    act(predicted, steps, move |complaint, facts| {
        let after = service.status(facts)?;
        let (was, is) = (before.is_enabled, after.is_enabled);
        let comment = enablement_comment(&service.name, enable, was, is, "is in the desired state");
        let outcome = if after.is_enabled == enable {
            StateOutcome::changed(single_change(&service.name, true), comment)
        } else {
            let why = complaint.unwrap_or_default();
            StateOutcome::failed(format!("{comment}\n{why}").trim_end().to_owned())
        };
        Ok(with_manager(outcome, &before))
    })
}

/// Decides `service.masked`: a masked unit cannot be started.
pub(super) fn masked(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    change_mask(call, facts, true)
}

/// Decides `service.unmasked`: removes the mask of a unit.
pub(super) fn unmasked(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    change_mask(call, facts, false)
}

fn change_mask(
    call: &StateCall<'_>,
    facts: &FactCache,
    enable: bool,
) -> Result<StateDecision, Halt> {
    let service = Service::from_call(call)?;
    let runtime = call.flag("runtime", false);
    let status = service.status(facts)?;
    if status.manager != Some(ServiceManager::Systemd) {
        return failure("Service masking not available on this minion");
    }
    let prefix = if runtime { "runtime " } else { "" };
    let is_masked = move |status: &ServiceStatus| {
        if runtime {
            status.is_runtime_masked
        } else {
            status.is_masked
        }
    };
    let name = service.name.clone();
    let word = if enable { "masked" } else { "unmasked" };
    if is_masked(&status) == enable {
        let verb = if enable { "is" } else { "was" };
        return unchanged(format!("Service {name} {verb} already {prefix}{word}"));
    }
    let changes = single_change(&format!("{prefix}masked"), old_new(!enable, enable));
    let predicted = StateOutcome::would_change(
        changes.clone(),
        format!("Service {name} would be {prefix}{word}"),
    );
    let verb = if enable { "mask" } else { "unmask" };
    let steps = vec![service.mask_change(verb, runtime)];
    act(predicted, steps, move |complaint, facts| {
        let after = service.status(facts)?;
        if is_masked(&after) == enable {
            let comment = format!("Service {name} was {prefix}{word}");
            return Ok(StateOutcome::changed(changes.clone(), comment));
        }
        let why = complaint.unwrap_or_default();
        let text = format!("Failed to {verb} service {name}\n{why}");
        Ok(StateOutcome::failed(text.trim_end().to_owned()))
    })
}

/// Decides the reaction to a change of a watched state (S23).
pub(super) fn watch(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let function = call.text("sfun")?.unwrap_or_else(|| call.fun.to_owned());
    let service = Service::from_call(call)?;
    if function != "running" && function != "dead" {
        return failure(format!("Unable to trigger watch for service.{function}"));
    }
    let status = service.status(facts)?;
    if function == "dead" && !status.is_running {
        return unchanged("Service is already stopped");
    }
    let (verb, word) = watch_action(call, &function, &status);
    let past = if verb == ServiceAction::Stop {
        "stopped".to_owned()
    } else {
        format!("{word}ed")
    };
    let no_block = call.flag("no_block", false);
    let mut text = service.command(verb, &status, no_block);
    if verb == ServiceAction::Start {
        // A service that is only partly running is stopped before it is started.
        let stop = service.command(ServiceAction::Stop, &status, false);
        text = format!("{{ {stop}; }} >/dev/null 2>&1; {text}");
    }
    if let Some(seconds) = call.int("init_delay")? {
        text = format!("{{ {text}; }} && sleep {}", seconds.max(0));
    }
    let note = process_note(&status);
    let predicted = StateOutcome::planned(format!("Service is set to be {past}{note}"));
    let predicted = with_manager(predicted, &status);
    let steps = vec![service_change(text)];
    act(predicted, steps, move |complaint, _| {
        let has_succeeded = complaint.is_none();
        let comment = complaint.map_or_else(
            || format!("Service {past}{note}"),
            |why| format!("Failed to {word} the service{note}\n{why}"),
        );
        let outcome = StateOutcome {
            result: Some(has_succeeded),
            ..StateOutcome::changed(single_change(&service.name, has_succeeded), comment)
        };
        Ok(with_manager(outcome, &status))
    })
}

fn watch_action(
    call: &StateCall<'_>,
    function: &str,
    status: &ServiceStatus,
) -> (ServiceAction, &'static str) {
    if function == "dead" {
        (ServiceAction::Stop, "stop")
    } else if !status.is_running {
        (ServiceAction::Start, "start")
    } else if call.flag("reload", false) && call.flag("force", false) {
        (ServiceAction::ForceReload, "forcefully reload")
    } else if call.flag("reload", false) {
        (ServiceAction::Reload, "reload")
    } else {
        (ServiceAction::Restart, "restart")
    }
}
