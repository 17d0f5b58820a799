//! Brings a file to a content, owners and a mode: what `managed`, `recurse` and `serialize`
//! share.

use crate::converge::module::command::{need, one};
use crate::converge::module::step;
use sha2::{Digest as _, Sha256};

use super::source::Sum;
use super::source::{self, Fetch};
use super::text::{MOST_SHOWN, Shown, difference};
use super::work::{
    Owners, Work, at, base, entered, folders, is_folder, octal, parent, put, resolved, to,
};
use crate::converge::{Facts, Halt, Mode, Outcome, refuse};
use crate::host::change::{Change, Like, Run};
use crate::host::fact::{Domain, Entry, EntryKind, Fact};
use crate::text::quoted_always;
use crate::value::{Map, hex};

/// What a file is to contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// Anything; nothing if it is new.
    Any,
    /// What the state says itself.
    Said(Vec<u8>),
    /// What a source has.
    Given(Vec<u8>),
    /// What another file of the machine has.
    Like(String),
    /// What is at an address, with the checksum that it must have, if it is checked.
    Web(String, Option<Sum>),
}

/// What is done with what a file contained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backup {
    /// It is forgotten.
    None,
    /// It is kept in a folder of its own on the machine.
    Kept,
}

/// What a link at the path means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// What it leads to is written.
    Followed,
    /// It is replaced.
    Replaced,
}

/// What is done about folders above a file that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parents {
    /// They must be there.
    Wanted,
    /// They are made, with these permission bits; else with those that fit the file.
    Made(Option<u32>),
}

/// How the content of a new file is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewShown {
    /// As the word that it is new.
    Word,
    /// As a difference from nothing.
    Difference,
}

/// How a file is to be.
#[derive(Debug, Clone)]
pub(super) struct Desired {
    /// Where.
    pub(super) path: String,
    /// What it contains.
    pub(super) body: Body,
    /// Who owns it.
    pub(super) owners: Owners,
    /// Its permission bits.
    pub(super) mode: Option<u32>,
    /// What is done about folders above it that are missing.
    pub(super) parents: Parents,
    /// Whether the content of a file that is there is replaced.
    pub(super) replace: bool,
    /// What is shown of the content.
    pub(super) shown: Shown,
    /// What is shown of that of a new file.
    pub(super) new_shown: NewShown,
    /// What a link means.
    pub(super) links: Links,
    /// What is kept of it.
    pub(super) backup: Backup,
    /// Whether it is written whatever is there (P18).
    pub(super) assumed: bool,
}

/// Says what brings a file to what is desired.
pub(super) fn place(desired: &Desired, mode: Mode, facts: &Facts) -> Result<Work, Halt> {
    let path = &desired.path;
    if desired.assumed {
        return assumed(desired);
    }
    let mut wanted = vec![at(path), to(path), to(parent(path))];
    if desired.replace && desired.body != Body::Any {
        wanted.push(Fact::Digest(path.clone()));
    }
    need(facts, wanted)?;
    let stands = facts.path(path)?;
    let is_link = stands.is_some_and(|entry| matches!(entry.kind, EntryKind::Link(_)));
    let led = facts.target(path)?;
    if led.is_some_and(Entry::is_folder) {
        return refuse(format!("Specified target {path} is a directory"));
    }
    let follows = desired.links == Links::Followed;
    let real = if is_link && follows {
        resolved(path, facts)?
    } else {
        path.clone()
    };
    let Some(entry) = (if follows || led.is_none() {
        led
    } else {
        stands
    }) else {
        return new(desired, &real, mode, facts);
    };
    if !desired.replace {
        return Ok(kept(desired, entry));
    }
    existing(desired, &real, entry, facts)
}

/// The note under what a dry run says.
const NOTE: &str = "\nNote: No changes made, actual changes may\nbe different due to other states.";

fn would(path: &str, changes: Map) -> Outcome {
    Outcome::would(
        changes,
        format!("The file {path} is set to be changed{NOTE}"),
    )
}

