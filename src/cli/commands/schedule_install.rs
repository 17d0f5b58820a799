//! The commands `schedule install` and `schedule uninstall`.

use clap::{ArgGroup, Args};
use serde_json::{Value as Json, json};

use crate::cli::args::format::HostOutput;
use crate::cli::output::Context;
use crate::ops::Failure;
use crate::ops::schedules::{
    FileChange, FileState, InstallRequest, InstallTarget, Installation, ProjectSchedules, install,
    uninstall,
};
use crate::system::user;

/// The options of `schedule install` and `schedule uninstall`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line, and clap keeps them apart"
)]
#[command(group = ArgGroup::new("target").required(true).args(["cron", "systemd"]))]
pub(in crate::cli) struct InstallArgs {
    /// A block of the crontab of this user
    #[arg(long)]
    cron: bool,
    /// Timers of systemd: those of the system for root, else those of this user
    #[arg(long)]
    systemd: bool,
    /// With `--systemd`: timers of the system
    #[arg(long, conflicts_with_all = ["cron", "user"])]
    system: bool,
    /// With `--systemd`: timers of this user
    #[arg(long, conflicts_with = "cron")]
    user: bool,
    /// Show the files without writing them
    #[arg(long)]
    dry_run: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: HostOutput,
}

/// Installs the schedules or removes them, and returns the exit code.
pub(in crate::cli) fn change_installation(
    loaded: &ProjectSchedules,
    args: &InstallArgs,
    is_install: bool,
    cx: &Context,
) -> Result<u8, Failure> {
    let is_system = args.system || (!args.user && user::effective_id() == 0);
    let target = if args.cron {
        InstallTarget::Cron
    } else {
        InstallTarget::Systemd { is_system }
    };
    let request = InstallRequest {
        target,
        is_dry_run: args.dry_run,
    };
    let installation = if is_install {
        install(loaded, request)?
    } else {
        uninstall(loaded, request)?
    };
    match args.output {
        HostOutput::Json => cx.output.json(&json_of(&installation, args.dry_run)),
        HostOutput::Text => cx
            .output
            .print_result(&text_of(&installation, args.dry_run)),
    }
    Ok(0)
}

fn path_of(file: &FileChange) -> String {
    let path = file.path.as_ref();
    path.map_or_else(|| "crontab".to_owned(), |path| path.display().to_string())
}

fn json_of(installation: &Installation, is_dry_run: bool) -> Json {
    let files = installation.files.iter().map(
        |file| json!({ "path": path_of(file), "status": file.state.word(), "text": file.text }),
    );
    json!({
        "dry_run": is_dry_run,
        "files": files.collect::<Vec<_>>(),
        "commands": installation.commands,
    })
}

fn text_of(installation: &Installation, is_dry_run: bool) -> String {
    let mut text = String::new();
    for file in &installation.files {
        let state = file.state.word();
        let state = match file.state {
            FileState::Unchanged => state.to_owned(),
            _ if is_dry_run => format!("would be {state}"),
            _ => state.to_owned(),
        };
        text += &format!("{}: {state}\n", path_of(file));
        if is_dry_run && file.state == FileState::Written {
            text += &format!("\n{}\n", file.text);
        }
    }
    if installation.files.is_empty() {
        text += "Nothing is installed.\n";
    }
    if !installation.commands.is_empty() {
        text += "Run these commands to make systemd read the files:\n";
        for command in &installation.commands {
            text += &format!("  {command}\n");
        }
    }
    text
}
