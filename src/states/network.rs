//! Network devices and their addresses, parsed from the output of `ip -o`.

/// A network device with its addresses.
#[derive(Debug, Default)]
pub(super) struct NetworkDevice {
    pub(super) name: String,
    /// The hardware (MAC) address, as in `02:fc:00:00:00:01`.
    pub(super) mac_address: String,
    /// The device that this one belongs to, as `eth0` of `vlan1@eth0`.
    pub(super) parent: Option<String>,
    pub(super) is_up: bool,
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
    pub(super) scope: String,
    /// The name of the device that the address is shown with.
    pub(super) label: String,
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

/// Returns the label of an address. The line has it behind the scope and flags, before a backslash and the lifetimes.
fn label_of(line: &str) -> &str {
    let shown = line.split('\\').next().unwrap_or(line);
    shown.split_whitespace().next_back().unwrap_or_default()
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
            parent: name.split_once('@').map(|(_, parent)| parent.to_owned()),
            is_up: words.get(2).is_some_and(|flags| {
                let flags = flags.trim_matches(['<', '>']);
                flags.split(',').any(|flag| flag == "UP")
            }),
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
            scope: word_after(&words, "scope").unwrap_or_default().to_owned(),
            label: label_of(line).to_owned(),
            is_ipv6: *kind == "inet6",
        };
        if let Some(device) = devices.iter_mut().find(|device| device.name == *name) {
            device.addresses.push(address);
        }
    }
    devices
}
