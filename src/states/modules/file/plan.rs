//! Helpers shared by the functions of the `file` module: paths, owners, modes and the resulting
//! decision.
//!
//! [`FilePlan`] is the common result; [`PathOwners`] resolves and compares users and groups. Facts are
//! read through the [`FactCache`]; nothing here touches the machine.
use crate::states::modules::decision::require_facts;
pub(super) use crate::states::modules::file_change::parent;

use crate::states::modules::file_change;
use std::sync::Arc;

use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{CommandSetting, Domain, Fact, FileKind, FileStat, Probe};
use crate::states::{
    ChangeOutcome, ChangeSet, FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse,
};
use crate::text::force_quote_word;
use crate::value::{Map, Value};

/// The changes of a function and its outcomes in a dry run and in a real run, which differ in Salt.
#[derive(Debug, Default)]
pub(super) struct FilePlan {
    /// The outcome of a dry run.
    pub(super) test: StateOutcome,
    /// The outcome of a real run in which all steps succeed.
    pub(super) apply: StateOutcome,
    /// The changes to apply, in order.
    pub(super) steps: Vec<Change>,
}

impl FilePlan {
    /// Returns the decision of the state for this mode.
    pub(super) fn into_decision(self, mode: Mode) -> StateDecision {
        let output = match mode {
            Mode::Test => &self.test,
            Mode::Apply => &self.apply,
        };
        // Salt reports some changes, such as a touch, as none in a dry run: then nothing is predicted either.
        let is_idle = mode == Mode::Test && self.test.result.is_some();
        if self.steps.is_empty() || is_idle {
            return StateDecision::Done(output.clone());
        }
        StateDecision::Change(ChangeSet {
            predicted: self.test,
            steps: self.steps,
            finish: ChangeOutcome::Fixed(self.apply),
        })
    }
}

/// Returns the comment of a dry run about a file that would change.
pub(super) fn dry_run_comment(path: &str) -> String {
    format!(
        "The file {path} is set to be changed\nNote: No changes made, actual changes may\nbe different due to other states."
    )
}

/// Inserts a text into a map of changes.
pub(super) fn put_text(changes: &mut Map, key: &str, value: impl Into<String>) {
    changes.insert(Arc::from(key), Value::str(value.into()));
}

/// Returns the fact about a path itself, without following a symbolic link.
pub(super) fn path_fact(path: &str) -> Fact {
    Fact::Path(path.to_owned())
}

/// Returns the fact about the target of a path, with symbolic links followed.
pub(super) fn target_fact(path: &str) -> Fact {
    Fact::Target(path.to_owned())
}

/// Expands a leading `~` or `~user` to the home directory on the machine.
///
/// The shell expands the tilde, so a name with shell syntax in it is returned unchanged.
pub(super) fn expand_home(name: &str, facts: &FactCache) -> Result<String, Halt> {
    if !name.starts_with('~') {
        return Ok(name.to_owned());
    }
    let (user_part, rest) = name.split_at(name.find('/').unwrap_or(name.len()));
    let is_plain = |sign: char| sign.is_alphanumeric() || "_-.~".contains(sign);
    if !user_part.chars().all(is_plain) {
        return Ok(name.to_owned());
    }
    let found = probe_text(facts, format!("printf %s {user_part}"), Domain::Accounts)?;
    Ok(format!("{found}{rest}"))
}

/// Returns the name of the state as a path; fails if the path is not absolute.
pub(super) fn absolute_name(call: &StateCall<'_>, facts: &FactCache) -> Result<String, Halt> {
    let name = name_as_path(call, facts)?;
    if !name.starts_with('/') {
        return refuse(format!("Specified file {name} is not an absolute path"));
    }
    Ok(name)
}

/// Returns the name of the state as a path; fails if the name is empty.
pub(super) fn name_as_path(call: &StateCall<'_>, facts: &FactCache) -> Result<String, Halt> {
    if call.name.is_empty() {
        return refuse(format!("Must provide name to file.{}", call.fun));
    }
    expand_home(call.name, facts)
}

