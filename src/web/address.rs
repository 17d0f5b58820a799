//! The address of the metrics server, which is always one of this machine.

use std::fmt::{Display, Formatter};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// A loopback address with a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricsAddress(SocketAddr);

/// The reason why a text is no address for metrics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("`{0}` is no address with a port, such as 127.0.0.1:9464")]
    Invalid(String),
    #[error(
        "`{0}` can be reached from other machines; metrics are served on a loopback address only, such as 127.0.0.1:9464"
    )]
    NotLoopback(IpAddr),
}

impl MetricsAddress {
    pub fn socket(self) -> SocketAddr {
        self.0
    }
}

impl FromStr for MetricsAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || AddressError::Invalid(text.to_owned());
        let address = match text.strip_prefix("localhost:") {
            Some(port) => {
                let port = port.parse().map_err(|_| invalid())?;
                SocketAddr::from((Ipv4Addr::LOCALHOST, port))
            }
            None => text.parse().map_err(|_| invalid())?,
        };
        if address.ip().is_loopback() {
            Ok(Self(address))
        } else {
            Err(AddressError::NotLoopback(address.ip()))
        }
    }
}

impl Display for MetricsAddress {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns true if a request for this host is meant for a server on this machine.
///
/// A page in a browser reaches this machine under a name of its own, whose address it changes. Such a request has that
/// name in its header.
pub(super) fn is_local_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    match bare {
        Some(address) => address.parse::<IpAddr>().is_ok_and(|it| it.is_loopback()),
        None => name.parse::<Ipv4Addr>().is_ok_and(|it| it.is_loopback()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_taken() {
        let read = |text: &str| match text.parse::<MetricsAddress>() {
            Ok(address) => address.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(read("127.0.0.1:9464"), "127.0.0.1:9464");
        assert_eq!(read("127.1.2.3:1"), "127.1.2.3:1");
        assert_eq!(read("localhost:80"), "127.0.0.1:80");
        assert_eq!(read("[::1]:9464"), "[::1]:9464");
        for text in [
            "0.0.0.0:1",
            "[::]:1",
            "192.168.1.1:1",
            "[::ffff:10.0.0.1]:1",
        ] {
            assert!(read(text).contains("loopback address only"), "{text}");
        }
        for text in [
            "",
            "127.0.0.1",
            ":9464",
            "9464",
            "example.com:80",
            "localhost:",
            "127.0.0.1:99999",
        ] {
            assert!(read(text).contains("is no address with a port"), "{text}");
        }
    }

    #[test]
    fn names_of_other_machines_are_no_local_hosts() {
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1",
            "127.0.0.1:9464",
            "[::1]",
            "[::1]:9464",
        ] {
            assert!(is_local_host(host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "127.0.0.1.example.com",
            "localhost.example.com:9464",
            "10.0.0.1",
            "::1",
            "0.0.0.0",
            "localhost:x",
            "[::1",
            "2130706433",
            "127.1",
        ] {
            assert!(!is_local_host(host), "{host}");
        }
    }
}
