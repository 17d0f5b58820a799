//! Salt's Jinja filters for IP addresses and networks, such as `ipaddr('private')`.

use std::net::IpAddr;

use super::IpNetwork;
use crate::value::{Map, Value};

/// The networks whose addresses are private.
const PRIVATE: [&str; 24] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/29",
    "192.0.0.170/31",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::1/128",
    "::/128",
    "::ffff:0:0/96",
    "100::/64",
    "2001::/23",
    "2001:2::/48",
    "2001:db8::/32",
    "2001:10::/28",
    "fc00::/7",
    "fe80::/10",
];

/// The networks that are reserved for later use.
const RESERVED: [&str; 16] = [
    "240.0.0.0/4",
    "::/8",
    "100::/8",
    "200::/7",
    "400::/6",
    "800::/5",
    "1000::/4",
    "4000::/3",
    "6000::/3",
    "8000::/3",
    "a000::/3",
    "c000::/3",
    "e000::/4",
    "f000::/5",
    "f800::/6",
    "fe00::/9",
];

/// An address, or a network with the address that was written.
struct Address {
    ip: IpAddr,
    prefix: Option<u32>,
}

impl Address {
    fn parse(text: &str) -> Option<Self> {
        if let Ok(ip) = text.parse() {
            return Some(Self { ip, prefix: None });
        }
        let (ip, _) = text.split_once('/')?;
        let prefix = IpNetwork::parse(text)?.prefix();
        Some(Self {
            ip: ip.parse().ok()?,
            prefix: Some(prefix),
        })
    }

    fn to_text(&self) -> String {
        match self.prefix {
            Some(prefix) => format!("{}/{prefix}", self.ip),
            None => self.ip.to_string(),
        }
    }

    fn is_in(&self, networks: &[&str]) -> bool {
        is_in(self.ip, networks)
    }

    /// Returns true if the address has a property. Salt ignores unknown words.
    fn has(&self, property: &str) -> bool {
        match property {
            "global" | "public" => !self.is_in(&PRIVATE),
            "private" => self.is_in(&PRIVATE),
            "reserved" => self.is_in(&RESERVED),
            "loopback" | "lo" => self.ip.is_loopback(),
            "multicast" => self.ip.is_multicast(),
            "unspecified" => self.ip.is_unspecified(),
            "link-local" | "linklocal" | "ll" | "link_local" => {
                self.is_in(&["169.254.0.0/16", "fe80::/10"])
            }
            "site-local" | "sl" | "site_local" => self.is_in(&["fec0::/10"]),
            _ => true,
        }
    }
}

fn is_in(address: IpAddr, networks: &[&str]) -> bool {
    let mut networks = networks.iter().filter_map(|it| IpNetwork::parse(it));
    networks.any(|network| network.contains(address))
}

/// Returns true if an address is not reachable from everywhere.
pub(super) fn is_private(address: IpAddr) -> bool {
    is_in(address, &PRIVATE)
}

/// The version of the protocol that a filter selects, or both.
fn version_of(filter: &str) -> Option<bool> {
    match filter {
        "ipv4" | "is_ipv4" => Some(true),
        "ipv6" | "is_ipv6" => Some(false),
        _ => None,
    }
}

/// Returns an address in its normal form, if it has the version and all properties.
fn selected(value: &Value, is_ipv4: Option<bool>, properties: &str) -> Option<Value> {
    let address = Address::parse(value.reveal().as_str()?)?;
    let has_version = is_ipv4.is_none_or(|wanted| address.ip.is_ipv4() == wanted);
    let mut words = properties.split(',').map(str::trim);
    (has_version && words.all(|word| address.has(word))).then(|| address.to_text().into())
}

/// Selects the addresses of a list, or checks one address.
fn filtered(value: &Value, filter: &str, properties: &str) -> Value {
    let Value::List(items) = value else {
        return selected(value, version_of(filter), properties).unwrap_or_default();
    };
    let all = |is_ipv4: bool| {
        let of = move |item| selected(item, Some(is_ipv4), properties);
        items.iter().filter_map(of)
    };
    match version_of(filter) {
        Some(is_ipv4) => Value::list(all(is_ipv4)),
        // Salt lists the addresses of IPv4 first.
        None => Value::list(all(true).chain(all(false))),
    }
}

/// Returns the addresses with the length of the network's prefix.
fn hosts(value: &Value, properties: &str) -> Value {
    let with_prefix = |text: &Value| {
        let text = text.to_string();
        let bits = if text.contains(':') { 128 } else { 32 };
        if text.contains('/') {
            text.into()
        } else {
            format!("{text}/{bits}").into()
        }
    };
    match filtered(value, "ipaddr", properties) {
        Value::List(items) if items.is_empty() => Value::Null,
        Value::List(items) => Value::list(items.iter().map(with_prefix)),
        Value::Null => Value::Null,
        one => with_prefix(&one),
    }
}

/// Returns the addresses that are in one of the networks, once for each of these.
fn in_networks(value: &Value, networks: &Value) -> Result<Value, String> {
    let Value::List(networks) = networks else {
        return Ok(value.clone());
    };
    let parsed = networks.iter().map(|network| {
        let text = network.reveal().to_string();
        IpNetwork::parse(&text).ok_or_else(|| format!("`{text}` is not a network"))
    });
    let networks: Vec<IpNetwork> = parsed.collect::<Result<_, _>>()?;
    let select = |items: &[Value]| -> Result<Value, String> {
        let mut found = Vec::new();
        for item in items {
            let text = item.reveal().to_string();
            let ip: IpAddr = text
                .parse()
                .map_err(|_| format!("`{text}` is not an IP address"))?;
            let count = networks.iter().filter(|network| network.contains(ip));
            found.extend(count.map(|_| item.clone()));
        }
        Ok(Value::list(found))
    };
    match value {
        Value::List(items) => select(items),
        Value::Map(map) => {
            let entry = |(key, items): (&_, &Value)| {
                let items = items.reveal().as_list().map_or(&[][..], |items| &items[..]);
                Ok((std::sync::Arc::clone(key), select(items)?))
            };
            let selected: Result<Map, String> = map.iter().map(entry).collect();
            Ok(selected?.into())
        }
        _ => Err("takes a list of addresses, or a map of such lists".to_owned()),
    }
}

/// Applies a filter. The first argument is the filtered value. Returns `None` if the filter is unknown.
pub(super) fn apply_ip_filter(
    name: &str,
    args: &[Value],
    named: &Map,
) -> Option<Result<Value, String>> {
    let null = Value::Null;
    let subject = args.first().unwrap_or(&null).reveal();
    let arg = |key: &str| args.get(1).or_else(|| named.get(key)).map(Value::reveal);
    let properties = arg("options").and_then(Value::as_str).unwrap_or_default();
    Some(Ok(match name {
        "ipaddr" | "ipv4" | "ipv6" => filtered(subject, name, properties),
        "is_ip" | "is_ipv4" | "is_ipv6" => {
            let found = selected(subject, version_of(name), properties);
            found.is_some().into()
        }
        "ip_host" => hosts(subject, properties),
        "filter_by_networks" => {
            return Some(in_networks(subject, arg("networks").unwrap_or(&null)));
        }
        _ => return None,
    }))
}
