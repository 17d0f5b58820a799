//! The command `git-setup`: sets up git to merge the records of ensembles.

use clap::Args;
use serde_json::json;

use crate::cli::args::format::OutputFormat;
use crate::cli::commit_report::names;
use crate::cli::output::Context;
use crate::cli::request::session::session_options;
use crate::ops::{self, Failure};

/// Set up git in this clone to merge records of ensembles
///
/// Git then merges two people's records with `unfurl merge-driver`. The command writes `.git/config`
/// and `.git/info/attributes`; jobs never do.
#[derive(Debug, Args)]
pub(in crate::cli) struct GitSetupArgs {
    /// The ensemble or project
    #[arg(default_value = ".")]
    path: String,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Sets up git and prints the files that were changed.
pub(in crate::cli) fn git_setup(args: &GitSetupArgs, cx: &Context) -> Result<u8, Failure> {
    let options = session_options(&args.path, args.use_environment.as_deref(), cx);
    let setup = ops::git_setup::set_up(&options)?;
    let repository = setup.repository.display();
    match args.output {
        OutputFormat::Json => cx.output.json(&json!({
            "repository": repository.to_string(),
            "changed": names(&setup.changed),
        })),
        OutputFormat::Text if setup.changed.is_empty() => {
            let text = format!("The merge driver is set up in `{repository}` already.\n");
            cx.output.print_result(&text);
        }
        OutputFormat::Text => {
            let mut text = format!("The merge driver is set up in `{repository}`:\n");
            for file in names(&setup.changed) {
                text.push_str(&format!("changed `{file}`\n"));
            }
            cx.output.print_result(&text);
        }
        OutputFormat::None => {}
    }
    Ok(0)
}
