//! The state functions of the module `ssh_known_hosts`.

use super::entries::{KnownHost, found_lines, parse_hosts};
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{Domain, Fact};
use crate::states::modules::accounts::find_user;
use crate::states::modules::decision::{
    act_on_outputs, act_or_fail, failure, require_facts, run_change, run_probe, stdout_text,
    unchanged,
};
use crate::states::modules::file_change;
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
    refuse,
};
use crate::text::{quote_word, quote_words};
use crate::value::{Map, Value};

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "ssh_known_hosts",
    functions: &[
        StateFunction::new("present", present)
            .about("Adds the key of a host to `known_hosts`.")
            .options(
                "user fingerprint key port enc config hash_known_hosts timeout \
                 fingerprint_hash_type",
            )
            .reversed_by("absent"),
        StateFunction::new("absent", absent)
            .about("Removes the keys of a host from `known_hosts`.")
            .options("user config")
            .irreversible("the removed key is not recorded"),
    ],
    watch: None,
    aggregate: None,
};

/// The file with the keys.
struct HostsFile {
    /// The path as messages show it.
    shown: String,
    path: String,
    user: Option<String>,
}

impl HostsFile {
    fn from_call(call: &StateCall<'_>, facts: &FactCache) -> Result<Self, Halt> {
        let user = call.non_empty_text("user")?;
        let usual = match user {
            Some(_) => ".ssh/known_hosts",
            None => "/etc/ssh/ssh_known_hosts",
        };
        let shown = call.non_empty_text("config")?;
        let shown = shown.unwrap_or_else(|| usual.to_owned());
        let path = match (&user, shown.starts_with('/')) {
            (_, true) => shown.clone(),
            (None, false) => {
                return refuse("If not specifying a \"user\", specify an absolute \"config\".");
            }
            (Some(user), false) => match find_user(facts, user)? {
                Some(found) => format!("{}/{shown}", found.home.trim_end_matches('/')),
                None => return refuse(format!("User {user} does not exist")),
            },
        };
        Ok(Self { shown, path, user })
    }

    /// Finds the lines of a host, as `ssh-keygen -F` prints them.
    fn find(&self, host: &str, facts: &FactCache) -> Result<String, Halt> {
        if host.is_empty() || host.starts_with('-') || host.contains(char::is_whitespace) {
            return refuse(format!("`{host}` is not the name of a host"));
        }
        let words = quote_words(["ssh-keygen", "-F", host, "-f", &*self.path]);
        let script = format!("command -v ssh-keygen >/dev/null || exit 127; {words} 2>/dev/null");
        let probed = run_probe(facts, script, Domain::Path(self.path.clone()))?;
        if probed.code == 127 {
            return refuse("the program `ssh-keygen` is missing; a package of OpenSSH has it");
        }
        Ok(stdout_text(probed).into_owned())
    }
}

/// Returns the name of a host with its port, as the file has it.
fn name_with_port(host: &str, port: Option<i64>) -> String {
    match port {
        Some(port) if port != 22 => format!("[{host}]:{port}"),
        _ => host.to_owned(),
    }
}

/// A key as a state describes it.
struct DesiredKey<'a> {
    call: &'a StateCall<'a>,
    file: HostsFile,
    key: Option<String>,
    fingerprint: Option<String>,
    kind: Option<String>,
    port: Option<i64>,
    hashes: bool,
    algorithm: String,
}

impl<'a> DesiredKey<'a> {
    fn from_call(call: &'a StateCall<'a>, facts: &FactCache) -> Result<Self, Halt> {
        let algorithm = call.non_empty_text("fingerprint_hash_type")?;
        Ok(Self {
            call,
            file: HostsFile::from_call(call, facts)?,
            key: call.non_empty_text("key")?,
            fingerprint: call.non_empty_text("fingerprint")?,
            kind: call.non_empty_text("enc")?,
            port: call.int("port")?,
            hashes: call.flag("hash_known_hosts", true),
            algorithm: algorithm.unwrap_or_else(|| "sha256".to_owned()),
        })
    }

    /// Returns the keys that the server has now.
    fn scanned(&self, facts: &FactCache) -> Result<Vec<KnownHost>, Halt> {
        let mut words = vec!["ssh-keyscan".to_owned()];
        if let Some(port) = self.port {
            words.extend(["-p".to_owned(), port.to_string()]);
        }
        if let Some(kind) = &self.kind {
            words.extend(["-t".to_owned(), kind.clone()]);
        }
        if self.hashes {
            words.push("-H".to_owned());
        }
        let timeout = self.call.int("timeout")?.unwrap_or(5);
        words.extend(["-T".to_owned(), timeout.to_string()]);
        words.push(self.call.name.to_owned());
        let words = quote_words(&words);
        let script = format!(
            "for i in 1 2 3 4 5; do o=$({words} 2>/dev/null); [ -n \"$o\" ] && break; done; printf '%s\\n' \"$o\""
        );
        let probed = run_probe(facts, script, Domain::Path(self.file.path.clone()))?;
        parse_hosts(&stdout_text(probed), &self.algorithm)
    }

