//! The commands `get` and `put`: copy files from and to hosts.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::args::format::byte_size;
use crate::cli::args::host::HostOptions;
use crate::cli::commands::ad_hoc::{named_step, run_ad_hoc};
use crate::cli::output::Context;
use crate::host::{GetSettings, Mirror, PutSettings, check_owner, has_local_match};
use crate::ops::{Failure, FailureKind};
use crate::system::fs;
use crate::tasks::{LocalPattern, StepAction, TemplateText, Transfer};

/// Copy a file or folder from hosts
///
/// REMOTE may have the wildcards `*`, `?` and `[...]`; all files that match are copied into the folder LOCAL.
/// In LOCAL, `%(host)s` stands for the host, and `%(path)s` for REMOTE without its leading `/` or
/// `~/`. With several hosts and no `%(host)s` in LOCAL, each host's file or folder keeps its name
/// and is copied into the folder `LOCAL/<host>/`, so that no two hosts write to one file. With a
/// single host, a file or folder keeps its name if LOCAL ends with `/`. A file also keeps its name
/// if LOCAL is an existing folder. Otherwise the copy is named LOCAL. A copy belongs to you. Its
/// permissions are those of the file on the host, reduced by your umask. Set-user-ID, set-group-ID and
/// sticky bits are not copied.
#[derive(Debug, Args)]
#[command(override_usage = "unfurl get -H HOSTS [OPTIONS] REMOTE LOCAL")]
pub(in crate::cli) struct GetArgs {
    /// The file or folder on each host
    #[arg(value_name = "REMOTE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    remote: String,
    /// The target on this machine
    #[arg(value_name = "LOCAL")]
    local: String,
    /// Maximum size of the files of each host together: `500M`, `2G`; 10G by default
    #[arg(long, value_name = "SIZE", value_parser = byte_size)]
    max_size: Option<u64>,
    /// Compare each file by its SHA-256 digest before it gets its name
    #[arg(long)]
    verify: bool,
    /// Go on with an interrupted copy of a file where it stopped
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    hosts: HostOptions,
}

/// Copies a file or folder from the hosts and returns the exit code.
pub(in crate::cli) fn get(args: &GetArgs, cx: &Context) -> Result<u8, Failure> {
    let target = LocalPattern::parse(&args.local).map_err(Failure::usage);
    let source = args.remote.clone();
    let step = target.map(|target| {
        let max_bytes = args.max_size;
        let fetch = StepAction::Fetch {
            source,
            target,
            max_bytes,
            settings: GetSettings {
                verify: args.verify,
                resume: args.resume,
            },
            sudo: args.hosts.order.sudo_of_step(),
        };
        named_step("get", fetch)
    });
    run_ad_hoc(step?, &args.hosts, cx)
}

/// Copy a file or folder to hosts
///
/// LOCAL may have the wildcards `*`, `?` and `[...]`; all files that match are copied into the folder REMOTE.
/// A file or folder keeps its name and is copied into REMOTE if REMOTE ends with `/`. A file also
/// keeps its name if REMOTE is an existing folder. Otherwise the copy is named REMOTE. Copying a
/// folder replaces files that already exist and keeps other files. The parent folder of REMOTE must
/// exist. A REMOTE that does not begin with `/` is relative to the home folder of the user on the
/// host.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a separate option"
)]
#[command(override_usage = "unfurl put -H HOSTS [OPTIONS] LOCAL REMOTE")]
pub(in crate::cli) struct PutArgs {
    /// The file or folder on this machine
    #[arg(value_name = "LOCAL")]
    local: PathBuf,
    /// The target on each host
    #[arg(value_name = "REMOTE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    remote: String,
    /// File permissions in octal digits; by default, those of the local files
    #[arg(long, value_name = "MODE", value_parser = octal)]
    mode: Option<u32>,
    /// The owner of the files: `user`, `user:group` or `:group`
    #[arg(long, value_name = "OWNER", value_parser = owner)]
    owner: Option<String>,
    /// Compare each file by its SHA-256 digest before it gets its name
    #[arg(long)]
    verify: bool,
    /// Go on with an interrupted copy of a file where it stopped
    #[arg(long)]
    resume: bool,
    /// Delete the files of the folder REMOTE that the folder LOCAL lacks, after all files have been copied
    #[arg(long, visible_alias = "delete")]
    mirror: bool,
    /// With `--mirror`: name the files that would be deleted, and change nothing
    #[arg(long, requires = "mirror")]
    dryrun: bool,
    #[command(flatten)]
    hosts: HostOptions,
}

/// Copies a file or folder to the hosts and returns the exit code.
pub(in crate::cli) fn put(args: &PutArgs, cx: &Context) -> Result<u8, Failure> {
    let step = transfer(args).map(|transfer| named_step("put", StepAction::Put(transfer)));
    run_ad_hoc(step?, &args.hosts, cx)
}

/// Builds the transfer.
///
/// A missing local file is reported before any connection is made.
fn transfer(args: &PutArgs) -> Result<Transfer, Failure> {
    let local = &args.local;
    if !has_local_match(local) {
        let message = format!(
            "there is no file or folder `{}` on this machine",
            local.display()
        );
        return Err(Failure::usage(message));
    }
    let mut target = args.remote.clone();
    if fs::is_dir(local) && target.ends_with('/') {
        target.push_str(&own_name(local)?);
    }
    let Some(source) = local.to_str() else {
        let message = format!("the path `{}` is not valid UTF-8", local.display());
        return Err(Failure::usage(message));
    };
    Ok(Transfer {
        source: TemplateText::plain(source),
        target: TemplateText::plain(target),
        mode: args.mode,
        settings: PutSettings {
            owner: args.owner.clone(),
            verify: args.verify,
            resume: args.resume,
            mirror: match (args.mirror, args.dryrun) {
                (_, true) => Some(Mirror::DryRun),
                (true, false) => Some(Mirror::Delete),
                (false, false) => None,
            },
        },
        sudo: args.hosts.order.sudo_of_step().map(TemplateText::plain),
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

/// Parses the owner of files.
fn owner(text: &str) -> Result<String, String> {
    let checked = check_owner(text).map(|()| text.to_owned());
    checked.map_err(|problem| format!("write `user`, `user:group` or `:group`: {problem}"))
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
