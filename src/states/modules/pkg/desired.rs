//! The packages that a `pkg` state names, and the apt commands for them.
//!
//! [`parse_desired`] reads the arguments; `apt_*` builds non-interactive commands.

use super::package_database::InstalledPackages;
use super::version::VersionConstraint;
use crate::host::change::Change;
use crate::host::fact::Domain;
use crate::states::modules::decision::run_change;
use crate::states::{Halt, StateCall, refuse};
use crate::text::{quote_word, quote_words};
use crate::value::Value;

/// A package that a state names, with the desired version.
#[derive(Debug, Clone)]
pub(super) struct DesiredPackage {
    pub(super) name: String,
    pub(super) constraint: VersionConstraint,
    /// The version as the state gives it.
    pub(super) version: Option<String>,
}

impl DesiredPackage {
    fn new(name: &str, version: Option<String>, allow_updates: bool) -> Self {
        let written = version.as_deref().map(|text| {
            let is_plain = !text.starts_with(['<', '>', '=', '!']) && text != "latest";
            if allow_updates && is_plain && !text.contains('*') {
                format!(">={text}")
            } else {
                text.to_owned()
            }
        });
        Self {
            name: name.to_owned(),
            constraint: written
                .as_deref()
                .map(VersionConstraint::parse)
                .unwrap_or_default(),
            version,
        }
    }

    /// Returns the name and version in the form of Salt's messages.
    pub(super) fn shown(&self) -> String {
        match &self.version {
            None => self.name.clone(),
            Some(version) if version.starts_with(['<', '>', '=', '!']) => {
                format!("{}{version}", self.name)
            }
            Some(version) => format!("{}={version}", self.name),
        }
    }

    /// Whether an installed package satisfies the constraint. `latest` is not compared here.
    pub(super) fn is_met(&self, packages: &InstalledPackages, ignore_epoch: bool) -> bool {
        match packages.version(&self.name) {
            Some(version) => self.constraint.accepts(version, ignore_epoch),
            // A virtual package, provided by another package, has no version.
            None => self.constraint == VersionConstraint::Any && packages.provides(&self.name),
        }
    }
}

/// Returns the packages of a state: from `pkgs`, else its name with `version`.
pub(super) fn parse_desired(call: &StateCall<'_>) -> Result<Vec<DesiredPackage>, Halt> {
    let allow_updates = call.flag("allow_updates", false);
    let mut all_desired = Vec::new();
    match call.arg("pkgs") {
        None => {
            let version = call.text("version")?;
            all_desired.push(DesiredPackage::new(call.name, version, allow_updates));
        }
        Some(Value::List(items)) => {
            for item in items.iter().map(Value::reveal) {
                add_item(item, allow_updates, &mut all_desired)?;
            }
        }
        Some(other) => add_item(other, allow_updates, &mut all_desired)?,
    }
    for desired in &all_desired {
        check_name(&desired.name)?;
    }
    Ok(all_desired)
}

fn add_item(
    item: &Value,
    allow_updates: bool,
    all_desired: &mut Vec<DesiredPackage>,
) -> Result<(), Halt> {
    let mut push = |name: &str, version| {
        // A package that is named twice is listed once; a later version replaces an earlier one.
        match all_desired.iter_mut().find(|desired| desired.name == name) {
            None => all_desired.push(DesiredPackage::new(name, version, allow_updates)),
            Some(desired) if version.is_some() => {
                *desired = DesiredPackage::new(name, version, allow_updates);
            }
            Some(_) => {}
        }
    };
    match item {
        Value::Map(map) => {
            for (name, version) in map.iter() {
                let version = version.reveal();
                push(name, (!version.is_null()).then(|| version.to_string()));
            }
        }
        Value::Str(text) => {
            for name in text
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
            {
                push(name, None);
            }
        }
        other => {
            return refuse(format!(
                "Invalidly formatted 'pkgs' parameter: {} is not a package",
                other.kind()
            ));
        }
    }
    Ok(())
}

