//! The state `file.directory`: a folder with its owners, mode and content.
//!
//! Creates the folder, sets attributes recursively, and removes unmanaged entries with `clean`.
//! [`directory`] is the entry. The dry run and the real run have different outcomes, as in Salt
//! ([`FilePlan`]).
use crate::states::modules::decision::{require_facts, single_change, unchanged};
use crate::states::modules::file_change;
use std::collections::BTreeMap;

use super::cleanup::{protected_paths, removable_paths};
use super::pattern::PathFilter;
use super::plan::{
    FilePlan, PathOwners, is_folder, join_path, missing_folder_steps, name_as_path, parent,
    path_fact, put_text, target_fact,
};
use super::presence::trim_trailing_slashes;
use crate::host::change::Change;
use crate::host::fact::{Fact, FileKind, FileStat};
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::value::{Map, Value};

/// A folder as described by the arguments of `file.directory`.
struct DesiredDirectory {
    path: String,
    owners: PathOwners,
    dir_mode: Option<u32>,
    file_mode: Option<u32>,
    recursion: Option<RecurseOptions>,
    clean: Option<PathFilter>,
    depth: Option<usize>,
    follow: bool,
    children_only: bool,
}

/// The words of the argument `recurse`, which select what is applied to entries of the folder.
struct RecurseOptions(Vec<String>);

impl RecurseOptions {
    fn is_set(&self, word: &str) -> bool {
        self.0.iter().any(|it| it == word)
    }
}

/// Decides `file.directory`: creates or updates a folder.
pub(super) fn directory(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let desired = parse_arguments(call, facts)?;
    let path = &desired.path;
    let listed = desired.recursion.is_some() || desired.clean.is_some();
    let mut needed = vec![
        path_fact(path),
        target_fact(path),
        target_fact(parent(path)),
    ];
    needed.extend(listed.then(|| Fact::Tree(path.clone())));
    require_facts(facts, needed)?;
    let clearance = clear_path(call, path, facts)?;
    if let PathClearance::DryRunOnly(outcome, steps) = clearance {
        let apply = outcome.clone();
        let test = outcome;
        return Ok(FilePlan { test, apply, steps }.into_decision(call.mode));
    }
    let (forced, cleared) = match clearance {
        PathClearance::Cleared(changes, steps) => (changes, steps),
        _ => (Map::new(), Vec::new()),
    };
    let is_removed = !cleared.is_empty() && call.mode == Mode::Apply;
    let checked = collect_differences(call, &desired, is_removed, facts)?;
    let mut changes = forced;
    changes.extend(checked.clone());
    if call.mode == Mode::Apply && changes.is_empty() {
        return unchanged(correct_state_comment(path));
    }
    let test = dry_run_outcome(path, changes.clone(), &checked);
    let work = if is_removed || !is_folder(path, facts)? || !cleared.is_empty() {
        plan_creation(call, &desired, changes, facts)?
    } else {
        plan_update(call, &desired, changes, facts)?
    };
    let (apply, more) = match work {
        Ok(done) => done,
        Err(failed) if call.mode == Mode::Apply => return Ok(StateDecision::Done(failed)),
        Err(failed) => (failed, Vec::new()),
    };
    let steps = cleared.into_iter().chain(more).collect();
    Ok(FilePlan { test, apply, steps }.into_decision(call.mode))
}

fn correct_state_comment(path: &str) -> String {
    format!("The directory {path} is in the correct state")
}

fn parse_arguments(call: &StateCall<'_>, facts: &FactCache) -> Result<DesiredDirectory, Halt> {
    let path = trim_trailing_slashes(&name_as_path(call, facts)?).to_owned();
    let clean = call.flag("clean", false);
    let depth = call.int("max_depth")?;
    if depth.is_some() && clean {
        return refuse("Cannot specify both max_depth and clean");
    }
    let owners = PathOwners::from_call(call, facts)?;
    let dir_mode = match call.mode("dir_mode")? {
        Some(mode) => Some(mode),
        None => call.mode("mode")?,
    };
    owners.check_accounts(call.mode)?;
    if !path.starts_with('/') {
        return refuse(format!("Specified file {path} is not an absolute path"));
    }
    Ok(DesiredDirectory {
        path,
        owners,
        dir_mode,
        file_mode: call.mode("file_mode")?.or(dir_mode),
        recursion: recursion(call)?,
        clean: clean.then(|| PathFilter::excluding(call)).transpose()?,
        depth: depth.map(|depth| usize::try_from(depth).unwrap_or(0)),
        follow: call.flag("follow_symlinks", false),
        children_only: call.flag("children_only", false),
    })
}

