//! The state `file.recurse`: copies a folder of the state tree to the machine.
//!
//! [`recurse`] creates the folders, plans each file with [`plan_file`], and optionally removes
//! unmanaged entries. The partial results are summed up in a [`RecursePlan`].
use crate::states::modules::decision::{require_facts, single_change};
use crate::states::modules::file_change;
use std::collections::BTreeSet;

use super::cleanup::{SourceTree, list_source_tree, protected_paths, removable_paths};
use super::desired_file::{
    DesiredFile, FileBody, LinkPolicy, NewFileDiff, ParentPolicy, plan_file,
};
use super::managed::{backup_policy, mode_of_secret};
use super::pattern::PathFilter;
use super::plan::{
    FilePlan, PathOwners, join_path, missing_folder_steps, name_as_path, parent, path_fact,
    target_fact,
};
use super::source::{FileSource, contains_secrets, render_source, source_mode, template_context};
use super::text_diff::DiffVisibility;
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{Fact, FileStat};
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::value::{Map, Value};

/// The sum of the plans of all folders and files of one call.
#[derive(Default)]
struct RecursePlan {
    test: Map,
    apply: Map,
    comments: Vec<(String, String)>,
    failed: bool,
    would_change: bool,
    steps: Vec<Change>,
}

/// Decides `file.recurse`: copies a folder of the state tree.
pub(super) fn recurse(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let path = super::presence::trim_trailing_slashes(&name_as_path(call, facts)?).to_owned();
    if call.args.contains_key("mode") {
        return refuse(
            "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'.",
        );
    }
    let owners = PathOwners::from_call(call, facts)?;
    owners.check_accounts(call.mode)?;
    if !path.starts_with('/') {
        return refuse(format!("Specified file {path} is not an absolute path"));
    }
    let source = list_source_tree(call)?;
    prefetch_facts(&source, &path, call, facts)?;
    if facts.target(&path)?.is_some_and(|entry| !entry.is_folder()) {
        return refuse(format!("The path {path} exists and is not a directory"));
    }
    let mut sum = RecursePlan::default();
    make_folders(call, &path, &owners, &source, facts, &mut sum)?;
    for below in &source.files {
        add_file(
            call,
            &join_path(&path, below),
            &source,
            below,
            (&owners, facts),
            &mut sum,
        )?;
    }
    if call.flag("clean", false) {
        clean_directory(call, &path, &source, facts, &mut sum)?;
    }
    Ok(into_decision(call, &path, sum))
}

/// Requests the facts of all files and folders at once, in one round trip.
fn prefetch_facts(
    source: &SourceTree,
    path: &str,
    call: &StateCall<'_>,
    facts: &FactCache,
) -> Result<(), Halt> {
    let mut needed = vec![
        path_fact(path),
        target_fact(path),
        target_fact(parent(path)),
    ];
    let mut above = BTreeSet::new();
    for below in &source.files {
        let full = join_path(path, below);
        needed.extend([path_fact(&full), target_fact(&full), Fact::Digest(full)]);
        let mut folder = parent(below);
        while !folder.is_empty() && above.insert(folder) {
            let full = join_path(path, folder);
            needed.extend([path_fact(&full), target_fact(&full)]);
            folder = parent(folder);
        }
    }
    if call.flag("clean", false) {
        needed.push(Fact::Tree(path.to_owned()));
    }
    require_facts(facts, needed)
}

/// Returns the folders that contain files, ancestors first.
fn source_folders(source: &SourceTree) -> Vec<&str> {
    let mut all: BTreeSet<&str> = source.files.iter().map(|below| parent(below)).collect();
    all.insert("");
    all.into_iter().collect()
}

