//! The command `secret`: sets, shows, checks and re-encrypts the secrets of a project.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};
use zeroize::Zeroizing;

use super::secret_input::{MAX_VALUE_BYTES, ask_twice, open, place_json, read_stdin, text_of};
use super::secret_rekey::{self, RekeyArgs};
use crate::cli::args::format::OutputFormat;
use crate::cli::output::Context;
use crate::ops::secret::{self, NewSecret, SecretEntry, SecretProject, SecretTarget, SetResult};
use crate::ops::{Failure, FailureKind};
use crate::system::fs;
use crate::ui::Table;
use crate::value::Value;

/// Set, show, check and re-encrypt the secrets of a project
///
/// A project encrypts its secrets with the password of a vault (Ansible Vault), or for the readers that
/// `secret-readers.yaml` names (age).
#[derive(Debug, Args)]
pub(in crate::cli) struct SecretArgs {
    #[command(subcommand)]
    action: SecretCommand,
}

/// The subcommands of the command `secret`.
#[derive(Debug, Subcommand)]
enum SecretCommand {
    /// Encrypt a value and write it into its file
    ///
    /// The value comes from the standard input, from a file, or from a hidden prompt, never from the command
    /// line. Without `--file`, the secret stands in `unfurl.yaml`, and templates read it as `{secret: NAME}`.
    Set(SetArgs),
    /// Print a decrypted value
    Get(GetArgs),
    /// List the encrypted values and files, without their content
    List(ListArgs),
    /// Edit a value in an editor
    Edit(EditArgs),
    /// Show who can read a value; no key is needed
    Who(WhoArgs),
    /// Encrypt all secrets for other readers, or with another password
    Rekey(RekeyArgs),
    /// Check all encrypted values without a key: form, digest, place and readers
    Verify(ListArgs),
    /// Find secrets in clear text: values that the model declares sensitive, passwords, and known forms
    Scan(ListArgs),
    /// Encrypt each value of a file that has the tag `!sensitive`, `!vault` or `!age`
    Encrypt(EncryptArgs),
}

/// The options that name a value.
#[derive(Debug, Args)]
struct TargetArgs {
    /// The name of the secret; with `--file`, the path of the value: keys and list indices, joined by dots
    name: String,
    /// The file with the value; by default, `unfurl.yaml` of the project
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The environment that has the secret; by default, `defaults`
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    environment: Option<String>,
}

/// The options of the command `secret set`.
#[derive(Debug, Args)]
struct SetArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Read the value from a file, byte for byte; `-` is the standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Read the value as JSON, so that numbers, lists and maps keep their type
    #[arg(long)]
    json: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// The options of the command `secret get`.
