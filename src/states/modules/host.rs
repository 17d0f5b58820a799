//! The state module `host`: names of IP addresses in `/etc/hosts`.
//!
//! [`HostsFile`] reads and writes the file as Salt does; the state functions compare it with the desired names.

use std::net::IpAddr;

use indexmap::IndexMap;

use super::decision::{act_or_fail, done, failure, old_new, single_change, unchanged};
use super::file_change;
use crate::host::change::{Change, ModeAndOwner};
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
};
use crate::value::{Map, Value};

pub(super) static MODULE: StateModule = StateModule {
    name: "host",
    functions: &[
        StateFunction::new("present", present)
            .about("Adds a name to an address in `/etc/hosts`.")
            .requires("ip")
            .options("comment clean")
            .reversed_by("absent"),
        StateFunction::new("absent", absent)
            .about("Removes a name from `/etc/hosts`.")
            .requires("ip")
            .options("comment clean")
            .irreversible("the comment of the removed host is not recorded"),
        StateFunction::new("only", only)
            .about("Makes these the only names of an address in `/etc/hosts`.")
            .requires("hostnames")
            .irreversible("the previous names of the address are not recorded"),
    ],
    watch: None,
    aggregate: None,
};

const PATH: &str = "/etc/hosts";

/// The names of an address and the comment of its line.
#[derive(Debug, Clone, Default)]
struct HostEntry {
    names: Vec<String>,
    comment: Option<String>,
}

/// A line of the hosts file: a comment, or all names of an address.
#[derive(Debug, Clone)]
enum HostsLine {
    Comment(String),
    Address(HostEntry),
}

/// The hosts file: its lines as they are, and its content by address.
struct HostsFile {
    text: String,
    /// Comments have a number as their key.
    lines: IndexMap<String, HostsLine>,
}

impl HostsFile {
    fn read(facts: &FactCache) -> Result<Self, Halt> {
        let bytes = facts.content(PATH)?.unwrap_or_default();
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut lines = IndexMap::new();
        for (number, line) in text.lines().map(str::trim).enumerate() {
            if line.starts_with('#') {
                lines.insert(format!("#{number}"), HostsLine::Comment(line.to_owned()));
                continue;
            }
            let (names, comment) = split_comment(line);
            let mut words = names.split_whitespace();
            let Some(address) = words.next() else {
                continue;
            };
            let empty = || HostsLine::Address(HostEntry::default());
            let line = lines.entry(address.to_owned()).or_insert_with(empty);
            if let HostsLine::Address(entry) = line {
                entry.names.extend(words.map(str::to_owned));
                entry.comment = comment.map(str::to_owned).or(entry.comment.take());
            }
        }
        Ok(Self { text, lines })
    }

    /// Returns the addresses with their entries, in order.
    fn addresses(&self) -> impl Iterator<Item = (&str, &HostEntry)> {
        self.lines.iter().filter_map(|(address, line)| match line {
            HostsLine::Address(entry) => Some((address.as_str(), entry)),
            HostsLine::Comment(_) => None,
        })
    }

    fn entry(&self, address: &str) -> Option<&HostEntry> {
        match self.lines.get(address)? {
            HostsLine::Address(entry) => Some(entry),
            HostsLine::Comment(_) => None,
        }
    }

    fn has(&self, address: &str, name: &str) -> bool {
        let entry = self.entry(address);
        entry.is_some_and(|entry| entry.names.iter().any(|it| it == name))
    }

    /// Changes the entry of an address and writes the whole file anew, as Salt does.
    fn edit(&mut self, address: &str, edit: impl FnOnce(&mut HostEntry)) {
        let empty = || HostsLine::Address(HostEntry::default());
        let line = self.lines.entry(address.to_owned()).or_insert_with(empty);
        if let HostsLine::Address(entry) = line {
            edit(entry);
        }
        let mut text = String::new();
        for (address, line) in &self.lines {
            let line = match line {
                HostsLine::Comment(line) => line.clone(),
                HostsLine::Address(HostEntry { names, comment }) => {
                    let names = names.join(" ");
                    match comment {
                        Some(comment) => format!("{address}\t\t{names}\t\t# {comment}"),
                        None => format!("{address}\t\t{names}"),
                    }
                }
            };
            text.push_str(line.trim());
            text.push('\n');
        }
        self.text = text;
    }

