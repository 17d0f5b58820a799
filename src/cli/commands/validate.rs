//! The command `validate`: checks an ensemble and reports all problems.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::args::format::ProblemFormat;
use crate::cli::output::Context;
use crate::cli::request::session::session_options;
use crate::diagnostic::Severity;
use crate::ops::validate::{ValidateRequest, Validation};
use crate::ops::{self, Failure, SessionOptions, packages};
use crate::session::validate::ValidationReport;
use crate::ui::sarif;

/// The options of the command `validate`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(in crate::cli) struct ValidateArgs {
    /// An ensemble, a project, a service template or a CSAR
    #[arg(default_value = "")]
    path: String,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Refuse repositories that have other commits than those in `lock` of the ensemble
    #[arg(long)]
    locked: bool,
    /// Treat the path as the template of an ensemble: required inputs may be missing
    #[arg(long)]
    as_template: bool,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// Do not check commands with `shellcheck`, even if it is installed
    #[arg(long)]
    no_shellcheck: bool,
    /// A file with findings that are accepted for now
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Create the baseline; if it exists, remove the findings from it that are gone
    #[arg(long, requires = "baseline")]
    update_baseline: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: ProblemFormat,
}

/// Checks the ensemble, project or template at a path and returns the exit code.
pub(in crate::cli) fn validate(args: &ValidateArgs, cx: &Context) -> Result<u8, Failure> {
    let options = SessionOptions {
        locked: args.locked,
        // Unfurl recognizes a template by its path, too.
        incomplete: args.as_template || args.path.contains("template"),
        ..session_options(&args.path, args.use_environment.as_deref(), cx)
    };
    packages::fetch_if_named(&options, &mut |text| {
        cx.output.print_stderr(&format!("note: {text}\n"));
    })?;
    let Validation {
        reports: checked,
        accepted,
        notice,
    } = ops::validate::validate(&ValidateRequest {
        session: options,
        strict: args.strict,
        shellcheck: !args.no_shellcheck,
        baseline: args.baseline.clone(),
        update_baseline: args.update_baseline,
    })?;
    let failed = checked.iter().any(|one| one.problems.has_errors());
    let mut all = Vec::new();
    let for_machines = matches!(args.output, ProblemFormat::Json | ProblemFormat::Sarif);
    for ValidationReport {
        problems, sources, ..
    } in &checked
    {
        cx.output.named_diagnostics(problems, sources);
        if for_machines {
            all.extend(cx.output.json_of(problems, sources));
        }
    }
    if let Some(notice) = notice {
        cx.output.print_stderr(&format!("note: {notice}\n"));
    }
    match args.output {
        ProblemFormat::Json => cx.output.json(&serde_json::json!({ "errors": all })),
        ProblemFormat::Sarif => cx.output.json(&sarif(&all)),
        ProblemFormat::Text => {
            if accepted > 0 {
                let file = args.baseline.as_deref().unwrap_or(Path::new(""));
                let text = format!(
                    "{} accepted by `{}`.\n",
                    count(accepted, "finding"),
                    file.display()
                );
                cx.output.print_stderr(&text);
            }
            if failed {
                cx.output.print_stderr(&summary(&checked));
            } else {
                cx.output.print_result("No errors were found.\n");
            }
        }
        ProblemFormat::None => {}
    }
    Ok(u8::from(failed))
}

/// Returns the last line of the text: the numbers of errors and warnings.
fn summary(reports: &[ValidationReport]) -> String {
    let all = || reports.iter().flat_map(|report| report.problems.iter());
    let number = |severity| all().filter(|problem| problem.severity == severity).count();
    let errors = count(number(Severity::Error), "error");
    match number(Severity::Warning) {
        0 => format!("{errors}.\n"),
        warnings => format!("{errors}, {}.\n", count(warnings, "warning")),
    }
}

/// Returns a number with its noun, such as `2 errors`.
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