/// Returns the last component of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Joins a folder and a relative path. An absolute path is returned unchanged.
pub(super) fn join_path(folder: &str, below: &str) -> String {
    if below.starts_with('/') {
        return below.to_owned();
    }
    format!("{}/{below}", folder.trim_end_matches('/'))
}

/// Removes `.`, `..` and doubled slashes from a path, without reading links.
pub(in crate::states) fn normalize_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let is_absolute = path.starts_with('/');
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (is_absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// Returns the path after following symbolic links at its end; fails after 40 links.
pub(super) fn resolve_links(path: &str, facts: &FactCache) -> Result<String, Halt> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        let Some(FileStat {
            kind: FileKind::Link(destination),
            ..
        }) = facts.path(&path)?
        else {
            return Ok(path);
        };
        path = normalize_path(&join_path(parent(&path), destination));
    }
    refuse(format!("Too many levels of symbolic links at {path}"))
}

/// Whether a folder exists at a path, with symbolic links followed.
pub(super) fn is_folder(path: &str, facts: &FactCache) -> Result<bool, Halt> {
    Ok(facts.target(path)?.is_some_and(FileStat::is_folder))
}

/// Returns the changes that create a folder and its missing ancestors, topmost first.
pub(super) fn missing_folder_steps(
    path: &str,
    like: &ModeAndOwner,
    facts: &FactCache,
) -> Result<Vec<Change>, Halt> {
    let mut steps = Vec::new();
    let mut path = path;
    while !path.is_empty() && path != "/" && !is_folder(path, facts)? {
        steps.push(file_change::folder(path, like.clone()));
        path = parent(path);
    }
    steps.reverse();
    Ok(steps)
}

/// Formats permission bits as Salt does: four octal digits.
pub(super) fn mode_text(mode: u32) -> String {
    format!("{mode:04o}")
}

/// Returns the mode of folders created for a file of this mode: every class with any right may also
/// enter.
pub(super) fn searchable_mode(mode: u32) -> u32 {
    let with = |shift: u32| {
        let part = (mode >> shift) & 7;
        if part == 0 { 0 } else { (part | 1) << shift }
    };
    with(6) | with(3) | with(0)
}

/// Returns the output of a probe without trailing newlines; empty if the command fails.
pub(super) fn probe_text(facts: &FactCache, text: String, reads: Domain) -> Result<String, Halt> {
    let probed = facts.probe(Probe {
        text,
        setting: CommandSetting::default(),
        reads,
    })?;
    let output = String::from_utf8_lossy(&probed.stdout);
    Ok(if probed.code == 0 {
        output.trim_end_matches('\n').to_owned()
    } else {
        String::new()
    })
}

/// A desired user or group, looked up on the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathOwner {
    /// The name or number as the state gives it.
    pub(super) written: String,
    /// The account's name on the machine; equal to `written` if the machine has no such account.
    pub(super) name: String,
    /// Whether the account exists. A number counts as existing.
    pub(super) exists: bool,
}

/// The desired owner and group of a path; None leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PathOwners {
    pub(super) user: Option<PathOwner>,
    pub(super) group: Option<PathOwner>,
}

/// Returns the command that prints the name of a user, given by name or number.
fn user_probe(user: &str) -> String {
    format!("id -un -- {}", force_quote_word(user))
}

/// Returns the command that prints the name of a group, given by name or number.
fn group_probe(group: &str) -> String {
    let group = force_quote_word(group);
    format!(
        "if command -v getent >/dev/null 2>&1; then getent group {group} | cut -d: -f1; \
         else awk -F: -v g={group} '$1 == g || $3 == g {{ print $1 }}' /etc/group; fi"
    )
}

fn look_up_owner(written: String, text: String, facts: &FactCache) -> Result<PathOwner, Halt> {
    if matches!(&*written, "root" | "0") {
        return Ok(PathOwner {
            written,
            name: "root".to_owned(),
            exists: true,
        });
    }
    let found = probe_text(facts, text, Domain::Accounts)?;
    let is_number = written.bytes().all(|sign| sign.is_ascii_digit());
    let exists = !found.is_empty() || is_number;
    let name = if found.is_empty() {
        written.clone()
    } else {
        found
    };
    Ok(PathOwner {
        written,
        name,
        exists,
    })
}

