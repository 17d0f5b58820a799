//! Installation of packages from files (argument `sources`): on the machine, in the state tree or on
//! the web.
//!
//! [`installed`] fetches the files to a cache folder and installs them with apt.

use super::desired::{apt_change, apt_command, apt_options, install_error};
use super::package_database::InstalledPackages;
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::Domain;
use crate::states::modules::decision::{
    act, old_new, run_change, run_probe, stdout_text, unchanged,
};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::quote_word;
use crate::value::{Map, Value};

/// The folder that keeps fetched package files.
const CACHE_DIR: &str = "/var/cache/unfurl/packages";

/// A package and the address of its file.
struct PackageSource {
    name: String,
    from: String,
}

fn parse_sources(call: &StateCall<'_>) -> Result<Vec<PackageSource>, Halt> {
    let wrong = || Halt::Failed("Invalidly formatted 'sources' parameter. See minion log.".into());
    let items = call
        .arg("sources")
        .and_then(Value::as_list)
        .ok_or_else(wrong)?;
    let mut sources = Vec::new();
    for item in items {
        let map = item.reveal().as_map().ok_or_else(wrong)?;
        for (name, from) in map {
            let from = from.reveal().as_str().ok_or_else(wrong)?.to_owned();
            let is_bad = name.contains('/') || name.starts_with(['.', '-']);
            if is_bad {
                return refuse(format!("`{name}` is not a valid package name"));
            }
            let name = name.to_string();
            sources.push(PackageSource { name, from });
        }
    }
    Ok(sources)
}

/// Decides `pkg.installed` if the state has the argument `sources`.
pub(super) fn installed(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let before = InstalledPackages::probe(facts)?;
    let mut targets = Vec::new();
    let mut steps = Vec::new();
    let mut files = Vec::new();
    for source in parse_sources(call)? {
        if is_installed(&source, &before, facts)? {
            continue;
        }
        files.push(fetch_package(call, &source, &mut steps)?);
        targets.push(source.name);
    }
    if targets.is_empty() {
        return unchanged("All specified packages are already installed");
    }
    let options = apt_options(call, false)?;
    let mut options: Vec<&str> = options.iter().map(String::as_str).collect();
    options.push("--allow-downgrades");
    let files = files.iter().map(String::as_str);
    steps.push(apt_change(apt_command("install", &options, files)));
    let new = |name: &String| (name.as_str().into(), old_new("", "installed"));
    let changes: Map = targets.iter().map(new).collect();
    let names = targets.join(", ");
    let comment = format!("The following packages would be installed/updated: {names}");
    let predicted = StateOutcome::would_change(changes, comment);
    act(predicted, steps, move |complaint, facts| {
        let after = InstalledPackages::probe(facts)?;
        let changes = before.changes_to(&after);
        if let Some(complaint) = complaint {
            return Ok(StateOutcome::failed_with(changes, install_error(complaint)));
        }
        let is_missing = |name: &&String| after.version(name).is_none();
        let failed: Vec<&str> = targets
            .iter()
            .filter(is_missing)
            .map(String::as_str)
            .collect();
        if !failed.is_empty() {
            let failed = failed.join(", ");
            return Ok(StateOutcome::failed_with(
                changes,
                format!("The following packages failed to install/update: {failed}"),
            ));
        }
        let names = targets.join(", ");
        Ok(StateOutcome::changed(
            changes,
            format!("The following packages were installed/updated: {names}"),
        ))
    })
}

/// Whether the package is installed. For a file on the machine, the version must be that of the file.
fn is_installed(
    source: &PackageSource,
    before: &InstalledPackages,
    facts: &FactCache,
) -> Result<bool, Halt> {
    let Some(installed) = before.version(&source.name) else {
        return Ok(false);
    };
    let Some(path) = local_path(&source.from) else {
        return Ok(true);
    };
    let text = format!("dpkg-deb -f {} Version", quote_word(path));
    let probed = run_probe(facts, text, Domain::Path(path.to_owned()))?;
    Ok(probed.code == 0 && stdout_text(probed).trim() == installed)
}

fn local_path(from: &str) -> Option<&str> {
    let path = from.strip_prefix("file://").unwrap_or(from);
    path.starts_with('/').then_some(path)
}

/// Adds the changes that fetch the file, and returns its path on the machine.
fn fetch_package(
    call: &StateCall<'_>,
    source: &PackageSource,
    steps: &mut Vec<Change>,
) -> Result<String, Halt> {
    if let Some(path) = local_path(&source.from) {
        return Ok(path.to_owned());
    }
    let path = format!("{CACHE_DIR}/{}.deb", source.name);
    steps.push(file_change::folders(CACHE_DIR, ModeAndOwner::default()));
    if let Some(name) = source.from.strip_prefix("salt://") {
        let Some(bytes) = call.context.roots.read(name)? else {
            let text = format!("Source file {} not found", source.from);
            return refuse(text);
        };
        steps.push(file_change::write(
            &path,
            bytes.to_vec(),
            ModeAndOwner::default(),
        ));
    } else {
        steps.push(run_change(
            download_command(&source.from, &path),
            [Domain::Path(path.clone())],
        ));
    }
    Ok(path)
}

/// Returns the command that downloads a URL to a file.
///
/// The content goes to `path.new` first, so that `path` never holds a partial download.
pub(in crate::states::modules) fn download_command(url: &str, path: &str) -> String {
    let (url, new, path) = (
        quote_word(url),
        quote_word(&format!("{path}.new")),
        quote_word(path),
    );
    format!(
        "{{ if command -v curl >/dev/null; then curl -fsSL -o {new} -- {url}; else wget -q -O {new} -- {url}; fi; }} && mv -f {new} {path}"
    )
}
