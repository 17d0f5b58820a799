//! The command `lock`: shows who holds the locks of ensembles, and breaks a lock.

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::cli::args::format::OutputFormat;
use crate::cli::output::{Context, shown_path};
use crate::cli::request::session::session_options;
use crate::lock::{LockState, RemoteLockStatus};
use crate::ops::Failure;
use crate::ops::lock::{EnsembleLockStatus, break_lock, list};
use crate::ui::Table;

/// The subcommands of the command `lock`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum LockCommand {
    /// Show who holds the locks of the project's ensembles
    #[command(visible_alias = "show")]
    List(ListArgs),
    /// Remove the lock of a process that no longer runs
    Break(BreakArgs),
}

/// The options of the command `lock list`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// The ensemble; by default, all ensembles of the project
    #[arg(default_value = "")]
    ensemble: String,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// The options of the command `lock break`.
#[derive(Debug, Args)]
pub(in crate::cli) struct BreakArgs {
    /// The ensemble
    #[arg(default_value = "")]
    ensemble: String,
    /// Break the lock even if its process may still run, or if it is no regular file. If that job does run,
    /// its results may be missing from the record afterwards, and two jobs may change the same instances
    #[arg(long)]
    force: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Lists locks or breaks one, and returns the exit code.
pub(in crate::cli) fn lock(action: &LockCommand, cx: &Context) -> Result<u8, Failure> {
    match action {
        LockCommand::List(args) => show(args, cx),
        LockCommand::Break(args) => break_one(args, cx),
    }
}

fn break_one(args: &BreakArgs, cx: &Context) -> Result<u8, Failure> {
    let options = session_options(&args.ensemble, None, cx);
    let broken = break_lock(&options, args.force)?;
    match args.output {
        OutputFormat::Json => cx.output.json(&json!({
            "ensemble": shown_path(&broken.manifest),
            "state": state_word(&broken.state),
            "messages": broken.messages,
        })),
        OutputFormat::Text => {
            let lines = broken.messages.iter().map(|line| format!("{line}\n"));
            cx.output.print_result(&lines.collect::<String>());
        }
        OutputFormat::None => {}
    }
    Ok(0)
}

fn show(args: &ListArgs, cx: &Context) -> Result<u8, Failure> {
    let options = session_options(&args.ensemble, None, cx);
    let listed = list(&options)?;
    match args.output {
        OutputFormat::Json => cx.output.json(&listed.iter().map(json_of).collect()),
        OutputFormat::Text => {
            let mut table = Table::new(&["Ensemble", "State", "Lock"]).prose(2);
            for status in &listed {
                let words = match &status.state {
                    Ok(state) => state.describe(),
                    Err(error) => error.clone(),
                };
                table.row([
                    shown_path(&status.manifest),
                    state(status).to_owned(),
                    words,
                ]);
                if let Some(remote) = &status.remote {
                    let state = remote_state(remote).to_owned();
                    table.row([String::new(), state, remote.describe()]);
                }
            }
            cx.output
                .print_result(&table.render(cx.output.table_layout()));
        }
        OutputFormat::None => {}
    }
    Ok(0)
}

/// Returns the state of a listed lock as one word.
fn state(listed: &EnsembleLockStatus) -> &'static str {
    listed.state.as_ref().map_or("unknown", state_word)
}

/// Returns the state of a local lock as one word.
fn state_word(state: &LockState) -> &'static str {
    match state {
        LockState::Free => "free",
        LockState::Held { .. } | LockState::Ours => "held",
        LockState::Stale(_) => "stale",
        LockState::Unreadable | LockState::Irregular(_) => "unknown",
    }
}

/// Returns the state of a remote (git LFS) lock as one word.
fn remote_state(remote: &RemoteLockStatus) -> &'static str {
    match &remote.holder {
        Ok(None) => "free",
        Ok(Some(_)) => "held",
        Err(_) => "unknown",
    }
}

fn json_of_remote(remote: &RemoteLockStatus) -> Json {
    let mut shown = json!({ "state": remote_state(remote) });
    if let Some((path, server)) = &remote.location {
        shown["name"] = path.as_str().into();
        shown["server"] = server.as_str().into();
    }
    match &remote.holder {
        Ok(None) => {}
        Ok(Some(lock)) => {
            shown["id"] = lock.id.as_str().into();
            shown["owner"] = lock.owner.as_deref().into();
            shown["since"] = lock.locked_at.as_deref().into();
            shown["ours"] = remote.is_ours.into();
        }
        Err(error) => shown["error"] = error.as_str().into(),
    }
    shown
}

fn json_of(listed: &EnsembleLockStatus) -> Json {
    let mut shown = json!({
        "ensemble": shown_path(&listed.manifest),
        "state": state(listed),
    });
    if let Some(remote) = &listed.remote {
        shown["remote"] = json_of_remote(remote);
    }
    match &listed.state {
        Err(error) => shown["error"] = error.as_str().into(),
        Ok(lock) => {
            let (pid, owner) = lock.holder();
            if let Some(pid) = pid {
                shown["pid"] = pid.into();
            }
            if let Some(owner) = owner {
                shown["owner"] = json!({
                    "host": owner.process.host,
                    "pid": owner.process.pid,
                    "command": owner.command,
                    "since": owner.since,
                });
            }
        }
    }
    shown
}