#[derive(Debug, Args)]
struct GetArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// The options of the command `secret edit`.
#[derive(Debug, Args)]
struct EditArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// The options of the command `secret who`.
#[derive(Debug, Args)]
struct WhoArgs {
    /// The name of the secret, or the path of the value in its file
    name: String,
    /// The file with the value; by default, all files of the project
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// The options of the commands `secret list`, `secret verify` and `secret scan`.
#[derive(Debug, Args)]
struct ListArgs {
    /// A folder of the project
    #[arg(default_value = "")]
    folder: String,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// The options of the command `secret encrypt`.
#[derive(Debug, Args)]
struct EncryptArgs {
    /// The file
    file: PathBuf,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Runs a subcommand and returns the exit code.
pub(in crate::cli) fn secret(args: &SecretArgs, cx: &Context) -> Result<u8, Failure> {
    match &args.action {
        SecretCommand::Set(args) => set(args, cx),
        SecretCommand::Get(args) => get(args, cx),
        SecretCommand::List(args) => list(args, cx),
        SecretCommand::Edit(args) => edit(args, cx),
        SecretCommand::Who(args) => who(args, cx),
        SecretCommand::Rekey(args) => secret_rekey::rekey(args, cx),
        SecretCommand::Verify(args) => secret_rekey::verify(&args.folder, args.output, cx),
        SecretCommand::Scan(args) => secret_rekey::scan(&args.folder, args.output, cx),
        SecretCommand::Encrypt(args) => encrypt(args, cx),
    }
}

/// Opens the project of a file, or of the current folder.
fn open_for(file: Option<&Path>, cx: &Context) -> Result<SecretProject, Failure> {
    let folder = file.map(|file| fs::parent_of(file).display().to_string());
    open(folder.as_deref().unwrap_or_default(), cx)
}

fn target(args: &TargetArgs) -> SecretTarget {
    SecretTarget {
        name: args.name.clone(),
        file: args.file.clone(),
        environment: args.environment.clone(),
    }
}

fn set(args: &SetArgs, cx: &Context) -> Result<u8, Failure> {
    let project = open_for(args.target.file.as_deref(), cx)?;
    let text = read_value(args, cx)?;
    let value = if args.json {
        let json: Result<Json, _> = serde_json::from_str(&text);
        Value::from(json.map_err(|_| {
            // The parser's message would quote the value.
            Failure::new(FailureKind::Refused, "the value is not JSON", None)
        })?)
    } else {
        Value::from(text.as_str())
    };
    let target = target(&args.target);
    let done = secret::set(&project, &NewSecret { target, value })?;
    show_set(&done, args.output, cx);
    Ok(0)
}

fn show_set(done: &SetResult, format: OutputFormat, cx: &Context) {
    let place = &done.place;
    match format {
        OutputFormat::Json => cx.output.json(&json!({
            "secret": place_json(place),
            "scheme": done.scheme.name(),
            "readers": done.readers,
            "changed": !done.unchanged,
        })),
        OutputFormat::Text if done.unchanged => {
            let text = format!(
                "`{}` has this value already; nothing was written\n",
                place.name
            );
            cx.output.print_result(&text);
        }
        OutputFormat::Text => {
            let text = format!(
                "{place}: `{}` is encrypted to {}\n",
                place.name, done.readers
            );
            cx.output.print_result(&text);
        }
        OutputFormat::None => {}
    }
}

/// Reads a value from a file, from the standard input, or twice from a hidden prompt.
fn read_value(args: &SetArgs, cx: &Context) -> Result<Zeroizing<String>, Failure> {
    match args.from.as_deref() {
        Some(path) if path != Path::new("-") => {
            let bytes = Zeroizing::new(fs::read_within(path, MAX_VALUE_BYTES)?);
            text_of(&bytes)
        }
        None if std::io::stdin().is_terminal() => ask_twice("Value", cx),
        _ => read_stdin(),
    }
}

fn get(args: &GetArgs, cx: &Context) -> Result<u8, Failure> {
    let project = open_for(args.target.file.as_deref(), cx)?;
    let value = secret::get(&project, &target(&args.target))?;
    match args.output {
        OutputFormat::Json => {
            let name = &args.target.name;
            let value = crate::secret::plain_json(&value);
            cx.output.json(&json!({ "name": name, "value": value }));
        }
        OutputFormat::Text => {
            let mut text = Zeroizing::new(plain_text(&value));
            if !text.ends_with('\n') {
                text.push('\n');
            }
            cx.output.print_result(&text);
        }
        OutputFormat::None => {}
    }
    Ok(0)
}

/// Returns a text as it is, and any other value as JSON.
fn plain_text(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => crate::secret::plain_json(value).to_string(),
    }
}

fn edit(args: &EditArgs, cx: &Context) -> Result<u8, Failure> {
    let project = open_for(args.target.file.as_deref(), cx)?;
    let target = target(&args.target);
    let old = secret::get(&project, &target)?;
    let before = Zeroizing::new(plain_text(&old));
    let after = edit_text(&before)?;
    let is_text = old.as_str().is_some();
    // Editors add a line break to the end of a file.
    let trimmed = match after.strip_suffix('\n') {
        Some(text) if !before.ends_with('\n') => text,
        _ => &after,
    };
    let value = if is_text {
        Value::from(trimmed)
    } else {
        let json: Result<Json, _> = serde_json::from_str(trimmed);
        Value::from(json.map_err(|_| {
            Failure::new(FailureKind::Refused, "the edited value is not JSON", None)
        })?)
    };
    let done = secret::set_found(&project, &target, &value)?;
    show_set(&done, args.output, cx);
    Ok(0)
}

/// Lets the user edit a text in a file that only this user can read, in memory if possible.
fn edit_text(text: &str) -> Result<Zeroizing<String>, Failure> {
    let memory = Path::new("/dev/shm");
    let parent = if fs::is_dir(memory) && fs::is_writable(memory) {
        memory.to_owned()
    } else {
        crate::system::env::temporary_dir()
    };
    let folder = fs::TemporaryDir::create_in(&parent, "unfurl-secret-")?;
    let file = folder.path().join("value");
    fs::write_plain(&file, text.as_bytes(), Some(fs::SECRET_MODE))?;
    crate::system::process::run_editor(&file).map_err(|error| {
        let message = format!("the value could not be edited: {error}");
        let help = "name the editor in the variable EDITOR".to_owned();
        Failure::new(FailureKind::Refused, message, Some(help))
    })?;
    let bytes = Zeroizing::new(fs::read_within(&file, MAX_VALUE_BYTES)?);
    text_of(&bytes)
}

fn list(args: &ListArgs, cx: &Context) -> Result<u8, Failure> {
    let project = open(&args.folder, cx)?;
    let (entries, problems) = secret::list(&project)?;
    for problem in problems {
        cx.output.message(crate::job::LogLevel::Warning, &problem);
    }
    show_entries(&entries, args.output, cx);
    Ok(0)
}

fn who(args: &WhoArgs, cx: &Context) -> Result<u8, Failure> {
    let project = open_for(args.file.as_deref(), cx)?;
    let target = SecretTarget {
        name: args.name.clone(),
        file: args.file.clone(),
        environment: None,
    };
    show_entries(&secret::who(&project, &target)?, args.output, cx);
    Ok(0)
}

fn show_entries(entries: &[SecretEntry], format: OutputFormat, cx: &Context) {
    let readers = |entry: &SecretEntry| match &entry.readers {
        Some(readers) => readers.clone(),
        None => "not named in the file".to_owned(),
    };
    match format {
        OutputFormat::Json => cx.output.json(
            &entries
                .iter()
                .map(|entry| {
                    let mut item = place_json(&entry.place);
                    item["scheme"] = entry.scheme.name().into();
                    item["readers"] = entry.readers.clone().into();
                    item
                })
                .collect(),
        ),
        OutputFormat::Text if entries.is_empty() => {
            cx.output.print_result("there are no encrypted values\n");
        }
        OutputFormat::Text => {
            let mut table = Table::new(&["Name", "Place", "Scheme", "Readers"]).prose(3);
            for entry in entries {
                let name = match entry.place.name.as_str() {
                    "" => "(the whole file)",
                    name => name,
                };
                table.row([
                    name.to_owned(),
                    format!("{}:{}", entry.place.file.display(), entry.place.line),
                    entry.scheme.name().to_owned(),
                    readers(entry),
                ]);
            }
            cx.output
                .print_result(&table.render(cx.output.table_layout()));
        }
        OutputFormat::None => {}
    }
}

fn encrypt(args: &EncryptArgs, cx: &Context) -> Result<u8, Failure> {
    let project = open_for(Some(&args.file), cx)?;
    let done = secret::encrypt(&project, &args.file)?;
    match args.output {
        OutputFormat::Json => cx.output.json(&json!({
            "encrypted": done.places.iter().map(place_json).collect::<Vec<_>>(),
            "empty": done.empty.iter().map(place_json).collect::<Vec<_>>(),
        })),
        OutputFormat::Text => {
            let mut text = String::new();
            for place in &done.places {
                text += &format!("{place}: encrypted `{}`\n", place.name);
            }
            for place in &done.empty {
                text += &format!(
                    "{place}: `{}` has no value; `unfurl secret set` gives it one\n",
                    place.name
                );
            }
            if text.is_empty() {
                text.push_str(
                    "no value with `!sensitive`, `!vault` or `!age` stands in clear text\n",
                );
            }
            cx.output.print_result(&text);
        }
        OutputFormat::None => {}
    }
    Ok(0)
}