    /// Replaces the lines of an address by a function of each line.
    fn map_lines(&mut self, address: &str, mut map: impl FnMut(&str) -> String) {
        let lines = self.text.split_inclusive('\n').map(|line| {
            let is_address = line.split_whitespace().next() == Some(address);
            if is_address {
                map(line)
            } else {
                line.to_owned()
            }
        });
        self.text = lines.collect();
    }

    /// Removes a name of an address. A line without names goes too.
    fn remove(&mut self, address: &str, name: &str) {
        self.map_lines(address, |line| {
            let (names, comment) = split_comment(line.trim());
            let mut words = names.split_whitespace().skip(1).filter(|it| *it != name);
            let kept: String = words.by_ref().flat_map(|word| [word, " "]).collect();
            match (kept.is_empty(), comment) {
                (true, _) => String::new(),
                (false, Some(comment)) => format!("{address}\t\t{kept}# {comment}\n"),
                (false, None) => format!("{address}\t\t{kept}\n"),
            }
        });
        if let Some(HostsLine::Address(entry)) = self.lines.get_mut(address) {
            entry.names.retain(|it| it != name);
        }
    }

    /// Sets the names of an address on its first line, or on a new line; other lines of the address go.
    fn set(&mut self, address: &str, names: &str) {
        let mut line = if names.is_empty() {
            String::new()
        } else {
            format!("{address}\t\t{names}\n")
        };
        let has_address = self.entry(address).is_some();
        self.map_lines(address, |_| std::mem::take(&mut line));
        if !has_address {
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            self.text.push_str(&line);
        }
    }

    fn write_steps(self) -> Vec<Change> {
        vec![file_change::write(PATH, self.text, ModeAndOwner::default())]
    }
}

/// Splits a line at the first `#`. The comment has no leading white space; None if it is empty.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    match line.split_once('#') {
        Some((names, comment)) => (
            names,
            Some(comment.trim_start()).filter(|it| !it.is_empty()),
        ),
        None => (line, None),
    }
}

/// Adds a text to the list at `kind` and `address` in Salt's form of changes.
fn add_change(changes: &mut Map, kind: &str, address: &str, text: &str) {
    let mut kinds = changes
        .get(kind)
        .and_then(Value::as_map)
        .cloned()
        .unwrap_or_default();
    let list = kinds.get(address).and_then(Value::as_list).cloned();
    let mut list = list.unwrap_or_default();
    list.push(text.into());
    kinds.insert(address.into(), list.into());
    changes.insert(kind.into(), kinds.into());
}

/// The edits of the hosts file that `host.present` needs, as addresses.
#[derive(Default)]
struct HostEdits {
    comments: Vec<String>,
    warnings: Vec<String>,
    add: Vec<String>,
    set_comment: Vec<String>,
    remove: Vec<String>,
}

impl HostEdits {
    fn compare(
        call: &StateCall<'_>,
        addresses: &[String],
        hosts: &HostsFile,
    ) -> Result<Self, Halt> {
        let (name, comment) = (call.name, call.text_or("comment", "")?);
        let mut edits = Self::default();
        for address in addresses {
            if hosts.entry(address).is_none() {
                edits.add.push(address.clone());
                if !comment.is_empty() {
                    edits.set_comment.push(address.clone());
                }
            }
        }
        for (address, entry) in hosts.addresses() {
            let has_name = entry.names.iter().any(|it| it == name);
            match (addresses.iter().any(|it| it == address), has_name) {
                (false, true) if call.flag("clean", false) => edits.remove.push(address.to_owned()),
                (false, true) => edits.warnings.push(format!(
                    "Host {name} present for IP address {address}. To get rid of this warning, either run this state with 'clean' set to True to remove {name} from {address}, or add {address} to the 'ip' argument."
                )),
                (false, false) => {}
                (true, true) if !comment.is_empty() && entry.comment.as_ref() != Some(&comment) => {
                    edits.set_comment.push(address.to_owned());
                }
                (true, true) => edits
                    .comments
                    .push(format!("Host {name} ({address}) already present")),
                (true, false) => {
                    edits.add.push(address.to_owned());
                    if !comment.is_empty() {
                        edits.set_comment.push(address.to_owned());
                    }
                }
            }
        }
        Ok(edits)
    }