/// The words that the argument `recurse` accepts.
const RECURSE_OPTIONS: [&str; 6] = [
    "user",
    "group",
    "mode",
    "ignore_files",
    "ignore_dirs",
    "silent",
];

fn recursion(call: &StateCall<'_>) -> Result<Option<RecurseOptions>, Halt> {
    let Some(value) = call.arg("recurse").filter(|value| value.is_truthy()) else {
        return Ok(None);
    };
    if value.as_list().is_none() {
        return refuse("\"recurse\" must be formed as a list of strings");
    }
    let words = call.texts("recurse")?;
    if words.iter().any(|word| !RECURSE_OPTIONS.contains(&&**word)) {
        let known = RECURSE_OPTIONS.map(|word| format!("\"{word}\"")).join(", ");
        return refuse(format!("Types for \"recurse\" limited to {known}."));
    }
    let recursion = RecurseOptions(words);
    if recursion.is_set("ignore_files") && recursion.is_set("ignore_dirs") {
        return refuse(
            "Must not specify \"recurse\" options \"ignore_files\" and \"ignore_dirs\" at the \
             same time.",
        );
    }
    Ok(Some(recursion))
}

/// The way to free the path if something other than a folder occupies it.
enum PathClearance {
    /// The path is a folder already, or does not exist.
    AlreadyFree,
    /// The old entry is renamed or removed: the changes to report, and the steps.
    Cleared(Map, Vec<Change>),
    /// A dry run ends with this outcome.
    DryRunOnly(StateOutcome, Vec<Change>),
}

fn clear_path(call: &StateCall<'_>, path: &str, facts: &FactCache) -> Result<PathClearance, Halt> {
    let is_link = facts
        .path(path)?
        .is_some_and(|entry| matches!(entry.kind, FileKind::Link(_)));
    let is_file = facts.target(path)?.is_some_and(|entry| !entry.is_folder());
    let force = call.flag("force", false);
    let refused_link = is_link && !call.flag("allow_symlink", true);
    if !(is_file || refused_link || force && is_link) {
        return Ok(PathClearance::AlreadyFree);
    }
    let is_test = call.mode == Mode::Test;
    let mut steps = Vec::new();
    if let Some(backup) = call.text("backupname")? {
        let mut changes = Map::new();
        if facts.path(&backup)?.is_some() {
            if !force {
                return refuse(format!(
                    "File exists where the backup target {backup} should go"
                ));
            }
            put_text(
                &mut changes,
                "forced",
                format!("Existing file at backup path {backup} would be removed"),
            );
            steps.push(file_change::remove(&backup));
        }
        steps.push(file_change::rename(path, &backup));
        if !is_test {
            return Ok(PathClearance::Cleared(Map::new(), steps));
        }
        put_text(
            &mut changes,
            "backup",
            format!("{path} would be renamed to {backup}"),
        );
        changes.insert(path.into(), Value::map([("directory", "new".into())]));
        let comment = format!("{path} would be backed up and replaced with a new directory");
        return Ok(PathClearance::DryRunOnly(
            StateOutcome::would_change(changes, comment),
            steps,
        ));
    }
    if force {
        let kind = if is_file { "File" } else { "Symlink" };
        let verb = if is_test { "would be" } else { "was" };
        let changes = single_change("forced", format!("{kind} {verb} forcibly replaced"));
        steps.push(file_change::remove(path));
        return Ok(PathClearance::Cleared(changes, steps));
    }
    let kind = if is_file { "file" } else { "symlink" };
    refuse(format!("Specified location {path} exists and is a {kind}"))
}

/// Returns the outcome of a dry run.
fn dry_run_outcome(path: &str, changes: Map, checked: &Map) -> StateOutcome {
    if checked.is_empty() {
        // A forced replacement alone counts as no difference, as in Salt.
        return StateOutcome::changed(changes, correct_state_comment(path));
    }
    let mut comment = "The following files will be changed:\n".to_owned();
    for (file, each) in checked {
        for (key, value) in each.as_map().into_iter().flatten() {
            comment.push_str(&format!("{file}: {key} - {value}\n"));
        }
    }
    StateOutcome::would_change(changes, comment)
}

/// The entries of one folder, split into folders and other entries.
#[derive(Default)]
struct TreeLevel<'a> {
    files: Vec<(&'a str, &'a FileStat)>,
    folders: Vec<(&'a str, &'a FileStat)>,
}

