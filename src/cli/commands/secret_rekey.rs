//! The subcommands of `secret` that look at all secrets of a project: `rekey`, `verify` and `scan`.

use std::io::IsTerminal as _;

use clap::Args;
use serde_json::{Value as Json, json};
use zeroize::Zeroizing;

use super::secret_input::{ask_twice, open, place_json, read_stdin};
use crate::cli::args::format::OutputFormat;
use crate::cli::output::Context;
use crate::cli::prompt;
use crate::cli::request::session::session_options;
use crate::ops::secret::{self, RekeyPlan, RekeyRequest};
use crate::ops::{Failure, FailureKind, watch_signals};
use crate::secret::RotationDebt;
use crate::ui::words::count;
use crate::ui::{Answer, read_approval};

/// The variable with the new password of a vault.
const NEW_PASSWORD_VARIABLE: &str = "UNFURL_NEW_VAULT_PASSWORD";

/// The options of the command `secret rekey`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RekeyArgs {
    /// Let somebody read the secrets, with a key such as `age1…` or `ssh-ed25519 …`
    #[arg(long, value_name = "NAME=RECIPIENT")]
    add_reader: Vec<String>,
    /// Encrypt the secrets without this reader from now on
    #[arg(long, value_name = "NAME")]
    remove_reader: Vec<String>,
    /// Give the vault a new password: that of `UNFURL_NEW_VAULT_PASSWORD`, the standard input, or a hidden prompt
    #[arg(long)]
    new_password: bool,
    /// The vault that gets the new password; by default, the first one
    #[arg(long, value_name = "ID", requires = "new_password")]
    vault_id: Option<String>,
    /// Do not ask before the files are written
    #[arg(short, long)]
    approve: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Shows what would change, asks, and encrypts all secrets again. Returns the exit code.
pub(super) fn rekey(args: &RekeyArgs, cx: &Context) -> Result<u8, Failure> {
    let request = RekeyRequest {
        add: readers(&args.add_reader)?,
        remove: args.remove_reader.clone(),
        new_password: args.new_password.then(|| new_password(cx)).transpose()?,
        vault: args.vault_id.clone(),
    };
    let project = open("", cx)?;
    let plan = secret::plan_rekey(&project, &request)?;
    cx.output.print_stderr(&describe(&plan));
    plan.refuse_closed()?;
    let is_empty = plan.is_empty();
    if !is_empty && !args.approve && !approved(cx)? {
        cx.output.print_stderr("nothing was changed\n");
        return Ok(1);
    }
    let checked = if is_empty {
        0
    } else {
        secret::rekey(&project, &plan)?.checked
    };
    match args.output {
        OutputFormat::Json => cx.output.json(&json!({
            "files": plan.files,
            "values": plan.values,
            "whole_files": plan.whole_files,
            "kept": plan.kept,
            "checked": checked,
            "rotate": plan.rotate.iter().map(debt_json).collect::<Vec<_>>(),
        })),
        OutputFormat::Text if is_empty => {
            cx.output
                .print_result("all secrets have these readers already; nothing was written\n");
        }
        OutputFormat::Text => {
            let text = format!(
                "wrote {}; {} with the new keys\n",
                count(plan.files, "file"),
                opens(checked)
            );
            cx.output.print_result(&text);
        }
        OutputFormat::None => {}
    }
    Ok(0)
}

fn opens(checked: usize) -> String {
    let verb = if checked == 1 { "opens" } else { "open" };
    format!("{} {verb}", count(checked, "secret"))
}

fn describe(plan: &RekeyPlan) -> String {
    let mut text = format!(
        "files to write: {}; values to encrypt: {}; whole files to encrypt: {}; secrets that stay: {}; secrets that \
         cannot be opened: {}\n",
        plan.files,
        plan.values,
        plan.whole_files,
        plan.kept,
        plan.closed.len()
    );
    for problem in &plan.closed {
        text += &format!("{}: {}\n", problem.place, problem.message);
        if let Some(help) = &problem.help {
            text += &format!("  help: {help}\n");
        }
    }
    for debt in &plan.rotate {
        text += &format!("{}\n", describe_debt(debt));
    }
    for note in &plan.notes {
        text += &format!("note: {note}\n");
    }
    text
}

fn describe_debt(debt: &RotationDebt) -> String {
    let place = if debt.name.is_empty() {
        format!("`{}`", debt.file)
    } else {
        format!("`{}` in `{}`", debt.name, debt.file)
    };
    format!(
        "rotate: {place} was readable for `{}` until {}; give it a new value",
        debt.reader, debt.date
    )
}

