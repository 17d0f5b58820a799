//! The state module `network`: the global network settings of a Debian machine, above all its host name.
//!
//! Salt reports changes each time if the host name has a domain or is not applied. Here a machine that is as
//! desired has no changes.

use super::decision::{
    act_or_fail, failure, require_facts, run_change, run_probe, single_change, stdout_text,
    unchanged,
};
use super::file_change;
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{Domain, Fact};
use crate::states::{
    FactCache, Halt, StateCall, StateDecision, StateFunction, StateModule, StateOutcome, refuse,
};
use crate::text::{diff, quote_word};
use crate::value::{Map, Value};

pub(super) static MODULE: StateModule = StateModule {
    name: "network",
    functions: &[StateFunction::new("system", system)
        .accepts_more()
        .about("Sets the name of the machine.")
        .options("enabled hostname search apply_hostname require_reboot")
        .irreversible("the previous settings are not recorded")],
    watch: None,
    aggregate: None,
};

const CONFIG: &str = "/etc/default/networking";
const HOSTNAME: &str = "/etc/hostname";
const HOSTS: &str = "/etc/hosts";
const RESOLVER: &str = "/etc/resolv.conf";

const UP_TO_DATE: &str = "Global network settings are up to date.";

/// The script that prints the running host name, and the one that is in use in `/etc/hosts`.
const NAMES: &str = "hostname; if command -v hostnamectl >/dev/null && [ -d /run/systemd/system ]; \
    then hostnamectl --static; else hostname -f 2>/dev/null || hostname; fi";

/// The script that restarts the network. Its failure does not count, as in Salt.
const RESTART: &str = "if [ -d /run/systemd/system ]; then systemctl restart networking; \
    elif [ -x /etc/init.d/networking ]; then service networking restart; fi >/dev/null 2>&1 || :";

/// The settings of a machine.
#[derive(Clone, Default)]
struct NetworkSettings {
    /// `yes` or `no`; empty if nothing is set.
    networking: String,
    hostname: String,
    domain: String,
    search: String,
}

impl NetworkSettings {
    /// Returns the settings as lines, which changes show.
    fn lines(&self) -> Vec<String> {
        let fields = [
            ("NETWORKING", &self.networking),
            ("HOSTNAME", &self.hostname),
            ("DOMAIN", &self.domain),
            ("SEARCH", &self.search),
        ];
        let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
        fields
            .map(|(key, value)| format!("{key}={value}\n"))
            .collect()
    }
}

/// The files with the settings.
struct NetworkFiles {
    config: String,
    hostname: String,
    resolver: String,
    hosts: String,
}

impl NetworkFiles {
    fn read(facts: &FactCache) -> Result<Self, Halt> {
        let paths = [CONFIG, HOSTNAME, RESOLVER, HOSTS];
        require_facts(facts, paths.map(|path| Fact::Content(path.to_owned())))?;
        let text = |path: &str| -> Result<String, Halt> {
            let bytes = facts.content(path)?.unwrap_or_default();
            Ok(String::from_utf8_lossy(bytes).into_owned())
        };
        Ok(Self {
            config: text(CONFIG)?,
            hostname: text(HOSTNAME)?,
            resolver: text(RESOLVER)?,
            hosts: text(HOSTS)?,
        })
    }

    fn settings(&self) -> NetworkSettings {
        let lines = self.config.lines();
        let networking = lines
            .filter(|line| line.starts_with("CONFIGURE_INTERFACES"))
            .filter_map(|line| line.split_once('='))
            .next_back();
        let directive = |key: &str| {
            let mut lines = self.resolver.lines().filter_map(|line| {
                let (word, rest) = line.trim().split_once(char::is_whitespace)?;
                (word.to_lowercase() == key).then(|| rest.split_whitespace())
            });
            lines
                .next_back()
                .map(|words| words.collect::<Vec<_>>().join(" "))
        };
        NetworkSettings {
            networking: networking.map_or("", |(_, value)| value.trim()).to_owned(),
            hostname: self.hostname.lines().next().unwrap_or_default().to_owned(),
            domain: directive("domain").unwrap_or_default(),
            search: directive("search").unwrap_or_default(),
        }
    }

    /// Returns the configuration of the resolver with these settings.
    ///
    /// A line `domain` is changed, but not added, as in Salt.
    fn resolver_with(&self, desired: &NetworkSettings) -> String {
        let mut text = String::new();
        let mut has_search = desired.search.is_empty();
        for line in self.resolver.split_inclusive('\n') {
            match line.split_whitespace().next() {
                Some("domain") => text.push_str(&format!("domain {}\n", desired.domain)),
                Some("search") if !desired.search.is_empty() => {
                    has_search = true;
                    text.push_str(&format!("search {}\n", desired.search));
                }
                _ => text.push_str(line),
            }
        }
        if !has_search {
            text = format!("search {}\n{text}", desired.search);
        }
        text
    }

    /// Returns the hosts file with another host name. As in Salt, tabs stand between all words.
    fn hosts_with(&self, old: &str, new: &str) -> String {
        let lines = self.hosts.lines().map(|line| {
            let words = line.split_whitespace();
            let words: Vec<&str> = words.map(|it| if it == old { new } else { it }).collect();
            words.join("\t") + "\n"
        });
        lines.collect()
    }
}

