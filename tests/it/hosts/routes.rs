//! Hosts that are reached through jump hosts.

use std::sync::Arc;

use unfurl::testing::host::{Exit, Route};

use super::sshd::{Sshd, pooled, refusal, run, run_once, sh, user};

#[test]
fn a_host_is_reached_through_two_others_whose_connections_are_shared() {
    requires!("sshd");
    let sshd = Sshd::with(4, &[]);
    let jumps = vec![Arc::new(sshd.nth(1)), Arc::new(sshd.nth(2))];
    pooled(async |pool| {
        for last in [3, 4] {
            let mut host = sshd.nth(last);
            host.route = Route::Jumps(jumps.clone());
            let output = run(&pool, &host, sh("echo $SSH_CONNECTION")).await;
            let text = output.stdout.text();
            assert!(text.contains(&format!("127.0.0.{last} ")), "{output:?}");
        }
    });
    // Each host has exactly one login.
    assert_eq!(sshd.log().matches("Accepted publickey").count(), 4);
}

#[test]
fn a_jump_host_that_cannot_connect_further_is_reported() {
    requires!("sshd");
    let sshd = Sshd::with(2, &["AllowTcpForwarding no"]);
    let mut host = sshd.nth(2);
    host.route = Route::Jumps(vec![Arc::new(sshd.nth(1))]);
    insta::assert_snapshot!(refusal(&host), @"could not connect to host2 (127.0.0.2) port PORT: through host1 (127.0.0.1) port PORT: forwarded connections are not allowed");
    let mut gate = sshd.nth(1);
    gate.known_hosts.clear();
    host.route = Route::Jumps(vec![Arc::new(gate)]);
    let text = refusal(&host);
    assert!(
        text.starts_with("could not reach host2 (127.0.0.2) port PORT: the key of host1"),
        "{text}"
    );
}

#[test]
fn a_command_leads_to_a_host() {
    requires!("sshd");
    let sshd = Sshd::with(2, &[]);
    let mut host = sshd.nth(2);
    let options = format!(
        "-F none -o UserKnownHostsFile={} -o IdentitiesOnly=yes -i {} -p {}",
        sshd.path("known_hosts").display(),
        sshd.path("id").display(),
        sshd.port
    );
    host.route = Route::Command(format!(
        "ssh {options} -W 127.0.0.2:{} {}@127.0.0.1",
        sshd.port,
        user()
    ));
    let output = run_once(&host, sh("echo through"));
    assert_eq!(output.stdout.text(), "through\n", "{output:?}");
    host.route = Route::Command("sh -c 'echo no way >&2; exit 1'".to_owned());
    let output = run_once(&host, sh("true"));
    let Exit::Unreachable(why) = output.exit else {
        panic!("{output:?}");
    };
    assert!(why.ends_with("; the proxy command said: no way"), "{why}");
}
