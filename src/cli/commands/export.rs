//! The command `export`: prints an ensemble for other programs.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::cli::args::format::{HostOutput, one_of};
use crate::cli::output::Context;
use crate::cli::request::session::session_options;
use crate::job::LogLevel;
use crate::ops::export::{ExportFormat, Overwrite};
use crate::ops::{self, Failure};
use crate::ui::{pretty, yaml};

/// Export an ensemble for other programs
///
/// The formats `blueprint`, `environments`, `deployment` and `deployments` are the JSON objects of
/// Unfurl's user interface. `model-json` and `model-yaml` are the resolved model: types, node
/// templates, properties, requirements with their targets, operations, groups, policies and
/// workflows, each with the file, line and column of its definition.
///
/// No expression is evaluated and no operation runs: expressions are printed as they are written. Sensitive
/// values are printed as `<<REDACTED>>`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ExportArgs {
    /// The ensemble: a file, a folder, an alias or a name of the project
    #[arg(default_value = "")]
    path: String,
    /// The export format
    #[arg(long, value_enum, default_value = "deployment")]
    format: Format,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Format of errors and of the answer to `--file`; the result has the format of `--format`
    #[arg(long, value_enum, default_value = "text")]
    output: HostOutput,
    /// Write to this file instead of the standard output
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// When to overwrite an existing file; otherwise the result is printed
    #[arg(
        long,
        value_parser = one_of::<Overwrite>(),
        default_value = "auto",
        env = "UNFURL_OVERWRITE_POLICY"
    )]
    overwrite: Overwrite,
    /// For `--format python`, which is not supported
    #[arg(long, value_name = "VERSION", hide = true)]
    python_target: Option<String>,
}

/// The formats that `export` can print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Not supported; use Unfurl's own `export`
    Python,
    /// The blueprint of the ensemble
    Blueprint,
    /// The environments of the project
    Environments,
    /// The ensemble and its recorded state
    Deployment,
    /// All ensembles of the project that have an environment
    Deployments,
    /// The resolved model as JSON
    ModelJson,
    /// The resolved model as YAML
    ModelYaml,
}

/// Exports an ensemble and returns the exit code.
pub(in crate::cli) fn export(args: &ExportArgs, cx: &Context) -> Result<u8, Failure> {
    if args.python_target.is_some() {
        return Err(unsupported("`--python-target` is not supported"));
    }
    let is_python = Path::new(&args.path)
        .extension()
        .is_some_and(|end| end == "py");
    let format = match args.format {
        _ if is_python => return Err(unsupported("converting Python to YAML is not supported")),
        Format::Python => return Err(unsupported("`--format python` is not supported")),
        Format::Blueprint => ExportFormat::Blueprint,
        Format::Environments => ExportFormat::Environments,
        Format::Deployment => ExportFormat::Deployment,
        Format::Deployments => ExportFormat::Deployments,
        Format::ModelYaml if args.output == HostOutput::Json && args.file.is_none() => {
            let message = "`--format model-yaml` prints YAML, so `--output json` is not possible";
            return Err(Failure::usage_with(message, "use `--format model-json`"));
        }
        Format::ModelJson | Format::ModelYaml => ExportFormat::Model,
    };
    let options = session_options(&args.path, args.use_environment.as_deref(), cx);
    let local_names = cx
        .output
        .variable("UNFURL_EXPORT_LOCALNAMES")
        .is_some_and(|said| !said.is_empty());
    let export = ops::export::export(&options, format, local_names)?;
    cx.output.diagnostics(&export.warnings, &export.sources);
    let text = match args.format {
        Format::ModelYaml => yaml(&export.answer),
        _ => format!("{}\n", pretty(&export.answer)),
    };
    let Some(file) = &args.file else {
        cx.output.print_result(&text);
        return Ok(0);
    };
    let is_written = export.write(&text, file, args.overwrite)?;
    if args.output == HostOutput::Json {
        let file = file.display().to_string();
        cx.output
            .json(&json!({ "file": file, "written": is_written }));
        return Ok(0);
    }
    if is_written {
        cx.output
            .message(LogLevel::Info, &format!("written to {}", file.display()));
    } else {
        let file = file.display();
        cx.output.message(
            LogLevel::Warning,
            &format!("`{file}` was not overwritten; the result is printed instead"),
        );
        cx.output.print_result(&text);
    }
    Ok(0)
}

/// Returns the error for a format that Unfurl supports and this program does not.
fn unsupported(message: &str) -> Failure {
    let hint = "`--format model-yaml` prints the resolved model for other programs, even if the \
                ensemble includes Python; to convert between Python and YAML, use Unfurl's own \
                `unfurl export`";
    Failure::usage_with(message, hint)
}