    /// Returns the line of a key.
    fn line(&self, host: &str, kind: &str, key: &str) -> String {
        let name = if self.hashes || host.contains(':') {
            host.to_owned()
        } else {
            name_with_port(host, self.port)
        };
        format!("{name} {kind} {key}\n")
    }

    /// Returns the changes that replace the lines that were found by those of the new keys.
    fn steps(&self, found: &str, lines: &str, facts: &FactCache) -> Result<Vec<Change>, Halt> {
        let path = &*self.file.path;
        let folder = file_change::parent(path);
        let needed = [
            Fact::Content(path.to_owned()),
            Fact::Target(folder.to_owned()),
        ];
        require_facts(facts, needed)?;
        let bytes = facts.content(path)?;
        let before = String::from_utf8_lossy(bytes.unwrap_or_default());
        let removed = found_lines(found, self.kind.as_deref());
        let removed: std::collections::HashSet<usize> = removed.into_iter().collect();
        let kept = before.split_inclusive('\n').enumerate();
        let kept = kept.filter(|(index, _)| !removed.contains(&(index + 1)));
        let mut after: String = kept.map(|(_, line)| line).collect();
        if !after.is_empty() && !after.ends_with('\n') {
            after.push('\n');
        }
        after.push_str(lines);
        let owned = ModeAndOwner {
            user: self.file.user.clone(),
            group: self.group(facts)?,
            mode: None,
        };
        let mut steps = Vec::new();
        if facts.target(folder)?.is_none() {
            let mode = self.file.user.is_some().then_some(0o700);
            let like = ModeAndOwner {
                mode,
                ..owned.clone()
            };
            steps.push(file_change::folders(folder, like));
        }
        let mode = bytes.is_none().then_some(0o600);
        let like = ModeAndOwner { mode, ..owned };
        steps.push(file_change::write(path, after, like.clone()));
        if self.key.is_some() && self.hashes {
            let (file, domain) = (quote_word(path), Domain::Path(path.to_owned()));
            // The program makes a new file, so the permission bits and the owner of the old one are set again.
            let text = format!(
                "m=$(stat -c '%a %u:%g' {file}) && ssh-keygen -H -f {file} && chmod \"${{m% *}}\" {file} && chown \"${{m#* }}\" {file}"
            );
            steps.push(run_change(text, [domain]));
        }
        Ok(steps)
    }

    fn group(&self, facts: &FactCache) -> Result<Option<String>, Halt> {
        match &self.file.user {
            Some(user) => Ok(find_user(facts, user)?.map(|user| user.gid.to_string())),
            None => Ok(None),
        }
    }
}

/// Decides `ssh_known_hosts.present`: trusts the key of a host.
fn present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name;
    let desired = DesiredKey::from_call(call, facts)?;
    let DesiredKey {
        key,
        fingerprint,
        kind,
        port,
        ..
    } = &desired;
    if call.mode == Mode::Test && key.is_some() && fingerprint.is_some() {
        return failure("Specify either \"key\" or \"fingerprint\", not both.");
    }
    if key.is_some() && kind.is_none() {
        return failure("Required argument \"enc\" if using \"key\" argument.");
    }
    let found = desired.file.find(&name_with_port(name, *port), facts)?;
    let stored = parse_hosts(&found, &desired.algorithm)?;
    if call.mode == Mode::Test {
        return predict(&desired, &stored);
    }
    if port.is_some_and(|port| port != 22) && desired.hashes {
        return failure(
            "argument port can not be used in conjunction with argument hash_known_hosts",
        );
    }
    let has_key = |key: &String| {
        let is_kind = |host: &KnownHost| kind.as_ref().is_none_or(|kind| host.kind == *kind);
        stored.iter().any(|host| host.key == *key && is_kind(host))
    };
    let has_print = |print: &String| stored.iter().any(|host| host.fingerprint == *print);
    let is_wrong = stored.is_empty()
        || fingerprint.as_ref().is_some_and(|it| !has_print(it))
        || key.as_ref().is_some_and(|it| !has_key(it));
    let checks = key.is_none() && fingerprint.is_none();
    let same = format!("{name} already exists in {}", desired.file.shown);
    if !is_wrong && !checks {
        return unchanged(same);
    }
    let scanned = match key {
        Some(_) => Vec::new(),
        None => desired.scanned(facts)?,
    };
    if key.is_none() {
        if scanned.is_empty() {
            return failure("Unable to receive remote host keys");
        }
        if let Some(print) = fingerprint
            && !scanned.iter().any(|host| host.fingerprint == *print)
        {
            return failure(
                "Remote host public keys found but none of their fingerprints match the one you have provided",
            );
        }
        if !is_wrong && sorted_keys(&stored) == sorted_keys(&scanned) {
            return unchanged(same);
        }
    }
    save(&desired, &found, &stored, &scanned, facts)
}