fn make_folders(
    call: &StateCall<'_>,
    path: &str,
    owners: &PathOwners,
    source: &SourceTree,
    facts: &FactCache,
    plan: &mut RecursePlan,
) -> Result<(), Halt> {
    let mode = call.mode("dir_mode")?;
    let like = owners.with_mode(mode);
    let mut created: BTreeSet<String> = BTreeSet::new();
    for below in source_folders(source) {
        let full = if below.is_empty() {
            path.to_owned()
        } else {
            join_path(path, below)
        };
        let Some(entry) = facts.target(&full)? else {
            // The steps for one folder include its missing ancestors, so each folder is added only once.
            for step in missing_folder_steps(&full, &like, facts)? {
                if let Change::Folder { path, .. } = &step
                    && created.insert(path.clone())
                {
                    plan.steps.push(step);
                }
            }
            add_new_folder(full, path, plan);
            continue;
        };
        if !entry.is_folder() {
            return refuse(format!("Specified location {full} exists and is a file"));
        }
        let (differs, like) = owners.differences(entry, mode);
        if differs.is_empty() {
            continue;
        }
        let own = Map::from_iter([(full.as_str().into(), Value::map(differs.clone()))]);
        let mut comment = "The following files will be changed:\n".to_owned();
        for (key, value) in &differs {
            comment.push_str(&format!("{full}: {key} - {value}\n"));
        }
        plan.comments.push((full.clone(), comment));
        plan.would_change = true;
        plan.test
            .insert(full.as_str().into(), Value::map(own.clone()));
        let flat = own.into_iter().chain(differs);
        plan.apply.insert(full.as_str().into(), Value::map(flat));
        plan.steps
            .push(file_change::set_attributes(&full, like, false));
    }
    Ok(())
}

/// Adds the report of a folder that does not exist yet.
fn add_new_folder(full: String, path: &str, sum: &mut RecursePlan) {
    let changes = Map::from_iter([(
        full.as_str().into(),
        Value::map(single_change("directory", "new")),
    )]);
    sum.test
        .insert(full.as_str().into(), Value::map(changes.clone()));
    sum.would_change = true;
    let comment = format!("The following files will be changed:\n{full}: directory - new\n");
    sum.comments.push((full.clone(), comment));
    // As in Salt, the top folder is created before the comparison and is not among the changes.
    if full != path {
        sum.apply.insert(full.into(), Value::map(changes));
    }
}

/// Returns the content of a source file, rendered if it is a template, and whether it is secret.
fn source_content(
    call: &StateCall<'_>,
    name: &str,
    facts: &FactCache,
) -> Result<(Vec<u8>, bool), Halt> {
    let Some(bytes) = call.context.roots.read(name)? else {
        return refuse(format!(
            "Recurse failed: Source file salt://{name} not found"
        ));
    };
    Ok(match call.non_empty_text("template")?.as_deref() {
        None => (bytes.to_vec(), false),
        Some("jinja") => {
            let text = render_source(call, &bytes, name, &template_context(call)?, facts)?;
            let secret = contains_secrets(call, &text);
            (text.into_bytes(), secret)
        }
        Some(other) => {
            return refuse(format!(
                "Specified template format {other} is not supported"
            ));
        }
    })
}

fn add_file(
    call: &StateCall<'_>,
    full: &str,
    source: &SourceTree,
    below: &str,
    (owners, facts): (&PathOwners, &FactCache),
    sum: &mut RecursePlan,
) -> Result<(), Halt> {
    let name = source.path(below);
    let (bytes, secret) = source_content(call, &name, facts)?;
    let keeps = call
        .text("file_mode")?
        .is_some_and(|mode| mode.eq_ignore_ascii_case("keep"));
    let mode = if keeps {
        source_mode(call, &FileSource::Tree(name), facts)?
    } else {
        call.mode("file_mode")?
            .or(mode_of_secret(secret, facts.target(full)?))
    };
    let is_folder = facts.path(full)?.is_some_and(FileStat::is_folder);
    if is_folder && call.flag("clean", false) {
        sum.steps.push(file_change::remove(full));
        replace_directory(full, bytes, owners.with_mode(mode), secret, sum);
        return Ok(());
    }
    let desired = DesiredFile {
        path: full.to_owned(),
        body: FileBody::FromSource(bytes),
        owners: owners.clone(),
        mode,
        // An earlier step of this state creates the parent folders.
        parents: ParentPolicy::Required,
        replace: call.flag("replace", true) || facts.target(full)?.is_none(),
        visibility: DiffVisibility::from_flags(call.flag("show_changes", true), secret),
        new_file_diff: NewFileDiff::Message,
        links: if call.flag("follow_symlinks", true) {
            LinkPolicy::Follow
        } else {
            LinkPolicy::Replace
        },
        backup: backup_policy(call)?,
        assume_present: false,
        signature: None,
    };
    // In test mode the plan tolerates a missing parent folder, which an earlier step creates.
    match plan_file(&desired, Mode::Test, facts) {
        Ok(work) => add_file_plan(full, work, sum),
        Err(Halt::Failed(why)) => {
            sum.failed = true;
            sum.comments.push((full.to_owned(), why));
        }
        Err(needs) => return Err(needs),
    }
    Ok(())
}

