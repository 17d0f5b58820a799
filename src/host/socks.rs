//! Serves clients of SOCKS 5, whose connections a host opens, as `ssh -D` does.

use std::net::{Ipv4Addr, SocketAddr};

use fast_socks5::server::Socks5ServerProtocol;
use fast_socks5::server::states::CommandRead;
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, Socks5Command};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::ssh::{Connection, pipe_channel};

/// The time that a client has to name its target.
const REQUEST_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
/// The address in replies. Clients do not need the one of the host.
const REPLY_ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Serves a client until its connection ends.
///
/// A client that breaks the protocol is disconnected. Names are looked up by the host.
pub(super) async fn serve(connection: &Connection, socket: TcpStream) {
    let serving = async {
        let request = Socks5ServerProtocol::accept_no_auth(socket).await?;
        request.read_command().await
    };
    let Ok(Ok((protocol, command, target))) = timeout(REQUEST_TIMEOUT, serving).await else {
        return;
    };
    if !matches!(command, Socks5Command::TCPConnect) {
        return refuse(protocol, ReplyError::CommandNotSupported).await;
    }
    let (name, port) = match target {
        TargetAddr::Ip(address) => (address.ip().to_string(), address.port()),
        TargetAddr::Domain(name, port) => (name, port),
    };
    let Ok(channel) = connection.open_tcp_channel(&name, port).await else {
        return refuse(protocol, ReplyError::HostUnreachable).await;
    };
    if let Ok(socket) = protocol.reply_success(REPLY_ADDRESS).await {
        pipe_channel(channel, socket).await;
    }
}

/// Tells a client why there is no connection.
async fn refuse(protocol: Socks5ServerProtocol<TcpStream, CommandRead>, reason: ReplyError) {
    // The client may already be gone.
    protocol.reply_error(&reason).await.ok();
}
