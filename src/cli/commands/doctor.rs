//! The command `doctor`: checks everything that a job of the ensemble will touch.

use clap::Args;
use serde_json::{Value as Json, json};

use crate::cli::args::format::OutputFormat;
use crate::cli::output::{Context, shown_path};
use crate::cli::request::session::session_options;
use crate::ops::doctor::{Check, CheckState, DoctorReport, DoctorRequest, examine};
use crate::ui::{CheckLine, DoctorView};

/// Check everything that a job of this ensemble will touch, and print the command that fixes each problem
///
/// Changes nothing and runs no program of the project. Without an ensemble, checks this machine for a first
/// project. The exit code is 1 if there is an error.
#[derive(Debug, Args)]
pub(in crate::cli) struct DoctorArgs {
    /// The ensemble
    #[arg(default_value = "")]
    ensemble: String,
    /// Also ask the servers and hosts that a job will use: git remotes, the git-lfs server, SSH hosts
    #[arg(long)]
    online: bool,
    /// Also require everything that a job with `--commit` needs, such as your name in git
    #[arg(long)]
    commit: bool,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Checks the ensemble, prints the results, and returns the exit code.
pub(in crate::cli) fn doctor(args: &DoctorArgs, cx: &Context) -> u8 {
    let session = session_options(&args.ensemble, args.use_environment.as_deref(), cx);
    let report = examine(&DoctorRequest {
        session,
        online: args.online,
        commit: args.commit,
    });
    let places: Vec<_> = report.checks.iter().map(place).collect();
    let lines = report.checks.iter().zip(&places);
    let view = DoctorView {
        lines: lines
            .map(|(check, place)| line(check, place.as_deref()))
            .collect(),
        errors: report.count(CheckState::Error),
        warnings: report.count(CheckState::Warning),
        has_ensemble: report.has_ensemble,
    };
    match args.output {
        OutputFormat::Text => cx.output.print_result(&view.text()),
        OutputFormat::Json => cx.output.json(&json_of(&report, &view.verdict())),
        OutputFormat::None => {}
    }
    u8::from(report.state() == CheckState::Error)
}

fn place(check: &Check) -> Option<String> {
    let place = check.place.as_ref()?;
    let path = shown_path(&place.path);
    Some(format!("{path}:{}:{}", place.line, place.column))
}

fn line<'a>(check: &'a Check, place: Option<&'a str>) -> CheckLine<'a> {
    CheckLine {
        state: check.state.as_str(),
        subject: &check.subject,
        message: &check.message,
        place,
        help: check.help.as_deref(),
        fix: check.fix.as_deref(),
    }
}

fn json_of(report: &DoctorReport, verdict: &str) -> Json {
    let checks = report.checks.iter().map(|check| {
        let mut shown = json!({
            "id": check.id,
            "state": check.state.as_str(),
            "subject": check.subject,
            "message": check.message,
            "help": check.help,
            "fix": check.fix,
        });
        if let Some(place) = &check.place {
            shown["place"] = json!({
                "file": shown_path(&place.path),
                "line": place.line,
                "column": place.column,
            });
        }
        shown
    });
    json!({
        "checks": checks.collect::<Vec<_>>(),
        "verdict": {
            "state": report.state().as_str(),
            "errors": report.count(CheckState::Error),
            "warnings": report.count(CheckState::Warning),
            "message": verdict,
        },
    })
}
