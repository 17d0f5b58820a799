//! `get`: brings files and folders from hosts, as a task without a name.

use clap::Args;

use crate::cli::args::host::HostOptions;
use crate::cli::commands::ad_hoc::{run_step, step};
use crate::cli::output::Context;
use crate::ops::Failure;
use crate::runbook::{Deed, LocalPattern};

/// Bring a file or folder from hosts
///
/// `%(host)s` in LOCAL stands for the host, `%(path)s` for REMOTE without what leads to its root.
/// Where LOCAL has no `%(host)s` and there is more than one host, what comes from each goes under
/// its own name into the folder `LOCAL/<host>/`, so that no two hosts write to one file. What
/// comes from a single host goes into a LOCAL that ends with `/` under its own name; else a folder
/// becomes LOCAL, and so does a file unless a folder is there.
#[derive(Debug, Args)]
#[command(override_usage = "unfurl get -H HOSTS [OPTIONS] REMOTE LOCAL")]
pub(in crate::cli) struct GetArgs {
    /// The file or folder on each host
    #[arg(value_name = "REMOTE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    remote: String,
    /// Where it goes here
    #[arg(value_name = "LOCAL")]
    local: String,
    #[command(flatten)]
    hosts: HostOptions,
}

/// Brings it; gives the exit code.
pub(in crate::cli) fn get(args: &GetArgs, cx: &Context) -> Result<u8, Failure> {
    let target = LocalPattern::parse(&args.local).map_err(|error| {
        let help = "only `%(host)s` and `%(path)s` are put in";
        Failure::usage_with(error, help)
    });
    let source = args.remote.clone();
    let step = target.map(|target| step("get", Deed::Fetch { source, target }));
    run_step(step, &args.hosts, cx)
}
