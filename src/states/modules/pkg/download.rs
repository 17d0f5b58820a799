//! The state `pkg.downloaded`: packages in apt's cache that are not installed yet. Also the functions that apt lacks.

use std::collections::BTreeMap;

use super::desired::{
    DesiredPackage, apt_change, apt_command, apt_options, install_error, parse_desired,
};
use super::install::package_words;
use super::package_database::{Candidates, InstalledPackages};
use super::version::VersionConstraint;
use crate::host::fact::Domain;
use crate::states::modules::decision::{act, failure, run_probe, stdout_text, unchanged};
use crate::states::{FactCache, Halt, StateCall, StateDecision, StateOutcome};
use crate::value::Value;

/// The folder with the packages that apt has downloaded.
const CACHE_DIR: &str = "/var/cache/apt";

/// The versions of packages in apt's cache.
struct DownloadedPackages(BTreeMap<String, Vec<String>>);

impl DownloadedPackages {
    fn probe(facts: &FactCache) -> Result<Self, Halt> {
        let text = format!(
            "find {CACHE_DIR} -name '*.deb' -exec dpkg-deb -W --showformat '${{Package}} ${{Version}}\\n' {{}} \\; 2>/dev/null; :"
        );
        let probed = run_probe(facts, text, Domain::Path(CACHE_DIR.to_owned()))?;
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in stdout_text(probed).lines() {
            if let Some((name, version)) = line.split_once(' ') {
                let versions = all.entry(name.to_owned()).or_default();
                versions.push(version.to_owned());
            }
        }
        Ok(Self(all))
    }

    /// Returns true if the cache has the package in a desired version.
    fn has(&self, desired: &DesiredPackage, ignore_epoch: bool) -> bool {
        let bare = desired.name.split(':').next().unwrap_or_default();
        let versions = self.0.get(bare).map_or(&[][..], Vec::as_slice);
        match desired.constraint {
            VersionConstraint::Any | VersionConstraint::Latest => !versions.is_empty(),
            _ => versions
                .iter()
                .any(|version| desired.constraint.accepts(version, ignore_epoch)),
        }
    }
}

/// Decides `pkg.downloaded`.
pub(super) fn downloaded(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    if matches!(call.arg("pkgs"), Some(Value::List(items)) if items.is_empty()) {
        return unchanged("No packages to download provided");
    }
    let all_desired = parse_desired(call)?;
    let ignore_epoch = call.flag("ignore_epoch", false);
    let names = all_desired.iter().map(|desired| desired.name.as_str());
    let candidates = Candidates::probe(facts, names, call.text("fromrepo")?.as_deref())?;
    if let Some(why) = unknown_packages(&all_desired, &candidates) {
        return failure(why);
    }
    let present = DownloadedPackages::probe(facts)?;
    let targets: Vec<DesiredPackage> = all_desired
        .iter()
        .filter(|desired| !present.has(desired, ignore_epoch))
        .cloned()
        .collect();
    if targets.is_empty() {
        let has_versions = all_desired.iter().any(|desired| desired.version.is_some());
        return unchanged(format!(
            "All specified packages{} are already downloaded",
            if has_versions {
                " (matching specified versions)"
            } else {
                ""
            }
        ));
    }
    let installed = InstalledPackages::probe(facts)?;
    let (words, is_downgrade) = package_words(call, &targets, &installed, &candidates);
    let mut options = apt_options(call, is_downgrade)?;
    options.push("--download-only".to_owned());
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let words = words.iter().map(String::as_str);
    let steps = vec![apt_change(apt_command("install", &options, words))];
    let names: Vec<&str> = targets.iter().map(|it| it.name.as_str()).collect();
    let names = names.join(", ");
    let predicted = StateOutcome::planned(format!(
        "The following packages would be downloaded: {names}"
    ));
    act(predicted, steps, move |complaint, facts| {
        if let Some(complaint) = complaint {
            return Ok(StateOutcome::failed(install_error(complaint)));
        }
        let present = DownloadedPackages::probe(facts)?;
        Ok(match missing_packages(&targets, &present, ignore_epoch) {
            Some(why) => StateOutcome::failed(why),
            None => StateOutcome::unchanged(format!("Packages downloaded: {names}")),
        })
    })
}

/// Returns the comment about packages that apt does not know.
fn unknown_packages(all_desired: &[DesiredPackage], candidates: &Candidates) -> Option<String> {
    let names = all_desired.iter().map(|desired| desired.name.as_str());
    let mut unknown: Vec<&str> = names.filter(|name| !candidates.contains(name)).collect();
    unknown.sort_unstable();
    (!unknown.is_empty()).then(|| {
        format!(
            "The following package(s) were not found, and no possible matches were found in the package db: {}",
            unknown.join(", ")
        )
    })
}

/// Returns the comment about packages that the cache does not have after the download.
fn missing_packages(
    targets: &[DesiredPackage],
    present: &DownloadedPackages,
    ignore_epoch: bool,
) -> Option<String> {
    let is_missing = |desired: &&DesiredPackage| !present.has(desired, ignore_epoch);
    let missing = targets.iter().filter(is_missing);
    let missing: Vec<String> = missing.map(DesiredPackage::shown).collect();
    (!missing.is_empty()).then(|| {
        let missing = missing.join(", ");
        format!("The following packages failed to download: {missing}")
    })
}

/// Decides `pkg.group_installed`, which apt does not have.
pub(super) fn group_installed(
    _call: &StateCall<'_>,
    _facts: &FactCache,
) -> Result<StateDecision, Halt> {
    failure("pkg.group_install not available for this platform")
}

/// Decides `pkg.patch_installed` and `pkg.patch_downloaded`, which apt does not have.
pub(super) fn patched(call: &StateCall<'_>, _facts: &FactCache) -> Result<StateDecision, Halt> {
    let function = call.fun;
    failure(format!(
        "The pkg.{function} state is not available on this platform"
    ))
}