    /// Returns the comments of a dry run or of a real run.
    fn comment(&self, name: &str, comment: &str, mode: Mode) -> String {
        let mut lines = self.comments.clone();
        let is_test = mode == Mode::Test;
        lines.extend(self.add.iter().map(|address| {
            if is_test {
                format!("Host {name} ({address}) would be added")
            } else {
                format!("Added host {name} ({address})")
            }
        }));
        lines.extend(self.set_comment.iter().map(|address| {
            if is_test {
                format!("Comment for {address} ({comment}) would be added")
            } else {
                format!("Set comment for host {address} ({comment})")
            }
        }));
        lines.extend(self.remove.iter().map(|address| {
            if is_test {
                format!("Host {name} ({address}) would be removed")
            } else {
                format!("Removed host {name} ({address})")
            }
        }));
        lines.join("\n")
    }
}

/// Decides `host.present`: gives a name to addresses.
fn present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name;
    let addresses = call.texts("ip")?;
    if let Some(address) = addresses.iter().find(|it| it.parse::<IpAddr>().is_err()) {
        return failure(format!("Invalid IP Address for {name} ({address})"));
    }
    let comment = call.text_or("comment", "")?;
    let mut hosts = HostsFile::read(facts)?;
    let edits = HostEdits::compare(call, &addresses, &hosts)?;
    let mut changes = Map::new();
    for address in &edits.add {
        hosts.edit(address, |entry| entry.names.push(name.to_owned()));
        add_change(&mut changes, "added", address, name);
    }
    for address in &edits.set_comment {
        hosts.edit(address, |entry| entry.comment = Some(comment.clone()));
        add_change(&mut changes, "comment_added", address, &comment);
    }
    for address in &edits.remove {
        hosts.remove(address, name);
        add_change(&mut changes, "removed", address, name);
    }
    if changes.is_empty() {
        return done(StateOutcome {
            warnings: edits.warnings.clone(),
            ..StateOutcome::unchanged(edits.comment(name, &comment, call.mode))
        });
    }
    let outcome = |outcome: StateOutcome| StateOutcome {
        warnings: edits.warnings.clone(),
        ..outcome
    };
    act_or_fail(
        outcome(StateOutcome::would_change(
            changes.clone(),
            edits.comment(name, &comment, Mode::Test),
        )),
        hosts.write_steps(),
        outcome(StateOutcome::changed(
            changes,
            edits.comment(name, &comment, Mode::Apply),
        )),
        format!("Failed to add host {name}: "),
    )
}

/// Decides `host.absent`: removes a name from addresses.
fn absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name;
    let mut hosts = HostsFile::read(facts)?;
    let (mut planned, mut comments) = (Vec::new(), Vec::new());
    let mut is_changed = false;
    for address in call.texts("ip")? {
        if hosts.has(&address, name) {
            is_changed = true;
            hosts.remove(&address, name);
            planned.push(format!("Host {name} ({address}) needs to be removed"));
            comments.push(format!("Removed host {name} ({address})"));
        } else {
            let comment = format!("Host {name} ({address}) already absent");
            planned.push(comment.clone());
            comments.push(comment);
        }
    }
    if !is_changed {
        return unchanged(comments.join("\n"));
    }
    act_or_fail(
        StateOutcome::planned(planned.join("\n")),
        hosts.write_steps(),
        StateOutcome::changed(single_change("host", name), comments.join("\n")),
        "Failed to remove host: ",
    )
}

/// Decides `host.only`: gives an address these names and no others.
fn only(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let address = call.name;
    let mut hosts = HostsFile::read(facts)?;
    let entry = hosts.entry(address).cloned().unwrap_or_default();
    let old = entry.names.join(" ");
    let names = call.texts("hostnames")?;
    let names: Vec<&str> = names.iter().map(|name| name.trim()).collect();
    let new = names.join(" ");
    if old == new {
        return unchanged(format!("IP address {address} already set to \"{new}\""));
    }
    hosts.set(address, &new);
    let changes = single_change(address, old_new(old.as_str(), new.as_str()));
    act_or_fail(
        StateOutcome::planned(format!(
            "Would change {address} from \"{old}\" to \"{new}\""
        )),
        hosts.write_steps(),
        StateOutcome::changed(
            changes,
            format!("successfully changed {address} from \"{old}\" to \"{new}\""),
        ),
        format!("hosts.set_host failed to change {address} from \"{old}\" to \"{new}\": "),
    )
}
