//! Readings of dpkg's and apt's databases: installed packages, candidates and upgrades.
//!
//! [`InstalledPackages`] is read in a single probe that all `pkg` states share.

use std::collections::{BTreeMap, BTreeSet};

use super::version::compare;
use crate::host::fact::Domain;
use crate::states::modules::decision::{old_new, run_probe, stdout_text};
use crate::states::{FactCache, Halt, refuse};
use crate::text::quote_words;
use crate::value::Map;

/// The probe that lists all packages of a machine, so that any number of states share one reading.
const PACKAGES_PROBE: &str = "dpkg --print-architecture && dpkg-query -W -f '${Package}\\t${Architecture}\\t${db:Status-Want}\\t${db:Status-Status}\\t${Version}\\t${Provides}\\n'";

/// The packages of a machine by name; packages of a foreign architecture as `name:architecture`.
#[derive(Debug, Clone, Default)]
pub(super) struct InstalledPackages {
    /// The installed packages with their versions.
    pub(super) installed: BTreeMap<String, String>,
    /// Removed packages that left configuration files.
    pub(super) config_only: BTreeSet<String>,
    pub(super) held: BTreeSet<String>,
    /// The virtual packages that installed packages provide.
    provided: BTreeSet<String>,
    native_architecture: String,
}

impl InstalledPackages {
    /// Reads the packages of the machine; fails if it has no apt and dpkg.
    pub(super) fn probe(facts: &FactCache) -> Result<Self, Halt> {
        let probed = run_probe(facts, PACKAGES_PROBE, Domain::Packages)?;
        // `dpkg-query` fails if no package is installed, so only missing output or a missing program is an
        // error.
        if probed.code == 127 || probed.stdout.is_empty() {
            let why = String::from_utf8_lossy(&probed.stderr);
            return refuse(format!(
                "packages are managed through apt and dpkg, which this machine does not have: {}",
                why.trim()
            ));
        }
        Ok(Self::parse(&stdout_text(probed)))
    }

    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let mut packages = Self {
            native_architecture: lines.next().unwrap_or_default().trim().to_owned(),
            ..Self::default()
        };
        for line in lines {
            packages.add_line(line);
        }
        packages
    }

    fn add_line(&mut self, line: &str) {
        let mut parts = line.split('\t');
        let mut next = || parts.next().unwrap_or_default();
        let (name, architecture, want, status) = (next(), next(), next(), next());
        let (version, provides) = (next(), next());
        let is_native = architecture == self.native_architecture || architecture == "all";
        let name = if is_native {
            name.to_owned()
        } else {
            format!("{name}:{architecture}")
        };
        if want == "hold" {
            self.held.insert(name.clone());
        }
        match status {
            "config-files" => {
                self.config_only.insert(name);
            }
            "installed" | "triggers-pending" | "triggers-awaited" => {
                let provides = provides
                    .split(',')
                    .filter_map(|it| it.split_whitespace().next());
                self.provided.extend(provides.map(str::to_owned));
                self.installed.insert(name, version.to_owned());
            }
            _ => {}
        }
    }

    /// Returns a package name without the suffix of the machine's own architecture.
    pub(super) fn native_name<'a>(&self, name: &'a str) -> &'a str {
        match name.split_once(':') {
            Some((plain, architecture))
                if architecture == self.native_architecture || architecture == "all" =>
            {
                plain
            }
            _ => name,
        }
    }

    /// Returns the version of an installed package.
    pub(super) fn version(&self, name: &str) -> Option<&str> {
        self.installed
            .get(self.native_name(name))
            .map(String::as_str)
    }

    /// Whether an installed package provides the virtual package.
    pub(super) fn provides(&self, name: &str) -> bool {
        self.provided.contains(name)
    }

    /// Returns the differences to a later reading, in the form of Salt's changes.
    pub(super) fn changes_to(&self, after: &Self) -> Map {
        let names: BTreeSet<&String> = self
            .installed
            .keys()
            .chain(after.installed.keys())
            .collect();
        let mut changes = Map::new();
        for name in names {
            let old = self.installed.get(name).map_or("", String::as_str);
            let new = after.installed.get(name).map_or("", String::as_str);
            if old != new {
                changes.insert(name.as_str().into(), old_new(old, new));
            }
        }
        changes
    }
}

/// The versions that apt can install, by package name.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidates(BTreeMap<String, Candidate>);

/// The installable versions of one package.
#[derive(Debug, Clone, Default)]
struct Candidate {
    newest: Option<String>,
    versions: Vec<String>,
}

