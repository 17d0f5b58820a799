//! `plan`.

use clap::Args;

use crate::cli::args::format::OutputFormat;
use crate::cli::args::global::Global;
use crate::cli::args::job::{
    AnyJob, Compare, EnsembleArg, JobArgs, Narrow, Reach, Removal, WorkflowArg,
};
use crate::cli::commands::job::{or_interrupted, traced};
use crate::cli::output::{Output, relative};
use crate::cli::request::job::plan_request;
use crate::cli::screen::job::Screen;
use crate::cli::views::{self, Audience};
use crate::ops::plan::Planned;
use crate::ops::{self, watch_signals};
use crate::ui::Query;

/// The options of `plan`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PlanArgs {
    #[command(flatten)]
    ensemble: EnsembleArg,
    #[command(flatten)]
    any: AnyJob,
    #[command(flatten)]
    narrow: Narrow,
    #[command(flatten)]
    compare: Compare,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    removal: Removal,
    #[command(flatten)]
    workflow: WorkflowArg,
    /// With `--output json`: add to each task why it is there and what has changed
    #[arg(long)]
    why: bool,
}

impl From<PlanArgs> for JobArgs {
    fn from(args: PlanArgs) -> Self {
        Self {
            ensemble: args.ensemble.ensemble,
            any: args.any,
            narrow: args.narrow,
            compare: args.compare,
            reach: args.reach,
            removal: args.removal,
            workflow: args.workflow.workflow,
            ..Self::default()
        }
    }
}

/// Shows a plan; gives the exit code.
pub(in crate::cli) fn plan(args: PlanArgs, global: &Global, output: &Output) -> u8 {
    let why = args.why;
    let args = &JobArgs::from(args);
    let json = args.any.output == OutputFormat::Json;
    let mut request = match plan_request(args, global, output) {
        Ok(request) => request,
        Err(failure) => return output.failure(&failure, json),
    };
    request.interrupts = watch_signals();
    let mut screen = Screen::new(output, true, request.interrupts.clone());
    let planned = ops::plan::plan(&request, &mut screen);
    screen.done();
    match planned {
        Ok(planned) => {
            let query = planned.answer.as_ref().map(|answer| traced(answer, output));
            show_plan(args.any.output, why, &planned, query, output);
        }
        Err(failure) => return output.failure(&or_interrupted(failure, &request), json),
    }
    0
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
