//! Shows a job on a terminal or in a log, and asks the user to approve the plan.
//!
//! [`JobScreen`] implements the port `JobFrontend` of `ops`.

use std::io::IsTerminal as _;

use crate::cli::args::format::TextFormatArg;
use crate::cli::job_result;
use crate::cli::job_views;
use crate::cli::output::{Output, relative};
use crate::cli::plan_views;
use crate::cli::prompt;
use crate::cli::screen::job_display::JobDisplay;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::host::Stream;
use crate::job::{Forecast, JobEvent, LogLevel, Proposal, Report};
use crate::ops::{Decision, JobFrontend};
use crate::system::console::StandardStream;
use crate::system::signals::Interrupts;
use crate::ui::{Answer, job_question, read_approval, read_confirmation};
use crate::value::Map;

/// The front end of a running job.
#[derive(Debug)]
pub(in crate::cli) struct JobScreen<'a> {
    output: &'a Output,
    approve: bool,
    progress: JobDisplay<'a>,
    interrupts: Interrupts,
    /// The wording of the plan.
    format: TextFormatArg,
    /// The options that the user set, which Unfurl names in the heading of the plan.
    options: Map,
    /// The plan is shown in full.
    is_full: bool,
}

impl<'a> JobScreen<'a> {
    pub(in crate::cli) fn new(output: &'a Output, approve: bool, interrupts: Interrupts) -> Self {
        Self {
            output,
            approve,
            progress: JobDisplay::new(output),
            interrupts,
            format: TextFormatArg::default(),
            options: Map::new(),
            is_full: false,
        }
    }

    /// Shows the plan with these words.
    #[must_use]
    pub(in crate::cli) fn with_format(mut self, format: TextFormatArg, options: &Map) -> Self {
        self.format = format;
        self.options.clone_from(options);
        self
    }

    /// Shows the plan with all values and differences if `is_full` is set.
    #[must_use]
    pub(in crate::cli) fn with_detail(mut self, is_full: bool) -> Self {
        self.is_full = is_full;
        self
    }

    /// Removes the display of the job from the screen.
    pub(in crate::cli) fn clear_progress(&mut self) {
        self.progress.end();
    }
}

impl JobFrontend for JobScreen<'_> {
    fn warnings(&mut self, warnings: &Diagnostics, sources: &Sources) {
        self.output.diagnostics(warnings, sources);
    }

    fn problem(&mut self, problem: &Diagnostic, sources: &Sources) {
        self.progress.problem(problem, sources);
    }

    fn notice(&mut self, text: &str) {
        self.progress.notice(text);
    }

    fn approve(&mut self, plan: &dyn Fn() -> Proposal, sources: &Sources, place: &str) -> Decision {
        if self.approve && self.output.level > LogLevel::Info {
            return Decision::Proceed;
        }
        let plan = plan();
        let view = plan_views::plan_for_people(&plan, &relative(sources));
        let style = self.output.plan_style(StandardStream::Stderr, self.is_full);
        let text = job_views::plan_text(view, self.format, &self.options, style);
        if self.approve {
            self.output.print_styled_stderr(&text);
            return Decision::Proceed;
        }
        self.output.print_styled_stderr(&text);
        let actions = job_views::instance_actions(&plan);
        let question = job_question(&actions, plan.unrunnable(), plan.goal.dry_run, place);
        match prompt::yes_or_no(question, read_approval, &self.interrupts, self.output) {
            Answer::Yes => Decision::Proceed,
            Answer::No => Decision::Decline,
            Answer::Missing => {
                let text = "the plan needs approval, but the standard input has no answer; \
                            `--approve` runs the job without asking";
                self.output.message(LogLevel::Error, text);
                Decision::Decline
            }
        }
    }

    fn confirm_redo(&mut self, doubts: &[String]) -> bool {
        if self.approve || !std::io::stdin().is_terminal() {
            return false;
        }
        let question = format!(
            "an earlier job crashed, and it is unknown whether {} completed; run it again?",
            doubts.join(", ")
        );
        let answer = prompt::yes_or_no(question, read_confirmation, &self.interrupts, self.output);
        answer == Answer::Yes
    }

    fn commit_message(&self, job: &Report) -> Option<String> {
        (!self.format.is_unfurl()).then(|| job_result::commit_message(job))
    }

    fn estimate(&mut self, forecast: &dyn Fn() -> Forecast) {
        self.progress.estimate(forecast);
    }

    fn event(&mut self, event: &JobEvent, sources: &Sources) {
        self.progress.event(event, sources);
    }

    fn output(&mut self, task: usize, stream: Stream, bytes: &[u8]) {
        self.progress.output(task, stream, bytes);
    }

    fn output_ended(&mut self, task: usize) {
        self.progress.output_ended(task);
    }
}
