//! What the functions of the `file` module share: paths, owners, modes, and what they give back.
use crate::states::modules::file_change;
use crate::states::modules::verdict::require_facts;
use std::sync::Arc;

use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{CommandSetting, Domain, Fact, FileKind, FileStat, Probe};
use crate::states::{
    ChangeOutcome, ChangeSet, FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse,
};
use crate::text::force_quote_word;
use crate::value::{Map, Value};

/// What a function would do, and what it says of it in a dry run and after it was done.
#[derive(Debug, Default)]
pub(super) struct FilePlan {
    /// What a dry run says.
    pub(super) test: StateOutcome,
    /// What is said when all steps succeeded.
    pub(super) apply: StateOutcome,
    /// What is done.
    pub(super) steps: Vec<Change>,
}

impl FilePlan {
    /// The verdict.
    pub(super) fn into_verdict(self, mode: Mode) -> StateDecision {
        let output = match mode {
            Mode::Test => &self.test,
            Mode::Apply => &self.apply,
        };
        // A dry run of what Salt says nothing would be changed by, such as a touch, does nothing.
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

/// Sets a text in changes.
pub(super) fn put_text(changes: &mut Map, key: &str, value: impl Into<String>) {
    changes.insert(Arc::from(key), Value::str(value.into()));
}

/// What stands at a path itself.
pub(super) fn path_fact(path: &str) -> Fact {
    Fact::Path(path.to_owned())
}

/// What a path leads to.
pub(super) fn target_fact(path: &str) -> Fact {
    Fact::Target(path.to_owned())
}

/// The name as a path: a tilde at its start is the home of who acts on the machine.
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

/// The name of the state as an absolute path.
pub(super) fn absolute_name(call: &StateCall<'_>, facts: &FactCache) -> Result<String, Halt> {
    let name = name_as_path(call, facts)?;
    if !name.starts_with('/') {
        return refuse(format!("Specified file {name} is not an absolute path"));
    }
    Ok(name)
}

/// The name of the state as a path.
pub(super) fn name_as_path(call: &StateCall<'_>, facts: &FactCache) -> Result<String, Halt> {
    if call.name.is_empty() {
        return refuse(format!("Must provide name to file.{}", call.fun));
    }
    expand_home(call.name, facts)
}

/// The folder that a path is in.
pub(super) fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(slash_index) => path[..slash_index].trim_end_matches('/'),
        None => "",
    }
}

/// The last name of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A path below a folder.
pub(super) fn join_path(folder: &str, below: &str) -> String {
    if below.starts_with('/') {
        return below.to_owned();
    }
    format!("{}/{below}", folder.trim_end_matches('/'))
}

/// A path without dots and doubled slashes.
pub(super) fn normalize_path(path: &str) -> String {
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

/// Where a path leads to, through links at its end.
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

/// Whether a folder is there, or what leads to one.
pub(super) fn is_folder(path: &str, facts: &FactCache) -> Result<bool, Halt> {
    Ok(facts.target(path)?.is_some_and(FileStat::is_folder))
}

/// The steps that make a folder and those above it that are missing.
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

/// A mode as Salt shows it.
pub(super) fn mode_text(mode: u32) -> String {
    format!("{mode:04o}")
}

/// The mode of folders made for a file of this mode: who may read it may enter them.
pub(super) fn searchable_mode(mode: u32) -> u32 {
    let with = |shift: u32| {
        let part = (mode >> shift) & 7;
        if part == 0 { 0 } else { (part | 1) << shift }
    };
    with(6) | with(3) | with(0)
}

/// What a command prints, without its last newline; nothing if it fails.
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

/// A user or group that something is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathOwner {
    /// As it was written.
    pub(super) written: String,
    /// Its name; as it was written if there is none.
    pub(super) name: String,
    /// Whether there is one.
    pub(super) exists: bool,
}

/// Who something is to belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PathOwners {
    /// The user.
    pub(super) user: Option<PathOwner>,
    /// The group.
    pub(super) group: Option<PathOwner>,
}

/// The probe that gives the name of a user.
fn user_probe(user: &str) -> String {
    format!("id -un -- {}", force_quote_word(user))
}

/// The probe that gives the name of a group.
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
    /// A user and a group by name.
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

    /// Those that a state asks for; `owner` stands for `user`.
    pub(super) fn from_call(call: &StateCall<'_>, facts: &FactCache) -> Result<Self, Halt> {
        let user = match call.text("user")? {
            Some(user) if !user.is_empty() => Some(user),
            _ => call.text("owner")?,
        };
        Self::from_names(user, call.text("group")?, facts)
    }

    /// Who is missing, in Salt's words; nothing in a dry run, in which an earlier state may make
    /// them.
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

    /// Fails if somebody is missing.
    pub(super) fn check_accounts(&self, mode: Mode) -> Result<(), Halt> {
        self.missing_accounts(mode).map_or(Ok(()), refuse)
    }

    /// These owners and a mode.
    pub(super) fn like(&self, mode: Option<u32>) -> ModeAndOwner {
        let name = |owner: &Option<PathOwner>| owner.as_ref().map(|owner| owner.written.clone());
        ModeAndOwner {
            mode,
            user: name(&self.user),
            group: name(&self.group),
        }
    }

    /// What of this differs from what is there, in Salt's order, and as what is to be set.
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
            // A change of owner takes these bits away.
            like.mode = Some(entry.mode);
        }
        (changes, like)
    }
}
