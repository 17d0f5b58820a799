//! The states `file.absent`, `file.exists`, `file.missing` and `file.touch`.
//!
//! Also small path helpers that other `file` states share.

use super::plan::{
    FilePlan, absolute_name, is_folder, missing_folder_steps, name_as_path, parent, path_fact,
    target_fact,
};
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{FileKind, FileStat};
use crate::states::modules::decision::{require_facts, single_change, unchanged};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};

/// Decides `file.absent`: removes a file, link or folder.
pub(super) fn absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = absolute_name(call, facts)?;
    if path == "/" {
        return refuse("Refusing to make \"/\" absent");
    }
    let bare = trim_trailing_slashes(&path);
    let Some(entry) = facts.path(bare)? else {
        return unchanged(format!("File {path} is not present"));
    };
    let (kind, shown) = if entry.is_folder() {
        ("directory", "Directory")
    } else {
        ("file", "File")
    };
    let test = StateOutcome::would_change(
        single_change("removed", path.clone()),
        format!("{shown} {path} is set for removal"),
    );
    let apply = StateOutcome::changed(
        single_change("removed", path.clone()),
        format!("Removed {kind} {path}"),
    );
    let steps = vec![file_change::remove(bare)];
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}

/// Returns a path without trailing slashes; the root folder stays `/`.
pub(super) fn trim_trailing_slashes(path: &str) -> &str {
    let bare = path.trim_end_matches('/');
    if bare.is_empty() { "/" } else { bare }
}

/// Decides `file.exists`, which fails if the path does not exist.
pub(super) fn exists(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = name_as_path(call, facts)?;
    if facts.target(&path)?.is_none() {
        return refuse(format!("Specified path {path} does not exist"));
    }
    unchanged(format!("Path {path} exists"))
}

/// Decides `file.missing`, which fails if the path exists.
pub(super) fn missing(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = name_as_path(call, facts)?;
    if facts.target(&path)?.is_some() {
        return refuse(format!("Specified path {path} exists"));
    }
    unchanged(format!("Path {path} is missing"))
}

/// Decides `file.touch`. A real run always changes the times; a dry run may report no change.
pub(super) fn touch(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = absolute_name(call, facts)?;
    let read = call.int("atime")?;
    let written = call.int("mtime")?;
    require_facts(
        facts,
        [
            path_fact(&path),
            target_fact(&path),
            target_fact(parent(&path)),
        ],
    )?;
    let there = facts.target(&path)?;
    let test = match there {
        None => StateOutcome::would_change(
            single_change("new", path.clone()),
            format!("File {path} is set to be created"),
        ),
        // A requested time always counts as different: Salt compares it with seconds that have fractions.
        Some(_) if read.or(written).is_some() => StateOutcome::would_change(
            single_change("touched", path.clone()),
            format!("Times set to be updated on file {path}"),
        ),
        Some(_) => StateOutcome::changed(
            single_change("new", path.clone()),
            format!("File {path} exists and has the correct times"),
        ),
    };
    let mut steps = Vec::new();
    if !is_folder(parent(&path), facts)? {
        if call.flag("makedirs", false) {
            steps = missing_folder_steps(parent(&path), &ModeAndOwner::default(), facts)?;
        } else if call.mode == Mode::Apply {
            return refuse(format!("Directory not present to touch file {path}"));
        }
    }
    steps.push(Change::Touch {
        path: path.clone(),
        read,
        written,
    });
    let apply = match there {
        None => StateOutcome::changed(
            single_change("new", path.clone()),
            format!("Created empty file {path}"),
        ),
        Some(entry) => {
            let kind = if entry.is_folder() {
                "directory"
            } else {
                "file"
            };
            StateOutcome::changed(
                single_change("touched", path.clone()),
                format!("Updated times on {kind} {path}"),
            )
        }
    };
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}

/// Returns the kind of an entry as Salt's messages name it.
pub(super) fn kind_name(entry: &FileStat) -> &'static str {
    match entry.kind {
        FileKind::File => "File",
        FileKind::Folder => "Directory",
        FileKind::Link(_) | FileKind::Other => "File system entry",
    }
}
