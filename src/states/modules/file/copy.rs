//! The states `file.copy` and `file.rename`: copy or move files on the machine itself.
//!
//! Both take the source from the machine; a source of the state tree needs `file.managed`.

use super::link::link_owners;
use super::plan::{
    FilePlan, PathOwners, absolute_name, expand_home, file_name, is_folder, join_path,
    missing_folder_steps, parent, path_fact, searchable_mode, target_fact,
};
use super::presence::trim_trailing_slashes;
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{Fact, FileKind, FileStat};
use crate::states::modules::decision::{require_facts, single_change, unchanged};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};

/// Decides `file.copy`: copies a file or folder of the machine.
pub(super) fn copy(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let named = absolute_name(call, facts)?;
    let source = expand_home(&call.required("source")?, facts)?;
    require_facts(
        facts,
        [
            path_fact(&named),
            target_fact(&named),
            path_fact(&source),
            target_fact(&source),
        ],
    )?;
    let Some(from) = facts.target(&source)? else {
        return refuse(format!("Source file \"{source}\" is not present"));
    };
    let preserve = call.flag("preserve", false);
    let owners = if preserve {
        PathOwners::default()
    } else {
        link_owners(call, None, facts)?
    };
    owners.check_accounts(call.mode)?;
    let path = copy_path(call, &named, &source, facts)?;
    let force = call.flag("force", false);
    let there = facts.path(&path)?;
    if there.is_some() && !force {
        return Ok(existing_target_decision(&path));
    }
    let comment = copy_comment(&source, &named, &path, from, facts)?;
    let mode = match call.mode("mode")? {
        Some(mode) if !preserve => mode,
        _ => from.mode,
    };
    let mut steps = clear_target_steps(there, &path);
    let like = owners.with_mode(call.mode("dir_mode")?.or(Some(searchable_mode(mode))));
    steps.extend(parent_steps(call, &path, &like, facts)?);
    let mut changes = single_change(&path, source.clone());
    steps.push(Change::Copy {
        from: source.clone(),
        to: path.clone(),
        preserve: false,
    });
    if !preserve {
        changes.extend(owners.differences(&entry_after_copy(from), Some(mode)).0);
        steps.extend(ownership_steps(&source, &path, from, &owners, facts)?);
        steps.push(file_change::set_attributes(
            &path,
            owners.with_mode(Some(mode)),
            true,
        ));
    }
    let test = StateOutcome::planned(format!(
        "File \"{source}\" is set to be copied to \"{path}\""
    ));
    let apply = StateOutcome::changed(changes, comment);
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}

/// Returns the path of the copy: the named path or, with `subdir`, a path in the existing folder of
/// that name.
fn copy_path(
    call: &StateCall<'_>,
    named: &str,
    source: &str,
    facts: &FactCache,
) -> Result<String, Halt> {
    let path = if is_folder(named, facts)? && call.flag("subdir", false) {
        join_path(named, file_name(trim_trailing_slashes(source)))
    } else {
        named.to_owned()
    };
    require_facts(
        facts,
        [
            path_fact(&path),
            target_fact(&path),
            target_fact(parent(&path)),
        ],
    )?;
    Ok(path)
}

/// Returns the attributes that a copy has before its owners are set.
fn entry_after_copy(from: &FileStat) -> FileStat {
    FileStat {
        user: "root".to_owned(),
        group: "root".to_owned(),
        ..from.clone()
    }
}

/// Returns the comment about a copy, which mentions identical files.
fn copy_comment(
    source: &str,
    named: &str,
    path: &str,
    from: &FileStat,
    facts: &FactCache,
) -> Result<String, Halt> {
    let mut comment = format!("Copied \"{source}\" to \"{named}\"");
    if facts.target(path)?.is_some_and(FileStat::is_file) && from.is_file() {
        require_facts(facts, [path, source].map(|it| Fact::Digest(it.to_owned())))?;
        if facts.digest(path)? == facts.digest(source)? {
            comment.push_str(" - files are identical but force flag is set");
        }
    }
    Ok(comment)
}

/// Returns the changes that also set the owners of the entries of a copied folder.
fn ownership_steps(
    source: &str,
    path: &str,
    from: &FileStat,
    owners: &PathOwners,
    facts: &FactCache,
) -> Result<Vec<Change>, Halt> {
    if !from.is_folder() {
        return Ok(Vec::new());
    }
    let below = facts.tree(source)?.unwrap_or_default();
    let set = |(below, _): &(String, FileStat)| {
        file_change::set_attributes(&join_path(path, below), owners.with_mode(None), false)
    };
    Ok(below.iter().map(set).collect())
}

fn existing_target_decision(path: &str) -> StateDecision {
    StateDecision::Done(StateOutcome::unchanged(format!(
        "The target file \"{path}\" exists and will not be overwritten"
    )))
}

/// Returns the change that removes an existing target. A file needs none: the copy replaces it as a
/// whole.
fn clear_target_steps(there: Option<&FileStat>, path: &str) -> Vec<Change> {
    match there.map(|entry| &entry.kind) {
        None | Some(FileKind::File) => Vec::new(),
        Some(_) => vec![file_change::remove(path)],
    }
}

/// Returns the changes that create the target's folder; fails if it is missing and `makedirs` is not
/// set.
fn parent_steps(
    call: &StateCall<'_>,
    path: &str,
    like: &ModeAndOwner,
    facts: &FactCache,
) -> Result<Vec<Change>, Halt> {
    let folder = parent(path);
    if is_folder(folder, facts)? {
        return Ok(Vec::new());
    }
    if call.flag("makedirs", false) {
        return missing_folder_steps(folder, like, facts);
    }
    if call.mode == Mode::Apply {
        return refuse(format!("The target directory {folder} is not present"));
    }
    Ok(Vec::new())
}

/// Decides `file.rename`: moves a file or folder of the machine.
pub(super) fn rename(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = absolute_name(call, facts)?;
    let source = expand_home(&call.required("source")?, facts)?;
    require_facts(
        facts,
        [
            path_fact(&path),
            path_fact(&source),
            target_fact(parent(&path)),
        ],
    )?;
    if facts.path(&source)?.is_none() {
        return unchanged(format!(
            "Source file \"{source}\" has already been moved out of place"
        ));
    }
    let there = facts.path(&path)?;
    if there.is_some() && !call.flag("force", false) {
        return Ok(existing_target_decision(&path));
    }
    let mut steps = clear_target_steps(there, &path);
    steps.extend(parent_steps(call, &path, &ModeAndOwner::default(), facts)?);
    steps.push(file_change::rename(&source, &path));
    let test = StateOutcome::planned(format!(
        "File \"{source}\" is set to be moved to \"{path}\""
    ));
    let apply = StateOutcome::changed(
        single_change(&path, source.clone()),
        format!("Moved \"{source}\" to \"{path}\""),
    );
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}