fn debt_json(debt: &RotationDebt) -> Json {
    json!({
        "file": debt.file,
        "name": debt.name,
        "reader": debt.reader,
        "date": debt.date,
    })
}

fn approved(cx: &Context) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        let message = "nobody can be asked, because the standard input is no terminal";
        let help = "read the list above, and repeat the command with `--approve`".to_owned();
        return Err(Failure::new(FailureKind::Refused, message, Some(help)));
    }
    let question = "write these files?".to_owned();
    let answer = prompt::yes_or_no(question, read_approval, &watch_signals(), &cx.output);
    Ok(answer == Answer::Yes)
}

fn readers(words: &[String]) -> Result<Vec<(String, crate::secret::AgeRecipient)>, Failure> {
    let mut readers = Vec::new();
    for word in words {
        let Some((name, key)) = word.split_once('=') else {
            let message = format!("`{}` is not `NAME=RECIPIENT`", word.escape_debug());
            let help = "for example `--add-reader bob=age1…`";
            return Err(Failure::usage_with(message, help));
        };
        if let Err(reason) = crate::secret::check_reader_name(name) {
            return Err(Failure::usage(format!("the command line {reason}")));
        }
        readers.push((name.to_owned(), key.parse()?));
    }
    Ok(readers)
}

/// Reads the new password of a vault from the variable, the terminal or the standard input.
fn new_password(cx: &Context) -> Result<Zeroizing<String>, Failure> {
    let given = cx.output.variable(NEW_PASSWORD_VARIABLE);
    let password = match given.filter(|text| !text.is_empty()) {
        Some(text) => Zeroizing::new(text.to_owned()),
        None if std::io::stdin().is_terminal() => ask_twice("New password of the vault", cx)?,
        None => read_stdin()?,
    };
    if password.is_empty() {
        let message = "the new password is empty";
        let help =
            format!("set the variable {NEW_PASSWORD_VARIABLE}, or run the command on a terminal");
        return Err(Failure::new(FailureKind::Refused, message, Some(help)));
    }
    Ok(password)
}

/// Checks all encrypted values without a key, and returns the exit code.
pub(super) fn verify(folder: &str, format: OutputFormat, cx: &Context) -> Result<u8, Failure> {
    let project = open(folder, cx)?;
    let report = secret::verify(&project)?;
    match format {
        OutputFormat::Json => cx.output.json(&json!({
            "values": report.values,
            "whole_files": report.files,
            "problems": report.problems.iter().map(|problem| {
                let mut item = place_json(&problem.place);
                item["message"] = problem.message.clone().into();
                item["help"] = problem.help.clone().into();
                item
            }).collect::<Vec<_>>(),
            "rotate": report.rotate.iter().map(debt_json).collect::<Vec<_>>(),
        })),
        OutputFormat::Text => {
            let mut text = String::new();
            for problem in &report.problems {
                text += &format!("{}: {}\n", problem.place, problem.message);
                if let Some(help) = &problem.help {
                    text += &format!("  help: {help}\n");
                }
            }
            text += &format!(
                "checked {} and {}: {}\n",
                count(report.values, "value"),
                count(report.files, "whole file"),
                match report.problems.len() {
                    0 => "no problem".to_owned(),
                    problems => count(problems, "problem"),
                }
            );
            for debt in &report.rotate {
                text += &format!("{}\n", describe_debt(debt));
            }
            cx.output.print_result(&text);
        }
        OutputFormat::None => {}
    }
    Ok(u8::from(!report.problems.is_empty()))
}

/// Finds secrets in clear text, and returns the exit code.
pub(super) fn scan(ensemble: &str, format: OutputFormat, cx: &Context) -> Result<u8, Failure> {
    let options = session_options(ensemble, None, cx);
    let report = secret::scan(&options)?;
    for warning in &report.warnings {
        cx.output.message(crate::job::LogLevel::Warning, warning);
    }
    match format {
        OutputFormat::Json => {
            let found = report.found.iter().map(|found| {
                let mut item = place_json(&found.place);
                item["reason"] = found.reason.clone().into();
                item
            });
            cx.output.json(&found.collect());
        }
        OutputFormat::Text => {
            let mut text = String::new();
            for found in &report.found {
                text += &format!("{}: {}\n", found.place, found.reason);
            }
            text += &match report.found.len() {
                0 => "no secret in clear text was found\n".to_owned(),
                count => format!(
                    "{count} secrets in clear text; mark them with `!sensitive` and run `unfurl secret encrypt FILE`\n"
                ),
            };
            cx.output.print_result(&text);
        }
        OutputFormat::None => {}
    }
    Ok(u8::from(!report.found.is_empty()))
}
