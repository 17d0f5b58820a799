//! `file.directory`: a folder, who owns it and what is in it, and what may be.
use crate::converge::module::command::{need, one, unchanged};
use crate::converge::module::step;
use std::collections::BTreeMap;

use super::kept::{keep, unkept};
use super::pattern::Filter;
use super::presence::bare;
use super::work::{Owners, Work, at, folders, is_folder, join, named, parent, put, to};
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict, refuse};
use crate::host::change::Change;
use crate::host::fact::{Entry, EntryKind, Fact};
use crate::value::{Map, Value};

/// The arguments.
struct Desired {
    path: String,
    owners: Owners,
    dir_mode: Option<u32>,
    file_mode: Option<u32>,
    recursion: Option<Recursion>,
    clean: Option<Filter>,
    depth: Option<usize>,
    follow: bool,
    children_only: bool,
}

/// What is seen to in what is in the folder: the words of `recurse`.
struct Recursion(Vec<String>);

impl Recursion {
    fn has(&self, word: &str) -> bool {
        self.0.iter().any(|it| it == word)
    }
}

/// Decides `file.directory`.
pub(super) fn directory(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let desired = desired(call, facts)?;
    let path = &desired.path;
    let listed = desired.recursion.is_some() || desired.clean.is_some();
    let mut wanted = vec![at(path), to(path), to(parent(path))];
    wanted.extend(listed.then(|| Fact::Tree(path.clone())));
    need(facts, wanted)?;
    let way = make_way(call, path, facts)?;
    if let Way::Told(outcome, steps) = way {
        let apply = outcome.clone();
        let test = outcome;
        return Ok(Work { test, apply, steps }.verdict(call.mode));
    }
    let (forced, cleared) = match way {
        Way::Cleared(changes, steps) => (changes, steps),
        _ => (Map::new(), Vec::new()),
    };
    let is_gone = !cleared.is_empty() && call.mode == Mode::Apply;
    let checked = check(call, &desired, is_gone, facts)?;
    let mut changes = forced;
    changes.extend(checked.clone());
    if call.mode == Mode::Apply && changes.is_empty() {
        return unchanged(correct(path));
    }
    let test = foretold(path, changes.clone(), &checked);
    let work = if is_gone || !is_folder(path, facts)? || !cleared.is_empty() {
        created(call, &desired, changes, facts)?
    } else {
        updated(call, &desired, changes, facts)?
    };
    let (apply, more) = match work {
        Ok(done) => done,
        Err(failed) if call.mode == Mode::Apply => return Ok(Verdict::Done(failed)),
        Err(failed) => (failed, Vec::new()),
    };
    let steps = cleared.into_iter().chain(more).collect();
    Ok(Work { test, apply, steps }.verdict(call.mode))
}

fn correct(path: &str) -> String {
    format!("The directory {path} is in the correct state")
}

fn desired(call: &Call<'_>, facts: &Facts) -> Result<Desired, Halt> {
    let path = bare(&named(call, facts)?).to_owned();
    let clean = call.flag("clean", false);
    let depth = call.int("max_depth")?;
    if depth.is_some() && clean {
        return refuse("Cannot specify both max_depth and clean");
    }
    let owners = Owners::of(call, facts)?;
    let dir_mode = match call.mode("dir_mode")? {
        Some(mode) => Some(mode),
        None => call.mode("mode")?,
    };
    owners.check(call.mode)?;
    if !path.starts_with('/') {
        return refuse(format!("Specified file {path} is not an absolute path"));
    }
    Ok(Desired {
        path,
        owners,
        dir_mode,
        file_mode: call.mode("file_mode")?.or(dir_mode),
        recursion: recursion(call)?,
        clean: clean.then(|| Filter::excluding(call)).transpose()?,
        depth: depth.map(|depth| usize::try_from(depth).unwrap_or(0)),
        follow: call.flag("follow_symlinks", false),
        children_only: call.flag("children_only", false),
    })
}

/// The words of `recurse`.
const WORDS: [&str; 6] = [
    "user",
    "group",
    "mode",
    "ignore_files",
    "ignore_dirs",
    "silent",
];

fn recursion(call: &Call<'_>) -> Result<Option<Recursion>, Halt> {
    let Some(value) = call.arg("recurse").filter(|value| value.is_truthy()) else {
        return Ok(None);
    };
    if value.as_list().is_none() {
        return refuse("\"recurse\" must be formed as a list of strings");
    }
    let words = call.texts("recurse")?;
    if words.iter().any(|word| !WORDS.contains(&&**word)) {
        let known = WORDS.map(|word| format!("\"{word}\"")).join(", ");
        return refuse(format!("Types for \"recurse\" limited to {known}."));
    }
    let recursion = Recursion(words);
    if recursion.has("ignore_files") && recursion.has("ignore_dirs") {
        return refuse(
            "Must not specify \"recurse\" options \"ignore_files\" and \"ignore_dirs\" at the \
             same time.",
        );
    }
    Ok(Some(recursion))
}

