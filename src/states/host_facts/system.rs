//! Named facts about systemd services, mounts and kernel modules.

use super::named_fact::{FactArguments, NamedFact, number_or_text, printed, shell};
use crate::host::fact::{Domain, FactReading};
use crate::value::Value;

pub(super) static FACTS: &[NamedFact] = &[
    NamedFact::new("server.Mounts", |_| {
        shell("cat /proc/self/mounts", Domain::All)
    })
    .about("mounted file systems, by path")
    .parse_with(mounts),
    NamedFact::new("server.KernelModules", |_| {
        shell("cat /proc/modules 2>/dev/null || :", Domain::All)
    })
    .about("loaded kernel modules, by name")
    .parse_with(|_, reading| {
        let text = printed(reading).unwrap_or_default();
        let module = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [name, size, instances, depends, state, ..] = words.as_slice() else {
                return None;
            };
            let depends = depends.split(',').filter(|it| !it.is_empty() && *it != "-");
            let entries = [
                ("size", number_or_text(size)),
                ("instances", number_or_text(instances)),
                ("depends", Value::list(depends.map(Value::from))),
                ("state", (*state).into()),
            ];
            Some(((*name).to_owned(), Value::map(entries)))
        };
        Value::map(text.lines().filter_map(module))
    }),
    NamedFact::new("systemd.SystemdStatus", |_| {
        let text = "systemctl list-units --all --plain --no-legend --no-pager \
                        --type service,socket,mount,timer,target,path,slice,swap 2>/dev/null || :";
        shell(text, Domain::Services)
    })
    .about("whether each unit is active, by name")
    .parse_with(|_, reading| {
        let active = ["active", "reloading", "activating"];
        units(reading, 2, |word| active.contains(&word))
    }),
    NamedFact::new("systemd.SystemdEnabled", |_| {
        let text = "systemctl list-unit-files --plain --no-legend --no-pager 2>/dev/null || :";
        shell(text, Domain::Services)
    })
    .about("whether each unit is enabled, by name")
    .parse_with(|_, reading| {
        let enabled = ["enabled", "enabled-runtime", "static", "alias", "indirect"];
        units(reading, 1, |word| enabled.contains(&word))
    }),
];

fn units(reading: &FactReading, at: usize, is: impl Fn(&str) -> bool) -> Value {
    let text = printed(reading).unwrap_or_default();
    let unit = |line: &str| {
        // `systemctl` marks failed units with a dot in front.
        let line = line.trim_start_matches(['●', '○', '*', ' ']);
        let words: Vec<&str> = line.split_whitespace().collect();
        let word = words.get(at)?;
        Some(((*words.first()?).to_owned(), Value::from(is(word))))
    };
    Value::map(text.lines().filter_map(unit))
}

fn mounts(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    let mount = |line: &str| {
        let mut words = line.split(' ');
        let (device, path) = (words.next()?, words.next()?);
        let (kind, options) = (words.next()?, words.next()?);
        let entries = [
            ("device", unescaped(device).into()),
            ("type", kind.into()),
            ("options", Value::list(options.split(',').map(Value::from))),
        ];
        Some((unescaped(path), Value::map(entries)))
    };
    Value::map(text.lines().filter_map(mount))
}

/// Decodes the octal escapes for space, tab, newline and backslash in `/proc/self/mounts`.
fn unescaped(text: &str) -> String {
    let signs = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let replace = |text: String, (code, sign): (&str, &str)| text.replace(code, sign);
    signs.into_iter().fold(text.to_owned(), replace)
}
