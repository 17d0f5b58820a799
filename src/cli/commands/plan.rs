//! The command `plan`: shows the tasks that a job would run.

use clap::Args;

use crate::cli::args::format::OutputFormat;
use crate::cli::args::job::{JobArgs, JobExitCode, PlanExitArgs, PlanJobArgs};
use crate::cli::commands::job::{prefer_interrupt, show_trace};
use crate::cli::job_views::{self, PlanDetail};
use crate::cli::output::{Context, Output, relative};
use crate::cli::plan_views;
use crate::cli::request::job::plan_request;
use crate::cli::screen::job::JobScreen;
use crate::job::ProposalExtent;
use crate::ops::plan::PlanPreview;
use crate::ops::{self, Failure, FailureKind, watch_signals};
use crate::system::console::StandardStream;
use crate::ui::{QueryView, inputs_json};
use crate::value::Map;

/// The options of the command `plan`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PlanArgs {
    #[command(flatten)]
    job: PlanJobArgs,
    #[command(flatten)]
    exit: PlanExitArgs,
    /// With `--output json`: add the reason and the detected changes to each task, and the inputs
    #[arg(long)]
    why: bool,
}

/// Shows a plan and returns the exit code.
pub(in crate::cli) fn plan(args: PlanArgs, cx: &Context) -> Result<u8, Failure> {
    let why = args.why;
    let exit = args.exit.jobexitcode;
    let args = &JobArgs::from(args.job);
    let mut request = plan_request(args, cx)?;
    request.interrupts = watch_signals();
    if why {
        request.extent = ProposalExtent::Full;
    }
    let mut screen = JobScreen::new(&cx.output, true, request.interrupts.clone());
    let planned = ops::plan::plan(&request, &mut screen);
    screen.clear_progress();
    let planned = planned.map_err(|failure| prefer_interrupt(failure, &request))?;
    let query = planned
        .answer
        .as_ref()
        .map(|answer| show_trace(answer, &cx.output));
    show_plan(
        args,
        why,
        &request.recorded_options,
        &planned,
        query,
        &cx.output,
    );
    if (planned.has_errors || planned.plan.has_errors()) && exit != JobExitCode::Never {
        return Ok(FailureKind::JobFailed.exit_code());
    }
    Ok(0)
}

fn show_plan(
    args: &JobArgs,
    why: bool,
    options: &Map,
    planned: &PlanPreview,
    query: Option<QueryView>,
    output: &Output,
) {
    let sources = relative(&planned.sources);
    match args.any.output {
        OutputFormat::Json => {
            let view = job_views::plan(&planned.plan, &sources, PlanDetail::Considered);
            let plan = if why {
                let inputs = job_views::inputs(&planned.inputs, &sources);
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
            let mut plan = plan_views::plan_for_people(&planned.plan, &sources);
            plan.drifted = plan_views::drifted(&planned.plan.topology, &planned.drift);
            let style = output.plan_style(StandardStream::Stdout, args.any.detail);
            let mut text = job_views::plan_text(plan, args.any.text, options, style);
            if let Some(query) = query {
                text.push_str(&query.text());
            }
            output.print_styled_result(&text);
        }
        OutputFormat::None => {}
    }
}
