//! Network devices and their addresses, as `ip -o` prints them.

/// A network device.
#[derive(Debug, Default)]
pub(super) struct NetworkDevice {
    pub(super) name: String,
    /// Its address on its wire.
    pub(super) ether: String,
    pub(super) state: String,
    pub(super) mtu: i64,
    pub(super) addresses: Vec<DeviceAddress>,
}

/// An address of a device.
#[derive(Debug)]
pub(super) struct DeviceAddress {
    pub(super) text: String,
    /// How many of its first bits are the network's.
    pub(super) prefix_length: i64,
    pub(super) broadcast: Option<String>,
    /// Whether it is one of IPv6.
    pub(super) is_ipv6: bool,
}

impl NetworkDevice {
    /// Its addresses of one kind.
    pub(super) fn addresses_of(&self, is_six: bool) -> Vec<&str> {
        let all = self.addresses.iter().filter(|it| it.is_ipv6 == is_six);
        all.map(|it| it.text.as_str()).collect()
    }
}

/// The word after another one.
fn word_after<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == name)?;
    words.get(at + 1).copied()
}

/// The devices of `ip -o link` with the addresses of `ip -o addr`, in the order of the devices.
pub(super) fn parse_devices(links: &str, addresses: &str) -> Vec<NetworkDevice> {
    let link = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.get(1)?.trim_end_matches(':');
        let ether = words.iter().position(|word| word.starts_with("link/"));
        let ether = ether.and_then(|at| words.get(at + 1)).copied();
        Some(NetworkDevice {
            name: name.split('@').next().unwrap_or(name).to_owned(),
            ether: ether.unwrap_or_default().to_owned(),
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