/// Refuses a text that cannot be the name of a package, so that none reaches a command line.
fn check_name(name: &str) -> Result<(), Halt> {
    let is_good = |sign: char| sign.is_ascii_alphanumeric() || "+-.:_".contains(sign);
    if !name.is_empty() && !name.starts_with('-') && name.chars().all(is_good) {
        return Ok(());
    }
    refuse(format!(
        "`{name}` is not a valid package name: only letters, digits and + - . : _ are allowed"
    ))
}

/// Returns the domains that installing or removing packages may change: nearly all but home folders.
pub(super) fn touched_domains() -> Vec<Domain> {
    const FOLDERS: [&str; 9] = [
        "/etc", "/usr", "/var", "/opt", "/srv", "/run", "/lib", "/bin", "/sbin",
    ];
    let folders = FOLDERS.iter().map(|path| Domain::Path((*path).to_owned()));
    [Domain::Packages, Domain::Services, Domain::Accounts]
        .into_iter()
        .chain(folders)
        .collect()
}

/// The option for configuration files of the package instead of those that were edited.
const FORCE_CONF_NEW: &str = "-o DPkg::Options::=--force-confnew";

/// Returns an apt command that never asks. Configuration files that were edited are kept, unless an option says otherwise.
pub(super) fn apt_command<'a>(
    verb: &str,
    options: &[&str],
    words: impl IntoIterator<Item = &'a str>,
) -> String {
    let mut text = "DEBIAN_FRONTEND=noninteractive APT_LISTCHANGES_FRONTEND=none apt-get -q -y \
                    -o DPkg::Lock::Timeout=120"
        .to_owned();
    if !options.contains(&FORCE_CONF_NEW) {
        text.push_str(" -o Dpkg::Options::=--force-confold -o Dpkg::Options::=--force-confdef");
    }
    for option in options {
        text.push(' ');
        text.push_str(option);
    }
    text.push(' ');
    text.push_str(verb);
    let words = quote_words(words);
    if !words.is_empty() {
        text.push(' ');
        text.push_str(&words);
    }
    text
}

/// Returns the change that runs an apt command.
pub(super) fn apt_change(text: String) -> Change {
    run_change(text, touched_domains())
}

/// Returns the change that updates the package lists, unless they are younger than `cache_valid_time`.
pub(super) fn refresh_change(call: &StateCall<'_>) -> Result<Change, Halt> {
    let update = "apt-get -q -o DPkg::Lock::Timeout=120 update";
    let text = match call.int("cache_valid_time")? {
        Some(seconds) if seconds > 0 => format!(
            "[ -n \"$(find /var/lib/apt/lists -maxdepth 0 -newermt '-{seconds} seconds')\" ] || {update}"
        ),
        _ => update.to_owned(),
    };
    let lists = Domain::Path("/var/lib/apt".to_owned());
    Ok(run_change(text, [Domain::Packages, lists]))
}

/// Returns the apt options for a state's arguments.
///
/// With `falls`, the transaction may install older versions.
pub(super) fn apt_options(
    call: &StateCall<'_>,
    allows_downgrade: bool,
) -> Result<Vec<String>, Halt> {
    let flags = [
        (
            !call.flag("install_recommends", true),
            "--no-install-recommends",
        ),
        (call.flag("only_upgrade", false), "--only-upgrade"),
        (call.flag("skip_verify", false), "--allow-unauthenticated"),
        (
            call.flag("update_holds", false),
            "--allow-change-held-packages",
        ),
        (call.flag("reinstall", false), "--reinstall"),
        (allows_downgrade, "--allow-downgrades"),
        (call.flag("force_conf_new", false), FORCE_CONF_NEW),
    ];
    let mut options: Vec<String> = flags
        .into_iter()
        .filter(|(is_enabled, _)| *is_enabled)
        .map(|(_, option)| option.to_owned())
        .collect();
    if let Some(repo) = call.text("fromrepo")? {
        options.push(format!("-t {}", quote_word(&repo)));
    }
    Ok(options)
}

/// Formats apt's error message as Salt does.
pub(super) fn install_error(complaint: &str) -> String {
    let lines: Vec<String> = complaint
        .lines()
        .map(|line| format!("    - {line}"))
        .collect();
    format!(
        "Problem encountered installing package(s). Additional info follows:\n\nerrors:\n{}",
        lines.join("\n")
    )
}
