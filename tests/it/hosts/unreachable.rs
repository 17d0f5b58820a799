//! Hosts that cannot be reached: closed ports, servers without an answer, and wrong host keys.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use unfurl::testing::host::{Address, Destination, Exit, HostKeyPolicy, PoolLimits};

use super::sshd::{
    Sshd, free_port, keygen, make_key, pooled, refusal, run, run_once, sh, user, with_pool,
};

/// A destination on a port of this machine.
fn at(port: u16) -> Destination {
    let address = Address {
        user: user(),
        host: "127.0.0.1".to_owned(),
        port,
    };
    let mut host = Destination::new("web", address);
    host.connect_timeout = Duration::from_millis(300);
    host
}

/// Listens on a port, serves each connection in a thread and returns the port.
fn listener(serve: fn(TcpStream)) -> u16 {
    let listener = TcpListener::bind(("0.0.0.0", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

fn hang(mut stream: TcpStream) {
    // Read until the other side closes the connection.
    std::io::copy(&mut stream, &mut std::io::sink()).ok();
}

#[test]
fn a_port_that_nobody_listens_on_refuses() {
    let mut host = at(free_port());
    insta::assert_snapshot!(refusal(&host), @"web (127.0.0.1) port PORT refused the connection");
    host.attempts = 2;
    host.connect_timeout = Duration::from_millis(50);
    insta::assert_snapshot!(refusal(&host), @"web (127.0.0.1) port PORT refused the connection (tried 2 times)");
}

#[test]
fn an_unknown_host_name_is_reported_and_not_tried_again() {
    let mut host = at(22);
    host.address.host = "no-such-host.invalid".to_owned();
    host.attempts = 5;
    host.connect_timeout = Duration::from_secs(20);
    let text = refusal(&host);
    assert!(
        text.starts_with("the name `no-such-host.invalid` cannot be looked up: "),
        "{text}"
    );
}

#[test]
fn a_host_that_says_nothing_is_given_up_in_time_as_often_as_it_is_tried() {
    let mut host = at(listener(hang));
    host.attempts = 3;
    let start = Instant::now();
    insta::assert_snapshot!(refusal(&host), @"timed out connecting to web (127.0.0.1) port PORT after 0.3 s (tried 3 times)");
    assert!(start.elapsed() >= Duration::from_millis(900));
    let stalls = at(listener(|mut stream| {
        stream.write_all(b"SSH-2.0-stalls\r\n").unwrap();
        hang(stream);
    }));
    insta::assert_snapshot!(refusal(&stalls), @"timed out connecting to web (127.0.0.1) port PORT after 0.3 s");
}

#[test]
fn a_host_that_closes_or_speaks_another_protocol_is_reported() {
    let closes = at(listener(|mut stream| {
        stream.write_all(b"SSH-2.0-closes\r\n").unwrap();
        let mut some = [0; 100];
        stream.read_exact(&mut some).ok();
    }));
    let text = refusal(&closes);
    assert!(
        text.starts_with("could not connect to web (127.0.0.1) port PORT: "),
        "{text}"
    );
    let speaks = at(listener(|mut stream| {
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
    }));
    let text = refusal(&speaks);
    assert!(
        text.starts_with("could not connect to web (127.0.0.1) port PORT: "),
        "{text}"
    );
}

/// The number of connections that the server of [`dropping`] has got.
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// Drops two connections as a server with too many of them does, and hangs then.
fn dropping(mut stream: TcpStream) {
    if DROPPED.fetch_add(1, Ordering::SeqCst) < 2 {
        stream.write_all(b"Exceeded MaxStartups\r\n").unwrap();
    } else {
        stream.write_all(b"SSH-2.0-hangs\r\n").unwrap();
        hang(stream);
    }
}

#[test]
fn a_connection_that_is_dropped_before_the_banner_is_opened_again_within_the_time_limit() {
    let mut host = at(listener(dropping));
    host.connect_timeout = Duration::from_secs(2);
    let start = Instant::now();
    insta::assert_snapshot!(refusal(&host), @"timed out connecting to web (127.0.0.1) port PORT after 2 s");
    assert_eq!(DROPPED.load(Ordering::SeqCst), 3);
    assert!(start.elapsed() < Duration::from_secs(4));
    let mut always = at(listener(drop));
    always.connect_timeout = Duration::from_secs(1);
    insta::assert_snapshot!(refusal(&always), @"could not connect to web (127.0.0.1) port PORT: the host closed the connection before the login; it may have too many connections without a login (`MaxStartups`)");
}

#[test]
fn a_server_with_few_startups_serves_many_connections() {
    requires!("sshd");
    let sshd = Sshd::with(12, &["MaxStartups 2:80:5"]);
    pooled(async |pool| {
        let mut running = JoinSet::new();
        for last in 1..=12 {
            let (pool, host) = (pool.clone(), sshd.nth(last));
            running.spawn(async move { run(&pool, &host, sh("echo x")).await });
        }
        while let Some(ended) = running.join_next().await {
            let output = ended.unwrap();
            assert_eq!(output.stdout.text(), "x\n", "{output:?}");
        }
    });
}

/// The number of connections that the server of [`counting`] has got.
static ATTEMPTS: AtomicUsize = AtomicUsize::new(0);

fn counting(mut stream: TcpStream) {
    ATTEMPTS.fetch_add(1, Ordering::SeqCst);
    stream.write_all(b"SSH-2.0-closes\r\n").unwrap();
    stream.read_exact(&mut [0; 100]).ok();
}

#[test]
fn a_failed_connection_is_tried_exactly_as_often_as_allowed() {
    let port = listener(counting);
    for round in 1..=40 {
        let mut host = at(port);
        host.connect_timeout = Duration::from_millis(2);
        host.attempts = 2;
        refusal(&host);
        // The server may count a connection only after its time is over.
        let deadline = Instant::now() + Duration::from_secs(10);
        while ATTEMPTS.load(Ordering::SeqCst) < round * 2 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(ATTEMPTS.load(Ordering::SeqCst), round * 2);
    }
}

#[test]
fn hosts_that_hang_take_no_place_from_others() {
    requires!("sshd");
    let silent = listener(hang);
    let sshd = Sshd::start();
    let limits = PoolLimits {
        handshakes: 2,
        ..PoolLimits::default()
    };
    with_pool(limits, async |pool| {
        let start = Instant::now();
        let mut running = JoinSet::new();
        for number in 0..60 {
            let mut host = at(silent);
            host.address.host = format!("127.0.1.{}", number + 1);
            host.connect_timeout = Duration::from_secs(3);
            let pool = pool.clone();
            running.spawn(async move { run(&pool, &host, sh("true")).await });
        }
        let output = run(&pool, &sshd.host(), sh("echo x")).await;
        assert_eq!(output.stdout.text(), "x\n", "{output:?}");
        let answered = start.elapsed();
        while let Some(ended) = running.join_next().await {
            assert!(!ended.unwrap().exit.is_ok());
        }
        // The hosts that hang end together, and the answer came before that.
        assert!(answered < start.elapsed(), "{answered:?}");
        assert!(
            start.elapsed() < Duration::from_secs(12),
            "{:?}",
            start.elapsed()
        );
    });
}

#[test]
fn an_unknown_key_is_refused_and_taken_down_once_if_new_ones_are_accepted() {
    requires!("sshd");
    let sshd = Sshd::start();
    let file = sshd.path("home/new/known_hosts");
    let mut host = sshd.host();
    host.known_hosts = vec![file.clone(), sshd.path("known_hosts.missing")];
    let text = refusal(&host);
    assert!(
        text.starts_with(
            "the key of host1 (127.0.0.1) port PORT is not known: ssh-ed25519 SHA256:"
        ) && text.ends_with("trust it with `--accept-new-host-keys`"),
        "{text}"
    );
    assert!(!file.exists());
    host.host_key_policy = HostKeyPolicy::AcceptNew;
    for _ in 0..2 {
        assert!(run_once(&host, sh("true")).exit.is_ok());
    }
    host.host_key_policy = HostKeyPolicy::Strict;
    assert!(run_once(&host, sh("true")).exit.is_ok());
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    let found = format!("[127.0.0.1]:{}", sshd.port);
    // `ssh-keygen` reads the file too.
    keygen(&["-F", &found, "-f", &file.to_string_lossy()]);
    keygen(&["-H", "-f", &file.to_string_lossy()]);
    assert!(
        !std::fs::read_to_string(&file)
            .unwrap()
            .contains("127.0.0.1")
    );
    assert!(run_once(&host, sh("true")).exit.is_ok(), "hashed names");
}

#[test]
fn a_changed_or_revoked_key_is_refused_even_if_new_ones_are_accepted() {
    requires!("sshd");
    let sshd = Sshd::start();
    let mut host = sshd.host();
    host.host_key_policy = HostKeyPolicy::AcceptNew;
    make_key(&sshd.path("other"), "ed25519", "");
    let other = std::fs::read_to_string(sshd.path("other.pub")).unwrap();
    let own = std::fs::read_to_string(sshd.path("host_ed25519.pub")).unwrap();
    let name = format!("[127.0.0.1]:{}", sshd.port);
    let file = sshd.path("known");
    host.known_hosts = vec![file.clone()];
    std::fs::write(&file, format!("# one\n{name} {other}")).unwrap();
    let text = refusal(&host);
    assert!(
        text.contains("has changed") && text.contains("/known:2 has another"),
        "{text}"
    );
    std::fs::write(&file, format!("@revoked * {own}")).unwrap();
    let text = refusal(&host);
    assert!(
        text.contains("is revoked by") && text.ends_with("/known:1"),
        "{text}"
    );
    host.host_key_alias = Some("alias".into());
    std::fs::write(&file, format!("alias {own}")).unwrap();
    assert!(run_once(&host, sh("true")).exit.is_ok());
}

#[test]
fn the_kind_of_key_that_is_known_is_asked_for() {
    requires!("sshd");
    let sshd = Sshd::start();
    let mut host = sshd.host();
    let rsa = std::fs::read_to_string(sshd.path("host_rsa.pub")).unwrap();
    let file = sshd.path("known");
    std::fs::write(&file, format!("[127.0.0.1]:{} {rsa}", sshd.port)).unwrap();
    host.known_hosts = vec![file];
    let output = run_once(&host, sh("true"));
    assert!(output.exit.is_ok(), "{output:?}");
}

#[test]
fn a_certificate_of_a_trusted_authority_vouches_for_a_host() {
    requires!("sshd");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    make_key(&folder.path().join("ca"), "ed25519", "");
    make_key(&folder.path().join("key"), "ed25519", "");
    let sign = |names: &str| {
        let arguments = [
            "-s",
            &path("ca"),
            "-I",
            "host",
            "-h",
            "-n",
            names,
            &path("key.pub"),
        ];
        keygen(&arguments);
    };
    sign("127.0.0.1,elsewhere");
    let lines = [
        format!("HostKey {}", path("key")),
        format!("HostCertificate {}", path("key-cert.pub")),
    ];
    let sshd = Sshd::with(2, &[&lines[0], &lines[1]]);
    let ca = std::fs::read_to_string(path("ca.pub")).unwrap();
    std::fs::write(path("known"), format!("@cert-authority * {ca}")).unwrap();
    let mut host = sshd.host();
    host.known_hosts = vec![path("known").into()];
    let output = run_once(&host, sh("true"));
    assert!(output.exit.is_ok(), "{output:?}");
    // The certificate is not valid for the other address.
    let mut other = sshd.nth(2);
    other.known_hosts = host.known_hosts.clone();
    let text = refusal(&other);
    assert!(text.contains("is not known"), "{text}");
}

#[test]
fn a_failure_is_not_kept_for_those_that_come_later() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let mut host = sshd.host();
        host.known_hosts = vec![sshd.path("later")];
        let output = run(&pool, &host, sh("true")).await;
        assert!(matches!(output.exit, Exit::Unreachable(_)), "{output:?}");
        std::fs::copy(sshd.path("known_hosts"), sshd.path("later")).unwrap();
        let output = run(&pool, &host, sh("true")).await;
        assert!(output.exit.is_ok(), "{output:?}");
    });
}
