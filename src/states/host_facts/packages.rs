//! Named facts about installed packages and package sources.

use super::named_fact::{FactArguments, NamedFact, printed, shell};
use crate::host::fact::{Domain, Fact, FactReading};
use crate::states::probe_sections::{ProbeSections, sectioned_probe};
use crate::value::{Map, Value};

/// The command that lists Debian packages: name, version and status, separated by tabs.
const DPKG: &str = "dpkg-query -W -f '${binary:Package}\\t${Version}\\t${db:Status-Status}\\n'";

pub(super) static FACTS: &[NamedFact] = &[
    NamedFact::new("deb.DebPackages", |_| shell(DPKG, Domain::Packages))
        .about("the versions of installed packages, by name")
        .parse_with(parse_packages),
    NamedFact::new("deb.DebArch", |_| {
        shell("dpkg --print-architecture", Domain::Fixed)
    })
    .about("the architecture of packages"),
    NamedFact::new("apt.AptPackages", |_| shell(DPKG, Domain::Packages))
        .about("the versions of installed packages, by name")
        .parse_with(parse_packages),
    NamedFact::new("apt.AptSources", |_| {
        let text = "_s list; cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list\n\
                        _s sources; for _f in /etc/apt/sources.list.d/*.sources; do \
                        cat \"$_f\"; echo; done";
        Fact::Probe(Box::new(sectioned_probe(text, Domain::Packages)))
    })
    .about("the package sources of APT")
    .parse_with(apt_sources),
    NamedFact::new("rpm.RpmPackages", |_| {
        let text = "rpm -qa --queryformat '%{NAME}\\t%{VERSION}-%{RELEASE}\\tinstalled\\n'";
        shell(text, Domain::Packages)
    })
    .about("the versions of installed packages, by name")
    .parse_with(parse_packages),
    NamedFact::new("pip.PipPackages", |words| {
        let text = format!("{} freeze --all 2>/dev/null", words.quoted("pip"));
        shell(text, Domain::All)
    })
    .about("the versions of installed Python packages, by name")
    .arguments(&[("pip", Some("pip3"))])
    .parse_with(|_, reading| {
        let text = printed(reading).unwrap_or_default();
        let packages = text.lines().filter_map(|line| line.split_once("=="));
        let entry =
            |(name, version): (&str, &str)| (name.to_lowercase(), Value::list([version.into()]));
        Value::map(packages.map(entry))
    }),
];

fn parse_packages(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    let mut all: indexmap::IndexMap<String, Vec<Value>> = indexmap::IndexMap::new();
    for line in text.lines() {
        let mut parts = line.split('\t');
        let (Some(name), Some(version)) = (parts.next(), parts.next()) else {
            continue;
        };
        if parts.next() != Some("installed") {
            continue;
        }
        let name = name.split(':').next().unwrap_or(name).to_owned();
        let versions = all.entry(name).or_default();
        if !versions.contains(&version.into()) {
            versions.push(version.into());
        }
    }
    Value::map(
        all.into_iter()
            .map(|(name, versions)| (name, versions.into())),
    )
}

fn apt_sources(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    let sections = ProbeSections::of(&text);
    let mut all: Vec<Value> = sections
        .get("list")
        .lines()
        .filter_map(parse_list_line)
        .collect();
    for block in sections.get("sources").split("\n\n") {
        all.extend(parse_deb822(block));
    }
    all.into()
}

/// Parses a line of the form `deb [arch=amd64] http://… suite component…`.
fn parse_list_line(line: &str) -> Option<Value> {
    let line = line.split('#').next()?.trim();
    let (kind, rest) = line.split_once(char::is_whitespace)?;
    let rest = rest.trim();
    let (options, rest) = match rest.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some(parts) => parts,
        None => ("", rest),
    };
    let options = options
        .split_whitespace()
        .filter_map(|it| it.split_once('='));
    let options: Map = options
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let mut words = rest.split_whitespace();
    let (url, suite) = (words.next()?, words.next()?);
    Some(source(kind, url, suite, words, &options))
}

fn source<'a>(
    kind: &str,
    url: &str,
    suite: &str,
    components: impl Iterator<Item = &'a str>,
    options: &Map,
) -> Value {
    Value::map([
        ("type", kind.into()),
        ("url", url.into()),
        ("distribution", suite.into()),
        ("components", Value::list(components.map(Value::from))),
        ("options", options.clone().into()),
    ])
}

/// Parses a paragraph of a `.sources` file: one source for each combination of type, URI and suite.
fn parse_deb822(block: &str) -> Vec<Value> {
    let lines = block.lines().filter(|line| !line.starts_with(['#', ' ']));
    let fields = lines.filter_map(|line| line.split_once(':'));
    let fields: Vec<(String, &str)> = fields
        .map(|(name, value)| (name.to_lowercase(), value.trim()))
        .collect();
    let find = |name: &str| {
        let found = fields.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    };
    if find("enabled") == "no" {
        return Vec::new();
    }
    let known = ["types", "uris", "suites", "components", "enabled"];
    let options = fields
        .iter()
        .filter(|(name, _)| !known.contains(&name.as_str()));
    let options: Map = options
        .map(|(name, value)| (name.as_str().into(), (*value).into()))
        .collect();
    let mut all = Vec::new();
    for kind in find("types").split_whitespace() {
        for url in find("uris").split_whitespace() {
            for suite in find("suites").split_whitespace() {
                let components = find("components").split_whitespace();
                all.push(source(kind, url, suite, components, &options));
            }
        }
    }
    all
}
