//! `file.recurse`: a folder of the state tree with all that is in it.
use crate::converge::module::command::{need, one};
use crate::converge::module::step;
use std::collections::BTreeSet;

use super::kept::{Tree, found, keep, unkept};
use super::managed::backup;
use super::pattern::Filter;
use super::place::{Body, Desired, Links, NewShown, Parents, place};
use super::source::{Source, context, mode_of, rendered, repeats_secrets};
use super::text::Shown;
use super::work::{Owners, Work, at, folders, join, named, parent, to};
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict, refuse};
use crate::host::change::{Change, Like};
use crate::host::fact::{Entry, Fact};
use crate::value::{Map, Value};

/// What all parts of a call come to.
#[derive(Default)]
struct Sum {
    test: Map,
    apply: Map,
    comments: Vec<(String, String)>,
    failed: bool,
    would: bool,
    steps: Vec<Change>,
}

/// Decides `file.recurse`.
pub(super) fn recurse(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let path = super::presence::bare(&named(call, facts)?).to_owned();
    if call.args.contains_key("mode") {
        return refuse(
            "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'.",
        );
    }
    let owners = Owners::of(call, facts)?;
    owners.check(call.mode)?;
    if !path.starts_with('/') {
        return refuse(format!("Specified file {path} is not an absolute path"));
    }
    let source = found(call)?;
    known(&source, &path, call, facts)?;
    if facts.target(&path)?.is_some_and(|entry| !entry.is_folder()) {
        return refuse(format!("The path {path} exists and is not a directory"));
    }
    let mut sum = Sum::default();
    make_folders(call, &path, &owners, &source, facts, &mut sum)?;
    for below in &source.files {
        file(
            call,
            &join(&path, below),
            &source,
            below,
            (&owners, facts),
            &mut sum,
        )?;
    }
    if call.flag("clean", false) {
        clean(call, &path, &source, facts, &mut sum)?;
    }
    Ok(said(call, &path, sum))
}

/// Asks for all facts that are needed of the files at once.
fn known(source: &Tree, path: &str, call: &Call<'_>, facts: &Facts) -> Result<(), Halt> {
    let mut wanted = vec![at(path), to(path), to(parent(path))];
    let mut above = BTreeSet::new();
    for below in &source.files {
        let full = join(path, below);
        wanted.extend([at(&full), to(&full), Fact::Digest(full)]);
        let mut folder = parent(below);
        while !folder.is_empty() && above.insert(folder) {
            let full = join(path, folder);
            wanted.extend([at(&full), to(&full)]);
            folder = parent(folder);
        }
    }
    if call.flag("clean", false) {
        wanted.push(Fact::Tree(path.to_owned()));
    }
    need(facts, wanted)
}

/// The folders that have files, from the top.
fn above(source: &Tree) -> Vec<&str> {
    let mut all: BTreeSet<&str> = source.files.iter().map(|below| parent(below)).collect();
    all.insert("");
    all.into_iter().collect()
}

fn make_folders(
    call: &Call<'_>,
    path: &str,
    owners: &Owners,
    source: &Tree,
    facts: &Facts,
    sum: &mut Sum,
) -> Result<(), Halt> {
    let mode = call.mode("dir_mode")?;
    let like = owners.like(mode);
    let mut made: BTreeSet<String> = BTreeSet::new();
    for below in above(source) {
        let full = if below.is_empty() {
            path.to_owned()
        } else {
            join(path, below)
        };
        let Some(entry) = facts.target(&full)? else {
            // Folders above the first that is missing are made with it.
            for step in folders(&full, &like, facts)? {
                if let Change::Folder { path, .. } = &step
                    && made.insert(path.clone())
                {
                    sum.steps.push(step);
                }
            }
            tell_new_folder(full, path, sum);
            continue;
        };
        if !entry.is_folder() {
            return refuse(format!("Specified location {full} exists and is a file"));
        }
        let (differs, like) = owners.differ(entry, mode);
        if differs.is_empty() {
            continue;
        }
        let own = Map::from_iter([(full.as_str().into(), Value::map(differs.clone()))]);
        let mut comment = "The following files will be changed:\n".to_owned();
        for (key, value) in &differs {
            comment.push_str(&format!("{full}: {key} - {value}\n"));
        }
        sum.comments.push((full.clone(), comment));
        sum.would = true;
        sum.test
            .insert(full.as_str().into(), Value::map(own.clone()));
        let flat = own.into_iter().chain(differs);
        sum.apply.insert(full.as_str().into(), Value::map(flat));
        sum.steps.push(step::set(&full, like, false));
    }
    Ok(())
}

/// Tells of a folder that is not there yet.
fn tell_new_folder(full: String, path: &str, sum: &mut Sum) {
    let changes = Map::from_iter([(full.as_str().into(), Value::map(one("directory", "new")))]);
    sum.test
        .insert(full.as_str().into(), Value::map(changes.clone()));
    sum.would = true;
    let comment = format!("The following files will be changed:\n{full}: directory - new\n");
    sum.comments.push((full.clone(), comment));
    // The folder itself is made before anything is looked at.
    if full != path {
        sum.apply.insert(full.into(), Value::map(changes));
    }
}

