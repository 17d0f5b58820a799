//! `validate`.

use clap::Args;

use crate::cli::args::format::ProblemFormat;
use crate::cli::args::global::Global;
use crate::cli::output::Output;
use crate::cli::request::session::session_options;
use crate::ops;
use crate::ops::validate::Checked;
use crate::ui::sarif;

/// The options of `validate`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ValidateArgs {
    /// An ensemble, a project, a service template or a CSAR
    #[arg(default_value = "")]
    path: String,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    output: ProblemFormat,
}

/// Checks what a path names; gives the exit code.
pub(in crate::cli) fn validate(args: &ValidateArgs, global: &Global, output: &Output) -> u8 {
    let json = args.output == ProblemFormat::Json;
    let options = session_options(&args.path, args.use_environment.as_deref(), global, output);
    let checked = match ops::validate::validate(&options) {
        Ok(checked) => checked,
        Err(failure) => return output.failure(&failure, json),
    };
    let failed = checked.iter().any(|one| one.problems.has_errors());
    let mut all = Vec::new();
    let for_machines = matches!(args.output, ProblemFormat::Json | ProblemFormat::Sarif);
    for Checked { problems, sources } in &checked {
        output.diagnostics(problems, sources);
        if for_machines {
            all.extend(output.json_of(problems, sources));
        }
    }
    match args.output {
        ProblemFormat::Json => output.json(&serde_json::json!({ "errors": all })),
        ProblemFormat::Sarif => output.json(&sarif(&all)),
        ProblemFormat::Text if !failed => output.answer("No errors were found.\n"),
        ProblemFormat::Text | ProblemFormat::None => {}
    }
    u8::from(failed)
}
