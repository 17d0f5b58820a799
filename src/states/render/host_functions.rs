//! Template functions (`salt[…]`) about packages, services, networks and names of the machine.

use super::call::{CallResult, TemplateCall};
use super::machine_functions::{probe, text};
use crate::host::fact::Domain;
use crate::states::Halt;
use crate::states::network::{NetworkDevice, parse_devices};
use crate::text::shlex_quote;
use crate::value::{Map, Value};

/// The implementation of a template function.
type HostFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, HostFn)] = &[
    ("dnsutil.serial", serial),
    ("network.interface", |call| {
        let name = call.text(0, "iface")?;
        let devices = devices(call)?;
        let device = device(&devices, &name).map(|device| addresses(device, false));
        device.map_or_else(|| Ok(unknown_device(&devices, &name)), Ok)
    }),
    ("network.interface_ip", |call| {
        let name = call.text(0, "iface")?;
        let devices = devices(call)?;
        let Some(device) = device(&devices, &name) else {
            return Ok(unknown_device(&devices, &name));
        };
        let first = device.addresses_of(false).first().copied();
        Ok(first.map_or(Value::Null, Value::from))
    }),
    ("network.interfaces", |call| {
        let devices = devices(call)?;
        Ok(Value::map(
            devices
                .iter()
                .map(|device| (device.name.clone(), device_value(device))),
        ))
    }),
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

fn devices(call: &TemplateCall<'_>) -> Result<Vec<NetworkDevice>, Halt> {
    let links = probe(call, "ip -o link".to_owned(), Domain::All)?;
    let addresses = probe(call, "ip -o addr".to_owned(), Domain::All)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(parse_devices(
        &text(&links.stdout),
        &text(&addresses.stdout),
    ))
}

fn device<'a>(devices: &'a [NetworkDevice], name: &str) -> Option<&'a NetworkDevice> {
    devices.iter().find(|device| device.name == name)
}

/// The text that Salt returns for a device that does not exist.
fn unknown_device(devices: &[NetworkDevice], name: &str) -> Value {
    let known: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let known = known.join("\",\"");
    format!("Interface \"{name}\" not in available interfaces: \"{known}\"").into()
}

/// The addresses of a device of one family, with Salt's keys.
fn addresses(device: &NetworkDevice, is_ipv6: bool) -> Value {
    let own = device.addresses.iter().filter(|it| it.is_ipv6 == is_ipv6);
    Value::list(own.map(|it| {
        let address = ("address", Value::from(it.text.as_str()));
        if is_ipv6 {
            return Value::map([
                address,
                ("prefixlen", it.prefix_length.to_string().into()),
                ("scope", it.scope.as_str().into()),
            ]);
        }
        let broadcast = it.broadcast.as_deref().map_or(Value::Null, Value::from);
        Value::map([
            address,
            ("netmask", netmask(it.prefix_length).into()),
            ("broadcast", broadcast),
            ("label", it.label.as_str().into()),
        ])
    }))
}

fn netmask(length: i64) -> String {
    let host_bits = u32::try_from(32 - length.clamp(0, 32)).unwrap_or(0);
    std::net::Ipv4Addr::from(u32::MAX.checked_shl(host_bits).unwrap_or(0)).to_string()
}

fn device_value(device: &NetworkDevice) -> Value {
    let mut map = Map::new();
    map.insert("up".into(), device.is_up.into());
    if let Some(parent) = &device.parent {
        map.insert("parent".into(), parent.as_str().into());
    }
    if !device.mac_address.is_empty() {
        map.insert("hwaddr".into(), device.mac_address.as_str().into());
    }
    for (key, is_ipv6) in [("inet", false), ("inet6", true)] {
        if !device.addresses_of(is_ipv6).is_empty() {
            map.insert(key.into(), addresses(device, is_ipv6));
        }
    }
    map.into()
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
