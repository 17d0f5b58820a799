//! The states `pip.removed` and `pip.uptodate`.

use super::command::{PipOptions, pip_change};
use super::environment::{PipProgram, json_rows};
use crate::states::modules::decision::{act_on_outputs, done, old_new, single_change, unchanged};
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome};
use crate::value::Map;

/// Decides `pip.removed`: removes a package.
pub(super) fn removed(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name;
    let program = PipProgram::find(call, &format!("Error uninstalling '{name}'"), facts)?;
    if program.packages(facts)?.version(name).is_none() {
        return unchanged("Package is not installed.");
    }
    let mut options = PipOptions::default();
    options.words.extend(["uninstall", "-y"].map(str::to_owned));
    for key in ["requirements", "log", "timeout"] {
        if let Some(value) = call.non_empty_text(key)? {
            options
                .words
                .extend([format!("--{}", key.trim_end_matches('s')), value]);
        }
    }
    options.addresses(call, &["proxy"])?;
    options.words.push(name.to_owned());
    let planned = StateOutcome::planned(format!("Package {name} is set to be removed"));
    let changes = single_change(name, "Removed");
    let step = pip_change(&program, options);
    act_on_outputs(planned, vec![step], move |ended, _| {
        Ok(if ended.code() == Some(0) {
            StateOutcome::changed(changes.clone(), "Package was successfully removed.")
        } else {
            let why = ended.error.as_deref().unwrap_or_default();
            StateOutcome::failed(format!("Could not remove package. {why}"))
        })
    })
}

/// Decides `pip.uptodate`: upgrades all packages.
pub(super) fn uptodate(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let program = PipProgram::find(call, "Failed to update.", facts)?;
    let text = program.ask(
        "list --outdated --disable-pip-version-check --format=json",
        facts,
    )?;
    let outdated = json_rows(&text, |_| Some(String::new()))?;
    if outdated.is_empty() {
        return unchanged("System is already up-to-date.");
    }
    let planned = StateOutcome::planned("System update will be performed");
    if call.mode == Mode::Test {
        return done(planned);
    }
    let before = program.packages(facts)?;
    let steps = outdated.keys().map(|name| {
        let words = ["install", "-U", "--disable-pip-version-check", name];
        let options = PipOptions {
            words: words.map(str::to_owned).to_vec(),
            ..PipOptions::default()
        };
        pip_change(&program, options)
    });
    let steps = steps.collect();
    act_on_outputs(planned, steps, move |ended, facts| {
        let after = program.packages(facts)?;
        let mut changes = Map::new();
        for (name, version) in &after.0 {
            let old = before.0.get(name).map_or("", String::as_str);
            if old != version {
                changes.insert(name.as_str().into(), old_new(old, version.as_str()));
            }
        }
        Ok(match &ended.error {
            None => StateOutcome::changed(changes, "Upgrade successful."),
            Some(error) => StateOutcome::failed_with(changes, format!("Upgrade failed. {error}")),
        })
    })
}
