//! The command `home`: shows, creates and renews the home project.

use clap::Args;
use serde_json::{Value as Json, json};

use super::init::{describe_files, variables};
use crate::cli::args::format::OutputFormat;
use crate::cli::output::Context;
use crate::cli::request::session::session_options;
use crate::job::LogLevel;
use crate::ops::Failure;
use crate::ops::home::{self, CreatedHome, HomeRequest};
use crate::ops::init::Made;
use crate::system::fs;

/// Print the folder of the home project, or create it
///
/// All projects of the user inherit the environments of the home project, and it keeps the list of trusted folders.
/// The global option `--home` sets its folder.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
#[derive(Debug, Args)]
pub(in crate::cli) struct HomeArgs {
    /// Create the home project
    #[arg(long)]
    init: bool,
    /// Write its files only, without a repository
    #[arg(long)]
    render: bool,
    /// Replace an existing home project, which is kept under another name
    #[arg(long)]
    replace: bool,
    /// Use a skeleton: the name of a built-in one, or a folder
    #[arg(long, value_name = "NAME|PATH", default_value = "home")]
    skeleton: String,
    /// Create a separate repository for the ensemble of this computer
    #[arg(long)]
    poly: bool,
    /// Pass a variable to the skeleton
    #[arg(long, num_args = 2, value_names = ["NAME", "VALUE"], action = clap::ArgAction::Append)]
    var: Vec<String>,
    /// Register the project at a path in the home project
    #[arg(long, value_name = "PATH")]
    register: Option<String>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Prints or creates the home project, and returns the exit code.
pub(in crate::cli) fn home(args: &HomeArgs, cx: &Context) -> Result<u8, Failure> {
    let folder = home::folder(cx.global.home.as_deref())?;
    let mut text = String::new();
    let mut json = json!({ "home": folder.display().to_string() });
    if args.init || args.render {
        let created = home::create(&HomeRequest {
            home: cx.global.home.clone(),
            replace: args.replace,
            render: args.render,
            poly: args.poly,
            skeleton: Some(args.skeleton.clone()),
            variables: variables(&args.var)?,
        })?;
        text += &describe(&created, args, cx.output.quiet);
        json["files"] = created
            .report
            .files
            .iter()
            .map(|file| Json::from(file.path.display().to_string()))
            .collect();
        json["backup"] = created
            .backup
            .as_ref()
            .map(|path| path.display().to_string())
            .into();
    } else if args.register.is_none() {
        text += &format!("{}\n", folder.display());
        if !fs::exists(&folder) {
            let message = "the home project does not exist; `unfurl home --init` creates it";
            cx.output.message(LogLevel::Info, message);
        }
    }
    if let Some(path) = &args.register {
        let (project, changed) = home::register(&session_options("", None, cx), path)?;
        text += &format!(
            "Registered project {} with the home project.\n",
            project.display()
        );
        json["registered"] = project.display().to_string().into();
        json["changed"] = changed
            .iter()
            .map(|path| Json::from(path.display().to_string()))
            .collect();
    }
    json["exists"] = fs::exists(&folder).into();
    match args.output {
        OutputFormat::Json => cx.output.json(&json),
        OutputFormat::Text => cx.output.print_result(&text),
        OutputFormat::None => {}
    }
    Ok(0)
}

fn describe(created: &CreatedHome, args: &HomeArgs, quiet: bool) -> String {
    let mut text = if quiet {
        String::new()
    } else {
        describe_files(&created.report)
    };
    if let Some(backup) = &created.backup {
        text += &format!("kept the old home project in {}\n", backup.display());
    }
    let verb = if args.init { "created" } else { "rendered" };
    if let Made::Project(file) = &created.report.made {
        text += &format!("unfurl home {verb} at {}\n", file.display());
    }
    text
}
