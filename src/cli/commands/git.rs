//! `git`.

use clap::Args;

use crate::cli::args::global::Global;
use crate::cli::output::Output;
use crate::cli::request::session::session_options;
use crate::ops;

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
pub(in crate::cli) fn git(args: &GitArgs, global: &Global, output: &Output) -> u8 {
    let options = session_options(&args.dir, None, global, output);
    let runs = match ops::git::run(&options, &args.words) {
        Ok(runs) => runs,
        Err(failure) => return output.failure(&failure, false),
    };
    if runs.is_empty() {
        output.answer("Can't run git command, no repositories found\n");
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
        output.answer(&format!("*** Running 'git {words}' in '{place}'\n"));
        output.answer(&format!("{}\n\n", run.output.text()));
        let complaint = String::from_utf8_lossy(&run.output.stderr).into_owned();
        if !complaint.trim().is_empty() {
            output.complain(&format!("{}\n\n", complaint.trim_end()));
        }
        if !run.output.is_ok() {
            code = u8::try_from(run.output.code).unwrap_or(1);
        }
    }
    code
}
