//! The command `merge-driver`: a git merge driver for the records of ensembles.

use std::path::PathBuf;

use clap::Args;

use crate::cli::output::Context;
use crate::ops::merge_driver::MergeFiles;
use crate::ops::{self, Failure};

/// The number of conflicts that a message lists.
const MAX_LISTED: usize = 20;

/// Merge two versions of an ensemble's records, for git: `unfurl merge-driver -- %O %A %B %P`
#[derive(Debug, Args)]
pub(in crate::cli) struct MergeDriverArgs {
    /// The common ancestor; git's `%O`
    base: PathBuf,
    /// The version of this side, which is overwritten with the result; git's `%A`
    ours: PathBuf,
    /// The version of the other side; git's `%B`
    theirs: PathBuf,
    /// The path of the file in the repository; git's `%P`
    path: Option<PathBuf>,
}

/// Merges for git and returns the exit code.
///
/// Git expects 1 for a conflict.
pub(in crate::cli) fn merge_driver(args: &MergeDriverArgs, cx: &Context) -> Result<u8, Failure> {
    let files = MergeFiles {
        base: &args.base,
        ours: &args.ours,
        theirs: &args.theirs,
    };
    let conflicts = ops::merge_driver::merge(&files)?;
    if conflicts.is_empty() {
        return Ok(0);
    }
    let path = args.path.as_ref().unwrap_or(&args.ours).display();
    cx.output.print_stderr(&format!(
        "error: both sides have changed {} in `{path}`\n",
        list(&conflicts)
    ));
    Ok(1)
}

/// Lists the conflicts; of many only the first ones, as git shows the whole list before the file name.
fn list(conflicts: &[String]) -> String {
    let (shown, others) = conflicts.split_at(conflicts.len().min(MAX_LISTED));
    let list = shown.join(", ");
    match others.len() {
        0 => list,
        count => format!("{list} and {count} others"),
    }
}
