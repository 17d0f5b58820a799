//! `unfurl run` over hosts in separate networks: jump hosts and lost connections.

use std::time::Duration;

use super::sshd::{Sshd, user};
use crate::network::Machine;
use crate::support::TestEnv;

/// A machine with an SSH server.
struct Host {
    // Fields drop in order: the server has to end before its machine.
    sshd: Sshd,
    machine: Machine,
}

impl Host {
    fn on(machine: Machine) -> Self {
        Self {
            sshd: Sshd::on(&machine),
            machine,
        }
    }

    fn name(&self) -> String {
        format!("{}@{}:{}", user(), self.machine.address, self.sshd.port)
    }
}

/// The words of a run over hosts, each of which accepts its own key.
fn words(hosts: &[&Host], options: &[&str], command: &str) -> Vec<String> {
    let path = |host: &Host, name: &str| host.sshd.path(name).display().to_string();
    let known: Vec<String> = hosts
        .iter()
        .map(|host| std::fs::read_to_string(host.sshd.path("known_hosts")).unwrap())
        .collect();
    let file = hosts[0].sshd.path("all_known_hosts");
    std::fs::write(&file, known.concat()).unwrap();
    let mut words: Vec<String> = ["run", "--no-ssh-config", "-a", "-k"]
        .map(str::to_owned)
        .to_vec();
    words.extend(["--known-hosts".to_owned(), file.display().to_string()]);
    for host in hosts {
        words.extend(["-i".to_owned(), path(host, "id")]);
    }
    words.extend(options.iter().map(|option| (*option).to_owned()));
    words.extend(["--".to_owned(), command.to_owned()]);
    words
}

#[test]
fn a_host_behind_another_is_reached_through_it() {
    requires!("root", "sshd", "ip");
    let gateway = Host::on(Machine::new());
    let behind = Host::on(Machine::behind(&gateway.machine));
    let env = TestEnv::new();
    let (to, through) = (behind.name(), gateway.name());
    let both = [&gateway, &behind];
    let through = words(&both, &["-H", &to, "-g", &through], "ip -4 -o addr");
    let run = env.unfurl(through).succeeds();
    assert!(run.stdout.contains(&behind.machine.address), "{run}");
    let direct = words(&both, &["-H", &to, "-t", "2"], "true");
    let run = env.unfurl(direct).exits(1);
    run.says(&["unreachable", &behind.machine.address]);
}

#[test]
fn jumps_of_ssh_config_lead_through_several_hosts() {
    requires!("root", "sshd", "ip");
    let first = Host::on(Machine::new());
    let second = Host::on(Machine::behind(&first.machine));
    let third = Host::on(Machine::behind(&second.machine));
    let env = TestEnv::new();
    let hosts = [&first, &second, &third];
    let named = ["first", "second", "third"];
    let blocks = hosts.iter().zip(named).map(|(host, name)| {
        let Host { sshd, machine } = host;
        let id = sshd.path("id");
        let (address, port) = (&machine.address, sshd.port);
        let id = id.display();
        format!("Host {name}\n  HostName {address}\n  Port {port}\n  IdentityFile {id}\n")
    });
    let mut config: String = blocks.collect();
    config.push_str("Host third\n  ProxyJump first,second\n");
    env.write("config", &config);
    let mut words = words(&hosts, &["-H", "third"], "ip -4 -o addr");
    words.retain(|word| word != "--no-ssh-config");
    let end = words.iter().position(|word| word == "--").unwrap();
    words.splice(
        end..end,
        ["--ssh-config-path".to_owned(), "config".to_owned()],
    );
    let run = env.unfurl(words).succeeds();
    assert!(run.stdout.contains(&third.machine.address), "{run}");
    assert!(run.stdout.starts_with("[third] "), "{run}");
}

#[test]
fn a_cable_that_is_cut_ends_a_run_within_its_limits_and_the_summary_is_true() {
    requires!("root", "sshd", "ip");
    let hosts = [(); 3].map(|()| Host::on(Machine::new()));
    let all: Vec<&Host> = hosts.iter().collect();
    let names = hosts.iter().map(Host::name).collect::<Vec<_>>().join(",");
    let options = ["-H", &names, "-P", "-T", "15", "--keepalive", "1"];
    let env = TestEnv::new();
    let begun = env.start(words(&all, &options, "echo begun >&2; sleep 5; echo done"));
    for host in &hosts {
        begun.wait_until_it_says(&format!("[{}] begun", host.name()));
    }
    hosts[1].machine.cut();
    let run = begun.ends_by_itself().exits(1);
    assert!(run.time < Duration::from_mins(1), "{run}");
    let (_, summary) = run.stderr.split_once("3 hosts: 1 failed, 2 ok.\n").unwrap();
    let (failed, ok) = summary.split_once('\n').unwrap();
    let start = format!("{}: 1 failed in ", hosts[1].name());
    assert!(failed.starts_with(&start), "{run}");
    for host in [&hosts[0], &hosts[2]] {
        assert!(
            ok.contains(&host.name()) && ok.contains(": 1 ok in "),
            "{run}"
        );
    }
    assert_eq!(run.stdout.matches("] done").count(), 2, "{run}");
}
