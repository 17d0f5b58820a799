//! `file.absent`, `file.exists`, `file.missing` and `file.touch`.

use super::work::{Work, absolute, at, folders, is_folder, named, parent, to};
use crate::converge::module::command::{need, one, unchanged};
use crate::converge::module::step;
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict, refuse};
use crate::host::change::{Change, Like};
use crate::host::fact::{Entry, EntryKind};

/// Decides `file.absent`.
pub(super) fn absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let path = absolute(call, facts)?;
    if path == "/" {
        return refuse("Refusing to make \"/\" absent");
    }
    let bare = bare(&path);
    let Some(entry) = facts.path(bare)? else {
        return unchanged(format!("File {path} is not present"));
    };
    let (kind, shown) = if entry.is_folder() {
        ("directory", "Directory")
    } else {
        ("file", "File")
    };
    let test = Outcome::would(
        one("removed", path.clone()),
        format!("{shown} {path} is set for removal"),
    );
    let apply = Outcome::changed(
        one("removed", path.clone()),
        format!("Removed {kind} {path}"),
    );
    let steps = vec![step::remove(bare)];
    Ok(Work { test, apply, steps }.verdict(call.mode))
}

/// A path without slashes at its end.
pub(super) fn bare(path: &str) -> &str {
    let bare = path.trim_end_matches('/');
    if bare.is_empty() { "/" } else { bare }
}

/// Decides `file.exists`.
pub(super) fn exists(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let path = named(call, facts)?;
    if facts.target(&path)?.is_none() {
        return refuse(format!("Specified path {path} does not exist"));
    }
    unchanged(format!("Path {path} exists"))
}

/// Decides `file.missing`.
pub(super) fn missing(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let path = named(call, facts)?;
    if facts.target(&path)?.is_some() {
        return refuse(format!("Specified path {path} exists"));
    }
    unchanged(format!("Path {path} is missing"))
}

/// Decides `file.touch`. It always changes the times, except in a dry run.
pub(super) fn touch(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let path = absolute(call, facts)?;
    let read = call.int("atime")?;
    let written = call.int("mtime")?;
    need(facts, [at(&path), to(&path), to(parent(&path))])?;
    let there = facts.target(&path)?;
    let test = match there {
        None => Outcome::would(
            one("new", path.clone()),
            format!("File {path} is set to be created"),
        ),
        // A time that is asked for is never taken for set: Salt compares seconds with fractions.
        Some(_) if read.or(written).is_some() => Outcome::would(
            one("touched", path.clone()),
            format!("Times set to be updated on file {path}"),
        ),
        Some(_) => Outcome::changed(
            one("new", path.clone()),
            format!("File {path} exists and has the correct times"),
        ),
    };
    let mut steps = Vec::new();
    if !is_folder(parent(&path), facts)? {
        if call.flag("makedirs", false) {
            steps = folders(parent(&path), &Like::default(), facts)?;
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
        None => Outcome::changed(
            one("new", path.clone()),
            format!("Created empty file {path}"),
        ),
        Some(entry) => {
            let kind = if entry.is_folder() {
                "directory"
            } else {
                "file"
            };
            Outcome::changed(
                one("touched", path.clone()),
                format!("Updated times on {kind} {path}"),
            )
        }
    };
    Ok(Work { test, apply, steps }.verdict(call.mode))
}

/// What a path is called in messages.
pub(super) fn kind_of(entry: &Entry) -> &'static str {
    match entry.kind {
        EntryKind::File => "File",
        EntryKind::Folder => "Directory",
        EntryKind::Link(_) | EntryKind::Other => "File system entry",
    }
}
