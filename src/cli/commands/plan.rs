//! The command `plan`: shows the tasks that a job would run.

use clap::Args;

use crate::cli::args::format::OutputFormat;
use crate::cli::args::job::{JobArgs, PlanJobArgs};
use crate::cli::commands::job::{prefer_interrupt, show_trace};
use crate::cli::job_views::{self, PlanDetail};
use crate::cli::output::{Context, Output, relative};
use crate::cli::request::job::plan_request;
use crate::cli::screen::job::JobScreen;
use crate::ops::plan::PlanPreview;
use crate::ops::{self, Failure, watch_signals};
use crate::ui::{QueryView, inputs_json, inputs_text};

/// The options of the command `plan`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PlanArgs {
    #[command(flatten)]
    job: PlanJobArgs,
    /// With `--output json`: add the reason and the detected changes to each task, and the inputs
    #[arg(long)]
    why: bool,
}

/// Shows a plan and returns the exit code.
pub(in crate::cli) fn plan(args: PlanArgs, cx: &Context) -> Result<u8, Failure> {
    let why = args.why;
    let args = &JobArgs::from(args.job);
    let mut request = plan_request(args, cx)?;
    request.interrupts = watch_signals();
    let mut screen = JobScreen::new(&cx.output, true, request.interrupts.clone());
    let planned = ops::plan::plan(&request, &mut screen);
    screen.clear_progress();
    let planned = planned.map_err(|failure| prefer_interrupt(failure, &request))?;
    let query = planned
        .answer
        .as_ref()
        .map(|answer| show_trace(answer, &cx.output));
    show_plan(args.any.output, why, &planned, query, &cx.output);
    Ok(0)
}

fn show_plan(
    format: OutputFormat,
    why: bool,
    planned: &PlanPreview,
    query: Option<QueryView>,
    output: &Output,
) {
    let sources = relative(&planned.sources);
    let view = |detail| job_views::plan(&planned.plan, &sources, detail);
    let inputs = job_views::inputs(&planned.inputs, &sources);
    match format {
        OutputFormat::Json => {
            let view = view(PlanDetail::Considered);
            let plan = if why {
                view.json_with_reasons(inputs_json(&inputs))
            } else {
                view.json()
            };
            let Some(query) = query else {
                output.json(&plan);
                return;
            };
            let mut answer = serde_json::json!({ "plan": plan });
            query.add_to(&mut answer);
            output.json(&answer);
        }
        OutputFormat::Text => {
            let mut text = inputs_text(&inputs, output.width);
            text.push_str(&view(PlanDetail::Planned).text(output.width));
            if let Some(query) = query {
                text.push_str(&query.text());
            }
            output.print_result(&text);
        }
        OutputFormat::None => {}
    }
}
