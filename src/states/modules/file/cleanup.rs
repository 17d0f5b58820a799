//! The paths that cleaning a folder removes, and those that other states protect.
//!
//! `file.directory` and `file.recurse` with `clean: true` remove unmanaged entries. Paths of states
//! that the cleaning state requires are kept.

use super::pattern::PathFilter;
use super::plan::{is_folder, join_path};
use super::presence::trim_trailing_slashes;
use super::source::FileSource;
use crate::states::{Chunk, FactCache, Halt, Requisite, StateCall, path_below, refuse, split_env};

/// A folder of the state tree and the files in it that `file.recurse` copies.
pub(super) struct SourceTree {
    root: String,
    /// The paths relative to `root`, sorted.
    pub(super) files: Vec<String>,
}

impl SourceTree {
    /// The path of a file in the state tree.
    pub(super) fn path(&self, below: &str) -> String {
        path_below(&self.root, below)
    }
}

fn source_root(call: &StateCall<'_>) -> Result<String, Halt> {
    let sources = call.texts("source")?;
    for source in &sources {
        if !source.starts_with("salt://") {
            return refuse(format!(
                "Recurse failed: Invalid source '{source}' (must be a salt:// URI)"
            ));
        }
    }
    for source in &sources {
        let FileSource::Tree(path) = FileSource::parse(source.trim_end_matches('/')) else {
            continue;
        };
        if !call.context.roots.list(&path)?.is_empty() {
            return Ok(path);
        }
    }
    refuse("Recurse failed: none of the specified sources were found")
}

/// Lists the files that a `file.recurse` state manages.
pub(super) fn list_source_tree(call: &StateCall<'_>) -> Result<SourceTree, Halt> {
    let root = source_root(call)?;
    if call.flag("keep_symlinks", false)
        && let Some(link) = call.context.roots.first_link(&root)?
    {
        return refuse(format!(
            "Recurse failed: the source has the symbolic link {link}, which `keep_symlinks` cannot copy: \
             remove the link, and make it with file.symlink"
        ));
    }
    let filter = PathFilter::from_call(call)?;
    let depth = call.int("maxdepth")?;
    let prefix = match split_env(&root).0 {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let files = call
        .context
        .roots
        .list(&root)?
        .into_iter()
        .filter_map(|path| path.strip_prefix(&prefix).map(str::to_owned))
        .filter(|below| {
            let level = i64::try_from(below.matches('/').count()).unwrap_or(i64::MAX);
            depth.is_none_or(|max| level <= max) && filter.passes(below)
        })
        .collect();
    Ok(SourceTree { root, files })
}

/// Returns the paths on the machine that another `file.recurse` state manages.
fn paths_managed_by(call: &StateCall<'_>, chunk: &Chunk) -> Result<Vec<String>, Halt> {
    let context = call.context.within(&chunk.env);
    let other = StateCall {
        fun: "recurse",
        context: &context,
        name: &chunk.name,
        id: &chunk.id,
        sls: &chunk.sls,
        args: &chunk.args,
        ..*call
    };
    // A `file.recurse` whose source does not exist manages no path.
    match list_source_tree(&other) {
        Ok(tree) => Ok(tree
            .files
            .iter()
            .map(|it| join_path(&chunk.name, it))
            .collect()),
        Err(Halt::Failed(_)) => Ok(Vec::new()),
        Err(needs) => Err(needs),
    }
}

/// Returns the paths below a folder that cleaning removes, ancestors first.
///
/// Skips protected paths and their ancestors, excluded paths, and paths below one that is already
/// removed.
pub(super) fn removable_paths<'a>(
    folder: &str,
    keep: &[String],
    filter: &PathFilter,
    below: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let mut removed: Vec<String> = Vec::new();
    for below in below {
        let full = join_path(folder, below);
        let inside = format!("{full}/");
        let is_protected = keep
            .iter()
            .any(|protected| *protected == full || protected.starts_with(&inside));
        let is_below = removed.iter().any(|ancestor| {
            full.strip_prefix(ancestor.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        });
        if !is_protected && !is_below && filter.passes(below) {
            removed.push(full);
        }
    }
    removed
}

/// Returns the paths that other `file` states manage in the folder, if this state requires them.
pub(super) fn protected_paths(
    call: &StateCall<'_>,
    folder: &str,
    facts: &FactCache,
) -> Result<Vec<String>, Halt> {
    let Some((low, own)) = call.chunk else {
        return Ok(Vec::new());
    };
    let mut keep = Vec::new();
    let required = low.linked_chunks(own, |kind| kind == Requisite::Require);
    for chunk in required.filter(|chunk| &*chunk.state == "file") {
        let path = trim_trailing_slashes(&chunk.name);
        let is_inside = super::plan::normalize_path(path).starts_with(&format!("{folder}/"));
        if !is_folder(path, facts)? {
            keep.push(path.to_owned());
        } else if is_inside || path == folder {
            keep.push(path.to_owned());
            if &*chunk.fun == "recurse" {
                keep.extend(paths_managed_by(call, chunk)?);
            } else {
                let below = facts.tree(path)?.unwrap_or_default();
                keep.extend(below.iter().map(|(below, _)| join_path(path, below)));
            }
        }
    }
    Ok(keep)
}