/// The content of a file, rendered if asked, and whether nobody may see it.
fn content(call: &Call<'_>, name: &str, facts: &Facts) -> Result<(Vec<u8>, bool), Halt> {
    let Some(bytes) = call.world.roots.read(name)? else {
        return refuse(format!(
            "Recurse failed: Source file salt://{name} not found"
        ));
    };
    Ok(match call.filled("template")?.as_deref() {
        None => (bytes.to_vec(), false),
        Some("jinja") => {
            let text = rendered(call, &bytes, name, &context(call)?, facts)?;
            let secret = repeats_secrets(call, &text);
            (text.into_bytes(), secret)
        }
        Some(other) => {
            return refuse(format!(
                "Specified template format {other} is not supported"
            ));
        }
    })
}

fn file(
    call: &Call<'_>,
    full: &str,
    source: &Tree,
    below: &str,
    (owners, facts): (&Owners, &Facts),
    sum: &mut Sum,
) -> Result<(), Halt> {
    let name = join(&source.root, below);
    let name = name.trim_start_matches('/');
    let (bytes, secret) = content(call, name, facts)?;
    let keeps = call
        .text("file_mode")?
        .is_some_and(|mode| mode.eq_ignore_ascii_case("keep"));
    let mode = if keeps {
        mode_of(call, &Source::Tree(name.to_owned()), facts)?
    } else {
        call.mode("file_mode")?
    };
    let is_folder = facts.path(full)?.is_some_and(Entry::is_folder);
    if is_folder && call.flag("clean", false) {
        sum.steps.push(step::remove(full));
        replaced(full, bytes, owners.like(mode), secret, sum);
        return Ok(());
    }
    let desired = Desired {
        path: full.to_owned(),
        body: Body::Given(bytes),
        owners: owners.clone(),
        mode,
        // They are made already.
        parents: Parents::Wanted,
        replace: call.flag("replace", true) || facts.target(full)?.is_none(),
        shown: Shown::of(call.flag("show_changes", true), secret),
        new_shown: NewShown::Word,
        links: if call.flag("follow_symlinks", true) {
            Links::Followed
        } else {
            Links::Replaced
        },
        backup: backup(call)?,
        assumed: false,
    };
    // The folder is made by then, so that a dry run's leniency about it is right.
    match place(&desired, Mode::Test, facts) {
        Ok(work) => join_in(full, work, sum),
        Err(Halt::Failed(why)) => {
            sum.failed = true;
            sum.comments.push((full.to_owned(), why));
        }
        Err(needs) => return Err(needs),
    }
    Ok(())
}

/// A folder makes way for a file.
fn replaced(full: &str, bytes: Vec<u8>, like: Like, secret: bool, sum: &mut Sum) {
    sum.steps
        .push(step::write_hidden(full, bytes, like, secret));
    sum.would = true;
    sum.comments.push((
        full.to_owned(),
        format!("Replacing directory {full} with a file"),
    ));
    let changes = one("diff", "Replaced directory with a new file");
    sum.apply.insert(full.into(), Value::map(changes));
}

fn join_in(full: &str, work: Work, sum: &mut Sum) {
    if work.test.result != Some(true) && !work.test.comment.is_empty() {
        sum.would |= work.test.result.is_none();
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

fn clean(
    call: &Call<'_>,
    path: &str,
    source: &Tree,
    facts: &Facts,
    sum: &mut Sum,
) -> Result<(), Halt> {
    let mut keep = keep(call, path, facts)?;
    keep.extend(source.files.iter().map(|below| join(path, below)));
    let filter = Filter::excluding(call)?;
    let below = facts.tree(path)?.unwrap_or_default();
    let removed = unkept(
        path,
        &keep,
        &filter,
        below.iter().map(|(below, _)| &**below),
    );
    if removed.is_empty() {
        return Ok(());
    }
    sum.would = true;
    // A dry run names what is below too.
    let all: Vec<String> = below
        .iter()
        .map(|(below, _)| below.as_str())
        .flat_map(|below| unkept(path, &keep, &filter, std::iter::once(below)))
        .collect();
    sum.comments.push(("removed".to_owned(), all.join("\n")));
    let paths = removed.iter().map(|path| Value::str(path.as_str()));
    sum.apply.insert("removed".into(), Value::list(paths));
    sum.steps
        .extend(removed.into_iter().map(|path| step::remove(&path)));
    Ok(())
}

fn said(call: &Call<'_>, path: &str, sum: Sum) -> Verdict {
    let blocks = sum
        .comments
        .iter()
        .map(|(path, comment)| format!("\n#### {path} ####\n{comment}"));
    let listing = blocks.collect::<Vec<_>>().join("\n").trim().to_owned();
    if sum.failed {
        return Verdict::Done(Outcome {
            changes: Map::new(),
            ..Outcome::failed(listing)
        });
    }
    let correct = format!("The directory {path} is in the correct state");
    let test = if sum.would {
        Outcome::would(sum.test, listing)
    } else {
        Outcome::same(correct.clone())
    };
    let apply = if sum.apply.is_empty() && sum.steps.is_empty() {
        Outcome::same(correct)
    } else {
        Outcome::changed(sum.apply, format!("Recursively updated {path}"))
    };
    Work {
        test,
        apply,
        steps: sum.steps,
    }
    .verdict(call.mode)
}
