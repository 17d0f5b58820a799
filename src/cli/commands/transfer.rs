//! The commands `get` and `put`: copy files from and to hosts.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::args::host::HostOptions;
use crate::cli::commands::ad_hoc::{named_step, run_step};
use crate::cli::output::Context;
use crate::ops::{Failure, FailureKind};
use crate::system::fs;
use crate::tasks::{LocalPattern, StepAction, TemplateText, Transfer};

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

/// Copies a file or folder from the hosts and returns the exit code.
pub(in crate::cli) fn get(args: &GetArgs, cx: &Context) -> Result<u8, Failure> {
    let target = LocalPattern::parse(&args.local).map_err(|error| {
        let help = "only `%(host)s` and `%(path)s` are put in";
        Failure::usage_with(error, help)
    });
    let source = args.remote.clone();
    let step = target.map(|target| named_step("get", StepAction::Fetch { source, target }));
    run_step(step, &args.hosts, cx)
}

/// Take a file or folder to hosts
///
/// A file goes into REMOTE under its own name where that is a folder or ends with `/`, else it
/// becomes REMOTE. A folder goes into a REMOTE that ends with `/` under its own name, else it
/// becomes REMOTE; files that are there already are replaced, others stay. The folder
/// around REMOTE has to be there. A REMOTE that does not
/// begin with `/` is below the home of the user on the host.
#[derive(Debug, Args)]
#[command(override_usage = "unfurl put -H HOSTS [OPTIONS] LOCAL REMOTE")]
pub(in crate::cli) struct PutArgs {
    /// The file or folder here
    #[arg(value_name = "LOCAL")]
    local: PathBuf,
    /// Where it goes on each host
    #[arg(value_name = "REMOTE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    remote: String,
    /// The permission bits of its files, in octal digits; those of the files here if none
    #[arg(long, value_name = "MODE", value_parser = octal)]
    mode: Option<u32>,
    #[command(flatten)]
    hosts: HostOptions,
}

/// Copies a file or folder to the hosts and returns the exit code.
pub(in crate::cli) fn put(args: &PutArgs, cx: &Context) -> Result<u8, Failure> {
    let step = transfer(args).map(|transfer| named_step("put", StepAction::Put(transfer)));
    run_step(step, &args.hosts, cx)
}

/// Builds the transfer.
///
/// A missing local file is reported before any connection is made.
fn transfer(args: &PutArgs) -> Result<Transfer, Failure> {
    let local = &args.local;
    if !fs::exists(local) {
        let message = format!("there is no file or folder `{}` here", local.display());
        return Err(Failure::usage(message));
    }
    let mut target = args.remote.clone();
    if fs::is_dir(local) && target.ends_with('/') {
        target.push_str(&own_name(local)?);
    }
    let Some(source) = local.to_str() else {
        let message = format!("`{}` is no text", local.display());
        return Err(Failure::usage(message));
    };
    Ok(Transfer {
        source: TemplateText::plain(source),
        target: TemplateText::plain(target),
        mode: args.mode,
    })
}

/// Returns the name of a folder, even if the folder is written as `.` or `..`.
fn own_name(folder: &Path) -> Result<String, Failure> {
    let whole = fs::canonicalize(folder)
        .map_err(|error| Failure::new(FailureKind::Usage, &error, error.hint()))?;
    // A symbolic link keeps its own name, not that of its target.
    let name = folder.file_name().or_else(|| whole.file_name());
    Ok(name.map_or(String::new(), |name| name.to_string_lossy().into_owned()))
}

/// Parses permission bits, written in octal digits.
fn octal(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok();
    mode.filter(|mode| *mode <= 0o7777 && !text.starts_with('+'))
        .ok_or_else(|| "write octal digits such as 0644".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_octal() {
        assert_eq!(octal("0644"), Ok(0o644));
        for wrong in ["", "9", "+7", "77777", "rw"] {
            assert!(octal(wrong).is_err(), "{wrong}");
        }
    }
}
