//! Network devices and their addresses, parsed from the output of `ip -o`.

/// A network device with its addresses.
#[derive(Debug, Default)]
pub(super) struct NetworkDevice {
    pub(super) name: String,
    /// The hardware (MAC) address, as in `02:fc:00:00:00:01`.
    pub(super) mac_address: String,
    pub(super) state: String,
    pub(super) mtu: i64,
    pub(super) addresses: Vec<DeviceAddress>,
}

/// An IP address of a device.
#[derive(Debug)]
pub(super) struct DeviceAddress {
    pub(super) text: String,
    /// The prefix length of the network in bits.
    pub(super) prefix_length: i64,
    pub(super) broadcast: Option<String>,
    pub(super) is_ipv6: bool,
}

impl NetworkDevice {
    /// The device's addresses of one family: IPv6 if `is_six`, else IPv4.
    pub(super) fn addresses_of(&self, ipv6: bool) -> Vec<&str> {
        let all = self.addresses.iter().filter(|it| it.is_ipv6 == ipv6);
        all.map(|it| it.text.as_str()).collect()
    }
}

/// The word that follows `name` in a list of words.
fn word_after<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == name)?;
    words.get(at + 1).copied()
}

/// Parses the devices from `ip -o link` and their addresses from `ip -o addr`.
pub(super) fn parse_devices(links: &str, addresses: &str) -> Vec<NetworkDevice> {
    let link = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.get(1)?.trim_end_matches(':');
        let ether = words.iter().position(|word| word.starts_with("link/"));
        let ether = ether.and_then(|at| words.get(at + 1)).copied();
        Some(NetworkDevice {
            name: name.split('@').next().unwrap_or(name).to_owned(),
            mac_address: ether.unwrap_or_default().to_owned(),
            state: word_after(&words, "state").unwrap_or_default().to_owned(),
            mtu: word_after(&words, "mtu")
                .and_then(|it| it.parse().ok())
                .unwrap_or_default(),
            addresses: Vec::new(),
        })
    };
    let mut devices: Vec<NetworkDevice> = links.lines().filter_map(link).collect();
    for line in addresses.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(name), Some(kind), Some(address)) = (words.get(1), words.get(2), words.get(3))
        else {
            continue;
        };
        let (text, bits) = address.split_once('/').unwrap_or((address, "32"));
        let address = DeviceAddress {
            text: text.to_owned(),
            prefix_length: bits.parse().unwrap_or_default(),
            broadcast: word_after(&words, "brd").map(str::to_owned),
            is_ipv6: *kind == "inet6",
        };
        if let Some(device) = devices.iter_mut().find(|device| device.name == *name) {
            device.addresses.push(address);
        }
    }
    devices
}
