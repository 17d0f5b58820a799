//! Connections to find out whether a server answers.

use std::io::{Error, ErrorKind, Result};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// Connects to a port and disconnects at once.
///
/// # Errors
///
/// The name has no address, or no address answers within the time limit.
pub fn can_connect(host: &str, port: u16, limit: Duration) -> Result<()> {
    let mut last = Error::new(ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, limit) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}