/// What becomes of what stands where the folder is to be.
enum Way {
    /// It is one, or nothing is there.
    Free,
    /// It is taken away, with these changes.
    Cleared(Map, Vec<Change>),
    /// A dry run has nothing more to say.
    Told(Outcome, Vec<Change>),
}

fn make_way(call: &Call<'_>, path: &str, facts: &Facts) -> Result<Way, Halt> {
    let is_link = facts
        .path(path)?
        .is_some_and(|entry| matches!(entry.kind, EntryKind::Link(_)));
    let is_file = facts.target(path)?.is_some_and(|entry| !entry.is_folder());
    let force = call.flag("force", false);
    let refused_link = is_link && !call.flag("allow_symlink", true);
    if !(is_file || refused_link || force && is_link) {
        return Ok(Way::Free);
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
            put(
                &mut changes,
                "forced",
                format!("Existing file at backup path {backup} would be removed"),
            );
            steps.push(step::remove(&backup));
        }
        steps.push(step::rename(path, &backup));
        if !is_test {
            return Ok(Way::Cleared(Map::new(), steps));
        }
        put(
            &mut changes,
            "backup",
            format!("{path} would be renamed to {backup}"),
        );
        changes.insert(path.into(), Value::map([("directory", "new".into())]));
        let comment = format!("{path} would be backed up and replaced with a new directory");
        return Ok(Way::Told(Outcome::would(changes, comment), steps));
    }
    if force {
        let what = if is_file { "File" } else { "Symlink" };
        let how = if is_test { "would be" } else { "was" };
        let changes = one("forced", format!("{what} {how} forcibly replaced"));
        steps.push(step::remove(path));
        return Ok(Way::Cleared(changes, steps));
    }
    let what = if is_file { "file" } else { "symlink" };
    refuse(format!("Specified location {path} exists and is a {what}"))
}

/// What a dry run says.
fn foretold(path: &str, changes: Map, checked: &Map) -> Outcome {
    if checked.is_empty() {
        // What would be forced alone changes nothing that is checked.
        return Outcome::changed(changes, correct(path));
    }
    let mut comment = "The following files will be changed:\n".to_owned();
    for (file, each) in checked {
        for (key, value) in each.as_map().into_iter().flatten() {
            comment.push_str(&format!("{file}: {key} - {value}\n"));
        }
    }
    Outcome::would(changes, comment)
}

/// One level of a folder: what is in it.
#[derive(Default)]
struct Level<'a> {
    files: Vec<(&'a str, &'a Entry)>,
    folders: Vec<(&'a str, &'a Entry)>,
}

/// What is in the folder, level by level as a walk from the top meets it: paths below it.
fn walked<'a>(desired: &Desired, facts: &'a Facts) -> Result<Vec<Level<'a>>, Halt> {
    let entries = facts.tree(&desired.path)?.unwrap_or_default();
    let mut levels: BTreeMap<&str, Level<'a>> = BTreeMap::new();
    for (below, entry) in entries {
        let depth = below.matches('/').count() + 1;
        if desired.depth.is_some_and(|most| depth > most) {
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

/// What of an entry differs; a link has no mode of its own.
fn differ(owners: &Owners, entry: &Entry, mode: Option<u32>) -> (Map, crate::host::change::Like) {
    let is_link = matches!(entry.kind, EntryKind::Link(_));
    owners.differ(entry, mode.filter(|_| !is_link))
}

/// All that differs, by path.
fn check(call: &Call<'_>, desired: &Desired, is_gone: bool, facts: &Facts) -> Result<Map, Halt> {
    let path = &desired.path;
    let mut changes = Map::new();
    let levels = if is_gone {
        Vec::new()
    } else {
        walked(desired, facts)?
    };
    let (mut owners, mut dir_mode) = (desired.owners.clone(), desired.dir_mode);
    if let Some(recursion) = &desired.recursion {
        (owners, dir_mode) = narrowed(desired, recursion);
        for (below, _, differs, _) in children(desired, recursion, &levels) {
            changes.insert(join(path, below).into(), Value::map(differs));
        }
    }
    let entry = if is_gone {
        None
    } else if desired.follow {
        facts.target(path)?
    } else {
        facts.path(path)?
    };
    if !desired.children_only {
        let differs = match entry {
            Some(entry) => differ(&owners, entry, dir_mode).0,
            None => one("directory", "new"),
        };
        if !differs.is_empty() {
            changes.insert(path.as_str().into(), Value::map(differs));
        }
    }
    if let Some(filter) = &desired.clean {
        let keep = keep(call, path, facts)?;
        for level in &levels {
            for (below, _) in level.files.iter().chain(&level.folders) {
                let full = join(path, below);
                let is_kept = keep.iter().any(|kept| kept.contains(&full));
                if !is_kept && filter.passes(below) {
                    let removed = Value::map([("removed", "Removed due to clean".into())]);
                    changes.insert(full.into(), removed);
                }
            }
        }
    }
    if is_gone || !is_folder(path, facts)? {
        changes.insert(path.as_str().into(), Value::map(one("directory", "new")));
    }
    Ok(changes)
}

/// The owners and the mode of folders that recursion sees to.
fn narrowed(desired: &Desired, recursion: &Recursion) -> (Owners, Option<u32>) {
    let owners = Owners {
        user: desired
            .owners
            .user
            .clone()
            .filter(|_| recursion.has("user")),
        group: desired
            .owners
            .group
            .clone()
            .filter(|_| recursion.has("group")),
    };
    (owners, desired.dir_mode.filter(|_| recursion.has("mode")))
}

type Child<'a> = (&'a str, &'a Entry, Map, crate::host::change::Like);

/// What is in the folder and differs.
fn children<'a>(desired: &Desired, recursion: &Recursion, levels: &[Level<'a>]) -> Vec<Child<'a>> {
    let (owners, dir_mode) = narrowed(desired, recursion);
    let file_mode = desired.file_mode.filter(|_| recursion.has("mode"));
    let mut all = Vec::new();
    for level in levels {
        let files = level
            .files
            .iter()
            .filter(|_| !recursion.has("ignore_files"));
        let folders = level
            .folders
            .iter()
            .filter(|_| !recursion.has("ignore_dirs"));
        let files = files.map(|it| (it, file_mode));
        for ((below, entry), mode) in files.chain(folders.map(|it| (it, dir_mode))) {
            let (differs, like) = differ(&owners, entry, mode);
            if !differs.is_empty() {
                all.push((*below, *entry, differs, like));
            }
        }
    }
    all
}

