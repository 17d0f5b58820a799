//! Checks the machines on which operations run: their addresses, keys and known host keys.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::check::{Check, DoctorReport};
use super::subject::{LoadedEnsemble, Subject, names, quoted};
use crate::fleet::hosts::EndpointLocator;
use crate::host::{DEFAULT_PORT, Destination, Route, has_known_key};
use crate::system::{fs, network};
use crate::text::quote_word;
use crate::topology::Endpoint;
use crate::value::Handle;

/// The time limit for the answer of a host.
const LIMIT: Duration = Duration::from_secs(5);
/// The maximum number of hosts that are checked. For each one, the files with known host keys are read.
const MAX_HOSTS: usize = 200;

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let Some(loaded) = subject.ensemble() else {
        return;
    };
    let base = loaded.session.manifest.base_dir().to_owned();
    let locator = EndpointLocator::new(subject.env.clone(), base).offline();
    let evaluator = loaded.evaluator();
    let hosts = hosts(loaded, report);
    if hosts.len() > MAX_HOSTS {
        let more = hosts.len() - MAX_HOSTS;
        let message = format!("only the first {MAX_HOSTS} hosts are checked; others: {more}");
        report.push(Check::note("host", "hosts", message));
    }
    for (handle, users) in hosts.into_iter().take(MAX_HOSTS) {
        let name = loaded.topology.entity(handle).name.to_string();
        let users = names(&users);
        match loaded.topology.endpoint(handle, &evaluator) {
            Ok(Some(endpoint)) if endpoint.is_local => {}
            Ok(Some(endpoint)) => match locator.destination(&endpoint) {
                Ok(destination) => check_host(subject, &name, &endpoint, &destination, report),
                Err(error) => {
                    let message = format!("no way to the host is known: {error}");
                    report.push(Check::error("host", name, message).fix(subject.command("plan")));
                }
            },
            Ok(None) => {
                let message = format!("the host has no address yet; needed by {users}");
                report.push(Check::note("host", name, message));
            }
            Err(error) => {
                let message = format!("the address is not known yet: {error}; needed by {users}");
                report.push(Check::note("host", name, message));
            }
        }
    }
}

/// Returns the machines that operations name as their hosts, with the operations.
fn hosts(loaded: &LoadedEnsemble, report: &mut DoctorReport) -> BTreeMap<Handle, BTreeSet<String>> {
    let topology = &loaded.topology;
    let mut found: BTreeMap<Handle, BTreeSet<String>> = BTreeMap::new();
    for of in topology.nodes() {
        let Some(node) = topology.entity(of).node() else {
            continue;
        };
        for operation in node.template.operations.iter() {
            let Some(implementation) = &operation.implementation else {
                continue;
            };
            let host = implementation.operation_host.as_deref();
            let label = format!("{}: {}", node.template.name, operation.reference);
            match topology.operation_host(of, host) {
                Ok(Some(host)) => {
                    found.entry(host).or_default().insert(label);
                }
                Err(message) if report.checks.len() < MAX_HOSTS => {
                    let mut check = Check::note("host", "hosts", message);
                    let span = implementation.span;
                    check.place = loaded.session.sources.position(span);
                    report.push(check);
                }
                Ok(None) | Err(_) => {}
            }
        }
    }
    found
}

fn check_host(
    subject: &Subject<'_>,
    name: &str,
    endpoint: &Endpoint,
    destination: &Destination,
    report: &mut DoctorReport,
) {
    let address = &destination.address;
    let shown = format!("{}@{}:{}", address.user, address.host, address.port);
    let before = report.checks.len();
    check_keys(subject, name, endpoint, destination, report);
    let is_known = endpoint.host_key.is_some() || has_known_key(destination);
    if !is_known {
        let port = match address.port {
            DEFAULT_PORT => String::new(),
            port => format!("-p {port} "),
        };
        let usual = subject
            .user_home()
            .unwrap_or_default()
            .join(".ssh/known_hosts");
        let file = destination.known_hosts.first().unwrap_or(&usual);
        let folder = quoted(fs::parent_of(file));
        let file = quoted(file);
        let host = quote_word(&address.host);
        let message = format!("the host key of `{}` is not known", address.host);
        let help = "compare the key with the one that the host's owner gave you";
        let check = Check::error("host-key", name, message).help(help);
        report.push(check.fix(format!(
            "mkdir -p {folder} && ssh-keyscan {port}{host} >> {file}"
        )));
    }
    if subject.request.online
        && destination.route == Route::Direct
        && let Err(error) = network::can_connect(&address.host, address.port, LIMIT)
    {
        let login = quote_word(&format!("{}@{}", address.user, address.host));
        let message = format!("`{shown}` does not answer: {error}");
        let check = Check::error("host", name, message);
        report.push(check.fix(format!("ssh -v -p {} {login}", address.port)));
    }
    if report.checks.len() == before {
        let asked = if subject.request.online {
            ""
        } else {
            "; not asked (`--online` does)"
        };
        report.push(Check::ok("host", name, format!("`{shown}`{asked}")));
    }
}

/// Checks the private keys and the agent with which a login would be tried.
fn check_keys(
    subject: &Subject<'_>,
    name: &str,
    endpoint: &Endpoint,
    destination: &Destination,
    report: &mut DoctorReport,
) {
    let identities = &destination.identities;
    let mut usable = 0;
    for file in &identities.files {
        if fs::is_file(file) {
            usable += 1;
            check_key_file(name, file, report);
        } else if endpoint.key_file.is_some() {
            let shown = file.display();
            let message = format!("the private key `{shown}` does not exist");
            let fix = format!("ssh-keygen -t ed25519 -f {}", quoted(file));
            report.push(Check::error("key", name, message).fix(fix));
            return;
        }
    }
    let agent = identities
        .agent
        .as_deref()
        .filter(|agent| fs::exists(agent));
    let has_password = identities.password.is_some() || endpoint.password.is_some();
    if usable > 0 || agent.is_some() || has_password {
        return;
    }
    let message = match &identities.agent {
        Some(agent) => format!(
            "no private key was found, and the SSH agent `{}` does not run",
            agent.display()
        ),
        None => "no private key was found, and no SSH agent runs".to_owned(),
    };
    let home = subject.user_home().unwrap_or_default();
    let file = quoted(&home.join(".ssh/id_ed25519"));
    let check = Check::warning("key", name, message);
    report.push(check.fix(format!("ssh-keygen -t ed25519 -f {file}")));
}

fn check_key_file(name: &str, file: &Path, report: &mut DoctorReport) {
    let Ok(mode) = fs::mode_of(file) else {
        return;
    };
    if mode & 0o077 != 0 {
        let mode = mode & 0o777;
        let file_shown = file.display();
        let message = format!("other users can use the private key `{file_shown}` (mode {mode:o})");
        report
            .push(Check::warning("key", name, message).fix(format!("chmod 600 {}", quoted(file))));
    }
}
