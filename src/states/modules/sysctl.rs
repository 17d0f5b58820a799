//! The state module `sysctl`: kernel parameters, in memory and in a configuration file.
//!
//! Parameters are read from and written to `/proc/sys`, so the program `sysctl` is not needed.

use super::decision::{
    act_or_fail, failure, require_facts, run_change, run_probe, runs_systemd, single_change,
    unchanged,
};
use super::file_change;
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{Domain, Fact};
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
    refuse,
};
use crate::text::quote_word;

pub(super) static MODULE: StateModule = StateModule {
    name: "sysctl",
    functions: &[StateFunction::new("present", present)
        .about("Sets a kernel parameter, now and at boot.")
        .requires("value")
        .options("config")
        .irreversible("the previous value of the parameter is not recorded")],
    watch: None,
    aggregate: None,
};

/// The text of a new configuration file.
const NEW_CONFIG: &str = "#\n# Kernel sysctl configuration\n#\n";

/// A kernel parameter as a state describes it.
struct DesiredParameter<'a> {
    name: &'a str,
    value: String,
    /// The configuration file that keeps the value over a reboot.
    config: String,
    /// The file below `/proc/sys` that holds the value.
    proc_path: String,
}

impl<'a> DesiredParameter<'a> {
    fn from_call(call: &StateCall<'a>, facts: &FactCache) -> Result<Self, Halt> {
        let name = call.name;
        let is_invalid = |sign: char| sign.is_whitespace() || sign.is_control() || sign == '=';
        if name.is_empty() || name.contains(is_invalid) || name.split(['.', '/']).any(str::is_empty)
        {
            return refuse(format!(
                "`{name}` is not the name of a kernel parameter: write one such as `net.ipv4.ip_forward`"
            ));
        }
        let value = call.required("value")?;
        if value.contains('\n') {
            return refuse(format!(
                "the value of the kernel parameter {name} must be a single line"
            ));
        }
        let swapped = |sign| match sign {
            '.' => '/',
            '/' => '.',
            other => other,
        };
        let below: String = name.chars().map(swapped).collect();
        Ok(Self {
            name,
            value,
            config: config_path(call, facts)?,
            proc_path: format!("/proc/sys/{below}"),
        })
    }

    /// Returns the current value; None if the kernel does not know the parameter.
    fn current(&self, facts: &FactCache) -> Result<Option<String>, Halt> {
        let path = quote_word(&self.proc_path);
        let domain = Domain::Path(self.proc_path.clone());
        let probed = run_probe(facts, format!("cat {path}"), domain)?;
        let text = String::from_utf8_lossy(&probed.stdout);
        Ok((probed.code == 0).then(|| text.trim_end_matches('\n').to_owned()))
    }

    /// Returns true if a value equals the desired one. Runs of white space count as one sign.
    fn is_desired(&self, value: &str) -> bool {
        value.split_whitespace().eq(self.value.split_whitespace())
    }

    /// Returns the configuration file's text with the desired value, or None if the file has it already.
    fn edited_config(&self, before: &str) -> Option<String> {
        let mut has_value = false;
        let mut is_edited = false;
        let mut after = String::new();
        for line in before.split_inclusive('\n') {
            match setting(line) {
                Some((key, value)) if key == self.name => {
                    has_value |= !is_edited && self.is_desired(value);
                    if has_value && !is_edited {
                        return None;
                    }
                    is_edited = true;
                    after.push_str(&self.line());
                }
                _ => after.push_str(line),
            }
        }
        if !is_edited {
            if !after.is_empty() && !after.ends_with('\n') {
                after.push('\n');
            }
            after.push_str(&self.line());
        }
        Some(after)
    }

    fn line(&self) -> String {
        format!("{} = {}\n", self.name, self.value)
    }

