//! `git`.

use clap::Args;

use crate::cli::output::Context;
use crate::cli::request::session::session_options;
use crate::ops::{self, Failure};

/// Run git in every repository of an ensemble or project
#[derive(Debug, Args)]
pub(in crate::cli) struct GitArgs {
    /// The ensemble or project
    #[arg(long, default_value = ".", value_name = "PATH")]
    dir: String,
    /// Git's command and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    words: Vec<String>,
}

/// Runs git; gives the last exit code that is not 0.
pub(in crate::cli) fn git(args: &GitArgs, cx: &Context) -> Result<u8, Failure> {
    let options = session_options(&args.dir, None, cx);
    let runs = ops::git::run(&options, &args.words)?;
    if runs.is_empty() {
        cx.output
            .answer("Can't run git command, no repositories found\n");
    }
    let mut code = 0;
    for run in runs {
        let place = run.place.display().to_string();
        let place = if place == "." {
            place
        } else {
            format!("./{place}")
        };
        let words = args.words.join(" ");
        cx.output
            .answer(&format!("*** Running 'git {words}' in '{place}'\n"));
        cx.output.answer(&format!("{}\n\n", run.output.text()));
        let complaint = String::from_utf8_lossy(&run.output.stderr).into_owned();
        if !complaint.trim().is_empty() {
            cx.output.complain(&format!("{}\n\n", complaint.trim_end()));
        }
        if !run.output.is_ok() {
            code = u8::try_from(run.output.code).unwrap_or(1);
        }
    }
    Ok(code)
}
