//! Template functions (`salt[…]`) about packages, services and the time of the machine.

use super::call::{CallResult, TemplateCall};
use super::machine_functions::{probe, text};
use crate::host::fact::Domain;
use crate::text::shlex_quote;
use crate::value::Value;

/// The implementation of a template function.
type HostFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, HostFn)] = &[
    ("dnsutil.serial", serial),
    ("pkg.list_pkgs", packages),
    ("service.get_all", services),
    ("status.time", |call| {
        let format = call.text_or(0, "format", "%A, %d. %B %Y %I:%M%p");
        let command = format!("LC_ALL=C date {}", shlex_quote(&format!("+{format}")));
        Ok(text(&probe(call, command, Domain::All)?.stdout))
    }),
    ("test.provider", provider),
];

/// The number of the next version of a zone: the one in the grains, or that of today.
fn serial(call: &TemplateCall<'_>) -> CallResult {
    if call.flag(1, "update", false) {
        return Err(call.fail("`update` changes grains, which templates cannot do"));
    }
    let grain = match call.text_or(0, "zone", "") {
        zone if zone.is_empty() => "dnsserial".to_owned(),
        zone => format!("dnsserial_{zone}"),
    };
    if let Some(stored) = call.vars.grains.get(&grain).filter(|it| it.is_truthy()) {
        return Ok(stored.clone());
    }
    Ok(text(
        &probe(call, "date +%Y%m%d01".to_owned(), Domain::All)?.stdout,
    ))
}

/// The installed packages with their versions. The name of a package for another architecture ends with that.
fn packages(call: &TemplateCall<'_>) -> CallResult {
    let format = "${db:Status-Status} ${binary:Package} ${Package} ${Architecture} ${Version}\\n";
    let command = format!(
        "dpkg --print-architecture; dpkg-query -W -f={}",
        shlex_quote(format)
    );
    let found = probe(call, command, Domain::Packages)?;
    if found.code == 127 {
        return Err(call.fail("the host has no program `dpkg-query`"));
    }
    let all = String::from_utf8_lossy(&found.stdout).into_owned();
    let mut lines = all.lines();
    let own = lines.next().unwrap_or_default();
    let mut packages = std::collections::BTreeMap::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let ["installed", _, name, architecture, version] = words.as_slice() else {
            continue;
        };
        let name = match *architecture {
            "all" => (*name).to_owned(),
            architecture if architecture == own => (*name).to_owned(),
            other => format!("{name}:{other}"),
        };
        packages.insert(name, Value::from(*version));
    }
    Ok(Value::map(packages))
}

/// The names of all services: those of systemd, and the init scripts that systemd does not replace.
fn services(call: &TemplateCall<'_>) -> CallResult {
    const SCRIPTS: &str = "for f in /etc/init.d/*; do [ -x \"$f\" ] && echo \"${f##*/}\"; done";
    const UNITS: &str = "for d in /lib/systemd/system /usr/lib/systemd/system /etc/systemd/system
do [ -L \"$d\" ] || ls -A -- \"$d\"; done 2>/dev/null; echo /";
    let is_systemd = call.vars.grains.get("init").and_then(Value::as_str) == Some("systemd");
    let units = if is_systemd { UNITS } else { "echo /" };
    let command = format!("{units}; {SCRIPTS}");
    let found = probe(call, command, Domain::Services)?;
    let all = String::from_utf8_lossy(&found.stdout).into_owned();
    let (units, scripts) = all.split_once("/\n").unwrap_or((&all, ""));
    let of_unit = |line: &str| -> Option<String> {
        const TYPES: [&str; 11] = [
            "service",
            "socket",
            "device",
            "mount",
            "automount",
            "swap",
            "target",
            "path",
            "timer",
            "slice",
            "scope",
        ];
        let (name, kind) = line.rsplit_once('.')?;
        TYPES.contains(&kind).then(|| match kind {
            "service" => name.to_owned(),
            _ => line.to_owned(),
        })
    };
    let mut names: std::collections::BTreeSet<String> = units.lines().filter_map(of_unit).collect();
    names.extend(scripts.lines().map(str::to_owned));
    Ok(Value::list(names.into_iter().map(Value::from)))
}

/// The name of the module of Salt that provides a virtual module on the machine.
fn provider(call: &TemplateCall<'_>) -> CallResult {
    let module = call.text(0, "module")?;
    let grain = |name: &str| {
        let value = call.vars.grains.get(name);
        value.map(ToString::to_string).unwrap_or_default()
    };
    let name = match (&*module, &*grain("os_family"), &*grain("init")) {
        ("pkg", "Debian", _) => "aptpkg",
        ("pkg", "RedHat", _) => "yumpkg",
        ("pkg", "Suse", _) => "zypperpkg",
        ("pkg", "Arch", _) => "pacmanpkg",
        ("pkg", "Alpine", _) => "apkpkg",
        ("service", _, "systemd") => "systemd_service",
        ("service", "Debian", _) => "debian_service",
        ("service", "RedHat", _) => "rh_service",
        ("user", ..) => "useradd",
        ("group", ..) => "groupadd",
        _ => {
            return Err(call.fail(format_args!(
                "the provider of `{module}` is known for pkg, service, user and group only"
            )));
        }
    };
    Ok(name.into())
}
