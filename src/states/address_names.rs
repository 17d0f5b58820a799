//! The grain `fqdns`: the names that the name service has for the addresses of the machine.
//!
//! A lookup may have to wait for a name server. The names are therefore read only if a template mentions the grain.

use std::collections::BTreeSet;

use super::probe_sections::{ProbeSections, sectioned_probe};
use super::{FactCache, Halt};
use crate::host::fact::{Domain, Fact, Probe};
use crate::value::Value;

/// The name of the grain.
pub(super) const GRAIN: &str = "fqdns";

/// The script that prints a line per address: the address, its name and its other names. All lookups run at the same
/// time, each for at most five seconds.
const PROBE_SCRIPT: &str = r#"_s names
_t=; command -v timeout >/dev/null && _t='timeout 5'
for _a in $(ip -o addr | while read -r _ _ _f _a _; do case $_f in inet|inet6) printf '%s\n' "${_a%%/*}";; esac; done); do
case $_a in 127.*|::1) ;; *) $_t getent hosts "$_a" & ;; esac
done; wait"#;

fn probe() -> Probe {
    sectioned_probe(PROBE_SCRIPT, Domain::Fixed)
}

/// The fact that [`read`] needs.
pub(super) fn required_fact() -> Fact {
    Fact::Probe(Box::new(probe()))
}

/// Returns true if the text of a template mentions the grain and the grains lack it.
pub(super) fn are_missing(text: &str, grains: &Value) -> bool {
    text.contains(GRAIN) && grains.get(GRAIN).is_none()
}

/// Returns true if a name has a domain, under the rules of Salt.
fn has_domain(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len())
            && label.bytes().all(is_part)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_short = name.len() < 255;
    name.contains('.') && is_short && name.trim_end_matches('.').split('.').all(is_label)
}

/// Returns the value of the grain: all names in order. Of the other names of an address, those with a domain count.
pub(super) fn read(facts: &FactCache) -> Result<Value, Halt> {
    let text = String::from_utf8_lossy(&facts.probe(probe())?.stdout);
    let mut names = BTreeSet::new();
    for line in ProbeSections::of(&text).get("names").lines() {
        let mut words = line.split_whitespace().skip(1);
        names.extend(words.next());
        names.extend(words.filter(|name| has_domain(name)));
    }
    Ok(Value::list(names.into_iter().map(Value::from)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fact::{FactReading, ProbeOutput};

    #[test]
    fn the_first_name_and_other_names_with_a_domain_count_once() {
        let mut facts = FactCache::default();
        let output = "\u{1}names\n10.0.0.1       web.example.com web www.example.com -bad.example.com\n\
                      fe80::1         web.example.com\n10.0.0.2 alone\n";
        let probed = ProbeOutput {
            stdout: output.into(),
            ..ProbeOutput::default()
        };
        assert!(matches!(read(&facts), Err(Halt::Needs(_))));
        facts.learn(required_fact(), FactReading::Probe(probed));
        let names = ["alone", "web.example.com", "www.example.com"];
        let expected = Value::list(names.map(Value::from));
        assert_eq!(read(&facts).unwrap(), expected);
    }
}
