//! Template functions (`salt['network.…']`) about the network devices and names of the machine.

use std::net::IpAddr;

use super::IpNetwork;
use super::call::{CallResult, TemplateCall};
use super::ip_filters::is_private;
use super::machine_functions::{probe, text};
use crate::host::fact::Domain;
use crate::states::Halt;
use crate::states::network::{NetworkDevice, parse_devices};
use crate::value::{Map, Value};

/// The implementation of a template function.
type NetworkFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, NetworkFn)] = &[
    ("network.calc_net", calc_net),
    ("network.get_hostname", |call| {
        Ok(text(
            &probe(call, "hostname".to_owned(), Domain::Fixed)?.stdout,
        ))
    }),
    ("network.get_fqdn", |call| {
        Ok(text(
            &probe(call, "hostname -f".to_owned(), Domain::Fixed)?.stdout,
        ))
    }),
    ("network.in_subnet", |call| {
        let network = network(call, 0)?;
        let mut own = own_addresses(call, false, None)?;
        own.extend(own_addresses(call, true, None)?);
        Ok(own.into_iter().any(|it| network.contains(it)).into())
    }),
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
    ("network.ip_addrs", |call| listed_addresses(call, false)),
    ("network.ip_addrs6", |call| listed_addresses(call, true)),
    ("network.ip_in_subnet", |call| {
        let network = network(call, 1)?;
        Ok(network.contains(address(call, 0)?).into())
    }),
    ("network.ipaddrs", |call| listed_addresses(call, false)),
    ("network.ipaddrs6", |call| listed_addresses(call, true)),
    ("network.is_loopback", |call| {
        Ok(address(call, 0)?.is_loopback().into())
    }),
    ("network.is_private", |call| {
        Ok(is_private(address(call, 0)?).into())
    }),
    ("network.reverse_ip", |call| {
        Ok(reverse_name(address(call, 0)?).into())
    }),
];

/// Reads the argument with an IP address.
fn address(call: &TemplateCall<'_>, place: usize) -> Result<IpAddr, Halt> {
    let text = call.text(place, "ip_addr")?;
    let address = text.parse();
    address.map_err(|_| call.fail(format_args!("`{text}` is not an IP address")))
}

/// Reads the argument with a network.
fn network(call: &TemplateCall<'_>, place: usize) -> Result<IpNetwork, Halt> {
    let text = call.text(place, "cidr")?;
    IpNetwork::parse(&text).ok_or_else(|| call.fail(format_args!("`{text}` is not a network")))
}

fn calc_net(call: &TemplateCall<'_>) -> CallResult {
    let address = call.text(0, "ip_addr")?;
    let text = match call.arg(1, "netmask").filter(|mask| !mask.is_null()) {
        Some(mask) => format!("{address}/{}", mask.reveal()),
        None => address,
    };
    let network = IpNetwork::parse(&text)
        .ok_or_else(|| call.fail(format_args!("`{text}` is not a network")))?;
    Ok(network.to_string().into())
}

/// Returns the name under which the domain name system has an address.
fn reverse_name(address: IpAddr) -> String {
    match address {
        IpAddr::V4(it) => {
            let [a, b, c, d] = it.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(it) => {
            let digits = format!("{:032x}", u128::from(it));
            let reversed: Vec<String> = digits.chars().rev().map(String::from).collect();
            format!("{}.ip6.arpa", reversed.join("."))
        }
    }
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

/// Returns the addresses of one family, sorted: those of all devices, or of the named one.
fn own_addresses(
    call: &TemplateCall<'_>,
    is_ipv6: bool,
    name: Option<&str>,
) -> Result<Vec<IpAddr>, Halt> {
    let devices = devices(call)?;
    let devices = devices
        .iter()
        .filter(|device| name.is_none_or(|name| device.name == name));
    let texts = devices.flat_map(|device| device.addresses_of(is_ipv6));
    let mut addresses: Vec<IpAddr> = texts.filter_map(|it| it.parse().ok()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    if !call.flag(1, "include_loopback", false) {
        addresses.retain(|address| !address.is_loopback());
    }
    Ok(addresses)
}

/// Lists the addresses of one family that fit the arguments.
fn listed_addresses(call: &TemplateCall<'_>, is_ipv6: bool) -> CallResult {
    let name = call.text_or(0, "interface", "");
    let name = Some(&*name).filter(|name| !name.is_empty());
    let mut addresses = own_addresses(call, is_ipv6, name)?;
    let kind = call.text_or(3, "type", "");
    if call.arg(2, "cidr").is_some_and(Value::is_truthy) {
        let network = network(call, 2)?;
        addresses.retain(|address| network.contains(*address));
    } else if kind == "public" || kind == "private" {
        addresses.retain(|address| is_private(*address) == (kind == "private"));
    }
    let texts = addresses.iter().map(|address| address.to_string().into());
    Ok(Value::list(texts))
}

/// The text that Salt returns for a device that does not exist.
fn unknown_device(devices: &[NetworkDevice], name: &str) -> Value {
    let known: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let known = known.join("\", \"");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_reverse_names() {
        let name = |text: &str| reverse_name(text.parse().unwrap());
        assert_eq!(name("127.0.3.4"), "4.3.0.127.in-addr.arpa");
        assert_eq!(name("2001:db8::1"), {
            let zeros = "0.".repeat(23);
            format!("1.{zeros}8.b.d.0.1.0.0.2.ip6.arpa")
        });
    }
}