type Made = Result<(Outcome, Vec<Change>), Outcome>;

/// The folder is made.
fn created(
    call: &Call<'_>,
    desired: &Desired,
    mut changes: Map,
    facts: &Facts,
) -> Result<Made, Halt> {
    let path = &desired.path;
    let like = desired.owners.like(desired.dir_mode);
    let mut steps = Vec::new();
    if !is_folder(parent(path), facts)? {
        if !call.flag("makedirs", false) {
            return Ok(Err(Outcome::failed_with(
                changes,
                format!("No directory to create {path} in"),
            )));
        }
        steps = folders(parent(path), &like, facts)?;
    }
    steps.push(step::folder(path, like));
    changes.insert(path.as_str().into(), Value::map(one("directory", "new")));
    Ok(Ok((Outcome::changed(changes, ""), steps)))
}

/// The folder is there and brought to what is desired.
fn updated(
    call: &Call<'_>,
    desired: &Desired,
    mut changes: Map,
    facts: &Facts,
) -> Result<Made, Halt> {
    let path = &desired.path;
    let mut steps = Vec::new();
    let mut outcome = Outcome::same("");
    let entry = if desired.follow {
        facts.target(path)?
    } else {
        facts.path(path)?
    };
    if let Some(entry) = entry.filter(|_| !desired.children_only) {
        let (differs, like) = differ(&desired.owners, entry, desired.dir_mode);
        if !differs.is_empty() {
            steps.push(step::set(path, like, desired.follow));
        }
        changes.extend(differs);
    }
    let levels = walked(desired, facts)?;
    if let Some(recursion) = &desired.recursion {
        for (asked, owner, what) in [
            (recursion.has("group"), &desired.owners.group, "group"),
            (recursion.has("user"), &desired.owners.user, "user"),
        ] {
            if asked && owner.is_none() {
                outcome = Outcome::failed(lacks(what));
            }
        }
        if recursion.has("silent") {
            changes = one("recursion", "Changes silenced");
        }
        for (below, _, differs, like) in children(desired, recursion, &levels) {
            steps.push(step::set(&join(path, below), like, desired.follow));
            changes.extend(differs);
        }
    }
    if desired.clean.is_some() {
        let removed = cleaned(call, desired, &levels, facts)?;
        if !removed.is_empty() {
            let paths = removed.iter().map(|path| Value::str(path.as_str()));
            changes.insert("removed".into(), Value::list(paths));
            outcome.comment = format!("Files cleaned from directory {path}");
        }
        steps.extend(removed.into_iter().map(|path| step::remove(&path)));
    }
    if outcome.comment.is_empty() {
        let below = if desired.children_only { "/*" } else { "" };
        outcome.comment = format!("Directory {path}{below} updated");
    }
    outcome.changes = changes;
    Ok(Ok((outcome, steps)))
}

fn lacks(what: &str) -> String {
    format!("{what} not specified, but configured as a target for recursive ownership management")
}

/// What is removed: what is kept by no other state, without what is below something removed.
fn cleaned(
    call: &Call<'_>,
    desired: &Desired,
    levels: &[Level<'_>],
    facts: &Facts,
) -> Result<Vec<String>, Halt> {
    let Some(filter) = &desired.clean else {
        return Ok(Vec::new());
    };
    let keep = keep(call, &desired.path, facts)?;
    Ok(unkept(
        &desired.path,
        &keep,
        filter,
        levels.iter().flat_map(|level| {
            let below = level.folders.iter().chain(&level.files);
            below.map(|(below, _)| *below)
        }),
    ))
}
