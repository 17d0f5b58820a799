//! The state `file.mknod`: a device or a named pipe.

use super::plan::{
    FilePlan, PathOwners, absolute_name, missing_folder_steps, parent, path_fact, target_fact,
};
use crate::host::change::{Change, CommandRun, ModeAndOwner};
use crate::host::fact::{Domain, FileStat};
use crate::states::modules::decision::{
    done, failure, require_facts, run_probe, single_change, stdout_text,
};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::force_quote_word;

/// A kind of node that a file system can have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeKind {
    Character,
    Block,
    Pipe,
}

impl NodeKind {
    /// Reads the argument `ntype`.
    fn parse(written: &str) -> Result<Self, Halt> {
        match written {
            "c" => Ok(Self::Character),
            "b" => Ok(Self::Block),
            "p" => Ok(Self::Pipe),
            other => refuse(format!(
                "Node type unavailable: '{other}'. Available node types are character ('c'), block ('b'), and pipe ('p')"
            )),
        }
    }

    fn letter(self) -> &'static str {
        match self {
            Self::Character => "c",
            Self::Block => "b",
            Self::Pipe => "p",
        }
    }

    /// Returns the kind in the words of Salt's comments, in lower case.
    fn name(self) -> &'static str {
        match self {
            Self::Character => "character device",
            Self::Block => "block device",
            Self::Pipe => "fifo pipe",
        }
    }

    /// Returns the kind at the beginning of a sentence.
    fn title(self) -> &'static str {
        match self {
            Self::Character => "Character device",
            Self::Block => "Block device",
            Self::Pipe => "Fifo pipe",
        }
    }
}

/// The numbers of a device: the driver, and the device of that driver.
type DeviceNumbers = (i64, i64);

/// Decides `file.mknod`: creates a node, or sets the owner and mode of an existing one.
pub(super) fn mknod(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = absolute_name(call, facts)?;
    let kind = NodeKind::parse(&call.required("ntype")?)?;
    let desired = (
        call.int("major")?.unwrap_or(0),
        call.int("minor")?.unwrap_or(0),
    );
    if desired.0 < 0 || desired.1 < 0 {
        return failure(format!(
            "The numbers of the device {path} must not be negative"
        ));
    }
    let mode = call.mode("mode")?.unwrap_or(0o600);
    let owners = PathOwners::from_call(call, facts)?;
    require_facts(
        facts,
        [
            path_fact(&path),
            target_fact(&path),
            target_fact(parent(&path)),
        ],
    )?;
    let (name, title) = (kind.name(), kind.title());
    let Some(entry) = facts.target(&path)? else {
        if facts.path(&path)?.is_some() {
            return failure(format!("File {path} exists and cannot be overwritten"));
        }
        owners.check_accounts(call.mode)?;
        let like = owners.with_mode(Some(mode));
        return Ok(creation(kind, &path, desired, &like, facts)?.into_decision(call.mode));
    };
    if entry.is_file() {
        return failure(format!(
            "File {path} exists and is not a {name}. Refusing to continue"
        ));
    }
    let Some(numbers) = device_numbers(kind, &path, facts)? else {
        if call.mode == Mode::Test {
            return done(StateOutcome::planned(format!(
                "{title} {path} is set to be created"
            )));
        }
        return failure(format!("File {path} exists and cannot be overwritten"));
    };
    if kind != NodeKind::Pipe && numbers != desired {
        return failure(format!(
            "{title} {path} exists and has a different major/minor {}/{}. Refusing to continue",
            numbers.0, numbers.1
        ));
    }
    owners.check_accounts(call.mode)?;
    Ok(metadata_plan(kind, &path, entry, &owners, mode).into_decision(call.mode))
}

/// Plans for a node that does not exist.
fn creation(
    kind: NodeKind,
    path: &str,
    numbers: DeviceNumbers,
    like: &ModeAndOwner,
    facts: &FactCache,
) -> Result<FilePlan, Halt> {
    let folder_owners = ModeAndOwner {
        mode: None,
        ..like.clone()
    };
    let mut steps = missing_folder_steps(parent(path), &folder_owners, facts)?;
    let numbers = match kind {
        NodeKind::Pipe => String::new(),
        _ => format!(" {} {}", numbers.0, numbers.1),
    };
    // Only the owner may use the node until it has its owner and mode.
    let text = format!(
        "mknod -m 0600 -- {} {}{numbers}",
        force_quote_word(path),
        kind.letter()
    );
    let touched = [Domain::Path(path.to_owned())];
    steps.push(Change::Run(CommandRun::new(text).touching(touched)));
    steps.push(file_change::set_attributes(path, like.clone(), true));
    let title = kind.title();
    Ok(FilePlan {
        test: StateOutcome::planned(format!("{title} {path} is set to be created")),
        apply: StateOutcome::changed(single_change("new", format!("{title} {path} created.")), ""),
        steps,
    })
}

/// Plans for a node that exists: only its owner and mode are set.
fn metadata_plan(
    kind: NodeKind,
    path: &str,
    entry: &FileStat,
    owners: &PathOwners,
    mode: u32,
) -> FilePlan {
    let (changes, like) = owners.differences(entry, Some(mode));
    if changes.is_empty() {
        let is =
            StateOutcome::unchanged(format!("{} {path} is in the correct state", kind.title()));
        return FilePlan {
            test: is.clone(),
            apply: is,
            steps: Vec::new(),
        };
    }
    FilePlan {
        test: StateOutcome::would_change(changes.clone(), ""),
        apply: StateOutcome::changed(changes, ""),
        steps: vec![file_change::set_attributes(path, like, true)],
    }
}

/// Returns the numbers of an existing node; None if the entry is of another kind.
fn device_numbers(
    kind: NodeKind,
    path: &str,
    facts: &FactCache,
) -> Result<Option<DeviceNumbers>, Halt> {
    let word = force_quote_word(path);
    let text = format!(
        "[ -{} {word} ] && stat -L -c '%t %T' -- {word}",
        kind.letter()
    );
    let probed = run_probe(facts, text, Domain::Path(path.to_owned()))?;
    let output = stdout_text(probed);
    let numbers = output.trim().split_once(' ').and_then(|(major, minor)| {
        let number = |digits: &str| i64::from_str_radix(digits, 16).ok();
        Some((number(major)?, number(minor)?))
    });
    Ok(numbers.filter(|_| probed.code == 0))
}