/// Lists the folder level by level, in the order of a walk from the top. Paths are relative to the
/// folder.
fn walk_levels<'a>(
    desired: &DesiredDirectory,
    facts: &'a FactCache,
) -> Result<Vec<TreeLevel<'a>>, Halt> {
    let entries = facts.tree(&desired.path)?.unwrap_or_default();
    let mut levels: BTreeMap<&str, TreeLevel<'a>> = BTreeMap::new();
    for (below, entry) in entries {
        let depth = below.matches('/').count() + 1;
        if desired.depth.is_some_and(|max| depth > max) {
            continue;
        }
        let level = levels.entry(parent(below)).or_default();
        if entry.is_folder() {
            level.folders.push((below, entry));
        } else {
            level.files.push((below, entry));
        }
    }
    let mut order = Vec::new();
    let mut todo = vec![""];
    while let Some(folder) = todo.pop() {
        if let Some(level) = levels.remove(folder) {
            todo.extend(level.folders.iter().rev().map(|(below, _)| *below));
            order.push(level);
        }
    }
    Ok(order)
}

/// Compares an entry with the desired owners and mode. A symbolic link has no mode of its own.
fn entry_differences(
    owners: &PathOwners,
    entry: &FileStat,
    mode: Option<u32>,
) -> (Map, crate::host::change::ModeAndOwner) {
    let is_link = matches!(entry.kind, FileKind::Link(_));
    owners.differences(entry, mode.filter(|_| !is_link))
}

/// Collects all differences, keyed by absolute path.
fn collect_differences(
    call: &StateCall<'_>,
    desired: &DesiredDirectory,
    is_removed: bool,
    facts: &FactCache,
) -> Result<Map, Halt> {
    let path = &desired.path;
    let mut changes = Map::new();
    let levels = if is_removed {
        Vec::new()
    } else {
        walk_levels(desired, facts)?
    };
    let (mut owners, mut dir_mode) = (desired.owners.clone(), desired.dir_mode);
    if let Some(recursion) = &desired.recursion {
        (owners, dir_mode) = recursion_owners(desired, recursion);
        for (below, _, differs, _) in differing_children(desired, recursion, &levels) {
            changes.insert(join_path(path, below).into(), Value::map(differs));
        }
    }
    let entry = if is_removed {
        None
    } else if desired.follow {
        facts.target(path)?
    } else {
        facts.path(path)?
    };
    if !desired.children_only {
        let differs = match entry {
            Some(entry) => entry_differences(&owners, entry, dir_mode).0,
            None => single_change("directory", "new"),
        };
        if !differs.is_empty() {
            changes.insert(path.as_str().into(), Value::map(differs));
        }
    }
    if let Some(filter) = &desired.clean {
        let keep = protected_paths(call, path, facts)?;
        for level in &levels {
            for (below, _) in level.files.iter().chain(&level.folders) {
                let full = join_path(path, below);
                let is_included = keep.iter().any(|kept| kept.contains(&full));
                if !is_included && filter.passes(below) {
                    let removed = Value::map([("removed", "Removed due to clean".into())]);
                    changes.insert(full.into(), removed);
                }
            }
        }
    }
    if is_removed || !is_folder(path, facts)? {
        changes.insert(
            path.as_str().into(),
            Value::map(single_change("directory", "new")),
        );
    }
    Ok(changes)
}

/// Returns the owners and the folder mode to apply recursively.
fn recursion_owners(
    desired: &DesiredDirectory,
    recursion: &RecurseOptions,
) -> (PathOwners, Option<u32>) {
    let owners = PathOwners {
        user: desired
            .owners
            .user
            .clone()
            .filter(|_| recursion.is_set("user")),
        group: desired
            .owners
            .group
            .clone()
            .filter(|_| recursion.is_set("group")),
    };
    (
        owners,
        desired.dir_mode.filter(|_| recursion.is_set("mode")),
    )
}

/// An entry that differs: relative path, entry, differences, and the attributes to set.
type ChildDifference<'a> = (
    &'a str,
    &'a FileStat,
    Map,
    crate::host::change::ModeAndOwner,
);

/// Returns the entries of the folder whose attributes differ.
fn differing_children<'a>(
    desired: &DesiredDirectory,
    recursion: &RecurseOptions,
    levels: &[TreeLevel<'a>],
) -> Vec<ChildDifference<'a>> {
    let (owners, dir_mode) = recursion_owners(desired, recursion);
    let file_mode = desired.file_mode.filter(|_| recursion.is_set("mode"));
    let mut all = Vec::new();
    for level in levels {
        let files = level
            .files
            .iter()
            .filter(|_| !recursion.is_set("ignore_files"));
        let folders = level
            .folders
            .iter()
            .filter(|_| !recursion.is_set("ignore_dirs"));
        let files = files.map(|it| (it, file_mode));
        for ((below, entry), mode) in files.chain(folders.map(|it| (it, dir_mode))) {
            let (differs, like) = entry_differences(&owners, entry, mode);
            if !differs.is_empty() {
                all.push((*below, *entry, differs, like));
            }
        }
    }
    all
}

