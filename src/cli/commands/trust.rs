//! The command `trust`: lets a project run programs, or takes that back.

use clap::Args;
use serde_json::{Value as Json, json};

use crate::cli::args::format::OutputFormat;
use crate::cli::output::Context;
use crate::cli::request::session::session_options;
use crate::ops::Failure;
use crate::ops::trust::{self, GrantedTrust, ListedTrust};
use crate::project::TrustReason;
use crate::ui::Table;

/// Trust a project: its expressions may run programs, and git obeys all its settings
#[derive(Debug, Args)]
pub(in crate::cli) struct TrustArgs {
    /// The folder; by default, the folder of the current project
    #[arg(conflicts_with = "list")]
    folder: Option<String>,
    /// Take the trust back from the folder and all folders in it
    #[arg(long, conflicts_with = "list")]
    revoke: bool,
    /// Show the trusted folders
    #[arg(long)]
    list: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Grants trust, revokes it or lists the trusted folders, and returns the exit code.
pub(in crate::cli) fn trust(args: &TrustArgs, cx: &Context) -> Result<u8, Failure> {
    let options = session_options("", None, cx);
    let folder = args.folder.as_deref();
    if args.list {
        show(&trust::list(&options)?, args.output, cx);
        return Ok(0);
    }
    if args.revoke {
        let revoked = trust::revoke(&options, folder)?;
        let lines = revoked
            .iter()
            .map(|folder| format!("`{}` is not trusted any more\n", folder.display()));
        match args.output {
            OutputFormat::Json => {
                let folders: Vec<Json> = revoked.iter().map(|it| path(it)).collect();
                cx.output.json(&json!({ "revoked": folders }));
            }
            OutputFormat::Text if revoked.is_empty() => {
                cx.output.print_result("the folder was not trusted\n");
            }
            OutputFormat::Text => cx.output.print_result(&lines.collect::<String>()),
            OutputFormat::None => {}
        }
        return Ok(0);
    }
    let granted = trust::grant(&options, folder)?;
    match args.output {
        OutputFormat::Json => cx.output.json(&json_of_grant(&granted)),
        OutputFormat::Text => cx.output.print_result(&describe(&granted)),
        OutputFormat::None => {}
    }
    Ok(0)
}

fn path(path: &std::path::Path) -> Json {
    path.display().to_string().into()
}

fn json_of_grant(granted: &GrantedTrust) -> Json {
    let trusted: Vec<Json> = granted
        .records
        .iter()
        .map(|record| json!({ "folder": path(&record.folder), "origin": record.origin }))
        .collect();
    let others: Vec<Json> = granted
        .others
        .iter()
        .map(|(folder, origin)| json!({ "folder": path(folder), "origin": origin }))
        .collect();
    json!({
        "trusted": trusted,
        "not_trusted": others,
        "outer_repository": granted.outer.as_deref().map(path),
        "git_settings": granted.settings,
    })
}

fn describe(granted: &GrantedTrust) -> String {
    let origin = |origin: Option<&str>| {
        let origin = origin.map(|url| format!("origin {}", url.escape_debug()));
        origin.unwrap_or_else(|| "without origin".to_owned())
    };
    let mut text = String::new();
    for record in &granted.records {
        let (folder, origin) = (record.folder.display(), origin(record.origin.as_deref()));
        text += &format!("trusted: `{folder}` ({origin})\n");
    }
    text += "Expressions and Python files in a trusted folder may run programs, use the network, and read and \
             write files.\nGit obeys all settings and hooks of its repository. `unfurl trust --revoke` takes \
             the trust back.\n";
    if !granted.settings.is_empty() {
        let settings = granted.settings.join(", ");
        text += &format!("Git settings that have an effect now: {settings}\n");
    }
    for (folder, url) in &granted.others {
        let (folder, origin) = (folder.display(), origin(url.as_deref()));
        text += &format!("not trusted: the repository `{folder}` in it ({origin})\n");
    }
    if let Some(outer) = &granted.outer {
        let outer = outer.display();
        text += &format!("not trusted: settings and hooks of the repository `{outer}` around it\n");
    }
    text
}

fn show(listed: &[ListedTrust], format: OutputFormat, cx: &Context) {
    match format {
        OutputFormat::Json => cx.output.json(&listed.iter().map(json_of).collect()),
        OutputFormat::Text => {
            let mut table = Table::new(&["Folder", "Reason", "Since", "Origin", "State"])
                .prose(1)
                .prose(4)
                .dispensable(&[2]);
            for entry in listed {
                let record = &entry.record;
                let origin = record.origin.as_deref().unwrap_or_default();
                table.row([
                    record.folder.display().to_string(),
                    word(record.reason).to_owned(),
                    record.time.clone(),
                    origin.escape_debug().to_string(),
                    entry.mismatch.unwrap_or("valid").to_owned(),
                ]);
            }
            cx.output
                .print_result(&table.render(cx.output.table_layout()));
        }
        OutputFormat::None => {}
    }
}

fn word(reason: TrustReason) -> &'static str {
    match reason {
        TrustReason::Granted => "granted",
        TrustReason::Cloned => "cloned",
        TrustReason::Created => "created",
    }
}

fn json_of(entry: &ListedTrust) -> Json {
    let record = &entry.record;
    json!({
        "folder": path(&record.folder),
        "reason": word(record.reason),
        "since": record.time,
        "origin": record.origin,
        "owner": record.owner,
        "device": record.device,
        "inode": record.inode,
        "valid": entry.mismatch.is_none(),
        "problem": entry.mismatch,
    })
}
