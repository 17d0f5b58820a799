//! Host strings such as `user@host:port`, and the addresses that they name (F1 to F7).

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

use super::names::{NameError, check_host_name, check_user_name, shown};

pub const DEFAULT_PORT: u16 = 22;

/// The parts of a host string. A missing or empty part is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct HostParts {
    pub user: Option<String>,
    /// The name or address of the host. An IPv6 address has no brackets.
    pub host: Option<String>,
    /// The port as written, not yet checked.
    pub port: Option<String>,
}

/// The reasons why a text is not a host string.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("\"{}\" has no host name: write `[user@]host[:port]`", shown(.0))]
    NoHost(String),
    /// The port is not a number from 1 to 65535.
    #[error("the port of \"{}\" is `{}`, which is not a number from 1 to 65535", shown(.text), shown(.port))]
    Port {
        text: String,
        /// The text in the position of the port.
        port: String,
    },
    /// The name of the host or of the user has a character that is not allowed.
    #[error("\"{}\" is not a host string: {problem}", shown(.text))]
    Name { text: String, problem: NameError },
}

impl HostParts {
    /// Splits a host string at the last `@`, then at the only colon after it.
    ///
    /// Two or more colons mean an IPv6 address, which can have a port only after brackets:
    /// `[::1]:22`.
    pub fn parse(text: &str) -> Self {
        let (user, place) = match text.rsplit_once('@') {
            Some((user, place)) => (user, place),
            None => ("", text),
        };
        let (host, port) = split_port(place);
        let part = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Self {
            user: part(user),
            host: part(host),
            port: part(port),
        }
    }

    /// Returns the address. `user` and `port` fill in what the host string leaves out.
    pub fn address(&self, text: &str, user: &str, port: u16) -> Result<Address, AddressError> {
        let Some(host) = &self.host else {
            return Err(AddressError::NoHost(text.to_owned()));
        };
        let user = self.user.as_deref().unwrap_or(user);
        check_host_name(host)
            .and_then(|()| check_user_name(user))
            .map_err(|problem| AddressError::Name {
                text: text.to_owned(),
                problem,
            })?;
        let port = match &self.port {
            None => port,
            Some(port) => match port.parse() {
                Ok(number @ 1..) => number,
                _ => {
                    return Err(AddressError::Port {
                        text: text.to_owned(),
                        port: port.clone(),
                    });
                }
            },
        };
        Ok(Address {
            user: user.to_owned(),
            host: host.clone(),
            port,
        })
    }
}

fn split_port(text: &str) -> (&str, &str) {
    if let Some(inner) = text.strip_prefix('[')
        && let Some((host, rest)) = inner.split_once(']')
    {
        return (host, rest.strip_prefix(':').unwrap_or(rest));
    }
    match text.matches(':').count() {
        1 => text.split_once(':').unwrap_or((text, "")),
        _ => (text, ""),
    }
}

/// The network address of a host and the user to log in as.
///
/// Host strings with the same address share one connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Address {
    pub user: String,
    /// The name or address of the host. An IPv6 address has no brackets.
    pub host: String,
    pub port: u16,
}

impl Address {
    /// Parses a host string. `user` and `port` fill in what it leaves out.
    ///
    /// ```
    /// use unfurl::testing::host::Address;
    ///
    /// let address = Address::parse("deploy@[2001:db8::1]:2222", "root", 22).unwrap();
    /// assert_eq!(address.to_string(), "deploy@[2001:db8::1]:2222");
    /// assert_eq!(Address::parse("web1", "root", 22).unwrap().to_string(), "root@web1:22");
    /// assert!(Address::parse("-oProxyCommand=x", "root", 22).is_err());
    /// ```
    pub fn parse(text: &str, user: &str, port: u16) -> Result<Self, AddressError> {
        HostParts::parse(text).address(text, user, port)
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { user, host, port } = self;
        if host.contains(':') {
            write!(f, "{user}@[{host}]:{port}")
        } else {
            write!(f, "{user}@{host}:{port}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match Address::parse(text, "me", DEFAULT_PORT) {
            Ok(address) => address.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_a_host_string_leaves_out_is_filled_in() {
        assert_eq!(shown("web"), "me@web:22");
        assert_eq!(shown("admin@foo.com:222"), "admin@foo.com:222");
        assert_eq!(shown("bob@example.com@host:"), "bob@example.com@host:22");
        assert_eq!(shown("u@[fe80::1%eth0]:2222"), "u@[fe80::1%eth0]:2222");
        assert_eq!(shown("::1"), "me@[::1]:22");
    }

    #[test]
    fn what_is_no_host_is_refused_by_name() {
        insta::assert_snapshot!(shown("user@"), @r#""user@" has no host name: write `[user@]host[:port]`"#);
        insta::assert_snapshot!(shown("-oProxyCommand=x"), @r#""-oProxyCommand=x" is not a host string: the host name starts with `-`, so programs would take it for an option"#);
        insta::assert_snapshot!(shown("h:70000"), @r#"the port of "h:70000" is `70000`, which is not a number from 1 to 65535"#);
    }
}
