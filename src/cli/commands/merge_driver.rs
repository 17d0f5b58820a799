//! `merge-driver`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::output::Output;
use crate::ops;
use crate::ops::merge_driver::MergeFiles;

/// Merge two people's records of one ensemble, for git: `unfurl merge-driver %O %A %B %P`
#[derive(Debug, Args)]
pub(in crate::cli) struct MergeDriverArgs {
    /// The version before both; git's `%O`
    base: PathBuf,
    /// This side's version, which takes the result; git's `%A`
    ours: PathBuf,
    /// The other side's version; git's `%B`
    theirs: PathBuf,
    /// Which file it is; git's `%P`
    path: Option<PathBuf>,
}

/// Merges for git, which wants 1 for a conflict.
pub(in crate::cli) fn merge_driver(args: &MergeDriverArgs, output: &Output) -> u8 {
    let files = MergeFiles {
        base: &args.base,
        ours: &args.ours,
        theirs: &args.theirs,
    };
    match ops::merge_driver::merge(&files) {
        Ok(conflicts) if conflicts.is_empty() => 0,
        Ok(conflicts) => {
            let path = args.path.as_ref().unwrap_or(&args.ours).display();
            output.complain(&format!(
                "error: both sides have changed {} in `{path}`\n",
                conflicts.join(", ")
            ));
            1
        }
        Err(failure) => output.failure(&failure, false),
    }
}