    /// Returns the changes that write the configuration file and set the value in memory.
    fn steps(&self, config: &ConfigFile, is_current: bool) -> Vec<Change> {
        let mut steps = Vec::new();
        let before = config.text.as_deref().unwrap_or(NEW_CONFIG);
        if let Some(after) = self.edited_config(before) {
            if !config.has_folder {
                let folder = file_change::parent(&self.config);
                steps.push(file_change::folders(folder, ModeAndOwner::default()));
            }
            steps.push(file_change::write(
                &self.config,
                after,
                ModeAndOwner::default(),
            ));
        }
        if !is_current {
            let (path, value) = (quote_word(&self.proc_path), quote_word(&self.value));
            let text = format!("printf '%s\\n' {value} > {path}");
            steps.push(run_change(text, [Domain::Path(self.proc_path.clone())]));
        }
        steps
    }
}

/// Returns the configuration file: the argument `config`, else the default of Salt for the machine.
fn config_path(call: &StateCall<'_>, facts: &FactCache) -> Result<String, Halt> {
    if let Some(path) = call.non_empty_text("config")? {
        if !path.starts_with('/') {
            return refuse(format!(
                "`config: {path}` of {} is not an absolute path",
                call.name
            ));
        }
        return Ok(path);
    }
    let path = if runs_systemd(facts)? {
        "/etc/sysctl.d/99-salt.conf"
    } else {
        "/etc/sysctl.conf"
    };
    Ok(path.to_owned())
}

/// The configuration file on the machine.
struct ConfigFile {
    /// The text; None if the file does not exist.
    text: Option<String>,
    has_folder: bool,
}

impl ConfigFile {
    fn read(path: &str, facts: &FactCache) -> Result<Self, Halt> {
        let folder = file_change::parent(path);
        require_facts(
            facts,
            [
                Fact::Content(path.to_owned()),
                Fact::Target(folder.to_owned()),
            ],
        )?;
        let text = facts.content(path)?;
        Ok(Self {
            text: text.map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
            has_folder: facts.target(folder)?.is_some(),
        })
    }

    /// Returns the values that the file has for a parameter, in order.
    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let lines = self.text.as_deref().unwrap_or_default().lines();
        lines
            .filter_map(setting)
            .filter(move |(key, _)| *key == name)
            .map(|(_, value)| value)
    }
}

/// Returns the key and the value of a line `key = value`; None for a comment or another line.
fn setting(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once('=')?;
    let key = key.trim();
    (!key.starts_with('#')).then(|| (key, value.trim()))
}

/// Decides `sysctl.present`: sets a kernel parameter in memory and in a configuration file.
fn present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let desired = DesiredParameter::from_call(call, facts)?;
    let config = ConfigFile::read(&desired.config, facts)?;
    let DesiredParameter { name, value, .. } = &desired;
    let Some(current) = desired.current(facts)? else {
        return match call.mode {
            Mode::Apply => failure(format!(
                "Failed to set {name} to {value}: sysctl {name} does not exist"
            )),
            Mode::Test => failure(format!("sysctl {name} does not exist")),
        };
    };
    let is_current = desired.is_desired(&current);
    let steps = desired.steps(&config, is_current);
    if steps.is_empty() {
        let comment = format!("Sysctl value {name} = {value} is already set");
        return unchanged(comment);
    }
    let is_configured = config.values(name).next().is_some();
    let predicted = match (is_configured, is_current) {
        (true, _) => format!("Sysctl option {name} would be changed to {value}"),
        (false, false) => format!("Sysctl option {name} set to be changed to {value}"),
        (false, true) => format!(
            "Sysctl value is currently set on the running system but not in a config file. Sysctl option {name} set to be changed to {value} in config file."
        ),
    };
    let shown = call.arg("value").cloned().unwrap_or_default();
    let outcome = StateOutcome::changed(
        single_change(name, shown),
        format!("Updated sysctl value {name} = {value}"),
    );
    let complaint = format!("Failed to set {name} to {value}: sysctl -w failed: ");
    act_or_fail(StateOutcome::planned(predicted), steps, outcome, complaint)
}