impl Candidates {
    /// Reads apt's policy for packages, optionally with `fromrepo` as target release.
    pub(super) fn probe<'a>(
        facts: &FactCache,
        names: impl IntoIterator<Item = &'a str>,
        fromrepo: Option<&str>,
    ) -> Result<Self, Halt> {
        let names: BTreeSet<&str> = names.into_iter().collect();
        if names.is_empty() {
            return Ok(Self::default());
        }
        let release = fromrepo.map(|repo| quote_words(["-t", repo]) + " ");
        let text = format!(
            "apt-cache policy {}-- {}",
            release.unwrap_or_default(),
            quote_words(names)
        );
        Ok(Self::parse(&stdout_text(run_probe(
            facts,
            text,
            Domain::Packages,
        )?)))
    }

    fn parse(text: &str) -> Self {
        let mut all = BTreeMap::new();
        let mut name: Option<String> = None;
        for line in text.lines() {
            if !line.starts_with(' ') {
                name = line.strip_suffix(':').map(str::to_owned);
                if let Some(name) = &name {
                    all.insert(name.clone(), Candidate::default());
                }
                continue;
            }
            let Some(candidate) = name.as_ref().and_then(|name| all.get_mut(name)) else {
                continue;
            };
            read_policy_line(line, candidate);
        }
        Self(all)
    }

    /// Returns apt's candidate version of a package.
    pub(super) fn newest(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.newest.as_deref()
    }

    /// Returns the best version that `takes` accepts: apt's candidate, else the highest.
    pub(super) fn best(&self, name: &str, takes: impl Fn(&str) -> bool) -> Option<&str> {
        let candidate = self.0.get(name)?;
        if let Some(newest) = candidate.newest.as_deref().filter(|it| takes(it)) {
            return Some(newest);
        }
        let versions = candidate.versions.iter().map(String::as_str);
        versions
            .filter(|version| takes(version))
            .max_by(|one, other| compare(one, other))
    }

    /// Whether apt knows the name, as a real or virtual package.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Parses `  Candidate: 1.2` or a line of the version table: ` *** 1.2 500`.
fn read_policy_line(line: &str, candidate: &mut Candidate) {
    let trimmed = line.trim();
    if let Some(version) = trimmed.strip_prefix("Candidate: ") {
        candidate.newest = (version != "(none)").then(|| version.to_owned());
    } else if line.starts_with("     ") || line.starts_with(" ***") {
        let mut words = trimmed.trim_start_matches("*** ").split_whitespace();
        let (Some(version), Some(_), None) = (words.next(), words.next(), words.next()) else {
            return;
        };
        candidate.versions.push(version.to_owned());
    }
}

/// Returns the upgrades that apt would install: name, old version, new version.
///
/// With `is_full`, simulates `dist-upgrade`, which may also install and remove packages.
pub(super) fn available_upgrades(
    facts: &FactCache,
    is_full: bool,
) -> Result<Vec<[String; 3]>, Halt> {
    let word = if is_full { "dist-upgrade" } else { "upgrade" };
    let probed = run_probe(facts, format!("apt-get -q -s {word}"), Domain::Packages)?;
    if probed.code != 0 {
        let why = String::from_utf8_lossy(&probed.stderr);
        return refuse(why.trim().to_owned());
    }
    Ok(stdout_text(probed)
        .lines()
        .filter_map(parse_upgrade)
        .collect())
}

/// Parses a line `Inst name [old] (new …)` of a simulated upgrade.
fn parse_upgrade(line: &str) -> Option<[String; 3]> {
    let (name, rest) = line.strip_prefix("Inst ")?.split_once(' ')?;
    let (old, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("] ")?,
        None => ("", rest),
    };
    let new = rest.strip_prefix('(')?.split_whitespace().next()?;
    Some([name, old, new].map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_installed_held_removed_or_provided() {
        let packages = InstalledPackages::parse(
            "amd64\n\
             bash\tamd64\tinstall\tinstalled\t5.2-1\t\n\
             exim4\tall\thold\tinstalled\t4.96-1\tmail-transport-agent (= 1), default-mta\n\
             gone\tamd64\tdeinstall\tconfig-files\t1.0\t\n\
             libc6\ti386\tinstall\tinstalled\t2.36\t\n",
        );
        assert_eq!(packages.version("bash"), Some("5.2-1"));
        assert_eq!(packages.version("bash:amd64"), Some("5.2-1"));
        assert_eq!(packages.version("libc6"), None);
        assert_eq!(packages.version("libc6:i386"), Some("2.36"));
        assert_eq!(packages.version("gone"), None);
        assert!(packages.config_only.contains("gone"));
        assert!(packages.held.contains("exim4"));
        assert!(packages.provides("mail-transport-agent"));
        assert!(packages.provides("default-mta"));
    }

    #[test]
    fn apt_says_what_could_be_installed() {
        let text = "nginx:\n  Installed: (none)\n  Candidate: 1.22.1-9\n  Version table:\n     1.22.1-9 500\n        500 http://deb.example bookworm/main amd64 Packages\n     1.18.0-6 500\n        500 http://deb.example bullseye/main amd64 Packages\nmta:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n";
        let candidates = Candidates::parse(text);
        assert_eq!(candidates.newest("nginx"), Some("1.22.1-9"));
        assert_eq!(
            candidates.best("nginx", |it| it.starts_with("1.18")),
            Some("1.18.0-6")
        );
        assert_eq!(candidates.newest("mta"), None);
        assert!(candidates.contains("mta"));
        assert!(!candidates.contains("nosuch"));
    }

    #[test]
    fn a_rehearsed_upgrade_names_versions() {
        assert_eq!(
            parse_upgrade("Inst curl [7.88-1] (7.88-2 Debian:12 [amd64])"),
            Some(["curl", "7.88-1", "7.88-2"].map(str::to_owned))
        );
        assert_eq!(
            parse_upgrade("Inst new (1 Debian:12 [amd64])"),
            Some(["new", "", "1"].map(str::to_owned))
        );
        assert_eq!(parse_upgrade("Conf curl (1)"), None);
    }
}