/// Returns the text of the file that says whether interfaces are configured at boot.
fn config_text(networking: &str) -> String {
    format!(
        "# Configuration for networking init script being run during\n\
         # the boot sequence\n\n\
         # Set to 'no' to skip interfaces configuration on boot\n\
         CONFIGURE_INTERFACES={networking}\n\n\
         # Don't configure these interfaces. Shell wildcards supported/\n\
         #EXCLUDE_INTERFACES=\n\n\
         # Set to 'yes' to enable additional verbosity\n\
         #VERBOSE=no"
    )
}

/// Returns a truth as Salt's network modules write it; None if a value is none.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        other => match other.to_string().as_str() {
            "yes" | "on" | "true" | "1" => Some(true),
            "no" | "off" | "false" | "0" => Some(false),
            _ => None,
        },
    }
}

/// Returns the unified diff of settings in the form of Salt, whose lines have two line breaks.
fn settings_diff(before: &[String], after: &[String]) -> String {
    fn texts(lines: &[String]) -> Vec<&str> {
        lines.iter().map(String::as_str).collect()
    }
    let lines = diff::unified_diff(&texts(before), &texts(after));
    let lines = lines.iter().map(|line| {
        let is_header = ["---", "+++", "@@"].iter().any(|it| line.starts_with(it));
        if is_header {
            line.trim_end_matches('\n')
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the settings that a state describes.
fn desired_settings(
    call: &StateCall<'_>,
    current: &NetworkSettings,
) -> Result<NetworkSettings, Halt> {
    let networking = match call.args.get("enabled").map(Value::reveal) {
        Some(value) => truth(value),
        None => truth(&current.networking.as_str().into()),
    };
    let Some(networking) = networking else {
        return refuse(
            "Invalid network setting -- Setting: networking, Expected: [yes|on|true|1|True|no|off|false|0|False]",
        );
    };
    let hostname = call.text_or("hostname", &current.hostname)?;
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || "-._".contains(sign);
    if hostname.is_empty() || hostname.starts_with('-') || !hostname.chars().all(is_name) {
        return refuse(
            "Invalid network setting -- Setting: hostname, Expected: [server1.example.com]",
        );
    }
    let search = call.texts("search")?.join(" ");
    if search.contains('\n') {
        return refuse("`search` of network.system must be a single line");
    }
    Ok(NetworkSettings {
        networking: if networking { "yes" } else { "no" }.to_owned(),
        hostname,
        domain: current.domain.clone(),
        search,
    })
}

/// Returns the changes, and the comment of a dry run.
fn described_changes(current: &NetworkSettings, desired: &NetworkSettings) -> (Map, String) {
    let (before, after) = (current.lines(), desired.lines());
    let config = config_text(&desired.networking);
    let config: Vec<String> = config.split_inclusive('\n').map(str::to_owned).collect();
    let (changes, planned) = if before.is_empty() {
        let added = "Added global network settings.".to_owned();
        (
            added,
            "Global network settings are set to be added.".to_owned(),
        )
    } else {
        let planned = settings_diff(&before, &config);
        (
            settings_diff(&before, &after),
            format!("Global network settings are set to be updated:\n{planned}"),
        )
    };
    let changes = if changes.is_empty() {
        Map::new()
    } else {
        single_change("network_settings", changes)
    };
    (changes, planned)
}

/// Decides `network.system`: sets the host name and the global network settings.
fn system(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let family = call.context.grains.get("os_family");
    if family.and_then(Value::as_str) != Some("Debian") {
        return failure("network.system is supported on Debian and systems derived from it only");
    }
    let files = NetworkFiles::read(facts)?;
    let current = files.settings();
    let mut desired = desired_settings(call, &current)?;
    let full_name = desired.hostname.clone();
    if let Some((host, domain)) = full_name.split_once('.') {
        domain.clone_into(&mut desired.domain);
        host.clone_into(&mut desired.hostname);
    }
    let applies = call.arg("apply_hostname").and_then(truth) == Some(true);
    let mut steps = Vec::new();
    let mut write = |path: &str, before: &str, after: String| {
        if before != after {
            steps.push(file_change::write(path, after, ModeAndOwner::default()));
        }
    };
    write(CONFIG, &files.config, config_text(&desired.networking));
    write(RESOLVER, &files.resolver, files.resolver_with(&desired));
    if applies {
        let probed = run_probe(facts, NAMES, Domain::Path(HOSTNAME.to_owned()))?;
        let text = stdout_text(probed);
        let mut names = text.lines();
        let (running, used) = (names.next(), names.next());
        write(HOSTNAME, &files.hostname, format!("{full_name}\n"));
        if running != Some(&full_name) {
            let hosts = files.hosts_with(used.unwrap_or_default(), &full_name);
            write(HOSTS, &files.hosts, hosts);
            steps.push(set_hostname(&full_name));
        }
    }
    if steps.is_empty() {
        return unchanged(UP_TO_DATE);
    }
    if call.arg("require_reboot").and_then(truth) != Some(true) {
        steps.push(run_change(RESTART, [Domain::All]));
    }
    if desired.search.is_empty() {
        desired.search.clone_from(&current.search);
    }
    let (changes, planned) = described_changes(&current, &desired);
    act_or_fail(
        StateOutcome::planned(planned),
        steps,
        StateOutcome::changed(changes, UP_TO_DATE),
        "Failed to set the network settings: ",
    )
}

/// Returns the change that sets the running host name.
fn set_hostname(name: &str) -> Change {
    let name = quote_word(name);
    let text = format!(
        "if command -v hostnamectl >/dev/null && [ -d /run/systemd/system ]; then hostnamectl set-hostname {name}; else hostname {name}; fi"
    );
    run_change(text, [Domain::Path(HOSTNAME.to_owned())])
}