/// The outcome of a real run with its changes, or a failed outcome.
type DirectoryPlan = Result<(StateOutcome, Vec<Change>), StateOutcome>;

/// Plans the creation of a folder that does not exist.
fn plan_creation(
    call: &StateCall<'_>,
    desired: &DesiredDirectory,
    mut changes: Map,
    facts: &FactCache,
) -> Result<DirectoryPlan, Halt> {
    let path = &desired.path;
    let like = desired.owners.with_mode(desired.dir_mode);
    let mut steps = Vec::new();
    if !is_folder(parent(path), facts)? {
        if !call.flag("makedirs", false) {
            return Ok(Err(StateOutcome::failed_with(
                changes,
                format!("No directory to create {path} in"),
            )));
        }
        steps = missing_folder_steps(parent(path), &like, facts)?;
    }
    steps.push(file_change::folder(path, like));
    changes.insert(
        path.as_str().into(),
        Value::map(single_change("directory", "new")),
    );
    Ok(Ok((StateOutcome::changed(changes, ""), steps)))
}

/// Plans the update of an existing folder: attributes, recursion and cleaning.
fn plan_update(
    call: &StateCall<'_>,
    desired: &DesiredDirectory,
    mut changes: Map,
    facts: &FactCache,
) -> Result<DirectoryPlan, Halt> {
    let path = &desired.path;
    let mut steps = Vec::new();
    let mut outcome = StateOutcome::unchanged("");
    let entry = if desired.follow {
        facts.target(path)?
    } else {
        facts.path(path)?
    };
    if let Some(entry) = entry.filter(|_| !desired.children_only) {
        let (differs, like) = entry_differences(&desired.owners, entry, desired.dir_mode);
        if !differs.is_empty() {
            steps.push(file_change::set_attributes(path, like, desired.follow));
        }
        changes.extend(differs);
    }
    let levels = walk_levels(desired, facts)?;
    if let Some(recursion) = &desired.recursion {
        for (is_requested, owner, kind) in [
            (recursion.is_set("group"), &desired.owners.group, "group"),
            (recursion.is_set("user"), &desired.owners.user, "user"),
        ] {
            if is_requested && owner.is_none() {
                outcome = StateOutcome::failed(missing_owner_comment(kind));
            }
        }
        if recursion.is_set("silent") {
            changes = single_change("recursion", "Changes silenced");
        }
        for (below, _, differs, like) in differing_children(desired, recursion, &levels) {
            steps.push(file_change::set_attributes(
                &join_path(path, below),
                like,
                desired.follow,
            ));
            changes.extend(differs);
        }
    }
    if desired.clean.is_some() {
        let removed = paths_to_clean(call, desired, &levels, facts)?;
        if !removed.is_empty() {
            let paths = removed.iter().map(|path| Value::str(path.as_str()));
            changes.insert("removed".into(), Value::list(paths));
            outcome.comment = format!("Files cleaned from directory {path}");
        }
        steps.extend(removed.into_iter().map(|path| file_change::remove(&path)));
    }
    if outcome.comment.is_empty() {
        let below = if desired.children_only { "/*" } else { "" };
        outcome.comment = format!("Directory {path}{below} updated");
    }
    outcome.changes = changes;
    Ok(Ok((outcome, steps)))
}

fn missing_owner_comment(kind: &str) -> String {
    format!("{kind} not specified, but configured as a target for recursive ownership management")
}

/// Returns the paths that `clean` removes, without paths below another removed one.
fn paths_to_clean(
    call: &StateCall<'_>,
    desired: &DesiredDirectory,
    levels: &[TreeLevel<'_>],
    facts: &FactCache,
) -> Result<Vec<String>, Halt> {
    let Some(filter) = &desired.clean else {
        return Ok(Vec::new());
    };
    let keep = protected_paths(call, &desired.path, facts)?;
    Ok(removable_paths(
        &desired.path,
        &keep,
        filter,
        levels.iter().flat_map(|level| {
            let below = level.folders.iter().chain(&level.files);
            below.map(|(below, _)| *below)
        }),
    ))
}
