//! `plan`.

use clap::Args;

use crate::cli::args::format::OutputFormat;
use crate::cli::args::job::{JobArgs, PlannedArgs};
use crate::cli::commands::job::{or_interrupted, traced};
use crate::cli::output::{Context, Output, relative};
use crate::cli::request::job::plan_request;
use crate::cli::screen::job::Screen;
use crate::cli::views::{self, Audience};
use crate::ops::plan::Planned;
use crate::ops::{self, Failure, watch_signals};
use crate::ui::Query;

/// The options of `plan`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PlanArgs {
    #[command(flatten)]
    job: PlannedArgs,
    /// With `--output json`: add to each task why it is there and what has changed
    #[arg(long)]
    why: bool,
}

/// Shows a plan; gives the exit code.
pub(in crate::cli) fn plan(args: PlanArgs, cx: &Context) -> Result<u8, Failure> {
    let why = args.why;
    let args = &JobArgs::from(args.job);
    let mut request = plan_request(args, cx)?;
    request.interrupts = watch_signals();
    let mut screen = Screen::new(&cx.output, true, request.interrupts.clone());
    let planned = ops::plan::plan(&request, &mut screen);
    screen.done();
    let planned = planned.map_err(|failure| or_interrupted(failure, &request))?;
    let query = planned
        .answer
        .as_ref()
        .map(|answer| traced(answer, &cx.output));
    show_plan(args.any.output, why, &planned, query, &cx.output);
    Ok(0)
}

fn show_plan(
    format: OutputFormat,
    why: bool,
    planned: &Planned,
    query: Option<Query>,
    output: &Output,
) {
    let view = |audience| views::plan(&planned.plan, &relative(&planned.sources), audience);
    match format {
        OutputFormat::Json => {
            let view = view(Audience::Machine);
            let plan = if why {
                view.json_with_reasons()
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
            let mut text = view(Audience::Person).text(output.width);
            if let Some(query) = query {
                text.push_str(&query.text());
            }
            output.answer(&text);
        }
        OutputFormat::None => {}
    }
}
