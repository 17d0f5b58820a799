//! The command `forward`: tunnels TCP ports through a host over SSH.

use clap::{ArgAction, Args};

use crate::cli::commands::hosts::{SingleHostArgs, open_session};
use crate::cli::output::Context;
use crate::cli::prompt::AnswerSource;
use crate::host::{Forward, ForwardEndpoint, check_host_name};
use crate::ops::Failure;

/// The address on which a forwarded port listens unless one is given.
const LOOPBACK_ADDRESS: &str = "127.0.0.1";
/// The address that stands for all network interfaces, written as `*` on the command line.
const ANY_ADDRESS: &str = "0.0.0.0";

/// Forward TCP ports through a host
///
/// Each port accepts connections on 127.0.0.1 unless an address is given. `*` stands for all
/// addresses, and port 0 for any free port. Write IPv6 addresses in brackets. With `-D`, programs
/// that can use a SOCKS 5 proxy reach whatever the host reaches. The command runs until it is
/// interrupted.
#[derive(Debug, Args)]
pub(in crate::cli) struct ForwardArgs {
    #[command(flatten)]
    host: SingleHostArgs,
    /// Forward a port of this machine to HOST:PORT, as seen from the host
    #[arg(short = 'L', long = "local", value_name = "[BIND:]PORT:HOST:PORT", value_parser = parse_forward,
        action = ArgAction::Append, required_unless_present_any = ["remote", "dynamic"])]
    local: Vec<(ForwardEndpoint, ForwardEndpoint)>,
    /// Forward a port of the host to HOST:PORT, as seen from this machine
    #[arg(short = 'R', long = "remote", value_name = "[BIND:]PORT:HOST:PORT", value_parser = parse_forward,
        action = ArgAction::Append)]
    remote: Vec<(ForwardEndpoint, ForwardEndpoint)>,
    /// Serve as a SOCKS 5 proxy on a port of this machine, whose connections come from the host
    #[arg(short = 'D', long = "dynamic", value_name = "[BIND:]PORT", value_parser = parse_listen,
        action = ArgAction::Append)]
    dynamic: Vec<ForwardEndpoint>,
}

/// Opens the tunnels, keeps them open until an interruption, and returns the exit code.
pub(in crate::cli) fn forward(args: &ForwardArgs, cx: &Context) -> Result<u8, Failure> {
    let local = args.local.iter().cloned();
    let local = local.map(|(listen, target)| Forward::Local { listen, target });
    let remote = args.remote.iter().cloned();
    let remote = remote.map(|(listen, target)| Forward::Remote { listen, target });
    let dynamic = args.dynamic.iter().cloned();
    let dynamic = dynamic.map(|listen| Forward::Dynamic { listen });
    let forwards: Vec<Forward> = local.chain(remote).chain(dynamic).collect();
    let host = &args.host.host;
    let mut on_open = |forward: &Forward, port: u16| {
        if !cx.output.quiet {
            cx.output.print_stderr(&forward_line(forward, port, host));
        }
    };
    let known = args.host.fleet_hosts(AnswerSource::Stdin, cx)?;
    let session = open_session(&args.host, &known, AnswerSource::Stdin, cx)?;
    Ok(session.forward(&forwards, &mut on_open)?)
}

/// Returns the line that announces an open tunnel.
fn forward_line(forward: &Forward, port: u16, through: &str) -> String {
    let shown = |host: &str, port: u16| {
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    };
    match forward {
        Forward::Local { listen, target } => {
            let (listen, target) = (shown(&listen.host, port), shown(&target.host, target.port));
            format!("{listen} is forwarded to {target} through {through}\n")
        }
        Forward::Remote { listen, target } => {
            let (listen, target) = (shown(&listen.host, port), shown(&target.host, target.port));
            format!("{listen} of {through} is forwarded to {target}\n")
        }
        Forward::Dynamic { listen } => {
            let listen = shown(&listen.host, port);
            format!("{listen} is a SOCKS 5 proxy through {through}\n")
        }
    }
}

