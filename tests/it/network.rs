//! Simulated machines: network namespaces of this machine, each connected by a separate link.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of machines that this process has created, used for names and addresses.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A network namespace. Dropping this value deletes it; its processes have to be ended before.
#[derive(Debug)]
pub(crate) struct Machine {
    name: String,
    /// The IP address within the namespace.
    pub(crate) address: String,
    /// The interface names of the link: the machine's own end and the other end.
    link: (String, String),
    /// The namespace with the other end of the link, if that is not this machine's own.
    behind: Option<String>,
}

impl Machine {
    /// Creates a machine that is reachable from this machine.
    pub(crate) fn new() -> Self {
        Self::linked(None)
    }

    /// Creates a machine that is reachable only from the gateway.
    pub(crate) fn behind(gateway: &Self) -> Self {
        Self::linked(Some(gateway.name.clone()))
    }

    fn linked(behind: Option<String>) -> Self {
        let count = MADE.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let name = format!("unfurl-{process}-{count}");
        let link = (format!("m{process}-{count}"), format!("l{process}-{count}"));
        let net = format!("10.{}.{}", 64 + (process >> 8) % 64, process % 256);
        let (near, far) = (4 * count + 1, 4 * count + 2);
        ip(&["netns", "add", &name]);
        let machine = Self {
            address: format!("{net}.{far}"),
            name,
            link,
            behind,
        };
        let (own, other) = (&machine.link.0, &machine.link.1);
        let name = &machine.name;
        ip(&["link", "add", other, "type", "veth", "peer", "name", own]);
        ip(&["link", "set", own, "netns", name]);
        if let Some(gateway) = &machine.behind {
            ip(&["link", "set", other, "netns", gateway]);
        }
        let near = format!("{net}.{near}/30");
        machine.other(&["addr", "add", &near, "dev", other]);
        machine.other(&["link", "set", other, "up"]);
        let address = format!("{}/30", machine.address);
        ip(&["-n", name, "addr", "add", &address, "dev", own]);
        ip(&["-n", name, "link", "set", own, "up"]);
        ip(&["-n", name, "link", "set", "lo", "up"]);
        machine
    }

    fn other(&self, words: &[&str]) {
        let place = self.behind.as_deref().map(|gateway| ["-n", gateway]);
        let words = place.iter().flatten().chain(words).copied();
        ip(&words.collect::<Vec<&str>>());
    }

    /// A command that runs a program in this namespace.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Takes the link down, which simulates a pulled cable.
    pub(crate) fn cut(&self) {
        self.other(&["link", "set", &self.link.1, "down"]);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Deleting the namespace deletes both ends of the link.
        let deleted = Command::new("ip")
            .args(["netns", "del", &self.name])
            .status();
        if !std::thread::panicking() {
            assert!(deleted.unwrap().success(), "{} is left", self.name);
        }
    }
}

fn ip(words: &[&str]) {
    let output = Command::new("ip").args(words).output();
    let output = output.unwrap_or_else(|error| {
        panic!("`ip` of the package iproute2 is needed for tests with networks: {error}")
    });
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "`ip {}`: {message}; tests with networks have to run as root",
        words.join(" ")
    );
}

#[test]
fn a_machine_is_reached_only_from_where_it_is_linked() {
    requires!("root", "ip");
    let gateway = Machine::new();
    let behind = Machine::behind(&gateway);
    let routes = |machine: &Machine| {
        let output = machine.command("ip").args(["route"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let net = behind.address.rsplit_once('.').unwrap().0;
    assert!(
        routes(&gateway).contains(&format!("dev {}", behind.link.1)),
        "{net}"
    );
    gateway.cut();
}