impl PathOwners {
    /// Looks up a user and a group in one round trip. Empty names count as None.
    pub(super) fn from_names(
        user: Option<String>,
        group: Option<String>,
        facts: &FactCache,
    ) -> Result<Self, Halt> {
        let user = user.filter(|name| !name.is_empty());
        let group = group.filter(|name| !name.is_empty());
        let probe = |text: String| {
            Fact::Probe(Box::new(Probe {
                text,
                setting: CommandSetting::default(),
                reads: Domain::Accounts,
            }))
        };
        let is_known = |name: &&String| !matches!(&***name, "root" | "0");
        let users = user.iter().filter(is_known).map(|name| user_probe(name));
        let groups = group.iter().filter(is_known).map(|name| group_probe(name));
        require_facts(facts, users.chain(groups).map(probe))?;
        Ok(Self {
            user: user
                .map(|name| look_up_owner(name.clone(), user_probe(&name), facts))
                .transpose()?,
            group: group
                .map(|name| look_up_owner(name.clone(), group_probe(&name), facts))
                .transpose()?,
        })
    }

    /// Looks up the owners that a state desires. `owner` is an alias of the argument `user`.
    pub(super) fn from_call(call: &StateCall<'_>, facts: &FactCache) -> Result<Self, Halt> {
        let user = match call.text("user")? {
            Some(user) if !user.is_empty() => Some(user),
            _ => call.text("owner")?,
        };
        Self::from_names(user, call.text("group")?, facts)
    }

    /// Returns Salt's message about missing accounts; None if all exist.
    ///
    /// Also None in a dry run, because an earlier state of the same run may create the accounts.
    pub(super) fn missing_accounts(&self, mode: Mode) -> Option<String> {
        let mut output = String::new();
        if let Some(user) = self.user.as_ref().filter(|user| !user.exists) {
            output.push_str(&format!("User {} is not available ", user.written));
        }
        if let Some(group) = self.group.as_ref().filter(|group| !group.exists) {
            output.push_str(&format!("Group {} is not available", group.written));
        }
        (!output.is_empty() && mode == Mode::Apply).then_some(output)
    }

    /// Fails with Salt's message if an account is missing.
    pub(super) fn check_accounts(&self, mode: Mode) -> Result<(), Halt> {
        self.missing_accounts(mode).map_or(Ok(()), refuse)
    }

    /// Returns these owners and a mode as the attributes of a change.
    pub(super) fn with_mode(&self, mode: Option<u32>) -> ModeAndOwner {
        let name = |owner: &Option<PathOwner>| owner.as_ref().map(|owner| owner.written.clone());
        ModeAndOwner {
            mode,
            user: name(&self.user),
            group: name(&self.group),
        }
    }

    /// Compares the owners and a mode with an entry.
    ///
    /// Returns the differences in Salt's key order, and the attributes to set.
    pub(super) fn differences(&self, entry: &FileStat, mode: Option<u32>) -> (Map, ModeAndOwner) {
        let mut changes = Map::new();
        let mut like = ModeAndOwner::default();
        if let Some(user) = self.user.as_ref().filter(|user| user.name != entry.user) {
            put_text(&mut changes, "user", &*user.written);
            like.user = Some(user.written.clone());
        }
        if let Some(group) = self.group.as_ref().filter(|it| it.name != entry.group) {
            put_text(&mut changes, "group", &*group.written);
            like.group = Some(group.written.clone());
        }
        if let Some(mode) = mode.filter(|mode| *mode != entry.mode) {
            put_text(&mut changes, "mode", mode_text(mode));
            like.mode = Some(mode);
        }
        if !like.is_any() && like.mode.is_none() && entry.mode & 0o6000 != 0 {
            // `chown` clears the setuid and setgid bits, so the mode is set again.
            like.mode = Some(entry.mode);
        }
        (changes, like)
    }
}