/// Adds the plan that puts a file where a folder was removed.
fn replace_directory(
    full: &str,
    bytes: Vec<u8>,
    like: ModeAndOwner,
    secret: bool,
    sum: &mut RecursePlan,
) {
    sum.steps
        .push(file_change::write_hidden(full, bytes, like, secret));
    sum.would_change = true;
    sum.comments.push((
        full.to_owned(),
        format!("Replacing directory {full} with a file"),
    ));
    let changes = single_change("diff", "Replaced directory with a new file");
    sum.apply.insert(full.into(), Value::map(changes));
}

fn add_file_plan(full: &str, work: FilePlan, sum: &mut RecursePlan) {
    if work.test.result != Some(true) && !work.test.comment.is_empty() {
        sum.would_change |= work.test.result.is_none();
        sum.comments.push((full.to_owned(), work.test.comment));
    }
    for (all, outcome) in [
        (&mut sum.test, work.test.changes),
        (&mut sum.apply, work.apply.changes),
    ] {
        if !outcome.is_empty() {
            all.insert(full.into(), Value::map(outcome));
        }
    }
    sum.steps.extend(work.steps);
}

fn clean_directory(
    call: &StateCall<'_>,
    path: &str,
    source: &SourceTree,
    facts: &FactCache,
    sum: &mut RecursePlan,
) -> Result<(), Halt> {
    let mut keep = protected_paths(call, path, facts)?;
    keep.extend(source.files.iter().map(|below| join_path(path, below)));
    let filter = PathFilter::excluding(call)?;
    let below = facts.tree(path)?.unwrap_or_default();
    let removed = removable_paths(
        path,
        &keep,
        &filter,
        below.iter().map(|(below, _)| &**below),
    );
    if removed.is_empty() {
        return Ok(());
    }
    sum.would_change = true;
    // The dry-run comment also lists the entries below removed folders.
    let all: Vec<String> = below
        .iter()
        .map(|(below, _)| below.as_str())
        .flat_map(|below| removable_paths(path, &keep, &filter, std::iter::once(below)))
        .collect();
    sum.comments.push(("removed".to_owned(), all.join("\n")));
    let paths = removed.iter().map(|path| Value::str(path.as_str()));
    sum.apply.insert("removed".into(), Value::list(paths));
    sum.steps
        .extend(removed.into_iter().map(|path| file_change::remove(&path)));
    Ok(())
}

fn into_decision(call: &StateCall<'_>, path: &str, sum: RecursePlan) -> StateDecision {
    let blocks = sum
        .comments
        .iter()
        .map(|(path, comment)| format!("\n#### {path} ####\n{comment}"));
    let listing = blocks.collect::<Vec<_>>().join("\n").trim().to_owned();
    if sum.failed {
        return StateDecision::Done(StateOutcome {
            changes: Map::new(),
            ..StateOutcome::failed(listing)
        });
    }
    let correct = format!("The directory {path} is in the correct state");
    let test = if sum.would_change {
        StateOutcome::would_change(sum.test, listing)
    } else {
        StateOutcome::unchanged(correct.clone())
    };
    let apply = if sum.apply.is_empty() && sum.steps.is_empty() {
        StateOutcome::unchanged(correct)
    } else {
        StateOutcome::changed(sum.apply, format!("Recursively updated {path}"))
    };
    FilePlan {
        test,
        apply,
        steps: sum.steps,
    }
    .into_decision(call.mode)
}
