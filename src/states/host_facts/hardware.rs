//! Named facts about hardware and network devices.

use std::net::Ipv4Addr;

use super::named_fact::{FactArguments, NamedFact, printed, shell};
use crate::host::fact::{Domain, Fact, FactReading};
use crate::states::network::{DeviceAddress, NetworkDevice, parse_devices};
use crate::states::probe_sections::{ProbeSections, sectioned_probe};
use crate::value::{Map, Value};

pub(super) static FACTS: &[NamedFact] = &[
    NamedFact::new("hardware.Cpus", |_| {
        shell("getconf _NPROCESSORS_ONLN || nproc", Domain::Fixed)
    })
    .about("the number of processors")
    .parse_with(|_, reading| {
        let text = printed(reading).unwrap_or_default();
        text.trim().parse::<i64>().ok().into()
    }),
    NamedFact::new("hardware.Memory", |_| {
        shell("grep MemTotal /proc/meminfo", Domain::Fixed)
    })
    .about("the memory size in mebibytes")
    .parse_with(|_, reading| {
        let text = printed(reading).unwrap_or_default();
        let number = text.split_whitespace().nth(1);
        let kibibytes = number.and_then(|it| it.parse::<i64>().ok());
        kibibytes.map(|it| (it + 512) / 1024).into()
    }),
    NamedFact::new("hardware.BlockDevices", |_| shell("df -Pk", Domain::All))
        .about("mounted block devices, by name")
        .parse_with(block_devices),
    NamedFact::new("hardware.NetworkDevices", network)
        .about("network devices, by name")
        .parse_with(|_, reading| map_devices(reading, |device| Some(describe_device(device)))),
    NamedFact::new("hardware.Ipv4Addrs", network)
        .about("the IPv4 addresses of each network device")
        .parse_with(|_, reading| map_devices(reading, |device| device_addresses(device, false))),
    NamedFact::new("hardware.Ipv6Addrs", network)
        .about("the IPv6 addresses of each network device")
        .parse_with(|_, reading| map_devices(reading, |device| device_addresses(device, true))),
    NamedFact::new("hardware.Ipv4Addresses", network)
        .about("the first IPv4 address of each network device")
        .parse_with(|_, reading| {
            map_devices(reading, |it| {
                it.addresses_of(false).first().copied().map(Value::from)
            })
        }),
    NamedFact::new("hardware.Ipv6Addresses", network)
        .about("the first IPv6 address of each network device")
        .parse_with(|_, reading| {
            map_devices(reading, |it| {
                it.addresses_of(true).first().copied().map(Value::from)
            })
        }),
];

fn network(_: &FactArguments) -> Fact {
    let text = "_s links; ip -o link\n_s addresses; ip -o addr";
    Fact::Probe(Box::new(sectioned_probe(text, Domain::All)))
}

fn map_devices(reading: &FactReading, value: fn(&NetworkDevice) -> Option<Value>) -> Value {
    let text = printed(reading).unwrap_or_default();
    let sections = ProbeSections::of(&text);
    let all = parse_devices(sections.get("links"), sections.get("addresses"));
    let entry = |device: &NetworkDevice| value(device).map(|value| (device.name.clone(), value));
    Value::map(all.iter().filter_map(entry))
}

fn device_addresses(device: &NetworkDevice, is_six: bool) -> Option<Value> {
    let found = device.addresses_of(is_six);
    (!found.is_empty()).then(|| Value::list(found.into_iter().map(Value::from)))
}

fn describe_device(device: &NetworkDevice) -> Value {
    let mut map = Map::new();
    map.insert("state".into(), device.state.as_str().into());
    map.insert("ether".into(), device.mac_address.as_str().into());
    map.insert("mtu".into(), device.mtu.into());
    for (key, is_six) in [("ipv4", false), ("ipv6", true)] {
        let mut found = device.addresses.iter().filter(|it| it.is_ipv6 == is_six);
        let Some(first) = found.next() else {
            continue;
        };
        let mut address = describe_address(first);
        let others: Vec<Value> = found.map(|it| describe_address(it).into()).collect();
        if !others.is_empty() {
            address.insert("additional_ips".into(), others.into());
        }
        map.insert(key.into(), address.into());
    }
    map.into()
}

fn describe_address(address: &DeviceAddress) -> Map {
    let mut map = Map::new();
    map.insert("address".into(), address.text.as_str().into());
    if !address.is_ipv6 {
        map.insert("broadcast".into(), address.broadcast.as_deref().into());
    }
    map.insert("mask_bits".into(), address.prefix_length.into());
    if let (false, Ok(bits)) = (address.is_ipv6, u32::try_from(address.prefix_length)) {
        let mask = u32::MAX
            .checked_shl(32_u32.saturating_sub(bits))
            .unwrap_or(0);
        map.insert("netmask".into(), Ipv4Addr::from(mask).to_string().into());
    }
    map
}

fn block_devices(_: &FactArguments, reading: &FactReading) -> Value {
    let text = printed(reading).unwrap_or_default();
    let device = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, blocks, used, available, percent, mount @ ..] = words.as_slice() else {
            return None;
        };
        let entries = [
            ("blocks", *blocks),
            ("used", used),
            ("available", available),
            ("used_percent", percent.trim_end_matches('%')),
            ("mount", &mount.join(" ")),
        ];
        let entries = entries.map(|(key, word)| (key, Value::from(word)));
        Some(((*name).to_owned(), Value::map(entries)))
    };
    Value::map(text.lines().skip(1).filter_map(device))
}
