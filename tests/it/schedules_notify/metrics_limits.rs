//! The metrics server answers this machine only, and no client can block it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::metrics::{get, serve_metrics};
use super::project::project;

const SCHEDULES: &str = "t: {every: 1h, action: task, task: look}";

/// Sends bytes and returns all that comes back.
fn send(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    // The server may end the connection before it has read all.
    stream.write_all(bytes).ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn requests_for_other_hosts_and_other_methods_are_refused() {
    let env = project(SCHEDULES);
    let (server, address) = serve_metrics(&env);
    let status = |method: &str, hosts: &str| {
        let request = format!("{method} /metrics HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        let answer = send(&address, request.as_bytes());
        answer.lines().next().unwrap_or_default().to_owned()
    };
    for host in ["localhost", "127.0.0.1:1", "[::1]"] {
        let status = status("GET", &format!("Host: {host}\r\n"));
        assert!(status.starts_with("HTTP/1.1 200"), "{host}: {status}");
    }
    for hosts in [
        "Host: rebound.example\r\n",
        "Host: localhost.example:80\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "",
    ] {
        let status = status("GET", hosts);
        let is_refused = ["HTTP/1.1 421", "HTTP/1.1 400"]
            .iter()
            .any(|it| status.starts_with(it));
        assert!(is_refused, "{hosts}: {status}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        let status = status(method, "Host: localhost\r\n");
        assert!(status.starts_with("HTTP/1.1 405"), "{method}: {status}");
    }
    let head = send(
        &address,
        b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    assert!(
        head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    drop(server);
}

#[test]
fn silent_and_talkative_clients_do_not_block_the_server() {
    let env = project(SCHEDULES);
    let (server, address) = serve_metrics(&env);
    let connect = |_| {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(b"GET /metrics HT").unwrap();
        stream
    };
    let silent: Vec<TcpStream> = (0..200).map(connect).collect();
    assert_eq!(get(&address, "/healthz").0, 200);
    let folder = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap();
    let descriptors = folder.count();
    assert!(descriptors < 100, "{descriptors} descriptors");
    let large = format!(
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    let answer = send(&address, large.as_bytes());
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(get(&address, "/healthz").0, 200);
    drop(silent);
    drop(server);
}

#[test]
fn addresses_that_others_reach_and_used_ports_are_refused() {
    let env = project(SCHEDULES);
    for address in ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464"] {
        let run = env.unfurl(["serve", "--metrics", address]).exits(2);
        run.says(&["metrics are served on a loopback address only"]);
    }
    let run = env.unfurl(["serve", "--metrics", "localhost"]).exits(2);
    run.says(&["`localhost` is no address with a port, such as 127.0.0.1:9464"]);
    let (server, address) = serve_metrics(&env);
    let run = env.unfurl(["serve", "--metrics", &address]).exits(1);
    run.says(&["metrics cannot be served at", "choose another port"]);
    drop(server);
}