/// A file whose content stays: only its owners and mode are seen to.
fn kept(desired: &Desired, entry: &Entry) -> Work {
    let path = &desired.path;
    let (changes, like) = desired.owners.differ(entry, desired.mode);
    if changes.is_empty() {
        return Work {
            test: Outcome::same(format!("File {path} not updated")),
            apply: Outcome::same(format!(
                "File {path} exists with proper permissions. No changes made."
            )),
            steps: Vec::new(),
        };
    }
    let comment = match desired.mode.filter(|mode| *mode != entry.mode) {
        Some(mode) => format!(
            "File {path} will be updated with permissions {} from its current state of {}",
            octal(mode),
            octal(entry.mode)
        ),
        None => format!("File {path} not updated"),
    };
    Work {
        test: Outcome::would(changes.clone(), comment),
        apply: Outcome::changed(changes, ""),
        steps: vec![step::set(path, like, desired.links == Links::Followed)],
    }
}

fn existing(desired: &Desired, real: &str, entry: &Entry, facts: &Facts) -> Result<Work, Halt> {
    let path = &desired.path;
    let mut changes = Map::new();
    let mut steps = Vec::new();
    let is_link = matches!(entry.kind, EntryKind::Link(_));
    if differs(&desired.body, path, facts)? {
        put(&mut changes, "diff", shown(desired, facts)?);
        if desired.backup == Backup::Kept {
            steps.push(backup(real));
        }
        steps.extend(write(desired, real, facts)?);
    } else if is_link {
        put(
            &mut changes,
            "diff",
            "Replace symbolic link with regular file",
        );
        steps.extend(write(desired, real, facts)?);
    }
    // A link that is replaced has no mode to keep.
    let (set, like) = desired
        .owners
        .differ(entry, desired.mode.filter(|_| !is_link));
    if steps.is_empty() && !set.is_empty() {
        steps.push(step::set(path, like, desired.links == Links::Followed));
    }
    changes.extend(set);
    if changes.is_empty() {
        let test = Outcome::same(format!("The file {path} is in the correct state"));
        let apply = Outcome::same(format!("File {path} is in the correct state"));
        return Ok(Work { test, apply, steps });
    }
    let test = would(path, changes.clone());
    let apply = Outcome::changed(changes, format!("File {path} updated"));
    Ok(Work { test, apply, steps })
}

fn new(desired: &Desired, real: &str, mode: Mode, facts: &Facts) -> Result<Work, Halt> {
    let path = &desired.path;
    let mut steps = Vec::new();
    if !is_folder(parent(real), facts)? {
        match desired.parents {
            Parents::Made(own) => {
                let bits = own.or(desired.mode.map(entered));
                steps.extend(folders(parent(real), &desired.owners.like(bits), facts)?);
            }
            Parents::Wanted if mode == Mode::Apply => {
                return refuse("Parent directory not present");
            }
            Parents::Wanted => {}
        }
    }
    steps.extend(write(desired, real, facts)?);
    let (mut changes, comment, made) = match &desired.body {
        Body::Any => (
            one("new", format!("file {path} created")),
            "Empty file".to_owned(),
            0o644,
        ),
        Body::Said(_) => (
            one("diff", fresh(desired)),
            format!("File {path} updated"),
            0o644,
        ),
        _ => (
            one("diff", fresh(desired)),
            format!("File {path} updated"),
            0o600,
        ),
    };
    // What is said first is made for its owner alone if it is to have a mode.
    let made = if desired.mode.is_some() { 0o600 } else { made };
    let entry = Entry {
        kind: EntryKind::File,
        mode: made,
        user: "root".to_owned(),
        group: "root".to_owned(),
        size: 0,
        modified: 0,
    };
    changes.extend(
        desired
            .owners
            .differ(&entry, Some(desired.mode.unwrap_or(0o644)))
            .0,
    );
    let is_shown = desired.new_shown == NewShown::Difference && desired.body != Body::Any;
    let predicted = if is_shown {
        one("diff", fresh(desired))
    } else {
        one("newfile", path.clone())
    };
    let test = would(path, predicted);
    let apply = Outcome::changed(changes, comment);
    Ok(Work { test, apply, steps })
}

/// What is shown of the content of a new file.
fn fresh(desired: &Desired) -> String {
    match &desired.body {
        Body::Said(bytes) | Body::Given(bytes) if desired.new_shown == NewShown::Difference => {
            difference(b"", bytes, desired.shown)
        }
        _ => "New file".to_owned(),
    }
}