/// Parses `[bind:]port` into the listening address.
fn parse_listen(text: &str) -> Result<ForwardEndpoint, String> {
    let parts = split_address(text);
    match parts.as_slice() {
        [port] => endpoint(LOOPBACK_ADDRESS, port),
        [bind, port] => endpoint(bind, port),
        _ => Err("the format is `[bind:]port`".to_owned()),
    }
}

/// Checks an address and a port. `*` as the address stands for all addresses.
fn endpoint(host: &str, port: &str) -> Result<ForwardEndpoint, String> {
    if host.is_empty() {
        return Err("an address is empty".to_owned());
    }
    if host != "*" {
        check_host_name(host).map_err(|problem| problem.to_string())?;
    }
    let number = port.parse::<u16>();
    Ok(ForwardEndpoint {
        host: if host == "*" { ANY_ADDRESS } else { host }.to_owned(),
        port: number.map_err(|_| format!("\"{port}\" is not a port"))?,
    })
}

/// Parses `[bind:]port:host:port` into the listening address and the target address.
fn parse_forward(text: &str) -> Result<(ForwardEndpoint, ForwardEndpoint), String> {
    let parts = split_address(text);
    let (bind, ports) = match parts.as_slice() {
        [port, host, target] => (LOOPBACK_ADDRESS, [port, host, target]),
        [bind, port, host, target] => (bind.as_str(), [port, host, target]),
        _ => return Err("the format is `[bind:]port:host:port`".to_owned()),
    };
    let [listen, host, target] = ports;
    if host == "*" {
        return Err("the target must not be `*`".to_owned());
    }
    let listen = endpoint(bind, listen)?;
    let target = endpoint(host, target)?;
    if target.port == 0 {
        return Err("the target port must not be 0".to_owned());
    }
    Ok((listen, target))
}

/// Splits an address at colons outside of brackets, and drops the brackets (IPv6).
fn split_address(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut inside = false;
    for character in text.chars() {
        match character {
            '[' => inside = true,
            ']' => inside = false,
            ':' if !inside => parts.push(String::new()),
            _ => {
                if let Some(part) = parts.last_mut() {
                    part.push(character);
                }
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str) -> String {
        match parse_forward(text) {
            Ok((listen, target)) => {
                let port = listen.port;
                forward_line(&Forward::Local { listen, target }, port, "web")
            }
            Err(error) => error,
        }
    }

    #[test]
    fn a_port_and_where_it_leads_are_read() {
        insta::assert_snapshot!(ends("80:db:5432"), @"127.0.0.1:80 is forwarded to db:5432 through web");
        insta::assert_snapshot!(ends("*:80:[::1]:1"), @"0.0.0.0:80 is forwarded to [::1]:1 through web");
        insta::assert_snapshot!(ends("[::1]:0:db:1"), @"[::1]:0 is forwarded to db:1 through web");
    }

    #[test]
    fn an_invalid_forward_is_refused() {
        insta::assert_snapshot!(ends("80"), @"the format is `[bind:]port:host:port`");
        insta::assert_snapshot!(ends("a:db:1"), @r#""a" is not a port"#);
        insta::assert_snapshot!(ends("80::1"), @"an address is empty");
        insta::assert_snapshot!(ends("80:db:0"), @"the target port must not be 0");
        insta::assert_snapshot!(ends("80:*:1"), @"the target must not be `*`");
        insta::assert_snapshot!(parse_listen("a:80:1").unwrap_err(), @"the format is `[bind:]port`");
        insta::assert_snapshot!(parse_listen("x").unwrap_err(), @r#""x" is not a port"#);
        assert_eq!(parse_listen("*:80").unwrap().host, ANY_ADDRESS);
        assert_eq!(parse_listen("[::1]:80").unwrap().host, "::1");
    }
}
