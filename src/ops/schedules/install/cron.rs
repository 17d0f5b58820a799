//! The block of the user's crontab.

use super::installation::{FileChange, FileState, Installation};
use super::machine_zone::machine_zone;
use crate::ops::failure::{Failure, FailureKind};
use crate::schedule::{
    InstallPaths, MAX_CRON_COMMAND, ScheduleSpec, crontab_block, has_zone_line, longest_command,
    with_block,
};
use crate::system::clock;
use crate::system::process::{self, Helper, Output};

/// The answer of `crontab -l` to a user without a crontab.
const NO_CRONTAB: &str = "no crontab for";

/// Writes the block of a project.
pub(super) fn install(
    specs: &[ScheduleSpec],
    paths: InstallPaths<'_>,
    is_dry_run: bool,
) -> Result<Installation, Failure> {
    let crontab = read()?;
    // Some programs take this line for the zone of all lines below it.
    let zone = machine_zone().filter(|_| !has_zone_line(&crontab));
    let block = crontab_block(specs, paths, zone.as_ref(), clock::now());
    if longest_command(&block) > MAX_CRON_COMMAND {
        let message = format!(
            "cron takes commands of at most {MAX_CRON_COMMAND} characters, and the search path makes them longer"
        );
        let hint = "install with a shorter `PATH`, such as `PATH=/usr/bin:/bin unfurl schedule install --cron`";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(hint.into()),
        ));
    }
    change(&crontab, paths.project, Some(&block), is_dry_run)
}

/// Removes the block of a project.
pub(super) fn uninstall(project: &str, is_dry_run: bool) -> Result<Installation, Failure> {
    change(&read()?, project, None, is_dry_run)
}

fn change(
    crontab: &[u8],
    project: &str,
    block: Option<&str>,
    is_dry_run: bool,
) -> Result<Installation, Failure> {
    let changed = with_block(crontab, project, block).map_err(|error| {
        let hint = "repair the crontab with `crontab -e`";
        Failure::new(FailureKind::Refused, error, Some(hint.to_owned()))
    })?;
    let state = match block {
        _ if changed == crontab => FileState::Unchanged,
        Some(_) => FileState::Written,
        None => FileState::Removed,
    };
    if state != FileState::Unchanged && !is_dry_run {
        write(changed)?;
    }
    let file = FileChange {
        path: None,
        state,
        text: block.unwrap_or_default().to_owned(),
    };
    Ok(Installation {
        files: vec![file],
        commands: Vec::new(),
    })
}

fn read() -> Result<Vec<u8>, Failure> {
    let output = run("-l", Vec::new())?;
    let messages = String::from_utf8_lossy(&output.stderr);
    match output.code {
        0 => Ok(output.stdout),
        _ if messages.contains(NO_CRONTAB) => Ok(Vec::new()),
        _ => Err(refusal("read", &messages)),
    }
}

fn write(crontab: Vec<u8>) -> Result<(), Failure> {
    let output = run("-", crontab)?;
    if output.is_ok() {
        return Ok(());
    }
    Err(refusal("written", &String::from_utf8_lossy(&output.stderr)))
}

fn run(argument: &str, stdin: Vec<u8>) -> Result<Output, Failure> {
    let helper = Helper {
        stdin,
        extra_env: vec![("LC_ALL".to_owned(), "C".to_owned())],
        ..Helper::new(["crontab", argument])
    };
    process::run(&helper).map_err(|error| {
        let hint = "install cron, such as Debian's package `cron`, or use `--systemd`";
        Failure::new(FailureKind::Refused, error, Some(hint.to_owned()))
    })
}

fn refusal(action: &str, messages: &str) -> Failure {
    let message = format!("the crontab cannot be {action}: {}", messages.trim());
    let hint = "`crontab -l` and the files `/etc/cron.allow` and `/etc/cron.deny` show the reason";
    Failure::new(FailureKind::Refused, message, Some(hint.to_owned()))
}