/// Returns the keys of hosts, each once.
fn sorted_keys(hosts: &[KnownHost]) -> Vec<&str> {
    let mut keys: Vec<&str> = hosts.iter().map(|host| host.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns the decision of a dry run, which asks no server.
fn predict(desired: &DesiredKey<'_>, stored: &[KnownHost]) -> Result<StateDecision, Halt> {
    let (name, file) = (desired.call.name, &desired.file.shown);
    let is_there = match (&desired.key, &desired.fingerprint) {
        (Some(key), _) => stored.iter().any(|host| host.key == *key),
        (None, Some(print)) => stored.iter().any(|host| host.fingerprint == *print),
        (None, None) => !stored.is_empty(),
    };
    if is_there && !stored.is_empty() {
        return unchanged(format!("Host {name} is already in {file}"));
    }
    let word = if stored.is_empty() {
        "added to"
    } else {
        "updated in"
    };
    let comment = format!("Key for {name} is set to be {word} {file}");
    Ok(StateDecision::Done(StateOutcome::planned(comment)))
}

/// Returns the decision to save the keys of a host.
fn save(
    desired: &DesiredKey<'_>,
    found: &str,
    stored: &[KnownHost],
    scanned: &[KnownHost],
    facts: &FactCache,
) -> Result<StateDecision, Halt> {
    let (name, file) = (desired.call.name, &desired.file.shown);
    let mut lines = String::new();
    let mut new: Vec<Value> = Vec::new();
    // As in Salt, the changes show the port if the name in the file has it.
    let shown_port = desired.port.filter(|port| *port != 22 && !desired.hashes);
    let with_port = |mut entry: Value, host: &str| {
        if let (Value::Map(map), Some(port)) = (&entry, shown_port.filter(|_| !host.contains(':')))
        {
            let mut map = Map::clone(map);
            map.insert("port".into(), port.into());
            entry = map.into();
        }
        entry
    };
    if let (Some(key), Some(kind)) = (&desired.key, &desired.kind) {
        lines.push_str(&desired.line(name, kind, key));
        let entry = Value::map([
            ("hostname", name.into()),
            ("enc", kind.as_str().into()),
            ("key", key.as_str().into()),
        ]);
        new.push(with_port(entry, name));
    }
    for host in scanned {
        lines.push_str(&desired.line(&host.name, &host.kind, &host.key));
        new.push(with_port(host.value(), &host.name));
    }
    let first = scanned.first();
    let comment = match (&desired.key, &desired.fingerprint, &desired.kind, first) {
        (Some(key), ..) => format!("{name}'s key saved to {file} (key: {key})"),
        (None, Some(_), _, Some(host)) => format!(
            "{name}'s key saved to {file} (fingerprint: {})",
            host.fingerprint
        ),
        (None, None, Some(kind), Some(host)) => {
            format!("{name}'s {kind} key saved to {file} (key: {})", host.key)
        }
        _ => format!("{name}'s key(s) saved to {file}"),
    };
    let changes = Map::from_iter([
        ("old".into(), old_hosts(stored)),
        ("new".into(), Value::list(new)),
    ]);
    let steps = desired.steps(found, &lines, facts)?;
    let outcome = StateOutcome::changed(changes, comment);
    let complaint = format!("Couldn't append to known hosts file {file}: ");
    act_or_fail(outcome.clone(), steps, outcome, complaint)
}

/// Returns the keys before in the form of changes; None if there were none.
fn old_hosts(stored: &[KnownHost]) -> Value {
    if stored.is_empty() {
        return Value::Null;
    }
    Value::list(stored.iter().map(KnownHost::value))
}

/// Decides `ssh_known_hosts.absent`: removes all keys of a host.
fn absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name;
    let file = HostsFile::from_call(call, facts)?;
    let stored = parse_hosts(&file.find(name, facts)?, "sha256")?;
    if stored.is_empty() {
        return unchanged("Host is already absent");
    }
    let planned = format!("Key for {name} is set to be removed from {}", file.shown);
    let words = quote_words(["ssh-keygen", "-R", name, "-f", &*file.path]);
    let domain = Domain::Path(file_change::parent(&file.path).to_owned());
    let mut text = format!("{words} 2>&1");
    if let Some(user) = &file.user {
        let (user, path) = (quote_word(user), quote_word(&file.path));
        text = format!("{text} && chown {user}: {path}");
    }
    let changes = Map::from_iter([
        ("old".into(), old_hosts(&stored)),
        ("new".into(), Value::Null),
    ]);
    let steps = vec![run_change(text, [domain])];
    act_on_outputs(StateOutcome::planned(planned), steps, move |ended, _| {
        Ok(match (&ended.error, ended.outputs.last()) {
            (None, Some(run)) => {
                let comment = run.stdout.text();
                StateOutcome::changed(changes.clone(), comment.trim())
            }
            (error, _) => StateOutcome::failed(error.clone().unwrap_or_default()),
        })
    })
}