/// Whether the content of a file is another than desired.
fn differs(body: &Body, path: &str, facts: &Facts) -> Result<bool, Halt> {
    let desired = match body {
        Body::Any => return Ok(false),
        Body::Said(bytes) | Body::Given(bytes) => hex(&Sha256::digest(bytes)),
        Body::Like(source) => {
            need(facts, [Fact::Digest(source.clone())])?;
            facts.digest(source)?.unwrap_or_default().to_owned()
        }
        Body::Web(address, sum) => return source::differs(address, sum.as_ref(), path, facts),
    };
    Ok(facts.digest(path)? != Some(&*desired))
}

/// The difference of the content of a file from what is desired.
fn shown(desired: &Desired, facts: &Facts) -> Result<String, Halt> {
    if desired.shown != Shown::Yes {
        // The two differ, so that only the word for it is said.
        return Ok(difference(b"", b"-", desired.shown));
    }
    let is_large = |path: &str| {
        facts
            .target(path)
            .map(|entry| entry.is_some_and(|entry| entry.size > MOST_SHOWN))
    };
    if is_large(&desired.path)? {
        return Ok("Replace large file".to_owned());
    }
    let source = match &desired.body {
        Body::Said(bytes) | Body::Given(bytes) => bytes.clone(),
        Body::Like(source) if is_large(source)? => return Ok("Replace large file".to_owned()),
        Body::Like(source) => {
            let contents = [source, &desired.path].map(|path| Fact::Content(path.clone()));
            need(facts, contents)?;
            facts.content(source)?.unwrap_or_default().to_vec()
        }
        Body::Web(address, _) => return Ok(format!("Replace with download of {address}")),
        Body::Any => return Ok(String::new()),
    };
    let before = facts.content(&desired.path)?.unwrap_or_default();
    Ok(difference(before, &source, desired.shown))
}

/// The steps that write a file.
fn write(desired: &Desired, real: &str, facts: &Facts) -> Result<Vec<Change>, Halt> {
    let is_there = facts.target(&desired.path)?.is_some();
    let like = desired.owners.like(desired.mode);
    let bytes = match &desired.body {
        Body::Any => Vec::new(),
        Body::Said(bytes) | Body::Given(bytes) => bytes.clone(),
        Body::Like(source) => {
            if facts
                .target(source)?
                .is_some_and(|entry| entry.size > MOST_SHOWN)
            {
                return Ok(source::steps(&Fetch::Copy(source), real, is_there, &like));
            }
            facts.content(source)?.unwrap_or_default().to_vec()
        }
        Body::Web(address, sum) => {
            let fetch = Fetch::Web(address, sum.as_ref());
            return Ok(source::steps(&fetch, real, is_there, &like));
        }
    };
    Ok(vec![step::write_hidden(
        real,
        bytes,
        like,
        desired.shown == Shown::Never,
    )])
}

/// Keeps a copy of a file in a folder of its own, with the time in its name.
pub(super) fn backup(path: &str) -> Change {
    let folder = quoted_always(parent(path));
    let text = format!(
        "set -e; b=/var/cache; [ -w \"$b\" ] || b=${{XDG_CACHE_HOME:-$HOME/.cache}}; \
         d=$b/unfurl/file_backup{folder}; umask 077; mkdir -p \"$d\"; \
         cp -p -- {} \"$d\"/{}_\"$(date '+%a_%b_%d_%H:%M:%S_%Y')\"",
        quoted_always(path),
        quoted_always(base(path)),
    );
    Change::Run(Run::new(text).touching([Domain::Path("/var/cache/unfurl".to_owned())]))
}

/// A file that is written whatever is there.
fn assumed(desired: &Desired) -> Result<Work, Halt> {
    let path = &desired.path;
    let bytes = match &desired.body {
        Body::Any => Vec::new(),
        Body::Said(bytes) | Body::Given(bytes) => bytes.clone(),
        Body::Like(_) | Body::Web(..) => {
            return refuse("`assume_present` needs contents, or a source of the state tree");
        }
    };
    let like = desired.owners.like(desired.mode);
    let mut steps = Vec::new();
    if let Parents::Made(own) = desired.parents {
        steps.push(step::folders(
            parent(path),
            Like {
                mode: own,
                ..Like::default()
            },
        ));
    }
    steps.push(step::write_hidden(
        path,
        bytes,
        like,
        desired.shown == Shown::Never,
    ));
    let test = would(path, one("written", path.clone()));
    let apply = Outcome::changed(one("written", path.clone()), format!("File {path} updated"));
    Ok(Work { test, apply, steps })
}
