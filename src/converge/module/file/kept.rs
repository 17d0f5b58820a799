//! What other states manage in a folder, which stays there when the folder is cleaned.

use super::pattern::Filter;
use super::presence::bare;
use super::source::Source;
use super::work::{is_folder, join};
use crate::converge::{Call, Chunk, Facts, Halt, Requisite, refuse};

/// The folder of the state tree, and what of it is copied.
pub(super) struct Tree {
    pub(super) root: String,
    /// Paths below it, in order.
    pub(super) files: Vec<String>,
}

fn sources(call: &Call<'_>) -> Result<String, Halt> {
    let sources = call.texts("source")?;
    for source in &sources {
        if !source.starts_with("salt://") {
            return refuse(format!(
                "Recurse failed: Invalid source '{source}' (must be a salt:// URI)"
            ));
        }
    }
    for source in &sources {
        let Source::Tree(path) = Source::parse(source.trim_end_matches('/')) else {
            continue;
        };
        if !call.world.roots.list(&path)?.is_empty() {
            return Ok(path);
        }
    }
    refuse("Recurse failed: none of the specified sources were found")
}

/// What a `file.recurse` manages.
pub(super) fn found(call: &Call<'_>) -> Result<Tree, Halt> {
    let root = sources(call)?;
    let filter = Filter::of(call)?;
    let depth = call.int("maxdepth")?;
    let prefix = if root.is_empty() {
        String::new()
    } else {
        format!("{root}/")
    };
    let files = call
        .world
        .roots
        .list(&root)?
        .into_iter()
        .filter_map(|path| path.strip_prefix(&prefix).map(str::to_owned))
        .filter(|below| {
            let level = i64::try_from(below.matches('/').count()).unwrap_or(i64::MAX);
            depth.is_none_or(|most| level <= most) && filter.passes(below)
        })
        .collect();
    Ok(Tree { root, files })
}

/// What another state of this kind manages.
fn kept_by(call: &Call<'_>, chunk: &Chunk) -> Result<Vec<String>, Halt> {
    let other = Call {
        fun: "recurse",
        name: &chunk.name,
        id: &chunk.id,
        sls: &chunk.sls,
        args: &chunk.args,
        ..*call
    };
    // A source that is missing manages nothing.
    match found(&other) {
        Ok(tree) => Ok(tree.files.iter().map(|it| join(&chunk.name, it)).collect()),
        Err(Halt::Failed(_)) => Ok(Vec::new()),
        Err(needs) => Err(needs),
    }
}

/// Which of what is below a folder is neither kept, nor above what is kept, nor excluded, nor
/// below something that goes. It is given from the top.
pub(super) fn unkept<'a>(
    folder: &str,
    keep: &[String],
    filter: &Filter,
    below: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let mut removed: Vec<String> = Vec::new();
    for below in below {
        let full = join(folder, below);
        let inside = format!("{full}/");
        let is_kept = keep
            .iter()
            .any(|kept| *kept == full || kept.starts_with(&inside));
        let is_below = removed.iter().any(|gone| {
            full.strip_prefix(gone.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        });
        if !is_kept && !is_below && filter.passes(below) {
            removed.push(full);
        }
    }
    removed
}

/// What other states of files, which this one requires, manage in the folder.
pub(super) fn keep(call: &Call<'_>, folder: &str, facts: &Facts) -> Result<Vec<String>, Halt> {
    let Some((low, own)) = call.chunk else {
        return Ok(Vec::new());
    };
    let mut keep = Vec::new();
    let required = low.wanted_by(own, |kind| kind == Requisite::Require);
    for chunk in required.filter(|chunk| &*chunk.state == "file") {
        let path = bare(&chunk.name);
        let is_inside = super::work::normal(path).starts_with(&format!("{folder}/"));
        if !is_folder(path, facts)? {
            keep.push(path.to_owned());
        } else if is_inside || path == folder {
            keep.push(path.to_owned());
            if &*chunk.fun == "recurse" {
                keep.extend(kept_by(call, chunk)?);
            } else {
                let below = facts.tree(path)?.unwrap_or_default();
                keep.extend(below.iter().map(|(below, _)| join(path, below)));
            }
        }
    }
    Ok(keep)
}
