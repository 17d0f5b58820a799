//! The program `ssh`, which reaches hosts whose algorithms this program lacks.

use super::ssh_config::AddressFamily;
use super::{Destination, HostKeyPolicy, Route};

/// The name of the program.
pub(super) const SSH_PROGRAM: &str = "ssh";

/// Returns the words of `ssh` that run a command line on a host; none if the host is behind jump hosts, whose settings
/// `ssh` would not know.
///
/// The settings are those of the destination, and no configuration file is read. Nothing is asked, so keys and agents
/// can be used for the login, but no passwords.
pub(super) fn ssh_words(destination: &Destination, line: &str, pty: bool) -> Option<Vec<String>> {
    let mut words = vec![SSH_PROGRAM.to_owned(), "-F".to_owned(), "none".to_owned()];
    words.push(if pty { "-tt" } else { "-T" }.to_owned());
    for (name, value) in options(destination)? {
        words.push("-o".to_owned());
        words.push(format!("{name}={value}"));
    }
    words.push("--".to_owned());
    words.push(destination.address.host.clone());
    words.push(line.to_owned());
    Some(words)
}

/// Returns the options of `ssh_config` for a destination.
fn options(destination: &Destination) -> Option<Vec<(&'static str, String)>> {
    let address = &destination.address;
    let mut options = vec![
        // A lower level would hide which algorithms are missing.
        ("LogLevel", "INFO".to_owned()),
        ("BatchMode", "yes".to_owned()),
        ("ClearAllForwardings", "yes".to_owned()),
        ("User", address.user.clone()),
        ("Port", address.port.to_string()),
        ("ConnectTimeout", seconds(destination.connect_timeout)),
        ("ConnectionAttempts", destination.attempts.to_string()),
        ("ForwardAgent", yes_no(destination.forward_agent)),
    ];
    match &destination.route {
        Route::Direct => {}
        // The placeholders are already replaced.
        Route::Command(text) => options.push(("ProxyCommand", text.replace('%', "%%"))),
        Route::Jumps(_) => return None,
    }
    let family = match destination.dial.family {
        AddressFamily::Any => "any",
        AddressFamily::Inet => "inet",
        AddressFamily::Inet6 => "inet6",
    };
    options.push(("AddressFamily", family.to_owned()));
    if let Some(keepalive) = destination.keepalive {
        options.push(("ServerAliveInterval", seconds(keepalive)));
        let count = destination.keepalive_max.to_string();
        options.push(("ServerAliveCountMax", count));
    }
    options.extend(host_key_options(destination));
    options.extend(login_options(destination));
    let algorithms = &destination.algorithms;
    let stated = [
        ("BindAddress", &destination.dial.bind_address),
        ("BindInterface", &destination.dial.bind_interface),
        ("HostKeyAlias", &destination.host_key_alias),
        ("HostKeyAlgorithms", &destination.host_key_algorithms),
        ("KexAlgorithms", &algorithms.kex),
        ("Ciphers", &algorithms.ciphers),
        ("MACs", &algorithms.macs),
        ("PubkeyAcceptedAlgorithms", &algorithms.pubkey),
    ];
    let stated = stated
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.clone()?)));
    options.extend(stated);
    Some(options)
}

/// Returns the options that decide about the key of the host. A changed key is always refused.
fn host_key_options(destination: &Destination) -> [(&'static str, String); 3] {
    let files: Vec<String> = destination
        .known_hosts
        .iter()
        .map(|file| quoted_path(&file.to_string_lossy()))
        .collect();
    let policy = match destination.host_key_policy {
        HostKeyPolicy::Strict => "yes",
        HostKeyPolicy::AcceptNew => "accept-new",
    };
    let files = if files.is_empty() {
        "none".to_owned()
    } else {
        files.join(" ")
    };
    [
        ("StrictHostKeyChecking", policy.to_owned()),
        ("UserKnownHostsFile", files),
        ("GlobalKnownHostsFile", "none".to_owned()),
    ]
}

fn login_options(destination: &Destination) -> Vec<(&'static str, String)> {
    let identities = &destination.identities;
    let agent = identities.agent.as_ref();
    let agent = agent.map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    let mut options = vec![
        ("IdentityAgent", quoted_path(&agent)),
        ("IdentitiesOnly", yes_no(identities.only_listed)),
    ];
    let paths = |name: &'static str, files: &[std::path::PathBuf]| {
        let files = files
            .iter()
            .map(|file| (name, quoted_path(&file.to_string_lossy())));
        files.collect::<Vec<_>>()
    };
    options.extend(paths("IdentityFile", &identities.files));
    if identities.files.is_empty() {
        // Without a file, `ssh` would try its default keys.
        options.push(("IdentityFile", "none".to_owned()));
    }
    options.extend(paths("CertificateFile", &identities.certificates));
    options
}

/// Writes a path so that `ssh` takes it as it is.
fn quoted_path(path: &str) -> String {
    let plain = path.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", plain.replace('%', "%%"))
}

fn yes_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

/// Returns a time in whole seconds, and at least one.
fn seconds(time: std::time::Duration) -> String {
    time.as_secs().max(1).to_string()
}
