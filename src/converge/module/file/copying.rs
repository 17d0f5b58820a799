//! `file.copy` and `file.rename`: files of the machine at another place.

use super::link::owners;
use super::presence::bare;
use super::work::{
    Owners, Work, absolute, at, base, entered, expanded, folders, is_folder, join, parent, to,
};
use crate::converge::module::command::{need, one, unchanged};
use crate::converge::module::step;
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict, refuse};
use crate::host::change::{Change, Like};
use crate::host::fact::{Entry, EntryKind, Fact};

/// Decides `file.copy`.
pub(super) fn copy(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let named = absolute(call, facts)?;
    let source = expanded(&call.required("source")?, facts)?;
    need(facts, [at(&named), to(&named), at(&source), to(&source)])?;
    let Some(from) = facts.target(&source)? else {
        return refuse(format!("Source file \"{source}\" is not present"));
    };
    let preserve = call.flag("preserve", false);
    let owners = if preserve {
        Owners::default()
    } else {
        owners(call, None, facts)?
    };
    owners.check(call.mode)?;
    let path = if is_folder(&named, facts)? && call.flag("subdir", false) {
        join(&named, base(bare(&source)))
    } else {
        named.clone()
    };
    need(facts, [at(&path), to(&path), to(parent(&path))])?;
    let force = call.flag("force", false);
    let there = facts.path(&path)?;
    if there.is_some() && !force {
        return Ok(kept(&path));
    }
    let comment = said(&source, &named, &path, from, facts)?;
    let mode = match call.mode("mode")? {
        Some(mode) if !preserve => mode,
        _ => from.mode,
    };
    let mut steps = made_way(there, &path);
    let like = owners.like(call.mode("dir_mode")?.or(Some(entered(mode))));
    steps.extend(parents(call, &path, &like, facts)?);
    let mut changes = one(&path, source.clone());
    steps.push(Change::Copy {
        from: source.clone(),
        to: path.clone(),
        preserve: false,
    });
    if !preserve {
        changes.extend(owners.differ(&fresh(from), Some(mode)).0);
        steps.extend(owned(&source, &path, from, &owners, facts)?);
        steps.push(step::set(&path, owners.like(Some(mode)), true));
    }
    let test = Outcome::planned(format!(
        "File \"{source}\" is set to be copied to \"{path}\""
    ));
    let apply = Outcome::changed(changes, comment);
    Ok(Work { test, apply, steps }.verdict(call.mode))
}

/// What a copy is like before its owners are set.
fn fresh(from: &Entry) -> Entry {
    Entry {
        user: "root".to_owned(),
        group: "root".to_owned(),
        ..from.clone()
    }
}

/// What is said of a copy.
fn said(
    source: &str,
    named: &str,
    path: &str,
    from: &Entry,
    facts: &Facts,
) -> Result<String, Halt> {
    let mut comment = format!("Copied \"{source}\" to \"{named}\"");
    if facts.target(path)?.is_some_and(Entry::is_file) && from.is_file() {
        need(facts, [path, source].map(|it| Fact::Digest(it.to_owned())))?;
        if facts.digest(path)? == facts.digest(source)? {
            comment.push_str(" - files are identical but force flag is set");
        }
    }
    Ok(comment)
}

/// What is in a folder that is copied gets the owners too.
fn owned(
    source: &str,
    path: &str,
    from: &Entry,
    owners: &Owners,
    facts: &Facts,
) -> Result<Vec<Change>, Halt> {
    if !from.is_folder() {
        return Ok(Vec::new());
    }
    let below = facts.tree(source)?.unwrap_or_default();
    let set =
        |(below, _): &(String, Entry)| step::set(&join(path, below), owners.like(None), false);
    Ok(below.iter().map(set).collect())
}

fn kept(path: &str) -> Verdict {
    Verdict::Done(Outcome::same(format!(
        "The target file \"{path}\" exists and will not be overwritten"
    )))
}

/// What is there goes first, unless it is a file, which is replaced as a whole.
fn made_way(there: Option<&Entry>, path: &str) -> Vec<Change> {
    match there.map(|entry| &entry.kind) {
        None | Some(EntryKind::File) => Vec::new(),
        Some(_) => vec![step::remove(path)],
    }
}

/// The steps that make the folder that something goes to.
fn parents(call: &Call<'_>, path: &str, like: &Like, facts: &Facts) -> Result<Vec<Change>, Halt> {
    let folder = parent(path);
    if is_folder(folder, facts)? {
        return Ok(Vec::new());
    }
    if call.flag("makedirs", false) {
        return folders(folder, like, facts);
    }
    if call.mode == Mode::Apply {
        return refuse(format!("The target directory {folder} is not present"));
    }
    Ok(Vec::new())
}

/// Decides `file.rename`.
pub(super) fn rename(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let path = absolute(call, facts)?;
    let source = expanded(&call.required("source")?, facts)?;
    need(facts, [at(&path), at(&source), to(parent(&path))])?;
    if facts.path(&source)?.is_none() {
        return unchanged(format!(
            "Source file \"{source}\" has already been moved out of place"
        ));
    }
    let there = facts.path(&path)?;
    if there.is_some() && !call.flag("force", false) {
        return Ok(kept(&path));
    }
    let mut steps = made_way(there, &path);
    steps.extend(parents(call, &path, &Like::default(), facts)?);
    steps.push(step::rename(&source, &path));
    let test = Outcome::planned(format!(
        "File \"{source}\" is set to be moved to \"{path}\""
    ));
    let apply = Outcome::changed(
        one(&path, source.clone()),
        format!("Moved \"{source}\" to \"{path}\""),
    );
    Ok(Work { test, apply, steps }.verdict(call.mode))
}
