//! Drift of a Debian with an SSH server: a removed package, a stopped service, a changed file and mode.

use super::{drift, finding, findings};
use crate::states_debian::{ADDRESS, Debian};
use crate::support::TestEnv;

const STATES: &str = "
tool:
  pkg.installed:
    - name: curl
jobs:
  service.running:
    - name: cron
settings:
  file.managed:
    - name: /etc/tool.conf
    - contents: |
        colour: blue
        size: 3
    - mode: '0640'
";

/// Everything on the machine that a change would change, without the files that a login itself writes.
fn listing(debian: &Debian) -> String {
    // A look keeps the outputs of commands in a folder in `/tmp` that is gone at its end, so the times of `/tmp` change.
    debian.shell(
        "find / -xdev \\( -path /proc -o -path /run/utmp -o -path /var/log/wtmp -o -path /var/log/lastlog \
         -o -path /var/log/btmp \\) -prune -o -path /tmp -printf '%p %y %m %u %g\\n' \
         -o -printf '%p %y %m %u %g %s %T@ %C@ %l\\n' | sort",
    )
}

#[test]
fn a_removed_package_a_stopped_service_and_a_changed_file_are_found_and_repaired() {
    requires!("tests/debian.sh");
    let debian = Debian::start();
    let env = TestEnv::new();
    env.write("states/tool.sls", STATES);
    let path = |name: &str| debian.path(name).display().to_string();
    let host = format!("root@{ADDRESS}:{}", debian.port);
    let (identity, known_hosts) = (path("id"), path("known_hosts"));
    let words = [
        "-H",
        &host,
        "--identity",
        &identity,
        "--known-hosts",
        &known_hosts,
    ];
    let mut words = words.to_vec();
    words.extend(["--no-ssh-config", "--no-agent", "--states", "tool"]);
    let apply = [
        "state",
        "apply",
        "tool",
        "--approve",
        "-H",
        &host,
        "-i",
        &identity,
    ];
    let apply = apply
        .into_iter()
        .chain(["--known-hosts", &known_hosts, "--no-ssh-config"]);
    env.unfurl(apply).succeeds();
    let (code, document) = drift(&env, &words);
    assert_eq!((code, findings(&document)), (0, Vec::new()), "{document:#}");

    debian.shell(
        "sed -i 's/blue/red/' /etc/tool.conf; chmod 644 /etc/tool.conf; service cron stop >/dev/null; \
         apt-get -q -y remove curl >/dev/null 2>&1",
    );
    let before = listing(&debian);
    let (code, document) = drift(&env, &words);
    let after = listing(&debian);
    assert!(before == after, "{}", changes(&before, &after));
    assert_eq!(code, 3, "{document:#}");
    for attribute in [
        "tool (pkg.installed)",
        "jobs (service.running)",
        "settings (file.managed)",
    ] {
        assert_eq!(finding(&document, attribute)["kind"], "outside");
    }
    let settings = finding(&document, "settings (file.managed)");
    assert_eq!(settings["from"], "mode: 0640");
    let lines = settings["lines"].as_str().unwrap();
    assert!(lines.contains("-colour: red\n+colour: blue"), "{lines}");
    assert_eq!(document["ensembles"][0]["looked_at"], 3);

    let repair = words.iter().copied().chain(["--repair", "--approve"]);
    let (code, document) = drift(&env, &repair.collect::<Vec<_>>());
    assert_eq!(code, 0, "{document:#}");
    debian.shell("dpkg --status curl | grep -q '^Status: install ok'; service cron status; grep -q blue /etc/tool.conf");
    let (code, document) = drift(&env, &words);
    assert_eq!((code, findings(&document)), (0, Vec::new()), "{document:#}");
}

/// The lines that one of two texts has and the other has not.
fn changes(before: &str, after: &str) -> String {
    let known: std::collections::HashSet<&str> = before.lines().collect();
    let new = after.lines().filter(|line| !known.contains(line));
    new.collect::<Vec<_>>().join("\n")
}
