//! Networks of IP addresses, such as `192.0.2.0/24`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::value::Value;

/// A network: its first address and the length of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IpNetwork {
    first: IpAddr,
    prefix: u32,
}

impl IpNetwork {
    /// Parses an address with a prefix length or a netmask. An address alone is a network of its own.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, suffix) = match text.split_once('/') {
            Some((address, suffix)) => (address, Some(suffix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let prefix = match (suffix, suffix.and_then(|it| it.parse::<Ipv4Addr>().ok())) {
            (None, _) => bits(address),
            (Some(_), Some(mask)) if address.is_ipv4() => {
                let mask = u32::from(mask);
                (mask.leading_ones() + mask.trailing_zeros() >= 32)
                    .then_some(mask.leading_ones())?
            }
            (Some(suffix), _) => suffix.parse().ok().filter(|it| *it <= bits(address))?,
        };
        let first = match address {
            IpAddr::V4(it) => {
                let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from(u32::from(it) & mask))
            }
            IpAddr::V6(it) => {
                let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from(u128::from(it) & mask))
            }
        };
        Some(Self { first, prefix })
    }

    /// The length of the prefix in bits.
    pub(super) fn prefix(self) -> u32 {
        self.prefix
    }

    /// Returns true if the address is in the network.
    pub(super) fn contains(self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4()
            && Self::parse(&format!("{address}/{}", self.prefix)) == Some(self)
    }

    /// The number of addresses, however large.
    pub(super) fn size_value(self) -> Value {
        let bits = bits(self.first) - self.prefix;
        match (self.size(), 1_u128.checked_shl(bits)) {
            (Some(size), _) => size.into(),
            (None, Some(size)) => Value::Big(size.to_string().into()),
            (None, None) => Value::Big("340282366920938463463374607431768211456".into()),
        }
    }

    /// The number of addresses, or `None` if it is too large.
    fn size(self) -> Option<i64> {
        1_i64
            .checked_shl(bits(self.first) - self.prefix)
            .filter(|size| *size > 0)
    }

    /// The addresses for hosts: all except the first and the last of a network of IPv4. `None` if they are more
    /// than the limit.
    pub(super) fn hosts(self, limit: i64) -> Option<Vec<IpAddr>> {
        let size = u32::try_from(self.size().filter(|size| *size <= limit)?).ok()?;
        let is_large = size > 2;
        let numbers = u32::from(is_large)..size - u32::from(is_large && self.first.is_ipv4());
        let address = |number: u32| match self.first {
            IpAddr::V4(it) => IpAddr::V4(Ipv4Addr::from(u32::from(it) | number)),
            IpAddr::V6(it) => IpAddr::V6(Ipv6Addr::from(u128::from(it) | u128::from(number))),
        };
        Some(numbers.map(address).collect())
    }
}

fn bits(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_its_network() {
        let network = IpNetwork::parse("192.0.2.77/255.255.255.192").unwrap();
        assert_eq!(network.to_string(), "192.0.2.64/26");
        assert_eq!(network.size(), Some(64));
        assert!(network.contains("192.0.2.127".parse().unwrap()));
        assert!(!network.contains("192.0.2.128".parse().unwrap()));
        assert!(!network.contains("::1".parse().unwrap()));
        assert_eq!(IpNetwork::parse("192.0.2.0/255.0.255.0"), None);
        assert_eq!(IpNetwork::parse("192.0.2.0/33"), None);
        assert_eq!(IpNetwork::parse("::/0").unwrap().size(), None);
        assert_eq!(
            IpNetwork::parse("0.0.0.0/0").unwrap().to_string(),
            "0.0.0.0/0"
        );
    }
}
